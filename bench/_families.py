"""Families of small worlds whose truth is a draw from the prior, and adaptive runs on them: is what they certify so?

What a world's seed draws besides the truth (dynamics, features, known rewards) is drawn apart from it. So of all
certificates at delta, a share of at most delta may be wrong.
"""

import time
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from journeyman.learner import ActiveLearner, simulate
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures, Normal, PerState, PerStateAction, Prior, Uniform
from journeyman.worlds import World, make_world
from journeyman.worlds.gridworld import gridworld

LIMIT = 40  # answers
DISCOUNT = 0.9


class Family(NamedTuple):
    """Worlds by seed, the claim to certify about them, and settings of the learner other than its defaults."""

    world_fn: Callable[[int], World]
    epsilon: float
    delta: float = 0.1
    options: Mapping[str, Any] = {}


def run_family(name: str, seed: int) -> dict[str, Any]:
    """Let a learner ask until its certificate is confirmed, or LIMIT times; say what it claims and whether that is so.

    `first_` is of the first certificate that held, which may not have been confirmed; None if there was none.
    """
    family = FAMILIES[name]
    world = family.world_fn(seed)
    begin, first = time.process_time(), {"first_answers": None, "first_is_wrong": None}
    learner = ActiveLearner(
        world.problem, epsilon=family.epsilon, delta=family.delta, seed=seed, num_threads=1, is_checked=False,
        **family.options,
    )  # fmt: skip

    def is_wrong() -> bool:
        return lost(world, learner.apprentice(), learner.settings.scope) >= family.epsilon

    def look(_: Any = None) -> None:
        if first["first_answers"] is None and learner.certificate().holds:
            first.update(first_answers=len(learner.answers), first_is_wrong=is_wrong())

    look()
    result = simulate(learner, world.expert, LIMIT, progress=False, on_step=look)
    return {
        "family": name,
        "seed": seed,
        "epsilon": family.epsilon,
        "delta": family.delta,
        "answers": result.num_steps,
        "is_certified": bool(result.is_finished),
        "is_wrong": is_wrong(),
        "chance": round(result.certificate.p_hat, 6),
        "bound": round(result.certificate.upper_bound, 6),
        "samples": result.certificate.num_samples,
        **first,
        "cpu_seconds": round(time.process_time() - begin, 2),
    }


def lost(world: World, policy: np.ndarray, scope: str) -> float:
    """Return what must be below epsilon: the regret, or in scope "every_state" what the worst choice may add up to."""
    if scope == "initial":
        return world.regret(policy)
    q = world.expert.q
    immediate = q.max(axis=1) - q[np.arange(len(q)), policy]
    return float(immediate.max()) / (1.0 - world.problem.mdp.discount)


def _world(name: str, seed: int, make_fn: Callable[[np.random.Generator], Problem]) -> World:
    """Draw a problem, and its truth from the prior by a generator of its own."""
    made, drawn = np.random.default_rng([zlib.crc32(name.encode()), seed]).spawn(2)
    problem = make_fn(made)
    return World(name, seed, problem, problem.prior.sample(drawn, 1)[0], max_length=5)


def two_states(prior: Prior) -> Callable[[int], World]:
    """Two states in turn; in each, action 0 pays an unknown reward and action 1 pays none, with some slip between."""
    mdp = FiniteMDP.from_function(
        lambda s, a: [(0.8, 1 - s), (0.2, s)] if a == 0 else [(0.3, 1 - s), (0.7, s)],
        num_states=2,
        num_actions=2,
        discount=0.8,
    )
    features = np.zeros((2, 2, 2))
    features[[0, 1], 0, [0, 1]] = 1.0
    problem = Problem(mdp, LinearFeatures(features, mdp), prior, 2.0)
    return lambda seed: _world(f"two-states-{prior.num_parameters}", seed, lambda rng: problem)


def grid(size: int, **options: Any) -> Callable[[int], World]:
    """Random grids with independent terminals."""
    return lambda seed: make_world("random-grid", seed, size=size, terminals="independent", **options)


def ties(seed: int) -> World:
    """A ring of six states: every move exists twice, some states carry on whatever is done, opposite ones pay alike."""

    def moves(state: int, action: int) -> list[tuple[float, int]]:
        step = 1 if state in (2, 5) else (-1, 1, 0)[action // 2]
        return [(0.9, (state + step) % 6), (0.1, state)]

    def make(rng: np.random.Generator) -> Problem:
        mdp = FiniteMDP.from_function(moves, num_states=6, num_actions=6, discount=DISCOUNT)
        features = np.zeros((6, 4))
        features[np.arange(6), [0, 1, 2, 0, 1, 3]] = 1.0
        return Problem(mdp, LinearFeatures(features, mdp), Normal(4, 0.0, 1.0), 2.0)

    return _world("ties", seed, make)


def room(
    doors: np.ndarray, prior: Prior, plateau: float, exit_value: float, beta: float, discount: float = DISCOUNT
) -> Problem:
    """A hub (state 0) with a known exit and a way into a room, where one takes a known plateau or a door.

    `doors` `[number, D]` give their rewards from the parameters; the exit is worth a door of `exit_value`.
    """
    num_actions = 1 + len(doors)
    available = np.ones((2, num_actions), dtype=bool)
    available[0, 2:] = False
    mdp = FiniteMDP.from_function(
        lambda state, action: [(1.0, 1)] if (state, action) == (0, 0) else [],
        num_states=2,
        num_actions=num_actions,
        discount=discount,
        terminal=np.zeros(2, dtype=bool),
        available=available,
        initial=np.array([1.0, 0.0]),
    )
    features, offset = np.zeros((2, num_actions, doors.shape[1])), np.zeros((2, num_actions))
    features[1, 1:] = doors
    offset[0, 1], offset[1, 0] = discount * exit_value, plateau
    return Problem(mdp, LinearFeatures(features, mdp, offset=offset), prior, beta)


def needles(seed: int) -> World:
    """A room whose doors matter only far out in the prior.

    In every second world one door is the scaled sum of eight parameters, which must be high together.
    """

    def make(rng: np.random.Generator) -> Problem:
        doors = np.eye(3) if seed % 2 else np.full((1, 8), 8.0**-0.5)
        exit_value = rng.uniform(0.8, 2.2)
        plateau = exit_value - rng.uniform(0.1, 0.5)
        return room(doors, Normal(doors.shape[1]), plateau, exit_value, rng.uniform(4.0, 12.0))

    return _world("needles", seed, make)


def modes(seed: int) -> World:
    """A hub with an exit and three rooms, each with a door that pays theta and one that pays -theta.

    Answers at the hub leave two modes for each room.
    """

    def make(rng: np.random.Generator) -> Problem:
        available = np.ones((4, 4), dtype=bool)
        available[1:, 2:] = False
        mdp = FiniteMDP.from_function(
            lambda state, action: [(1.0, 1 + action)] if state == 0 and action < 3 else [],
            num_states=4,
            num_actions=4,
            discount=DISCOUNT,
            terminal=np.zeros(4, dtype=bool),
            available=available,
            initial=np.array([1.0, 0.0, 0.0, 0.0]),
        )
        features, offset = np.zeros((4, 4, 3)), np.zeros((4, 4))
        for room in range(3):
            features[1 + room, :2, room] = 1.0, -1.0
        offset[0, 3] = rng.uniform(0.5, 1.5)
        return Problem(mdp, LinearFeatures(features, mdp, offset=offset), Uniform(3, -2.0, 2.0), 2.0)

    return _world("modes", seed, make)


def actions_pay(seed: int) -> World:
    """Four states, three actions with random dynamics; every action of every state has a reward of its own."""

    def make(rng: np.random.Generator) -> Problem:
        mdp = FiniteMDP.from_dense(rng.dirichlet(np.full(4, 0.5), size=(4, 3)), layout="SAS", discount=DISCOUNT)
        return Problem(mdp, PerStateAction(mdp), Normal(12, 0.0, 1.0), 3.0)

    return _world("actions-pay", seed, make)


def few_features(seed: int) -> World:
    """5x5 grids whose rewards are linear in four random features."""

    def make(rng: np.random.Generator) -> Problem:
        mdp = gridworld(5, 5, discount=DISCOUNT, slip=0.1, terminal=rng.random(25) < 0.1, initial=np.full(25, 0.04))
        return Problem(mdp, LinearFeatures(rng.normal(size=(25, 4)), mdp), Normal(4, 0.0, 1.0), 1.0)

    return _world("few-features", seed, make)


def far_sighted(seed: int) -> World:
    """3x3 grids without an end, with a discount of 0.99: what a step costs is little beside what is at stake."""

    def make(rng: np.random.Generator) -> Problem:
        mdp = gridworld(3, 3, discount=0.99, slip=0.1, terminal=np.zeros(9, dtype=bool), initial=np.full(9, 1 / 9))
        return Problem(mdp, PerState(mdp), Normal(9, 0.0, 1.0), rng.uniform(0.4, 2.0))

    return _world("far-sighted", seed, make)


ATOMS = Discrete(np.random.default_rng(0).normal(size=(200, 2)))
FAMILIES = {
    "two states, 200 atoms (exact)": Family(two_states(ATOMS), 0.3),
    "two states, Normal prior": Family(two_states(Normal(2, 0.0, 1.0)), 0.4),
    "3x3 grids": Family(grid(3, beta=1.0), 0.5),
    "3x3 grids, delta 0.05": Family(grid(3, beta=1.0), 0.5, delta=0.05),
    "4x4 grids": Family(grid(4), 0.5),
    "4x4 grids, 300 particles": Family(grid(4), 0.5, options={"inference_options": {"num_particles": 300}}),
    "4x4 grids, 160 particles": Family(grid(4), 0.5, delta=0.2, options={"inference_options": {"num_particles": 160}}),
    "4x4 grids, trajectories of 5": Family(grid(4), 0.5, options={"kind": "trajectory", "length": 5}),
    "3x3 grids, every state": Family(grid(3), 5.0, options={"scope": "every_state"}),
    "ties": Family(ties, 0.3),
    "needles, delta 0.05": Family(needles, 0.05, delta=0.05),
    "several modes": Family(modes, 0.2),
    "a reward for every action": Family(actions_pay, 0.5),
    "5x5 grids, four features": Family(few_features, 0.5),
    "3x3 grids, discount 0.99": Family(far_sighted, 3.0),
}
