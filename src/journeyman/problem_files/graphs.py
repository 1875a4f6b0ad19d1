"""A graph is a problem: nodes are states, and an action goes along an edge.

Edges go both ways unless `directed = true`. Actions are called by where they lead, or by labels that edges have
("left", "right", "back"): the actions of a problem are all of these together, and each exists where an edge has it.
With chance `slip` an action of that node is done at random instead of the chosen one, each with the same chance (the
chosen one too, as on maps). A node that no edge leaves is terminal.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from journeyman.checks import float_array
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.mdp.names import Names, whole_or_none
from journeyman.mdp.rows import rows_from_columns
from journeyman.problem_files.tables import TomlTable, read_columns
from journeyman.storage.tables import is_missing
from journeyman.types import FloatArray

KEYS = ("edges", "nodes", "coordinates", "directed", "stay", "slip")
EDGES_EXAMPLE = 'edges = [["home", "fork"], ["fork", "pond"]], or edges = "edges.csv" with columns from, to'
STAY = "stay"
MAX_ROWS = 4_000_000  # states times actions


@dataclass(frozen=True)
class Edge:
    """One line of the list of edges; `action` and `back` are "" where actions are called by where they lead."""

    source: str
    target: str
    action: str
    back: str
    place: str


@dataclass(frozen=True)
class Step:
    """What an action does at a node."""

    source: int
    target: int
    action: str
    edge: Edge


def mdp_of_graph(
    table: TomlTable, discount: float, *, state_labels: Any, action_labels: Any, terminal: Any, has_initial: bool
) -> FiniteMDP:
    """Return the dynamics of a graph, with labels, available actions, and coordinates if they are given.

    `has_initial` does not matter: without [states] initial every node is a start.
    """
    table.check_keys(KEYS)
    _check_labels(table, state_labels, action_labels)
    with table.blamed("edges"):
        edges = _edges(table)
    nodes, coordinates = _nodes(table, edges)
    names = Names("node", len(nodes), nodes)
    directed = table.flag("directed", False)
    with table.blamed("edges"):
        _check_nodes_are_connected(edges, nodes)
        steps = _steps(edges, names, directed)
        actions = _actions(steps, nodes, table.flag("stay", False))
        if len(nodes) * len(actions) > MAX_ROWS:
            raise InputError(
                f"nodes times actions must be at most {MAX_ROWS:,}, got {len(nodes)} x {len(actions)}. Give edges "
                "labels such as left, right and back, so that there are few actions."
            )
    labels = None if nodes == tuple(map(str, range(len(nodes)))) else nodes
    ends = np.ones(len(nodes), dtype=bool)
    ends[[step.source for step in steps]] = False
    if terminal is not None:
        ends |= terminal(Names("state", len(nodes), labels))
    columns, available = _transitions(steps, actions, ends, table.chance("slip", 0.0))
    with table.blamed("edges"):
        return FiniteMDP(
            rows=rows_from_columns(len(nodes), len(actions), *columns),
            discount=discount,
            available=available,
            terminal=ends,
            state_labels=labels,
            action_labels=actions,
            coordinates=coordinates,
        )


def _check_labels(table: TomlTable, state_labels: Any, action_labels: Any) -> None:
    for name, labels, what in (("states", state_labels, "nodes"), ("actions", action_labels, "actions")):
        if labels is not None:
            other = table.file.table(name)
            raise InputError(
                f"labels must be left out where a graph is given, got them at {other.place('labels')}. Its {what} have "
                f"names already, in the order of [graph] {'nodes' if what == 'nodes' else 'edges'}."
            )


def _edges(table: TomlTable) -> list[Edge]:
    """Return the edges of a list or a file, each with two ends, and all or none of them with labels."""
    given = table.require("edges", EDGES_EXAMPLE)
    edges = _edges_of_file(table) if isinstance(given, str) else _edges_of_list(given)
    if not edges:
        raise InputError(f"a graph must have at least one edge, got none. Example: {EDGES_EXAMPLE}")
    labelled = next((edge for edge in edges if edge.action), None)
    plain = next((edge for edge in edges if not edge.action), None)
    if labelled is not None and plain is not None:
        raise InputError(
            f"either all edges must have an action label, or none, got {labelled.action!r} at {labelled.place} and "
            f"none at {plain.place}. Add or remove labels."
        )
    return edges


def _edges_of_list(given: Any) -> list[Edge]:
    found = []
    for number, item in enumerate(given if isinstance(given, list) else [given]):
        place = f"edge {number} ({item!r})"
        if not isinstance(item, list) or not 2 <= len(item) <= 4:
            raise InputError(
                f"an edge must be a list of two nodes, and perhaps the labels of the actions there and back, got "
                f"{item!r} as edge {number}. Example: {EDGES_EXAMPLE}"
            )
        source, target = (_node_name(name, place) for name in item[:2])
        action, back = (_word(word, place) for word in [*item[2:], "", ""][:2])
        found.append(Edge(source, target, action, back, place))
    return found


def _edges_of_file(table: TomlTable) -> list[Edge]:
    path = table.existing_file("edges", 'edges = "edges.csv"')
    lines = read_columns(path, "a table of edges")
    lines.check_has("from", "to", what="a table of edges")
    columns = [lines.values(name) if name in lines else [""] * len(lines) for name in ("from", "to", "action", "back")]
    found = []
    for row, (source, target, action, back) in enumerate(zip(*columns, strict=True)):
        place = lines.place(row)
        there, away = ("" if is_missing(word) else _word(word, place) for word in (action, back))
        found.append(Edge(_node_name(source, place), _node_name(target, place), there, away, place))
    return found


def _node_name(value: Any, place: str) -> str:
    """Return what a node is called: text, or a whole number as text."""
    number = None if isinstance(value, str) else whole_or_none(value)
    if number is not None:
        return str(number)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"a node must have a name, got {value!r} at {place}. Give a word or a whole number.")
    whole = whole_or_none(value)
    return value.strip() if whole is None else str(whole)


def _word(value: Any, place: str) -> str:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise InputError(f'an action must be called by a word, got {value!r} at {place}. Example: "left"')
    return str(value).strip()


def _nodes(table: TomlTable, edges: list[Edge]) -> tuple[tuple[str, ...], FloatArray | None]:
    """Return the nodes in their order, as given or in the order of edges (numbers by size), and where they lie."""
    used = list(dict.fromkeys(name for edge in edges for name in (edge.source, edge.target)))
    given = table.data.get("nodes")
    if given is None:
        _check_spelling(used, table)
        numbers = [whole_or_none(name) for name in used]
        nodes = tuple(used) if None in numbers else tuple(sorted(used, key=int))
        return nodes, _coordinates(table, Names("node", len(nodes), nodes))
    with table.blamed("nodes"):
        if isinstance(given, str):
            lines = read_columns(table.existing_file("nodes", 'nodes = "nodes.csv"'), "a table of nodes")
            lines.check_has("node", what="a table of nodes")
            nodes = tuple(_node_name(value, lines.place(row)) for row, value in enumerate(lines.values("node")))
        elif isinstance(given, list):
            lines, nodes = None, tuple(_node_name(value, "nodes") for value in given)
        else:
            raise InputError(
                f'nodes must be a list of names or a file, got {given!r}. Example: nodes = ["home", "fork"]'
            )
        again = next((name for i, name in enumerate(nodes) if name in nodes[:i]), None)
        if again is not None:
            raise InputError(f"nodes must have different names, got {again!r} twice. Remove or rename one.")
    names = Names("node", len(nodes), nodes)
    with table.blamed("edges"):
        for edge in edges:
            for name in (edge.source, edge.target):
                if name not in nodes:
                    _refuse_node(name, edge.place, names)
    if lines is not None and "x" in lines and "y" in lines:
        table.check_left_out(("coordinates",), "where the table of nodes has x and y", "Remove one of them.")
        with table.blamed("nodes"):
            return nodes, np.stack([lines.numbers("x"), lines.numbers("y")], axis=1)
    return nodes, _coordinates(table, names)


def _refuse_node(name: str, place: str, names: Names) -> None:
    """Say at which place a node is named that there is not, and which is meant."""
    try:
        names.index(name)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
    raise InputError(
        f"{place}: a node must be named as in the list of nodes, got {name!r}. Write its name, not its number."
    )


def _check_spelling(used: list[str], table: TomlTable) -> None:
    same: dict[str, str] = {}
    for name in used:
        if same.setdefault(name.casefold(), name) != name:
            raise InputError(
                f"nodes must differ by more than capital letters, got {same[name.casefold()]!r} and {name!r} at "
                f"{table.place('edges')}. Write them alike, or list all nodes if both are meant: nodes = [...]"
            )


def _coordinates(table: TomlTable, names: Names) -> FloatArray | None:
    """Return x and y `[S, 2]` of all nodes: a table {node = [x, y]}, or a file with the columns node, x, y."""
    given = table.data.get("coordinates")
    if given is None:
        return None
    example = "coordinates = { home = [0, 0], fork = [1, 0] }, or a file with the columns node, x, y"
    with table.blamed("coordinates"):
        if isinstance(given, str):
            path = table.existing_file("coordinates", 'coordinates = "nodes.csv"')
            lines = read_columns(path, "a table of coordinates")
            lines.check_has("node", "x", "y", what="a table of coordinates")
            where = lines.indices("node", lambda name: names.index(str(name)))
            pairs: Any = np.stack([lines.numbers("x"), lines.numbers("y")], axis=1)
        elif isinstance(given, dict):
            where = np.array([names.index(name) for name in given], dtype=np.int64)
            pairs = list(given.values())
            if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
                raise InputError(f"coordinates must be [x, y] for each node, got another. Example: {example}")
        else:
            raise InputError(f"coordinates must be a table or a file, got {given!r}. Example: {example}")
        missing = sorted(set(range(names.size)) - set(where.tolist()))
        if missing or len(where) != names.size:
            what = f"none for {(names.labels or ())[missing[0]]!r}" if missing else "some node twice"
            raise InputError(f"coordinates must be given once for each node, got {what}. Example: {example}")
        found = np.empty((names.size, 2))
        found[where] = float_array(pairs, "coordinates")
    return found


def _check_nodes_are_connected(edges: list[Edge], nodes: tuple[str, ...]) -> None:
    used = {name for edge in edges for name in (edge.source, edge.target)}
    alone = [name for name in nodes if name not in used]
    if alone:
        raise InputError(
            f"every node must have an edge, got none at {', '.join(alone[:8])}. Add one, or remove "
            f"{'it' if len(alone) == 1 else 'them'} from the nodes."
        )


def _steps(edges: list[Edge], names: Names, directed: bool) -> list[Step]:
    """Return what actions do at each node, both ways unless directed; an action must lead to one place."""
    found: dict[tuple[int, str], Step] = {}
    numbers = {name: number for number, name in enumerate(names.labels or ())}
    for edge in edges:
        source, target = numbers[edge.source], numbers[edge.target]
        ways = [(source, target, edge.action or edge.target)]
        if directed and edge.back:
            raise InputError(
                f"a label for the way back must be left out where directed = true, got {edge.back!r} at {edge.place}. "
                "Write the way back as an edge of its own."
            )
        if edge.back and not edge.action:
            raise InputError(
                f"an edge with a label for the way back must have one for the way there too, got {edge.back!r} alone "
                f"at {edge.place}. Add it, or leave both out."
            )
        if not directed and source != target:
            if edge.action and not edge.back:
                raise InputError(
                    f"an edge that goes both ways must have a label for the way back too, got {edge.action!r} alone at "
                    f'{edge.place}. Add it, such as "back" (column back), or say directed = true.'
                )
            ways.append((target, source, edge.back or edge.source))
        for start, end, action in ways:
            before = found.setdefault((start, action), Step(start, end, action, edge))
            if before.edge is not edge:
                _refuse_again(before, edge, names, end, directed)
    return list(found.values())


def _refuse_again(before: Step, edge: Edge, names: Names, end: int, directed: bool) -> None:
    labels = names.labels or ()
    where = f"{before.action!r} at node {labels[before.source]!r}"
    if before.target == end:
        ways = "" if directed else " Edges go both ways unless directed = true."
        raise InputError(f"an edge must be given once, got {edge.place} after {before.edge.place}.{ways} Remove one.")
    raise InputError(
        f"an action must lead to one node, got {where} leading to {labels[before.target]!r} ({before.edge.place}) and "
        f"to {labels[end]!r} ({edge.place}). Give them different labels."
    )


def _actions(steps: list[Step], nodes: tuple[str, ...], has_stay: bool) -> tuple[str, ...]:
    """Return the names of all actions: nodes that are led to, in their order, or labels in the order of edges."""
    used = dict.fromkeys(step.action for step in steps)
    is_by_label = bool(steps[0].edge.action)
    actions = tuple(used) if is_by_label else tuple(name for name in nodes if name in used)
    if not has_stay:
        return actions
    if STAY in actions:
        raise InputError(
            f"stay = true must not be said where an edge is called {STAY!r} already, got both. Remove one."
        )
    return (*actions, STAY)


def _transitions(steps: list[Step], actions: tuple[str, ...], ends: Any, slip: float) -> tuple[Any, Any]:
    """Return columns of the transitions, and `[S, A]` which actions exist: all, leading nowhere, in terminal nodes."""
    numbers = {name: number for number, name in enumerate(actions)}
    exits: dict[int, list[tuple[int, int]]] = {state: [] for state in np.flatnonzero(~ends).tolist()}
    for step in steps:
        if step.source in exits:
            exits[step.source].append((numbers[step.action], step.target))
    if STAY in numbers and all(step.action != STAY for step in steps):
        for state, ways in exits.items():
            ways.append((numbers[STAY], state))
    available = np.repeat(ends[:, None], len(actions), axis=1)
    columns: list[tuple[int, int, int, float]] = []
    for state, ways in exits.items():
        for action, target in ways:
            available[state, action] = True
            columns.append((state, action, target, 1.0 - slip))
            if slip > 0.0:
                columns += [(state, action, other, slip / len(ways)) for _, other in ways]
    return tuple(zip(*columns, strict=True)) if columns else ((),) * 4, available
