from itertools import pairwise

import numpy as np
import pandas as pd
from experiment.statistics.made_tables import METHODS, made_table

from journeyman.experiment.statistics.steps_to import share_reached, steps_to
from journeyman.report.sweep.figure_data import FigureOptions, method_styles
from journeyman.report.sweep.goals import goals_figure

STYLES = method_styles(METHODS)
GOALS = [("true_regret", 0.0), ("true_regret", 0.1), ("failure_chance", 0.1), ("certificate_holds", None)]


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
