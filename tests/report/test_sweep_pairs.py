import numpy as np
import pytest
from experiment.statistics.made_tables import made_table

from journeyman.errors import InputError
from journeyman.experiment.statistics.paired import paired_differences
from journeyman.report.sweep_pairs import pairs_figure


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
    figure = pairs_figure(table)
    expected = paired_differences(table, "failure_chance", "nuPAC-EIG", steps=())
    drawn = dots(figure.axes[2])
    np.testing.assert_allclose([dot.get_xdata()[0] for dot in drawn], expected["difference"])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == expected["method"].tolist()
    scores = [text.get_text() for text in figure.axes[2].texts]
    assert scores == [f"{row.wins}-{row.ties}-{row.losses}" for row in expected.itertuples()]
    assert "difference to nuPAC-EIG on the same instances, averaged over steps 1 to 40" in figure.get_suptitle()


def test_filled_dots_are_significant_after_correction(table):
    # All differences have one sign: p is 2 / 2^n, times three methods 0.023 for 8 instances and 0.19 for 5.
    for num_seeds, is_filled in ((8, True), (5, False)):
        drawn = dots(pairs_figure(table[table["seed"] < num_seeds], baseline="random").axes[2])
        assert [dot.get_markerfacecolor() != "white" for dot in drawn] == [is_filled] * 3


def test_few_instances_have_no_bootstrap_and_one_has_no_interval(table):
    def num_drawn(figure):
        ax = figure.axes[2]
        return len(ax.patches), len(ax.collections)

    assert num_drawn(pairs_figure(table)) == (3, 3)
    assert num_drawn(pairs_figure(table[table["seed"] < 4])) == (0, 3)
    assert num_drawn(pairs_figure(table[table["seed"] < 1])) == (0, 0)


def test_methods_can_be_chosen(table):
    figure = pairs_figure(table, baseline="random", methods=["Reward-EIG"])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["Reward-EIG"]


def test_what_cannot_be_compared_is_said(table):
    with pytest.raises(InputError, match="another method beside the baseline 'random'"):
        pairs_figure(table[table["method"] == "random"])
    apart = table[(table["method"] == "random") == (table["seed"] > 3)]
    texts = [text.get_text() for text in pairs_figure(apart).axes[2].texts]
    assert "no common instance" in texts
    none = table.assign(entropy_evidence=np.nan, entropy_knn=np.nan, entropy_gaussian=np.nan)
    assert [text.get_text() for text in pairs_figure(none).axes[0].texts] == ["the samples give no estimate"]
