import numpy as np
import pandas as pd
import pytest
from experiment.statistics.made_tables import made_table

from journeyman.errors import InputError
from journeyman.report.sweep.figure_data import FigureOptions
from journeyman.report.sweep.inference import common_to_inferences, inference_figure


@pytest.fixture(scope="module")
def both():
    chains = made_table(inference="chains", num_seeds=2, has_evidence=False)
    return pd.concat([made_table(), chains.assign(failure_chance=0.5)], ignore_index=True)


def test_only_what_all_have_met_is_compared(both):
    assert set(common_to_inferences(both)["seed"]) == {0, 1}
    without = both[~((both["inference"] == "chains") & (both["method"] == "random") & (both["seed"] == 0))]
    kept = common_to_inferences(without)
    assert set(kept[kept["method"] == "random"]["seed"]) == {1}


def test_panels_show_means_and_instances(both):
    figure = inference_figure(both, FigureOptions(methods=["random", "nuPAC-EIG"], order=["random"]))
    assert len(figure.axes) == 6
    assert "nearest neighbours" in figure.axes[0].get_ylabel()  # the chains have no evidence
    chance = figure.axes[4]
    assert len(chance.get_lines()) == 2 * (2 + 1)
    chains, smc = (line for line in chance.get_lines() if line.get_linewidth() > 1)
    np.testing.assert_array_equal(chains.get_ydata(), 0.5)
    part = both[(both["inference"] == "smc") & (both["method"] == "random") & (both["seed"] < 2)]
    np.testing.assert_allclose(smc.get_ydata(), part.groupby("step")["failure_chance"].mean())
    assert "2 instances" in figure.get_suptitle()


def test_what_cannot_be_compared_is_said(both):
    with pytest.raises(InputError, match="at least two, got 'smc' alone"):
        inference_figure(made_table())
    with pytest.raises(InputError, match="one world and kind of query"):
        inference_figure(pd.concat([both, made_table(query="trajectory-5")]))
    apart = both[(both["inference"] == "smc") == (both["seed"] > 1)]
    with pytest.raises(InputError, match="a common instance"):
        inference_figure(apart)
