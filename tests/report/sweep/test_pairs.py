from itertools import pairwise

import numpy as np
import pytest
from experiment.statistics.made_tables import METHODS, made_table

from journeyman.errors import InputError
from journeyman.experiment.statistics.paired import paired_differences
from journeyman.report.sweep.figure_data import FigureOptions
from journeyman.report.sweep.pairs import pairs_figure


def drawn_figure(table, **options):
    return pairs_figure(table, FigureOptions(**{"order": METHODS, "baseline": "nuPAC-EIG", **options}))


@pytest.fixture(scope="module")
def table():
    return made_table(num_seeds=8)


def dots(ax):
    """Return what is drawn as a dot in each row of a panel."""
    found = {}
    for line in ax.get_lines():
        if line.get_marker() == "o":
            found[int(line.get_ydata()[0])] = line
    return [found[row] for row in sorted(found)]


def test_dots_are_the_mean_differences(table):
    figure = drawn_figure(table)
    expected = (
        paired_differences(table, "failure_chance", "nuPAC-EIG", steps=()).set_index("method").loc[list(METHODS[:-1])]
    )
    drawn = dots(figure.axes[2])
    np.testing.assert_allclose([dot.get_xdata()[0] for dot in drawn], expected["difference"])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == list(METHODS[:-1])
    scores = [text.get_text() for text in figure.axes[2].texts]
    assert scores == [f"{row.wins}-{row.ties}-{row.losses}" for row in expected.itertuples()]
    assert "difference to nuPAC-EIG on the same instances, averaged over steps 1 to 40" in figure.get_suptitle()


def test_filled_dots_are_significant_after_correction(table):
    # All differences have one sign: p is 2 / 2^n, times three methods 0.023 for 8 instances and 0.19 for 5.
    for num_seeds, is_filled in ((8, True), (5, False)):
        drawn = dots(drawn_figure(table[table["seed"] < num_seeds], baseline="random").axes[2])
        assert [dot.get_markerfacecolor() != "white" for dot in drawn] == [is_filled] * 3


def test_few_instances_have_no_bootstrap_and_one_has_no_interval(table):
    def num_drawn(figure):
        ax = figure.axes[2]
        return len(ax.patches), len(ax.collections)

    assert num_drawn(drawn_figure(table)) == (3, 3)
    assert num_drawn(drawn_figure(table[table["seed"] < 4])) == (0, 3)
    assert num_drawn(drawn_figure(table[table["seed"] < 1])) == (0, 0)


def test_methods_can_be_chosen(table):
    figure = drawn_figure(table, baseline="random", methods=["Reward-EIG"])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["Reward-EIG"]


def test_what_cannot_be_compared_is_said(table):
    with pytest.raises(InputError, match="at least one method beside the baseline 'random'"):
        drawn_figure(table[table["method"] == "random"])
    apart = table[(table["method"] == "random") == (table["seed"] > 3)]
    texts = [text.get_text() for text in drawn_figure(apart).axes[2].texts]
    assert "no common instance" in texts
    none = table.assign(entropy_evidence=np.nan, entropy_knn=np.nan, entropy_gaussian=np.nan)
    assert [text.get_text() for text in drawn_figure(none).axes[0].texts] == ["not measured"]


def test_infinite_regrets_that_are_left_out_are_counted(table):
    # Nobody but random has regret on seeds 0 to 2: these instances are infinite for it, and 0 for the others.
    zero = table.assign(
        true_regret=table["true_regret"].where((table["method"] == "random") | (table["seed"] > 2), 0.0)
    )
    options = {"reference": ["action entropy", "Reward-EIG", "nuPAC-EIG"]}
    title = drawn_figure(zero, **options).axes[1].get_title()
    assert title.endswith("left out because it is infinite: 0 to 3 instances per method")
    alone = drawn_figure(zero, **options, methods=["random"]).axes[1]
    assert alone.get_title().endswith("left out because it is infinite: 3 instances")
    few = drawn_figure(zero[zero["seed"] < 3], **options, methods=["random"]).axes[1]
    assert [text.get_text() for text in few.texts] == ["infinite on every common instance"]
    assert drawn_figure(table).axes[1].get_title() == "normalised true regret"


def test_numbers_of_the_axis_do_not_touch(table):
    figure = drawn_figure(table.assign(failure_chance=0.1 * table["failure_chance"]), baseline="random")
    figure.canvas.draw()
    for ax in figure.axes:
        low, high = ax.get_xlim()
        labels = [label for label in ax.get_xticklabels() if low <= label.get_position()[0] <= high]
        extents = [label.get_window_extent() for label in labels]
        assert len(extents) > 2
        assert all(left.x1 + 5.0 < right.x0 for left, right in pairwise(extents))
