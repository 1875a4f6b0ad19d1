"""Kernels give the same bits wherever their arrays lie.

Compiled loops over arrays that might overlap come in two forms, and how far apart arrays begin decides which one runs.
If one of them adds up in another order, results differ between processes. So all arrays are put into one block of
memory, in random order and with little between them, and compared with the same arrays far apart.
"""

import numpy as np
import pytest
from inference.test_expert_target import EXPERTS

from journeyman.demonstrations import Demonstration
from journeyman.experts import Boltzmann
from journeyman.inference import kernels
from journeyman.inference.expert.target import ExpertTarget
from journeyman.inference.target import Target
from journeyman.mdp import kernels as mdp_kernels, krylov, solve_batch
from journeyman.mdp.ordering import shared_rows_of
from journeyman.mdp.soft import solve_soft
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState
from journeyman.worlds import make_world

NUM_LAYOUTS = 25
FAR = 1 << 14  # bytes


def arrays_in(thing):
    """Yield the arrays of tuples within tuples."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, tuple):
        for part in thing:
            yield from arrays_in(part)


def replaced(thing, copies):
    """Return the same with copies for its arrays."""
    if isinstance(thing, np.ndarray):
        return next(copies)
    if isinstance(thing, tuple):
        parts = [replaced(part, copies) for part in thing]
        return type(thing)(*parts) if hasattr(thing, "_fields") else tuple(parts)
    return thing


def laid_out(thing, rng):
    """Return copies of all arrays in one block: in random order and near each other, or far apart without `rng`."""
    arrays = list(arrays_in(thing))
    gaps = [FAR if rng is None else 8 * int(rng.integers(1, 9)) for _ in arrays]
    block = np.zeros(sum(array.nbytes + 8 for array in arrays) + sum(gaps) + 64, dtype=np.uint8)
    copies, at = [None] * len(arrays), -block.ctypes.data % 64
    for number in range(len(arrays)) if rng is None else rng.permutation(len(arrays)):
        array = arrays[number]
        at += -at % 8
        copy = block[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        copy.flags.writeable = array.flags.writeable  # else another copy of the kernel would be compiled
        copies[number] = copy
        at += array.nbytes + gaps[number]
    return replaced(thing, iter(copies))


def check_layouts(run_fn, thing):
    """Run a kernel on arrays far apart and near each other; what `run_fn` returns and all arrays must be the same."""
    rng, found = np.random.default_rng(0), []
    for number in range(NUM_LAYOUTS + 1):
        placed = laid_out(thing, None if number == 0 else rng)
        returned = run_fn(placed)
        found.append([np.float64(returned).tobytes(), *(array.tobytes() for array in arrays_in(placed))])
    for other in found[1:]:
        assert other == found[0]


def problem_of(size, expert):
    mdp = make_world("random-grid", 1, size=size, terminals="independent").problem.mdp
    problem = Problem(mdp, PerState(mdp), Normal(mdp.num_states), expert)
    states, names = np.flatnonzero(problem.queryable), problem.expert.annotators
    told = [
        Demonstration.annotation(
            int(states[i % len(states)]), i % 5, annotator=names[i % len(names)] if names else None
        )
        for i in range(12)
    ]
    return problem, told


def check_gradient(target):
    rng = np.random.default_rng(1)
    points = rng.standard_normal((6, target.dimension))

    def run(placed):
        model, data, work, points, gradients = placed
        total = [target.gradient_fn(model, data, work, z, out) for z, out in zip(points, gradients, strict=True)]
        return np.array(total).sum()

    check_layouts(run, (target.model, target.data, target.new_work(), points, np.zeros(points.shape)))


@pytest.mark.parametrize("engine", ["dense", "sparse"])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_gradients(size, engine):
    check_gradient(Target(*problem_of(size, Boltzmann(2.0)), engine=engine))


@pytest.mark.parametrize("name", EXPERTS)
def test_gradients_with_unknown_experts(name):
    for size in (2, 3, 5):
        check_gradient(ExpertTarget(*problem_of(size, EXPERTS[name])))


@pytest.mark.parametrize("size", [2, 3, 5])
def test_trajectories(size):
    """Momenta, scales and what is kept lie near each other, too."""
    target = Target(*problem_of(size, Boltzmann(2.0)))
    rng, num, moves, dimension = np.random.default_rng(2), 3, 4, target.dimension
    positions = rng.standard_normal((num, dimension))
    start = target.evaluate(positions)
    num_states = start.values.shape[1]
    kept = tuple(np.zeros((num, moves, size)) for size in (dimension, num_states))
    arrays = (
        positions, start.values, start.policies, rng.standard_normal((num, moves, dimension)),
        rng.random((num, moves)), 0.5 + rng.random(dimension), 0.1 * rng.random(dimension),
        np.full((num, moves), 0.05), np.full((num, moves), 20), np.zeros((num, moves, 0, 0)),
        np.zeros((num, moves, 0, 0)), *kept, np.zeros((num, moves, num_states), dtype=np.int64),
        np.zeros((num, moves)),
    )  # fmt: skip

    def run(placed):
        model, data, work, others = placed
        kernels.move_chains(target.gradient_fn, model, data, work, *others)
        return 0.0

    check_layouts(run, (target.model, target.data, target.new_work(), arrays))


def solve_by(method):
    def solve():
        mdp = make_world("random-grid", 1, size=4).problem.mdp
        solve_batch(mdp, np.random.default_rng(0).normal(size=(5, 16)), method=method, num_threads=1)

    return solve


def judge_actions():
    """As a posterior of a large problem does."""
    mdp = make_world("random-grid", 1, size=4).problem.mdp
    rewards, (chances, losses) = np.random.default_rng(0).normal(size=(5, 16, 1)), np.zeros((2, 16, 5))
    values, rows = solve_batch(mdp, rewards[:, :, 0], num_threads=1).values, shared_rows_of(mdp)
    arrays = (values, np.full(5, 0.2), np.full(5, 1e-9))
    mdp_kernels.add_chances(*rows.common, *rows.extra, mdp.available, rewards, *arrays, 0, chances, losses)


def solve_softly():
    problem, _ = problem_of(4, Boltzmann(2.0))
    solve_soft(problem.mdp, np.random.default_rng(0).normal(size=(3, 16)), np.full(3, 2.0), num_threads=1)


@pytest.mark.parametrize(
    ("module", "name", "use_fn"),
    [
        (mdp_kernels, "policy_iteration", solve_by("direct")),
        (mdp_kernels, "value_iteration", solve_by("sweeps")),
        (mdp_kernels, "read_off", solve_by("sweeps")),
        (mdp_kernels, "solve_soft", solve_softly),
        (mdp_kernels, "add_chances", judge_actions),
        (krylov, "settle", solve_by("krylov")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_solvers(monkeypatch, module, name, use_fn):
    kernel, calls = getattr(module, name), []

    def recorded(*arguments):
        calls.append(laid_out(arguments, None))
        return kernel(*arguments)

    monkeypatch.setattr(module, name, recorded)
    use_fn()
    assert calls
    check_layouts(lambda placed: kernel(*placed) or 0.0, calls[0])
