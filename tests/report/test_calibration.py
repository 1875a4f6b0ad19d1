import numpy as np
import pytest

from journeyman.calibration import Replication, ecdf_difference, summarise
from journeyman.errors import InputError
from journeyman.report.calibration import (
    LINE,
    WRONG,
    calibration_figure,
    comparison_figure,
    coverage_figure,
)

NAMES = ("log likelihood", "V*(rho)", "regret", "a $name$", "second")


def made(power, num_replications=200):
    """Return a summary of ranks that are uniform for power 1, and too low for larger ones."""
    levels = np.random.default_rng(1).random((num_replications, 5)) ** power
    return summarise(
        [
            Replication(i, tuple((100 * row).astype(int).tolist()), tuple(row.tolist()), 200.0, 0.5)
            for i, row in enumerate(levels)
        ],
        NAMES,
        99,
    )


def lines(ax):
    """Return the lines of a panel but for the one at 0."""
    return [line for line in ax.get_lines() if len(line.get_xdata()) > 2]


def test_panels_show_the_differences_of_every_quantity():
    summary = made(1)
    figure = calibration_figure(summary, "smc on a $ world")
    panels = [ax for ax in figure.axes if ax.get_visible()]
    assert len(panels) == 5
    for ax, item in zip(panels, summary.quantities, strict=True):
        (line,) = lines(ax)
        np.testing.assert_allclose(line.get_ydata()[1:-1], ecdf_difference(item.ranks, 99))
        assert line.get_color() == LINE
    assert "200 replications: nothing speaks against calibration" in figure.get_suptitle()


def test_what_leaves_the_band_is_red():
    figure = calibration_figure(made(2), "mutant")
    assert [lines(ax)[0].get_color() for ax in figure.axes[:5]] == [WRONG] * 5
    assert "miscalibrated" in figure.get_suptitle()


def test_comparison_has_a_row_per_method_and_all_parameters_in_one_panel():
    figure = comparison_figure([("right", made(1)), ("wrong", made(2))], "two methods")
    assert len(figure.axes) == 8
    assert [len(lines(ax)) for ax in figure.axes] == [1, 1, 1, 2] * 2
    assert {line.get_color() for ax in figure.axes[:4] for line in lines(ax)} == {LINE}
    assert {line.get_color() for ax in figure.axes[4:] for line in lines(ax)} == {WRONG}


def test_coverage_shows_the_pooled_shares():
    summary = made(1)
    figure = coverage_figure([("right", summary), ("wrong", made(2))], "coverage")
    shares = [container.lines[0].get_xdata()[0] for container in figure.axes[0].containers]
    assert shares == [part.share for part in summary.parameter_coverage]


@pytest.mark.parametrize("draw", [comparison_figure, coverage_figure])
def test_nothing_to_draw_is_said(draw):
    with pytest.raises(InputError, match="at least one method, got none"):
        draw([], "empty")


def test_figures_can_be_written(tmp_path):
    calibration_figure(made(1, 20), "few").savefig(tmp_path / "few.png")
    assert (tmp_path / "few.png").stat().st_size > 10_000
