"""Problems as a page draws them: grids, graphs, memories, pictures, and the keys of actions."""

import numpy as np
import pytest
from studio.running import QUICK, Person, running

from journeyman.mdp import FiniteMDP
from journeyman.mdp.automata import visited
from journeyman.studio.describing import action_records, found_pictures, problem_record
from journeyman.studio.making import sent_problem
from journeyman.study import Study
from journeyman.worlds import make_world

CROSS = "from,to,action,back\nmid,north,up,down\nmid,east,go,back\nmid,south,down,up\nsouth,cave,in,out\n"
PNG = bytes.fromhex("89504e470d0a1a0a")


def test_a_grid_has_cells_walls_and_what_actions_lead_to():
    problem = sent_problem("map", "#####\n#S.##\n#.~G#\n#####\n", {})
    record, mdp = problem_record(problem, {}), problem.mdp
    grid, states = record["grid"], record["states"]
    assert record["drawing"] == "grid"
    assert len(grid["cells"]) + len(grid["walls"]) == grid["rows"] * grid["columns"]
    assert not {tuple(cell) for cell in grid["cells"]} & {tuple(wall) for wall in grid["walls"]}
    assert states["terminal"].count(True) == 1 and states["kinds"][states["terminal"].index(True)] == "goal"
    for state in range(mdp.num_states):
        for action in range(mdp.num_actions):
            chances = [chance for _, chance in record["outcomes"][state][action]]
            assert sum(chances) == pytest.approx(1.0) or not mdp.available[state, action] or mdp.terminal[state]


def test_keys_of_a_grid_are_arrows_letters_space_and_numbers():
    mdp = make_world("jail", 0).problem.mdp
    keys = {record["label"]: record["keys"] for record in action_records(mdp, 14)}
    assert keys["stay"] == [" ", "0"]
    assert keys["up"][:2] == ["ArrowUp", "w"] and keys["left"][:2] == ["ArrowLeft", "a"]
    pressed = [key for several in keys.values() for key in several]
    assert len(pressed) == len(set(pressed))


def test_arrows_on_a_graph_point_at_neighbours():
    problem = sent_problem("graph", CROSS, {})
    record, mdp = problem_record(problem, {}), problem.mdp
    assert record["drawing"] == "graph" and record["grid"] is None
    places, names = np.array(record["graph"]["places"]), record["graph"]["names"]
    assert {names[link["from"]] for link in record["graph"]["links"]} <= set(names)
    middle = mdp.state_names.index("mid")
    steps = {"ArrowUp": (0, 1), "ArrowDown": (0, -1), "ArrowLeft": (-1, 0), "ArrowRight": (1, 0)}
    found = 0
    for choice in action_records(mdp, middle):
        assert choice["words"]
        for key in choice["keys"]:
            if key in steps:
                across = places[choice["leads_to"]] - places[middle]
                assert across @ steps[key] > 0.3 * np.hypot(*across)
                found += 1
    assert found == 3  # one for each neighbour


def test_states_that_remember_share_a_place():
    mdp = make_world("random-grid", 1, size=2, terminals="independent").problem
    remembering = mdp.with_memory(visited(mdp.mdp, 0))
    record = problem_record(remembering, {})
    states = record["states"]
    assert len(states["places"]) == record["num_states"] > len(record["grid"]["cells"]) == 4
    assert max(states["places"]) < 4
    assert len(set(states["remembered"])) > 1


def test_many_actions_have_keys_as_far_as_they_last():
    transitions = np.zeros((2, 40, 2))
    transitions[:, :, 0] = 1.0
    mdp = FiniteMDP.from_dense(transitions, layout="SAS", discount=0.9)
    keys = [record["keys"] for record in action_records(mdp, 0)]
    assert keys[0] == ["0"] and keys[10] == ["b"] and keys[-1] == []
    given = [key for several in keys for key in several]
    assert len(given) == len(set(given))


def test_pictures_are_named_by_label_or_number(tmp_path):
    for name in ("mid.png", "2.JPG", "nowhere.png", "mid.txt", "cave.svg"):
        (tmp_path / name).write_bytes(PNG)
    problem = sent_problem("graph", CROSS, {})
    assert sorted(found_pictures(tmp_path, problem.mdp)) == sorted({problem.mdp.state_names.index("mid"), 2})
    with Study.create(tmp_path / "p.study", problem, **QUICK):
        pass
    with running(Study.open(tmp_path / "p.study"), pictures=tmp_path) as served:
        shown = served.request("GET", "/api/studies/p").json()["problem"]["states"]["pictures"]
        assert shown.count(True) == 2
        picture = served.request("GET", f"/api/studies/p/pictures/{problem.mdp.state_names.index('mid')}")
        assert (picture.content, picture.headers["content-type"]) == (PNG, "image/png")
        assert Person(served, "p").get("pictures/4").status_code == (200 if shown[4] else 404)


def test_cells_of_maps_are_named_once():
    record = problem_record(sent_problem("map", "#####\n#S..#\n#.~G#\n#####\n", {}), {})
    assert record["states"]["words"][1] == "row 1, column 2 (plain)"
    assert record["states"]["words"][0] == "start (row 1, column 1, plain)"
