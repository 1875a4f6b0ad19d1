import pandas as pd
import pytest
from experiment.statistics.made_tables import METHODS, made_table

from journeyman.errors import InputError
from journeyman.report.sweep.figure_data import FigureOptions
from journeyman.report.sweep.figures import group_figures, sweep_figures


def test_every_group_has_its_figures(tmp_path):
    table = pd.concat(
        [
            made_table(num_steps=4, num_seeds=2, methods=("random", "PAC-EIG")),
            made_table(num_steps=4, num_seeds=1, methods=("random",), inference="chains", has_evidence=False),
        ]
    )
    seen = []
    paths = sweep_figures(table, tmp_path / "new" / "folder", on_figure=seen.append)
    assert seen == paths
    assert [path.name for path in paths] == [
        "random-grid_state_chains_results.png",
        "random-grid_state_chains_goals.png",
        "random-grid_state_chains_queries.png",
        "random-grid_state_smc_results.png",
        "random-grid_state_smc_goals.png",
        "random-grid_state_smc_queries.png",
        "random-grid_state_smc_pairs.png",
        "random-grid_state_inference.png",
    ]
    assert all(path.stat().st_size > 5000 for path in paths)


def test_names_are_never_the_same(tmp_path):
    worlds = ("a $ b", "a/b")
    table = pd.concat([made_table(world=name, num_steps=0, num_seeds=1, methods=("random",)) for name in worlds])
    paths = sweep_figures(table, tmp_path)
    stems = ["a-b_state_smc", "a-b_state_smc-2"]
    assert [path.name for path in paths] == [f"{stem}_{name}.png" for stem in stems for name in ("results", "goals")]


def test_many_methods_are_shown_in_two_parts():
    ours = ("regret_pac", "expected_regret", "optimal_action_value", "x", "y")
    table = made_table(methods=(*METHODS, *ours), num_steps=3, num_seeds=2)
    figures = dict(group_figures(table, FigureOptions(reference=METHODS, baseline="nuPAC-EIG")))
    assert list(figures) == ["results", "goals", "results-more", "goals-more", "queries", "pairs"]

    def legend(name):
        return {text.get_text() for text in figures[name].legends[0].get_texts()}

    assert legend("results") == legend("goals") == set(METHODS)
    assert legend("results-more") == legend("goals-more") == {*ours, "nuPAC-EIG"}


def test_methods_and_baseline_can_be_chosen():
    table = made_table(num_steps=3, num_seeds=2)
    figures = dict(group_figures(table, FigureOptions(methods=["Reward-EIG"], baseline="random")))
    assert "difference to random" in figures["pairs"].get_suptitle()
    assert "pairs" not in dict(group_figures(table, FigureOptions(methods=["random"], baseline="random")))


def test_groups_without_the_chosen_methods_are_left_out_and_all_formats_are_written(tmp_path):
    parts = [made_table(num_steps=0), made_table(query="trajectory-5", num_steps=0, num_seeds=1, methods=("zoo",))]
    paths = sweep_figures(pd.concat(parts), tmp_path, FigureOptions(methods=["zoo"]), formats=["svg", "jpg"])
    begin = "random-grid_trajectory-5_smc"
    assert [path.name for path in paths] == [
        f"{begin}_{name}.{ending}" for name in ("results", "goals") for ending in ("svg", "jpg")
    ]
    assert sorted(tmp_path.iterdir()) == sorted(paths)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formats": "png"}, "must be a list of at least one ending, got 'png'"),
        ({"formats": ["gif"]}, "must be among png, svg"),
        ({"options": FigureOptions(methods=["luck"])}, "got 'luck'"),
        ({"options": FigureOptions(baseline="luck")}, "got 'luck'"),
        ({"options": FigureOptions(reference=["luck"])}, "got 'luck'"),
    ],
)
def test_wrong_choices_are_said_before_anything_is_written(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        sweep_figures(made_table(num_steps=1), tmp_path / "none", **options)
    assert not (tmp_path / "none").exists()


def test_an_empty_table_and_a_folder_that_is_a_file_are_said(tmp_path):
    table = made_table(num_steps=1)
    with pytest.raises(InputError, match="at least one row, got none"):
        sweep_figures(table.iloc[:0], tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a folder that can be made"):
        sweep_figures(table, tmp_path / "file")
