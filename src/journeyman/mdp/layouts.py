"""Where the states of a problem without a grid lie in a drawing, and which lines join them.

Coordinates are taken where the problem has them. Else the likely transitions decide, read as a graph without self
loops: a path becomes a line, a deep binary tree an H (so that a labyrinth of forks looks like one), a tree with few
leaves is drawn from its root down, a graph without cycles in layers, any other so that distances on paper are those in
the graph (stress majorisation: Gansner, Koren and North 2004). The same problem always gets the same drawing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from journeyman.mdp.memory import Panels
from journeyman.mdp.model import FiniteMDP
from journeyman.once import once_for_each
from journeyman.types import BoolArray, FloatArray, IntArray

MIN_STATES, MAX_LAID_OUT, MAX_STATES = 3, 500, 3000  # fewer say more as bars; more take too long, or have no room
MAX_DEGREE, FEW_LINKS = 8, 15  # links per state (counted at both ends) that a drawing can show, or this many in all
LIKELY = 0.5  # of the chance of the most likely next state
MIN_H_DEPTH, H_FILL = 4, 0.4  # depth and share of all places from which on a binary tree is drawn as an H
MAX_TIDY_LEAVES = 24  # of a tree that is drawn from top to bottom
MAX_LINE = 14  # states in a row of a path
NUM_SWEEPS, NUM_STEPS = 12, 250


class Links(NamedTuple):
    """Which places of a drawing are joined by lines.

    Parameters
    ----------
    pairs
        `[E, 2]` joined places, each pair once; one-way links lead from the first to the second.
    is_one_way
        `[E]` whether there is no likely way back.
    """

    pairs: IntArray
    is_one_way: BoolArray


@dataclass(frozen=True, eq=False)
class Layout:
    """A drawing of states as nodes, and of links.

    Parameters
    ----------
    places
        `[S, 2]` x (to the right) and y (upwards) of each state, neighbours about 1 apart. Where there is a memory, the
        world is drawn once for each panel of it, and places that no state has there come after those of the states.
    links
        Lines between places.
    names
        `[S]` what nodes are called: as in the world.
    panels
        What is remembered in each panel, and its upper left corner; none without a memory.
    numbers
        `[P, W]` which place is that of each state of the world in each panel.
    panel, world_states
        `[S]` panel and state of the world of each state.
    """

    places: FloatArray
    links: Links
    names: tuple[str, ...]
    panels: tuple[tuple[str, float, float], ...]
    numbers: IntArray
    panel: IntArray
    world_states: IntArray

    @cached_property
    def extent(self) -> tuple[float, float]:
        """Width and height, with room for nodes at the border."""
        width, height = np.ptp(self.places, axis=0) + 1.2
        return float(width), float(height)

    def seen_from(self, state: int, other: int) -> int:
        """Return which place stands for the state `other` in the panel of `state`."""
        return int(self.numbers[self.panel[state], self.world_states[other]])


def drawing_kind(mdp: FiniteMDP) -> str:
    """Return how an MDP is drawn: "grid"; "graph", where that can be read; else "bars"."""
    if mdp.grid is not None:
        return "grid"
    if mdp.num_states > MAX_STATES:
        return "bars"
    if mdp.memory is not None:
        panels = mdp.memory.panels
        is_small = len(panels.labels) * panels.world.num_states <= MAX_STATES
        return drawing_kind(panels.world) if is_small else "bars"
    if mdp.coordinates is not None:
        return "graph"
    links = layout_links(mdp)
    is_readable = 0 < len(links.pairs) <= max(FEW_LINKS, MAX_DEGREE * mdp.num_states // 2)
    return "graph" if MIN_STATES <= mdp.num_states <= MAX_LAID_OUT and is_readable else "bars"


@once_for_each
def layout_of(mdp: FiniteMDP) -> Layout:
    """Return where to draw the states of an MDP without a grid; computed once for each."""
    if mdp.memory is not None:
        return _panelled(mdp.memory.panels)
    links, places = layout_links(mdp), mdp.coordinates
    if places is None:
        directed = np.concatenate([links.pairs, links.pairs[~links.is_one_way][:, ::-1]])
        starts = np.flatnonzero(mdp.initial > 0)
        places = laid_out(mdp.num_states, directed, int(starts[0]) if len(starts) == 1 else None)
    states = np.arange(mdp.num_states)
    names = tuple(mdp.state_name(state) for state in range(mdp.num_states))
    return Layout(places / _spacing(places), links, names, (), states[None], np.zeros_like(states), states)


def _panelled(panels: Panels) -> Layout:
    """Return the drawing of a world once for each panel, in all of which it has the same places and links."""
    world, size, count = layout_of(panels.world), panels.world.num_states, len(panels.labels)
    numbers = np.full((count, size), -1, dtype=np.int64)
    numbers[panels.numbers, panels.places] = np.arange(len(panels.places))
    is_empty = numbers < 0
    numbers[is_empty] = len(panels.places) + np.arange(np.count_nonzero(is_empty))
    offsets = panels.offsets(world.places)
    places = np.empty((count * size, 2))
    places[numbers] = world.places + offsets[:, None]
    pairs = numbers[:, world.links.pairs].reshape(-1, 2)
    corner = [world.places[:, 0].min() - 0.5, world.places[:, 1].max() + 0.5]
    titles = tuple(
        (label, *(corner + offset).tolist()) for label, offset in zip(panels.labels, offsets, strict=True) if label
    )
    names = tuple(world.names[place] for place in panels.places.tolist())
    links = Links(pairs, np.tile(world.links.is_one_way, count))
    return Layout(places, links, names, titles, numbers, panels.numbers, panels.places)


@once_for_each
def layout_links(mdp: FiniteMDP) -> "Links":
    """Return which states to join, from the likely transitions."""
    rows, probabilities = mdp.rows, mdp.rows.probabilities
    sizes = np.diff(rows.indptr)
    states = np.repeat(np.arange(sizes.size) // mdp.num_actions, sizes)
    largest = np.zeros(sizes.size)
    np.maximum.at(largest, np.repeat(np.arange(sizes.size), sizes), probabilities)
    is_likely = probabilities >= LIKELY * np.repeat(largest, sizes)
    pairs = np.unique(np.column_stack([states[is_likely], rows.next_states[is_likely]]).astype(np.int64), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    known = set(map(tuple, pairs.tolist()))
    kept = [(first, second) for first, second in sorted(known) if first < second or (second, first) not in known]
    links = np.array(kept, dtype=np.int64).reshape(-1, 2)
    return Links(links, np.array([(second, first) not in known for first, second in kept], dtype=bool))


def likely_moves(mdp: FiniteMDP, chosen: BoolArray) -> IntArray:
    """Return `[K, 2]` places of states and of where the `chosen` actions `[S, A]` most likely lead, each pair once.

    Both are the same where the state does not change; where the episode ends there is none.
    """
    layout, pairs = layout_of(mdp), set()
    for state, action in np.argwhere(chosen & mdp.available & ~mdp.terminal[:, None]).tolist():
        following, chances = mdp.next_states(state, action)
        if len(following):
            pairs.add((state, layout.seen_from(state, int(following[chances.argmax()]))))
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def _spacing(places: FloatArray) -> float:
    """Return how far apart neighbours lie, ignoring a few that are much nearer than most."""
    if len(places) < 2:
        return 1.0
    nearest = np.sort(cKDTree(places).query(places, k=2)[0][:, 1])
    spacing = max(nearest[len(nearest) // 20], 0.3 * float(np.median(nearest)))
    return float(spacing) if spacing > 0.0 else max(float(np.ptp(places)) / len(places), 1e-9)


def laid_out(num_states: int, links: IntArray, root: int | None = None) -> FloatArray:
    """Return places `[S, 2]` for a graph: its connected parts, largest first, beside and below each other.

    Parameters
    ----------
    links
        `[E, 2]` directed, without self loops.
    root
        Where a tree should begin; default: in its middle.
    """
    graph = _matrix(num_states, links)
    count, labels = csgraph.connected_components(graph, directed=False)
    parts = sorted((np.flatnonzero(labels == part) for part in range(count)), key=lambda part: (-len(part), part[0]))
    drawings = []
    for part in parts:
        own = graph[part][:, part]
        start = int(np.searchsorted(part, root)) if root is not None and root in part else None
        drawings.append(_connected(own, start))
    places = np.zeros((num_states, 2))
    widest = max(float(np.ptp(drawing[:, 0])) for drawing in drawings)
    row_width = max(widest, 1.5 * float(np.sqrt(num_states)))
    x = y = bottom = 0.0
    for part, drawing in zip(parts, drawings, strict=True):
        width, height = np.ptp(drawing, axis=0)
        if x > 0.0 and x + width > row_width:
            x, y = 0.0, bottom - 1.5
        places[part] = drawing - [drawing[:, 0].min(), drawing[:, 1].max()] + [x, y]
        x, bottom = x + width + 1.5, min(bottom, y - height)
    return places


def _matrix(num_states: int, links: IntArray) -> Any:
    entries = (np.ones(len(links)), (links[:, 0], links[:, 1]))
    return sparse.csr_array(entries, shape=(num_states, num_states))


def _connected(graph: Any, root: int | None) -> FloatArray:
    """Return places for one connected part, neighbours about 1 apart."""
    size = graph.shape[0]
    if size == 1:
        return np.zeros((1, 2))
    both = sparse.csr_array(((graph + graph.T) > 0).astype(float))
    if both.nnz == 2 * (size - 1):
        degrees = np.diff(both.indptr)
        if degrees.max() <= 2:
            return _line(both, degrees, root)
        return _tree(both, root)
    if csgraph.connected_components(graph, connection="strong")[0] == size:
        return _layers(graph)
    return _stress(both)


def _line(both: Any, degrees: IntArray, root: int | None) -> FloatArray:
    """Lay a path out from left to right, and back again below where it is long."""
    ends = np.flatnonzero(degrees == 1)
    start = int(root) if root is not None and root in ends else int(ends[0])
    order = csgraph.depth_first_order(both, start, directed=False, return_predecessors=False)
    size = len(order)
    width = size if size <= MAX_LINE else int(np.ceil(np.sqrt(2.0 * size)))
    row, column = np.divmod(np.arange(size), width)
    places = np.empty((size, 2))
    places[order] = np.column_stack([np.where(row % 2 == 0, column, width - 1 - column), -row])
    return places


def _tree(both: Any, root: int | None) -> FloatArray:
    """Lay a tree out: a deep binary one as an H, one with few leaves from top to bottom, any other by distances."""
    if root is None:
        steps = csgraph.shortest_path(both, unweighted=True)
        root = int(steps.max(axis=1).argmin())
    order, parents = csgraph.breadth_first_order(both, root, directed=False)
    children: list[list[int]] = [[] for _ in order]
    depth = np.zeros(len(order), dtype=np.int64)
    for state in sorted(order[1:].tolist()):
        children[parents[state]].append(state)
    for state in order[1:].tolist():
        depth[state] = depth[parents[state]] + 1
    deepest = int(depth.max())
    is_binary = max(map(len, children)) <= 2
    if is_binary and deepest >= MIN_H_DEPTH and len(order) >= H_FILL * (2 ** (deepest + 1) - 1):
        return _h_tree(order, children, depth)
    leaves = [state for state in _depth_first(root, children) if not children[state]]
    if len(leaves) > MAX_TIDY_LEAVES:
        return _stress(both)
    x = np.zeros(len(order))
    x[leaves] = np.arange(len(leaves))
    for state in order[::-1].tolist():
        if children[state]:
            x[state] = 0.5 * (x[children[state][0]] + x[children[state][-1]])
    step = np.clip(0.45 * len(leaves) / deepest, 1.0, 2.0)
    return np.column_stack([x, -step * depth])


def _depth_first(root: int, children: list[list[int]]) -> Iterator[int]:
    """Yield all states below a root, each before what is below it, first children first."""
    waiting = [root]
    while waiting:
        state = waiting.pop()
        yield state
        waiting += reversed(children[state])


def _h_tree(order: IntArray, children: list[list[int]], depth: IntArray) -> FloatArray:
    """Lay a binary tree out as an H of H's: forks lie left and right, then above and below, in ever shorter steps."""
    deepest = int(depth.max())
    places = np.zeros((len(order), 2))
    for state in order.tolist():
        below = depth[state] + 1
        length = 2.0 ** ((deepest - below) // 2)
        turn = np.array([-length, 0.0]) if below % 2 == 1 else np.array([0.0, length])
        for child, side in zip(children[state], (1.0, -1.0), strict=False):
            places[child] = places[state] + side * turn
    return places


def _layers(graph: Any) -> FloatArray:
    """Lay a graph without cycles out in layers, from its sources down, with few crossings."""
    size = graph.shape[0]
    layer = np.zeros(size, dtype=np.int64)
    for _ in range(size):  # the longest way from a source
        first, second = graph.nonzero()
        deeper = layer.copy()
        np.maximum.at(deeper, second, layer[first] + 1)
        if (deeper == layer).all():
            break
        layer = deeper
    both = sparse.csr_array(((graph + graph.T) > 0).astype(float))
    degrees = np.maximum(np.diff(both.indptr), 1)
    x = np.zeros(size)
    members = [np.flatnonzero(layer == level) for level in range(int(layer.max()) + 1)]
    for states in members:
        x[states] = np.arange(len(states)) - 0.5 * (len(states) - 1)
    for sweep in range(NUM_SWEEPS):
        for states in members if sweep % 2 == 0 else members[::-1]:
            middles = (both @ x)[states] / degrees[states]
            ranked = states[np.argsort(middles, kind="stable")]
            x[ranked] = np.arange(len(states)) - 0.5 * (len(states) - 1)
    step = np.clip(0.4 * max(map(len, members)) / len(members), 1.2, 2.5)
    return np.column_stack([x, -step * layer])


def _stress(both: Any) -> FloatArray:
    """Lay a graph out so that distances are those in the graph, the nearer the more exactly.

    Minimises the sum over pairs of (|x_i - x_j| - d_ij)^2 / d_ij^2, from where classical scaling puts the states.
    """
    steps = csgraph.shortest_path(both, unweighted=True)
    size = len(steps)
    centring = np.eye(size) - 1.0 / size
    sizes, axes = np.linalg.eigh(-0.5 * centring @ (steps**2) @ centring)
    places = axes[:, [-1, -2]] * np.sqrt(np.maximum(sizes[[-1, -2]], 0.0))
    places = places + 1e-5 * np.random.default_rng(0).standard_normal(places.shape)  # twins must come apart
    with np.errstate(divide="ignore"):
        weights = np.where(steps > 0.0, 1.0 / steps**2, 0.0)
    wanted = weights * steps
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(NUM_STEPS):
        pull = wanted / np.maximum(cdist(places, places), 1e-9)
        moved = inverse @ (pull.sum(axis=1)[:, None] * places - pull @ places)
        is_still = np.abs(moved - places).max() < 1e-3
        places = moved
        if is_still:
            break
    _, _, turn = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    places = (places - places.mean(axis=0)) @ turn.T  # wider than high
    places = places * np.where(places[0] * [1, -1] > 0.0, -1.0, 1.0)  # state 0 lies at the upper left
    return np.asarray(places / _spacing(places))
