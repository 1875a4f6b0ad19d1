from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from experiment.statistics.made_tables import METHODS, made_table

from journeyman.errors import InputError
from journeyman.experiment.statistics.curves import curves, normalised_regret, step_groups
from journeyman.experiment.statistics.steps_to import share_reached, steps_to
from journeyman.report.sweep.figure_data import FigureOptions, estimates, method_styles
from journeyman.report.sweep.results import goals_figure, results_figure

ORDER = (*METHODS, "regret_pac")
STYLES = method_styles(ORDER)
GOALS = [("true_regret", 0.0), ("true_regret", 0.1), ("failure_chance", 0.1), ("certificate_holds", None)]


def drawn_figure(table, **options):
    return results_figure(table, FigureOptions(**{"order": ORDER, **options}))


@pytest.fixture(scope="module")
def table():
    return made_table()


def lines(ax):
    """Return the lines of methods by their colour."""
    return {line.get_color(): line for line in ax.get_lines() if len(line.get_xdata()) > 2}


def words(ax):
    return " ".join(text.get_text() for text in ax.texts)


def test_lines_show_the_means_of_every_method(table):
    figure = drawn_figure(table)
    normalised = table.assign(y=normalised_regret(table))
    for ax, (data, column) in zip(
        figure.axes, [(table, "entropy_evidence"), (normalised, "y"), (table, "failure_chance")], strict=True
    ):
        drawn, means = lines(ax), curves(data, column)
        assert len(drawn) == 4
        for method in METHODS:
            expected = means[means["method"] == method]
            np.testing.assert_allclose(drawn[STYLES[method].colour].get_ydata(), expected["mean"])
    assert "4 instances, mean and standard error" in figure.get_suptitle()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(METHODS)


def test_bands_are_one_standard_error_wide(table):
    ax = drawn_figure(table, methods=["random"]).axes[2]
    (band,) = ax.collections
    expected = curves(table, "failure_chance").query("method == 'random'")
    low, high = expected["mean"] - expected["standard_error"], expected["mean"] + expected["standard_error"]
    assert band.get_paths()[0].vertices[:, 1].min() == pytest.approx(low.min())
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(high.max())


def test_regret_stays_normalised_by_all_methods_when_few_are_shown(table):
    all_of_them, few = drawn_figure(table), drawn_figure(table, methods=["nuPAC-EIG"])
    colour = STYLES["nuPAC-EIG"].colour
    np.testing.assert_array_equal(
        lines(few.axes[1])[colour].get_ydata(), lines(all_of_them.axes[1])[colour].get_ydata()
    )
    assert len(lines(few.axes[1])) == 1


def test_the_scale_is_that_of_the_reference_methods(table):
    more = made_table(methods=(*METHODS, "regret_pac"))
    assert more[more["method"] != "regret_pac"]["true_regret"].tolist() != table["true_regret"].tolist()
    scale = normalised_regret(more, METHODS)
    mean = curves(more.assign(y=scale), "y").query("method == 'regret_pac'")["mean"]
    drawn = lines(drawn_figure(more, reference=METHODS).axes[1])[STYLES["regret_pac"].colour]
    np.testing.assert_allclose(drawn.get_ydata(), mean)


def test_reference_methods_that_a_group_lacks_do_not_count():
    table = made_table(query="trajectory-5", methods=METHODS[:-1])
    mean = curves(table.assign(y=normalised_regret(table)), "y").query("method == 'random'")["mean"]
    for reference in (METHODS, ["luck"]):
        figure = drawn_figure(table, reference=reference)
        np.testing.assert_allclose(lines(figure.axes[1])[STYLES["random"].colour].get_ydata(), mean)
    assert "trajectories of up to 5 steps" in figure.get_suptitle()


def test_bars_with_zeros_below_the_axis(table):
    ax = drawn_figure(table, has_bars=True, epsilon=1.0).axes[1]
    means = step_groups(table.assign(y=normalised_regret(table)), "y")
    bars = [bar for bar in ax.patches if bar.get_width() < 0.5]
    above = [bar.get_height() for bar in bars if bar.get_height() > 0]
    np.testing.assert_allclose(np.sort(above), np.sort(means["mean"][means["mean"] > 0]))
    depth = -ax.get_ylim()[0]
    for alpha, limit in ((0.9, 0.0), (0.35, 1.0)):  # dark: none at all; light: at most epsilon
        counts = step_groups(table, "true_regret", limit=limit)
        shares = (counts["num_within"] / counts["n"]).to_numpy()
        assert shares.max() > 0
        below = [-bar.get_height() for bar in bars if bar.get_alpha() == alpha]
        np.testing.assert_allclose(np.sort(below), np.sort(depth * shares))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1-10", "11-20", "21-30", "31-40"]
    assert "regret 0 (dark), at most 1 (light)" in words(ax)


def test_bars_are_drawn_where_they_are_asked_for(table):
    assert drawn_figure(table, has_bars=True).axes[1].containers
    assert not drawn_figure(table).axes[1].containers


def test_one_instance_has_no_band(table):
    figure = drawn_figure(table[table["seed"] == 0])
    for ax in figure.axes:
        assert all(
            np.isnan(path.vertices).any() or not len(path.vertices) for c in ax.collections for path in c.get_paths()
        )
    assert figure.get_suptitle().endswith(": 1 instance")


def test_missing_methods_are_said_in_the_legend(table):
    part = table[~((table["method"] == "Reward-EIG") & (table["seed"] > 1))]
    figure = drawn_figure(part)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "Reward-EIG (n = 2)" in labels
    assert "random (n = 4)" in labels
    assert "2 to 4 instances per method" in figure.get_suptitle()
    assert "2 of 4 instances have all methods" in figure.axes[1].get_title()


def test_what_is_unknown_is_said(table):
    unknown = table.assign(entropy_evidence=np.nan, entropy_knn=np.nan, entropy_gaussian=np.nan, failure_chance=np.nan)
    figure = drawn_figure(unknown)
    assert words(figure.axes[0]) == "not measured"
    assert figure.axes[0].get_title() == "posterior entropy in nats"
    some = unknown.assign(entropy_knn=table["entropy_knn"].where(table["seed"] > 0))
    assert words(drawn_figure(some).axes[0]) == "the samples give no estimate"
    assert "not measured" in words(figure.axes[2])
    apart = pd.concat([table[(table["seed"] == i) & (table["method"] == name)] for i, name in enumerate(METHODS)])
    for has_bars in (False, True):
        assert "no instance is complete yet" in words(drawn_figure(apart, has_bars=has_bars).axes[1])
        assert "not measured" in words(drawn_figure(table.assign(true_regret=np.nan), has_bars=has_bars).axes[1])


def test_without_evidence_the_next_estimate_is_shown():
    figure = drawn_figure(made_table(has_evidence=False))
    assert "5 nearest neighbours" in figure.axes[0].get_title()
    figure = drawn_figure(made_table(), entropy=estimates("gaussian"))
    assert "Gaussian" in figure.axes[0].get_title()
    with pytest.raises(InputError, match="Did you mean 'evidence'"):
        estimates("evidnce")


def test_infinite_regret_is_a_sign_or_a_gap(table):
    zero = table.assign(true_regret=table["true_regret"].where(table["method"] == "random", 0.0))
    bars = drawn_figure(zero, reference=["nuPAC-EIG"], has_bars=True)
    assert r"$\infty$" in words(bars.axes[1])
    assert bars.axes[1].get_title().endswith("infinite on 4 instances: a sign where the mean is")
    bars.canvas.draw()
    gap = drawn_figure(zero, reference=["nuPAC-EIG"])
    assert gap.axes[1].get_title().endswith("infinite on 4 instances: a gap where the mean is")
    gap.canvas.draw()
    alone = drawn_figure(zero, reference=["nuPAC-EIG"], methods=["random"]).axes[1]
    assert words(alone) == "infinite for every method"


def test_an_axis_without_regret_has_numbers_up_to_1(table):
    ax = drawn_figure(table.assign(true_regret=0.0)).axes[1]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0", "0.05", "0.1", "0.2", "0.5", "1"]


@pytest.mark.parametrize("num_steps", [0, 1])
def test_hardly_any_steps(num_steps):
    figure = drawn_figure(made_table(num_steps=num_steps), has_bars=True)
    figure.canvas.draw()
    assert len(figure.axes) == 3


def test_wrong_tables_and_choices_are_said(table):
    with pytest.raises(InputError, match="at least one row, got none"):
        drawn_figure(table.iloc[:0])
    both = pd.concat([table, made_table(inference="published")])
    with pytest.raises(InputError, match="one world, kind of query and inference method, got 2"):
        drawn_figure(both)
    with pytest.raises(InputError, match="got 'luck'"):
        drawn_figure(table, methods=["luck"])


def test_lines_show_the_shares():
    table = made_table()
    for stays in (True, False):
        figure = goals_figure(table, FigureOptions(order=METHODS), stays=stays)
        for ax, (column, limit) in zip(figure.axes, GOALS, strict=True):
            shares = share_reached(steps_to(table, column, limit, stays=stays))
            drawn = {line.get_color(): line.get_ydata() for line in ax.get_lines()}
            for method in METHODS:
                expected = shares[shares["method"] == method]["share"]
                np.testing.assert_array_equal(drawn[STYLES[method].colour][:-1], expected)
    assert "at least once, 4 instances (95 % interval of 2 of 4: 0.07 to 0.93)" in figure.get_suptitle()


def test_what_is_reached_at_the_last_step_is_inside_the_frame():
    table = made_table(num_steps=24)
    figure = goals_figure(table.assign(certificate_holds=table["step"] == 24), FigureOptions(methods=["random"]))
    (line,) = figure.axes[3].get_lines()
    steps, shares = line.get_data()
    assert shares[-3:].tolist() == [0.0, 1.0, 1.0]
    assert steps[-2] == 24.0 < steps[-1] <= figure.axes[3].get_xlim()[1]


def test_labels_of_neighbouring_panels_are_apart():
    figure = goals_figure(made_table(num_steps=24))
    figure.canvas.draw()
    for left, right in pairwise(figure.axes):
        end, begin = (ax.transData.transform((x, 0.0))[0] for ax, x in ((left, 24), (right, 0)))
        label = right.xaxis.get_ticklabels()[-1].get_window_extent()  # of two digits
        assert begin - end > 1.5 * label.width


def test_few_methods_have_bands():
    figure = goals_figure(made_table(), FigureOptions(methods=["random", "nuPAC-EIG"]))
    assert [len(ax.collections) for ax in figure.axes] == [2, 2, 2, 2]
    assert "bands: 95 % intervals" in figure.get_suptitle()


def test_one_instance_has_none():
    figure = goals_figure(made_table(num_seeds=1), FigureOptions(methods=["random"]))
    assert [len(ax.collections) for ax in figure.axes] == [0, 0, 0, 0]
    assert figure.get_suptitle().endswith(": reached for good, 1 instance")


def test_what_was_not_measured_is_said():
    table = made_table().assign(certificate_holds=pd.NA)
    texts = [text.get_text() for text in goals_figure(table).axes[3].texts]
    assert texts == ["not measured"]
