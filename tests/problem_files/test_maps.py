"""A map drawn in text is a problem: dynamics, labels, terrains and drawing, and mistakes with line and column."""

import numpy as np
import pytest
from problem_files.texts import REST

from journeyman.errors import InputError
from journeyman.problem_files import problem_from_record, problem_to_record
from journeyman.study import Study
from journeyman.worlds.gridworld import gridworld

DRAWING = """
#######
#S.~~G#
#.##..#
#######
"""


def with_map(keys="", drawing=DRAWING, top="", rest=REST):
    return f'discount = 0.9\n{top}[map]\ndrawing = """{drawing}"""\n{keys}\n{rest}'


WATER = 'terrains = { "~" = "water" }'


def leads_to(mdp, state, action):
    """Name the states to which an action may lead, with their chances."""
    found = mdp.next_states(mdp.state_names.index(state), mdp.action_names.index(action))
    return {mdp.state_name(int(s)): round(float(p), 12) for s, p in zip(*found, strict=True)}


def test_what_a_map_says(load):
    problem = load(with_map(WATER))
    mdp = problem.mdp
    assert mdp.state_labels == ("start", "r1c2", "r1c3", "r1c4", "goal", "r2c1", "r2c4", "r2c5")
    assert mdp.action_labels == ("up", "right", "down", "left")
    assert mdp.terminal.tolist() == [False] * 4 + [True] + [False] * 3
    assert mdp.initial.tolist() == [1.0] + [0.0] * 7
    assert mdp.grid.kinds == ("plain", "plain", "water", "water", "goal", "plain", "plain", "plain")
    assert (mdp.grid.num_rows, mdp.grid.num_columns) == (4, 7)
    assert mdp.grid.moves.tolist() == [[-1, 0], [0, 1], [1, 0], [0, -1]]
    assert leads_to(mdp, "start", "right") == {"r1c2": 1.0}
    assert leads_to(mdp, "start", "up") == {"start": 1.0}  # a wall
    assert leads_to(mdp, "r1c2", "down") == {"r1c2": 1.0}
    assert leads_to(mdp, "goal", "down") == {}


def test_the_edge_of_a_map_is_a_wall(load):
    mdp = load(with_map(drawing="\nS.\n.G\n")).mdp
    assert leads_to(mdp, "start", "left") == leads_to(mdp, "start", "up") == {"start": 1.0}


@pytest.mark.parametrize("slip", [0.0, 0.25])
def test_an_open_map_is_a_gridworld(load, slip):
    drawing = "\nS...\n....\n...G\n"
    mdp = load(with_map(f"stay = true\nslip = {slip}", drawing)).mdp
    twin = gridworld(3, 4, slip=slip, discount=0.9, terminal=np.arange(12) == 11)
    assert mdp.action_labels == twin.action_labels
    assert np.allclose(mdp.dense_transitions(), twin.dense_transitions(), rtol=0, atol=1e-15)


def test_slipping_to_the_sides(load):
    mdp = load(with_map('stay = true\nslip = 0.2\nslip_to = "sides"', "\n...\n.S.\n..G\n")).mdp
    assert leads_to(mdp, "start", "up") == {"r0c1": 0.8, "r1c0": 0.1, "r1c2": 0.1}
    assert leads_to(mdp, "start", "stay") == {"start": 1.0}
    eight = load(with_map('moves = 8\nslip = 0.2\nslip_to = "sides"', "\n...\n.S.\n..G\n")).mdp
    assert leads_to(eight, "start", "up") == {"r0c1": 0.8, "r0c0": 0.1, "r0c2": 0.1}
    assert leads_to(eight, "start", "up-left") == {"r0c0": 0.8, "r0c1": 0.1, "r1c0": 0.1}


def test_eight_moves_do_not_squeeze_between_two_walls(load):
    mdp = load(with_map("moves = 8", "\nS#.\n#..\n.#G\n")).mdp
    assert mdp.num_actions == 8
    assert leads_to(mdp, "start", "down-right") == {"start": 1.0}
    assert leads_to(mdp, "r0c2", "down-left") == {"r1c1": 1.0}  # one wall beside the way
    assert leads_to(mdp, "r1c1", "down-right") == {"goal": 1.0}


def test_moves_that_do_nothing_may_be_unavailable(load):
    mdp = load(with_map('blocked = "unavailable"\n' + WATER)).mdp
    exits = {mdp.state_name(s): [mdp.action_name(a) for a in np.flatnonzero(mdp.available[s])] for s in range(8)}
    assert exits["start"] == ["right", "down"]
    assert exits["r2c1"] == ["up"]
    with pytest.raises(InputError, match=r"got none at line 4, column 4 of problem\.toml\. Draw a wall"):
        load(with_map('blocked = "unavailable"', "\nS.#.\n.G##\n"))


def test_terrains_become_features(load):
    problem = load(with_map(WATER, rest=REST.replace("per_state", "features")))
    model = problem.reward_model
    assert model.names == ("water", "goal")
    assert model.reward([-1.0, 5.0]).tolist() == [0.0, 0.0, -1.0, -1.0, 5.0, 0.0, 0.0, 0.0]
    named = load(with_map('terrains = { "~" = "water", "." = "grass" }', rest=REST.replace("per_state", "features")))
    assert named.reward_model.names == ("grass", "water", "goal")
    assert named.mdp.grid.kinds[0] == "grass"  # a start lies on the floor


def test_a_goal_that_is_not_terminal_and_other_marks(load):
    keys = 'wall = "X"\nfloor = " "\nstart = "s"\nterminal = "t"\nterrains = { t = "trap", g = "gold" }'
    mdp = load(with_map(keys, "\nXXXXX\nXs gX\nX t\nXXXXX\n")).mdp
    assert mdp.state_labels == ("start", "r1c2", "gold", "r2c1", "trap", "r2c3", "r2c4")  # short lines are filled up
    assert mdp.terminal.tolist() == [False, False, False, False, True, False, False]


def test_the_short_form_and_a_file(load):
    short = load('discount = 0.9\nmap = """\nS.\n.G"""\n' + REST)
    assert short.mdp.state_labels == ("start", "r0c1", "r1c0", "goal")
    lines = load("discount = 0.9\n[map]\ndrawing = ['S.', '.G']\n" + REST)
    file = load('discount = 0.9\n[map]\nfile = "maze.txt"\n' + REST, maze_dot_txt="\ufeffS.\r\n.G\r\n")
    for other in (lines, file):
        assert np.array_equal(other.mdp.dense_transitions(), short.mdp.dense_transitions())


def test_states_by_label_on_a_map(load):
    states = '[states]\ninitial = { start = 0.5, r2c1 = 0.5 }\nterminal = ["r2c5"]\nqueryable = ["start", "r1c2"]\n'
    problem = load(with_map(WATER, rest=REST + states))
    assert problem.mdp.initial[[0, 5]].tolist() == [0.5, 0.5]
    assert np.flatnonzero(problem.mdp.terminal).tolist() == [4, 7]
    assert np.flatnonzero(problem.queryable).tolist() == [0, 1]
    smooth = 'kind = "multivariate_normal"\nlength_scale = 1.0\n'
    load(with_map(WATER, rest=REST.replace('kind = "normal"\n', smooth)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            with_map(),
            r"got '~' at line 5, column 4 of problem\.toml\. Known are '#' wall, '\.' floor, 'S' start, "
            r"'G' terminal and goal\. If it is a terrain, name it: terrains = ",
        ),
        (with_map(drawing="\nS.\t.\n...G\n"), r"got '\\t' at line 4, column 3 of problem\.toml.* without tabs"),
        (with_map(drawing="\n  S..\n  .x.\n"), r"got 'x' at line 5, column 4 of problem\.toml"),
        (
            with_map(drawing="\nS..\n..\n..G\n"),
            r"equally long, got 2 marks at line 5 of problem\.toml where others have 3\. Fill it up with walls \(#\)\.",
        ),
        (
            with_map(drawing="\nS..\n.....\n..G\n"),
            r"equally long, got 5 marks at line 5 of problem\.toml where others have 3\. Remove 2 marks\.",
        ),
        (with_map(drawing="\nS..\n...G\n"), r"got 4 marks at line 5 of .* where others have 3\. Remove 1 mark\."),
        (with_map(drawing="\nS...\n..G\n"), r"got 3 marks at line 5 of .* where others have 4\. Fill it up"),
        (with_map(drawing="\nS..\n\n..G\n"), r"without empty lines, got one at line 5 of problem\.toml"),
        (with_map(drawing="\nS. .\n...G\n"), r"got ' ' at line 4, column 3 .* If spaces are floor, say floor = "),
        (with_map(drawing="\n...\n..G\n"), r"must have a start, got no 'S' in it.*initial"),
        (with_map(drawing="\n###\n"), "at least one cell, got none but walls"),
        (with_map(drawing="\n"), "at least one line, got none"),
        (with_map('terrains = { "~" = "water", "^" = "hill" }'), r"drawn somewhere, got 'hill' \('\^'\)"),
        (with_map('terrains = { "~" = "plain" }'), "a name of its own, got 'plain'"),
        (with_map('terrains = { "~~" = "water" }'), "a mark of one sign, got '~~'"),
        (with_map('terrains = { "~" = "water", G = "gold" }'), "whether 'G' ends the episode"),
        (with_map('wall = "#~"\nstart = "~"'), "one meaning, got '~' as wall and as start"),
        (with_map('wall = "#~"\nterrains = { "~" = "water" }'), "one meaning, got '~' as wall and as a terrain"),
        (with_map('terminal = "GX"\n' + WATER), "terminal must be marks of the map, got 'X', which is not drawn"),
        (with_map("moves = 6\n" + WATER), r"moves must be 4 .* or 8 .* got 6 at line 9"),
        (with_map("slip = 1.5\n" + WATER), "slip must be a chance between 0 and 1, got 1.5 at line 9"),
        (with_map('slip_to = "side"\n' + WATER), "Did you mean 'sides'"),
        (with_map('stay = "yes"\n' + WATER), "stay must be true or false, got 'yes' at line 9"),
        (with_map("slipp = 0.1\n" + WATER), "got 'slipp' at line 9 of problem.toml. Did you mean 'slip'"),
        (with_map(WATER, rest=REST + "[grid]\nrows = 2\ncolumns = 2\n"), "must be left out where a map is given"),
        (
            with_map(WATER, rest=REST + '[transitions]\nfile = "edges.csv"\n'),
            "got .transitions. .line .* and .map. .line",
        ),
        (with_map(WATER, rest=REST + '[states]\nlabels = ["a"]\n'), "one for each of the 8 cells .* got 1 at line 19"),
        (with_map(WATER, rest=REST + '[actions]\nlabels = ["a"]\n'), "action_labels must have 4 entries, got 1"),
        (with_map(WATER, rest=REST + '[states]\ninitial = ["strat"]\n'), "Did you mean 'start'"),
        (with_map(WATER, rest=REST + '[states]\nterminal = ["gaol"]\n'), r"\[states\], line 19 .*Did you mean 'goal'"),
        (
            REST.replace("[reward]", "discount = 0.9\n[reward]"),
            r"one of \[transitions\], \[map\] and \[graph\], got none",
        ),
    ],
)
def test_mistakes_are_named_with_line_and_column(load, text, message):
    with pytest.raises(InputError, match=message):
        load(text)


def test_a_line_of_a_map_is_no_table_of_the_file(load):
    """What stands inside of a drawing must not move the line numbers of other mistakes."""
    keys = 'terrains = { "[" = "fence", "]" = "gate", b = "bog", e = "elm", "=" = "bridge" }'
    text = with_map(keys, "\nS...\n[eb]\nbe=.\n...G\n")
    with pytest.raises(InputError, match=r"got 'stdd' at line 15 of problem\.toml"):
        load(text.replace("std = ", "stdd = "))
    assert load(text).mdp.num_states == 16


def test_a_map_survives_a_record_and_a_study(load, tmp_path):
    problem = load(with_map(WATER + "\nslip = 0.1"))
    copies = [problem_from_record(problem_to_record(problem))]
    with Study.create(tmp_path / "my.study", problem, inference_options={"num_particles": 100}):
        pass
    with Study.open(tmp_path / "my.study") as study:
        copies.append(study.problem)
    for again in copies:
        assert again.mdp.state_labels == problem.mdp.state_labels
        assert again.mdp.grid.kinds == problem.mdp.grid.kinds
        assert np.array_equal(again.mdp.grid.moves, problem.mdp.grid.moves)
        assert np.array_equal(again.mdp.dense_transitions(), problem.mdp.dense_transitions())
