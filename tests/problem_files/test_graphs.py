"""A graph is a problem: nodes, edges and labels, and mistakes with their place."""

import numpy as np
import pytest
from problem_files.texts import REST

from journeyman.errors import InputError
from journeyman.problem_files import explain, problem_from_record, problem_to_record
from journeyman.study import Study

EDGES = '[["home", "fork"], ["fork", "pond"], ["fork", "field"]]'
LABELLED = '[["home", "fork", "in", "out"], ["fork", "pond", "left", "back"], ["fork", "field", "right", "back"]]'


def with_graph(keys="", edges=EDGES, rest=REST):
    return f"discount = 0.9\n[graph]\nedges = {edges}\n{keys}\n{rest}"


def ways(mdp):
    """Return where each action leads from each node that is not terminal: {node: {action: {next: chance}}}."""
    found = {}
    for s in np.flatnonzero(~mdp.terminal):
        found[mdp.state_name(s)] = {
            mdp.action_name(a): {
                mdp.state_name(int(n)): round(float(p), 12) for n, p in zip(*mdp.next_states(s, a), strict=True)
            }
            for a in np.flatnonzero(mdp.available[s])
        }
    return found


def test_actions_are_called_by_where_they_lead(load):
    mdp = load(with_graph()).mdp
    assert mdp.state_labels == mdp.action_labels == ("home", "fork", "pond", "field")
    assert ways(mdp) == {
        "home": {"fork": {"fork": 1.0}},
        "fork": {"home": {"home": 1.0}, "pond": {"pond": 1.0}, "field": {"field": 1.0}},
        "pond": {"fork": {"fork": 1.0}},
        "field": {"fork": {"fork": 1.0}},
    }
    assert not mdp.terminal.any()


def test_actions_are_called_by_labels(load):
    mdp = load(with_graph(edges=LABELLED)).mdp
    assert mdp.action_labels == ("in", "out", "left", "back", "right")
    assert ways(mdp)["fork"] == {"out": {"home": 1.0}, "left": {"pond": 1.0}, "right": {"field": 1.0}}
    assert ways(mdp)["pond"] == {"back": {"fork": 1.0}}


def test_directed_edges_end_where_no_edge_leaves(load):
    mdp = load(with_graph("directed = true")).mdp
    assert mdp.action_labels == ("fork", "pond", "field")
    assert [mdp.state_name(s) for s in np.flatnonzero(mdp.terminal)] == ["pond", "field"]


def test_terminal_stay_and_slip(load):
    states = '[states]\ninitial = ["home"]\nterminal = ["pond"]\n'
    mdp = load(with_graph("stay = true\nslip = 0.2", LABELLED, REST + states)).mdp
    assert mdp.action_labels == ("in", "out", "left", "back", "right", "stay")
    assert np.flatnonzero(mdp.terminal).tolist() == [2]
    assert mdp.initial.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert ways(mdp)["home"] == {"in": {"fork": 0.9, "home": 0.1}, "stay": {"home": 0.9, "fork": 0.1}}
    assert ways(mdp)["fork"]["left"] == {"home": 0.05, "pond": 0.85, "field": 0.05, "fork": 0.05}
    assert "pond" not in ways(mdp)


def test_a_table_of_edges_and_one_of_nodes(load):
    edges = "from;to;action;back;note\nhome;fork;in;out;x\nfork;pond;left;back;\nfork;field;right;back;\n"
    nodes = "node,x,y\npond,-1,2\nhome,0,0\nfork,0,1\nfield,1,2\n"
    text = with_graph('nodes = "nodes.csv"', '"edges.csv"')
    mdp = load(text, edges_dot_csv="\ufeff" + edges, nodes_dot_csv=nodes).mdp
    assert mdp.state_labels == ("pond", "home", "fork", "field")
    assert mdp.coordinates.tolist() == [[-1.0, 2.0], [0.0, 0.0], [0.0, 1.0], [1.0, 2.0]]
    assert ways(mdp) == ways(load(with_graph(edges=LABELLED)).mdp)
    places = load(with_graph('coordinates = "nodes.csv"', LABELLED), nodes_dot_csv=nodes).mdp.coordinates
    assert places.tolist() == [[0.0, 0.0], [0.0, 1.0], [-1.0, 2.0], [1.0, 2.0]]
    table = "coordinates = { fork = [0, 1], home = [0, 0], pond = [-1, 2], field = [1, 2] }"
    assert np.array_equal(load(with_graph(table, LABELLED)).mdp.coordinates, places)
    load(with_graph(table, rest=REST.replace('"normal"', '"multivariate_normal"\nlength_scale = 1.0')))


@pytest.mark.parametrize("first", [0, 1])
def test_nodes_may_be_numbers(load, first):
    edges = [[first + 2, first + 1], [first, first + 1]]
    mdp = load(with_graph(edges=str(edges), rest=REST + f'[states]\ninitial = ["{first}"]\n')).mdp
    assert mdp.state_labels == (None if first == 0 else ("1", "2", "3"))
    assert mdp.action_labels == tuple(str(first + i) for i in range(3))
    assert mdp.initial.tolist() == [1.0, 0.0, 0.0]
    if first == 1:
        with pytest.raises(InputError, match="named by its label where labels look like numbers, got the number 1"):
            load(with_graph(edges=str(edges), rest=REST + "[states]\ninitial = [1]\n"))


def test_a_loop_stays_in_place(load):
    mdp = load(with_graph(edges='[["home", "home"], ["home", "fork"]]')).mdp
    assert ways(mdp)["home"] == {"home": {"home": 1.0}, "fork": {"fork": 1.0}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (with_graph(edges="[]"), r"\[graph\], line 3 of problem\.toml: a graph must have at least one edge"),
        (with_graph(edges='[["home"]]'), r"a list of two nodes, .* got \['home'\] as edge 0"),
        (with_graph(edges='[["home", ""]]'), "a node must have a name, got '' at edge 0"),
        (with_graph(edges='[["home", 1.5]]'), "a node must have a name, got 1.5"),
        (with_graph(edges='[["a", "b"], ["b", "a"]]'), r"given once, got edge 1 .* after edge 0 .*both ways unless"),
        (with_graph(edges='[["a", "b", "x", "y"], ["a", "c", "x", "y"]]'), "'x' at node 'a' leading to 'b' .* to 'c'"),
        (with_graph(edges='[["a", "b", "x", "y"], ["b", "c"]]'), "all edges must have an action label, or none"),
        (with_graph(edges='[["a", "b", "x"]]'), "a label for the way back too, got 'x' alone at edge 0"),
        (with_graph("directed = true", '[["a", "b", "x", "y"]]'), "left out where directed = true, got 'y'"),
        (with_graph('nodes = ["home", "frok", "pond", "field"]'), "got 'fork'. Did you mean 'frok'"),
        (with_graph('nodes = ["home", "fork", "pond", "field", "attic"]'), "must have an edge, got none at attic"),
        (
            with_graph('nodes = ["home", "home"]'),
            r"line 4 of problem\.toml: nodes must have different names, got 'home'",
        ),
        (with_graph(edges='[["home", "fork"], ["Fork", "pond"]]'), "more than capital letters, got 'fork' and 'Fork'"),
        (with_graph("coordinates = { home = [0, 0] }"), "once for each node, got none for 'fork'"),
        (with_graph("coordinates = { hoem = [0, 0] }"), r"line 4 of problem\.toml: .* Did you mean 'home'"),
        (
            with_graph('coordinates = { home = ["x", 0], fork = [0, 1] }', '[["home", "fork"]]'),
            r"line 4 of problem\.toml: coordinates must be numbers",
        ),
        (with_graph("coordinates = { home = [0], fork = [0, 1] }", '[["home", "fork"]]'), r"must be \[x, y\] for each"),
        (with_graph("coordinates = 3"), "a table or a file, got 3"),
        (with_graph("undirected = true"), r"got 'undirected' at line 4 .* Did you mean 'directed'"),
        (with_graph("slip = -1"), "slip must be a chance"),
        (with_graph("stay = true", '[["a", "b", "stay", "y"]]'), "an edge is called 'stay' already"),
        (with_graph(rest=REST + '[states]\nlabels = ["a"]\n'), "left out where a graph is given"),
        (with_graph(rest=REST + '[states]\ninitial = ["hoem"]\n'), "Did you mean 'home'"),
    ],
)
def test_mistakes_are_said_with_their_place(load, text, message):
    with pytest.raises(InputError, match=message):
        load(text)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("from,to\nhome,fork\nhome,fork\n", r"got line 3 of edges\.csv after line 2 of edges\.csv"),
        ("from,to\nhome,\n", r"a node must have a name, got '' at line 2 of edges\.csv"),
        ("source,to\nhome,fork\n", r"must have the columns from, to, got source, to in edges\.csv"),
        ("from,to\n", "a header and at least one line below it"),
    ],
)
def test_mistakes_of_a_table_name_its_lines(load, table, message):
    with pytest.raises(InputError, match=message):
        load(with_graph(edges='"edges.csv"'), edges_dot_csv=table)


def test_a_labyrinth_with_actions_by_destination(load, tmp_path):
    """127 nodes give 127 actions of which few exist anywhere: it works, and labels are advised."""
    tree = [[(child - 1) // 2, child] for child in range(1, 127)]
    problem = load(with_graph(edges=str(tree), rest=REST + "[states]\ninitial = [0]\n"))
    assert (problem.mdp.num_states, problem.mdp.num_actions) == (127, 127)
    assert problem.mdp.available.sum(axis=1).max() == 3
    found = explain(problem, num_rewards=20)
    assert any("127 actions, but at most 3 in a state" in warning for warning in found.warnings)
    again = problem_from_record(problem_to_record(problem))
    assert np.array_equal(again.mdp.available, problem.mdp.available)


def test_a_graph_survives_a_study(load, tmp_path):
    table = "coordinates = { fork = [0, 1], home = [0, 0], pond = [-1, 2], field = [1, 2] }"
    problem = load(with_graph(table, LABELLED))
    with Study.create(tmp_path / "my.study", problem, inference_options={"num_particles": 100}):
        pass
    with Study.open(tmp_path / "my.study") as study:
        again = study.problem.mdp
    assert again.state_labels == problem.mdp.state_labels
    assert np.array_equal(again.coordinates, problem.mdp.coordinates)
    assert ways(again) == ways(problem.mdp)


@pytest.mark.parametrize(("name", "what", "order"), [("states", "nodes", "nodes"), ("actions", "actions", "edges")])
def test_labels_beside_a_graph_are_refused_with_where_their_order_comes_from(load, name, what, order):
    with pytest.raises(InputError, match=rf"Its {what} have names already, in the order of \[graph\] {order}"):
        load(with_graph(edges=LABELLED, rest=f'[{name}]\nlabels = ["a"]\n{REST}'))
