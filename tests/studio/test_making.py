"""New studies from worlds and from what people send: parsed within limits, and no other file is read."""

import pytest
from problem_files.texts import REST
from studio.running import running

from journeyman.errors import InputError
from journeyman.studio import making
from journeyman.study import Study

MAP = "#####\n#S..#\n#.~G#\n#####\n"
GRAPH = "from,to,action,back\nhome,lane,east,west\nlane,shop,east,west\n"
TOML = (
    """
discount = 0.9
[graph]
edges = "edges.csv"
[states]
initial = ["home"]
"""
    + REST
)
ORDER = {"world": None, "epsilon": 0.1, "delta": 0.1, "answers": "state", "length": None}


def order(kind, text, **tables):
    return {**ORDER, "problem": {"kind": kind, "text": text, "tables": tables}}


@pytest.mark.parametrize(
    ("kind", "text", "tables", "num_states"),
    [("map", MAP, {}, 6), ("graph", GRAPH, {}, 3), ("toml", TOML, {"edges.csv": GRAPH}, 3)],
)
def test_what_is_sent_becomes_a_problem(kind, text, tables, num_states):
    assert making.sent_problem(kind, text, tables).mdp.num_states == num_states


def test_a_study_is_made_in_a_process_of_its_own(grid):
    with running(Study.open(grid), folder=grid.parent) as served:
        body = {"name": "maze", "problem": {"kind": "map", "text": MAP}, "answers": "trajectory", "epsilon": "5%"}
        made = served.request("POST", "/api/studies", json=body)
        assert (made.status_code, made.json()) == (201, {"name": "maze"})
        shown = served.request("GET", "/api/studies/maze").json()
        assert (shown["kind"], shown["length"], shown["epsilon"]) == ("trajectory", 20, "5%")
        assert (shown["problem"]["drawing"], shown["problem"]["grid"]["rows"]) == ("grid", 4)
        again = served.request("POST", "/api/studies", json=body)
        assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")
        names = [one["name"] for one in served.request("GET", "/api/studies").json()["studies"]]
        assert names == ["grid", "maze"]
    assert sorted(path.name for path in grid.parent.glob("*.study")) == ["grid.study", "maze.study"]


def test_worlds(tmp_path):
    making._made(tmp_path / "jail.study", {**ORDER, "world": {"name": "jail", "seed": 3}, "problem": None})
    with Study.open(tmp_path / "jail.study", read_only=True) as study:
        assert (study.problem.mdp.num_states, study.settings.seed) == (36, 3)
    for name in ("gym:FrozenLake-v1", "nowhere", "os.system"):
        with pytest.raises(InputError, match="a world must be one of"):
            making._made(tmp_path / "x.study", {**ORDER, "world": {"name": name, "seed": 0}, "problem": None})
    assert not (tmp_path / "x.study").exists()


def test_no_file_but_those_that_were_sent_is_read(tmp_path):
    outside = tmp_path / "outside.csv"
    outside.write_text(GRAPH)
    for name in (str(outside), "../outside.csv", "/etc/passwd", "sub/edges.csv", "..\\\\edges.csv", ".", ""):
        with pytest.raises(InputError, match="must name a file"):
            making.sent_problem("toml", TOML.replace("edges.csv", name), {"edges.csv": GRAPH})
    for name in ("../edges.csv", "/tmp/edges.csv", "edges.npz", "edges.pkl", ".csv", ""):
        with pytest.raises(InputError, match="a table must be a text file"):
            making.sent_problem("toml", TOML, {name: GRAPH})


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("map", "...", "start"),
        ("map", "S" + "." * 5000, "at most 5000 states"),
        ("graph", "a,b\n1,2\n", "from"),
        ("graph", "from,to\n", "line"),
        ("toml", "discount = ", "TOML"),
        ("toml", "x = 1", "keys"),
        ("toml", "", "discount"),
        ("toml", "a = " + "[" * 2000 + "]" * 2000, "recursion|keys|nested|TOML"),
    ],
)
def test_problems_that_cannot_be_are_explained(tmp_path, kind, text, words):
    with pytest.raises((InputError, RecursionError), match=words):
        making._made(tmp_path / "x.study", order(kind, text))
    assert not (tmp_path / "x.study").exists()


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"name": "../x"}, 422),
        ({"name": ".hidden"}, 422),
        ({"name": ""}, 422),
        ({"name": "a/b"}, 422),
        ({"delta": 0}, 422),
        ({"epsilon": "much"}, 422),
        ({"answers": "dreams"}, 422),
        ({"world": {"name": "jail"}}, 400),
        ({"problem": None}, 400),
        ({"problem": {"kind": "pickle", "text": "x"}}, 422),
        ({"problem": {"kind": "map", "text": MAP, "tables": {f"{i}.csv": "" for i in range(21)}}}, 422),
        ({"problem": {"kind": "toml", "text": "x" * 1_500_000, "tables": {"a.csv": "y" * 900_000}}}, 400),
        ({"problem": {"kind": "map", "text": "x" * 3_000_000}}, 413),
    ],
)
def test_orders_that_are_wrong_are_refused_before_anything_is_made(module_served, change, status):
    body = {"name": "new", "problem": {"kind": "map", "text": MAP}} | change
    response = module_served.request("POST", "/api/studies", json=body)
    assert response.status_code == status
    assert response.json()["error"]["message"]


@pytest.fixture(scope="module")
def module_served(asked, tmp_path_factory):
    path = tmp_path_factory.mktemp("orders") / "grid.study"
    path.write_bytes(asked)
    with running(Study.open(path), folder=path.parent) as served:
        yield served


def test_nothing_is_made_where_that_is_not_wanted(grid):
    for options in ({}, {"folder": grid.parent, "can_create": False}):
        with running(Study.open(grid), **options) as served:
            assert served.request("GET", "/api/studies").json()["can_create"] is False
            body = {"name": "maze", "problem": {"kind": "map", "text": MAP}}
            assert served.request("POST", "/api/studies", json=body).status_code == 403


def test_the_studies_of_a_folder_can_be_opened_where_none_was_named(grid):
    with running(None, folder=grid.parent, lists_folder=True) as served:
        listed = served.request("GET", "/api/studies").json()
        assert listed["default"] is None
        assert listed["studies"] == [{"name": "grid", "is_open": False, "num_answers": 0, "num_states": None}]
        with running(None, folder=grid.parent, lists_folder=True) as other:
            assert other.request("GET", "/api/studies/grid").status_code == 200
            refused = served.request("GET", "/api/studies/grid")
            assert refused.status_code == 400
            assert "one studio at a time" in refused.json()["error"]["message"]
        assert served.request("GET", "/api/studies/grid").json()["problem"]["num_states"] == 9
        assert served.request("GET", "/api/studies").json()["studies"][0]["is_open"] is True
        assert served.request("GET", "/api/studies/other").status_code == 404
