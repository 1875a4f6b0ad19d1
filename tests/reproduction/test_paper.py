"""How the paper's figures are drawn: its references, its baseline, its estimates, and bars on 10x10 alone."""

from experiment.statistics.made_tables import METHODS, made_table

from journeyman.report.sweep.results import results_figure
from reproduction.paper import PAPER_METHODS, STYLES, paper_options


def test_known_methods_look_the_same_in_every_figure():
    colours = [style.colour for style in STYLES.values()]
    assert len(set(colours)) == len(colours)
    assert set(PAPER_METHODS) <= set(STYLES)


def test_methods_beyond_the_paper_are_no_reference_and_its_best_is_the_baseline():
    options = paper_options(made_table(methods=(*METHODS, "regret_pac"), num_seeds=1, num_steps=1))
    assert set(options.reference) == set(METHODS)
    assert options.baseline == "nuPAC-EIG"
    assert paper_options(made_table(methods=("PAC-EIG", "zoo"), num_seeds=1, num_steps=1)).baseline == "PAC-EIG"
    assert paper_options(made_table(methods=("ant", "zoo"), num_seeds=1, num_steps=1)).baseline is None


def test_on_trajectories_nupac_eig_is_not_of_the_paper():
    options = paper_options(made_table(query="trajectory-5", num_seeds=1, num_steps=1))
    assert "nuPAC-EIG" not in options.reference


def test_bars_and_estimates_are_those_of_the_world():
    table = made_table(num_steps=4)
    assert not paper_options(table).has_bars
    there = table.assign(world_name="random-10x10")
    assert results_figure(there, paper_options(there)).axes[1].containers
    assert "Gaussian" in results_figure(there, paper_options(there, entropy="paper")).axes[0].get_title()
    chains = made_table(num_steps=4, has_evidence=False)
    assert "5 nearest neighbours" in results_figure(chains, paper_options(chains)).axes[0].get_title()
