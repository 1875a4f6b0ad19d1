import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.wording import signed_number
from reproduction.task_belief import StartSummary, illustrate_task
from reproduction.task_figure import start_table, task_figure, write_figure_1

FAST = {"num_points": 512, "num_histories": 64}


def summary(
    seed, num_demonstrations, best_start, *, jail=1e-13, least=0.0, entropy_start=30, entropy_information=1e-13
):
    return StartSummary(
        seed=seed,
        num_demonstrations=num_demonstrations,
        best_start=best_start,
        information=0.5,
        standard_error=0.01,
        num_rivals=2,
        is_corner=best_start == 35,
        is_fenced=best_start in (28, 34, 35),
        jail_information=jail,
        least_information=least,
        entropy_start=entropy_start,
        entropy=32.2,
        entropy_information=entropy_information,
    )


def stars(ax):
    return [tuple(np.round([line.get_xdata()[0], line.get_ydata()[0] + 0.15]).astype(int)) for line in ax.lines
            if line.get_marker() == "*" and len(line.get_xdata())]  # fmt: skip


def test_panels_show_truth_belief_and_both_scores():
    task = illustrate_task(4, 1, **FAST)
    figure = task_figure(task)
    truth, known, information, entropy = figure.axes[:4]
    texts = {text.get_text() for text in truth.texts}
    assert {signed_number(value) for value in task.world.true_parameters} <= texts
    dashed = sorted(line.get_xdata()[0] for line in known.lines if len(line.get_xdata()) == 2)
    assert dashed == pytest.approx(sorted(task.world.true_parameters))
    best = task.belief.information.best_state()
    assert stars(information) == [(best % 6, best // 6)]
    assert stars(entropy) == [(0, 5)]
    assert "after 1 demonstration" in known.get_title(loc="left")
    assert entropy.get_title(loc="left").endswith("asks at the jail")
    means = [text.get_text() for text in known.texts]
    mean, std = task.belief.posterior.mean_parameters(), task.belief.posterior.parameter_std()
    assert means[0] == f"mud\n{mean[0]:.0f} ± {std[0]:.0f}"


def test_ridges_hold_the_posterior():
    task = illustrate_task(4, 1, **FAST)
    known = task_figure(task).axes[1]
    outline = known.patches[0].get_data()
    heights = outline.values - 2.0  # mud is drawn on top, above a line at 2
    middles = 0.5 * (outline.edges[1:] + outline.edges[:-1])
    mean = float(heights @ middles / heights.sum())
    assert mean == pytest.approx(task.belief.posterior.mean_parameters()[0], abs=100 / 40 / 2)  # half a bin


def test_notes_count():
    after = [summary(0, 1, 35), summary(1, 1, 28), summary(2, 1, 3), summary(3, 1, 34, jail=0.2, least=0.1)]
    table = start_table(summary(0, 0, 35), after)
    assert [row[0] for row in table.rows] == ["all", "0", "1", "2", "3"]
    assert table.rows[1][8] == 0.0  # a rounding error is none
    text = " ".join(table.notes)
    assert (
        "the best start is the bottom right cell, as in the paper: 0.500 nats, standard error 0.010, 2 rivals" in text
    )
    assert "the bottom right cell in 1 of 4 seeds" in text
    assert "fence in in 3 of 4" in text
    assert "The jail tells up to 2.0e-01 nats, and no start tells less, in 4 of 5 beliefs" in text
    assert "tells nothing in 5 of 5 beliefs" in text


def test_notes_do_not_claim_what_is_not_so():
    before = summary(0, 0, 3, entropy_start=7, entropy_information=0.3)
    text = " ".join(start_table(before, [summary(0, 1, 35)]).notes)
    assert "the best start is not the bottom right cell" in text
    assert "tells nothing in 1 of 2 beliefs" in text


def test_files(tmp_path):
    written = write_figure_1(tmp_path / "out", [1, 2], formats=("png", "svg"), **FAST)
    assert [path.name for path in written.paths] == ["figure-1.png", "figure-1.svg", "figure-1.md", "figure-1.csv"]
    assert written.paths[0].stat().st_size > 50_000
    assert len(written.paths[3].read_text("utf-8").splitlines()) == 1 + 3
    assert "After 1 demonstration" in written.text


def test_no_seeds_are_refused(tmp_path):
    with pytest.raises(InputError, match="at least one seed, got none"):
        write_figure_1(tmp_path, [])
