"""What the programme runs: problems drawn from the prior, a learner with default settings, and its certificates.

In each run a truth is drawn from the prior, a simulated expert answers by it, and the learner asks until its
certificate is confirmed. Then the true regret of what it certified is looked at. Epsilon is in units of the reward, as
everywhere else: 0.1 is what the paper calls 0.1, on worlds whose rewards have a standard deviation of 3 (jail: from
-100 to 100).
"""

import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from journeyman.apprentice import Certificate
from journeyman.errors import JourneymanError
from journeyman.experts import Boltzmann, LogNormal
from journeyman.learner import ActiveLearner, simulate
from journeyman.problem import Problem
from journeyman.problem_files.loading import problem_of
from journeyman.problem_files.tables import TomlFile
from journeyman.rewards import Normal
from journeyman.worlds import World, make_world
from journeyman.worlds.world import world_rng

EPSILON = 0.1
LIMIT = 150  # answers
SLIP = 0.1
UNKNOWN_WIDTH = 0.7  # of log beta, where beta is not known
COLUMNS = ("family", "delta", "beta", "wrong", "number")  # that say which run a row is of
NOTHING = "nothing"


class Family(NamedTuple):
    """Worlds by seed and slip, with the beta of their expert, and the width of their prior if it is Normal."""

    world_fn: Callable[[int, float], World]
    beta: float
    std: float | None = None


class Wrong(NamedTuple):
    """How what the learner is told differs from the truth: assumed = factor times true; slips, true and told."""

    beta_factor: float = 1.0
    lapse: float = 0.0
    prior_factor: float = 1.0
    true_slip: float = SLIP
    told_slip: float = SLIP


class Configuration(NamedTuple):
    """What some runs have in common, and how many there should be."""

    family: str
    delta: float
    beta: str  # "known" or "unknown" to the learner
    wrong: str
    wanted: int

    @property
    def key(self) -> tuple[str, float, str, str]:
        """What tells it from others."""
        return self.family, self.delta, self.beta, self.wrong

    def seed(self, number: int) -> int:
        """Return the seed of a run: other problems for each configuration, the same ones whatever is wrong."""
        return zlib.crc32(f"{self.family}, {self.delta}, {self.beta}".encode()) + number


def grid(size: int) -> Callable[[int, float], World]:
    """Random grids whose terminal cells are drawn apart from the reward."""
    return lambda seed, slip: make_world("random-grid", seed, size=size, terminals="independent", slip=slip)


NUM_NODES, NUM_ENDS = 16, 2
WAYS = ("left", "ahead", "right")


def graph(seed: int, slip: float) -> World:
    """A random directed graph, as a problem file would have it: two or three ways from each node, two nodes end it."""
    rng = world_rng("random-graph", seed)
    std, edges = 3.0, []
    for node in range(NUM_NODES - NUM_ENDS):
        others = [other for other in range(NUM_NODES) if other != node]
        targets = rng.choice(others, size=rng.integers(2, len(WAYS) + 1), replace=False)
        edges += [[str(node), str(target), way] for target, way in zip(targets.tolist(), WAYS, strict=False)]
    ends = range(NUM_NODES - NUM_ENDS, NUM_NODES)
    doors = rng.choice(NUM_NODES - NUM_ENDS, size=NUM_ENDS, replace=False)
    edges += [[str(door), str(end), "down"] for door, end in zip(doors.tolist(), ends, strict=True)]
    data = {
        "discount": 0.9,
        "graph": {"edges": edges, "directed": True, "slip": slip},
        "reward": {"model": "per_state"},
        "prior": {"kind": "normal", "mean": 0.0, "std": std},
        "expert": {"beta": 2.0},
    }
    problem = problem_of(TomlFile(Path("graph.toml"), "", data))
    truth = problem.prior.sample(world_rng("truth of random-graph", seed), 1)[0]
    return World("random-graph", seed, problem, truth, max_length=5)


FAMILIES = {
    "4x4": Family(grid(4), 2.0, 3.0),
    "jail": Family(lambda seed, slip: make_world("jail", seed, slip=slip), 4.0),
    "graph": Family(graph, 2.0, 3.0),
    "8x8": Family(grid(8), 2.0, 3.0),
}
WRONGS = {
    NOTHING: Wrong(),
    "beta assumed 4 times too low": Wrong(beta_factor=0.25),
    "beta assumed 2 times too low": Wrong(beta_factor=0.5),
    "beta assumed 2 times too high": Wrong(beta_factor=2.0),
    "beta assumed 4 times too high": Wrong(beta_factor=4.0),
    "10 % lapses": Wrong(lapse=0.1),
    "20 % lapses": Wrong(lapse=0.2),
    "prior 2 times too narrow": Wrong(prior_factor=0.5),
    "prior 4 times too narrow": Wrong(prior_factor=0.25),
    "slips of 0.2, none assumed": Wrong(true_slip=0.2, told_slip=0.0),
    "slips half of what is assumed": Wrong(true_slip=0.05),
    "slips twice what is assumed": Wrong(true_slip=0.2),
}
SMALL = ("4x4", "jail", "graph")


def _configurations() -> Iterator[Configuration]:
    """Yield all configurations, what is cheap and matters most first; 8x8 takes a minute or more, and gets fewer."""
    for delta, beta in ((0.1, "known"), (0.05, "known"), (0.1, "unknown"), (0.05, "unknown")):
        yield from (Configuration(family, delta, beta, NOTHING, 100) for family in SMALL)
    for wrong in list(WRONGS)[1:]:
        for family in SMALL:
            if WRONGS[wrong].prior_factor == 1.0 or FAMILIES[family].std is not None:
                yield Configuration(family, 0.1, "known", wrong, 30)
    for beta in ("known", "unknown"):
        yield from (Configuration("8x8", delta, beta, NOTHING, 25) for delta in (0.1, 0.05))


CONFIGURATIONS = {item.key: item for item in _configurations()}


def truth_and_told(item: Configuration, seed: int) -> tuple[World, Problem]:
    """Return the world as it is, and the problem as the learner is told it is."""
    family, wrong = FAMILIES[item.family], WRONGS[item.wrong]
    world = family.world_fn(seed, wrong.true_slip)
    told = family.world_fn(seed, wrong.told_slip).problem
    if item.beta == "unknown":
        expert = Boltzmann(LogNormal(family.beta, UNKNOWN_WIDTH))
        return replace(world, problem=replace(world.problem, expert=expert)), replace(told, expert=expert)
    world = replace(world, problem=replace(world.problem, expert=Boltzmann(family.beta, wrong.lapse)))
    told = replace(told, expert=Boltzmann(wrong.beta_factor * family.beta))
    if wrong.prior_factor != 1.0:
        assert family.std is not None
        told = replace(told, prior=Normal(told.prior.num_parameters, 0.0, wrong.prior_factor * family.std))
    return world, told


def run_problem(
    family: str, delta: float, beta: str, wrong: str, number: int, *, learner_fn: Callable[..., Any] = ActiveLearner
) -> dict[str, Any]:
    """Let a learner ask until its certificate is confirmed, or LIMIT times, and say what it claims and what is true.

    Where nothing is wrong the learner has all defaults: it checks its model, and asks on while that is doubtful. Where
    something is wrong the model check is left out until the certificate is confirmed, and says then what it would have
    said. `first_` is of the first certificate that held; None if there was none. A run that ends in an error of
    journeyman has it under "error".
    """
    item = Configuration(family, delta, beta, wrong, 0)
    seed, is_right = item.seed(number), wrong == NOTHING
    world, told = truth_and_told(item, seed)
    begin = time.process_time()
    learner = learner_fn(told, epsilon=EPSILON, delta=delta, seed=seed, num_threads=1, is_checked=is_right)
    first: dict[str, Any] = dict.fromkeys(("first_answers", "first_regret", "first_chance"))
    num_doubtful = 0

    def look(_: Any = None) -> None:
        nonlocal num_doubtful
        found: Certificate = learner.certificate()
        num_doubtful += found.status == "doubtful"
        if first["first_answers"] is None and found.holds:
            first.update(
                first_answers=len(learner.answers),
                first_regret=_rounded(world.regret(found.policy)),
                first_chance=_rounded(found.p_hat),
            )

    row: dict[str, Any] = dict(zip(COLUMNS, (family, delta, beta, wrong, number), strict=True))
    try:
        look()
        result = simulate(learner, world.expert, LIMIT, progress=False, on_step=look)
        criticism = result.certificate.criticism if is_right else learner.criticism()
    except JourneymanError as error:  # a refusal is no certificate, and is counted as a failure
        row |= dict.fromkeys(("regret", "chance", "bound")) | {"answers": len(learner.answers), "is_certified": False}
        row |= first | {"is_doubtful": num_doubtful > 0, "log_evidence": None, "error": str(error)}
    else:
        row |= {
            "answers": result.num_steps,
            "is_certified": bool(result.is_finished),
            "regret": _rounded(world.regret(result.certificate.policy)),
            "chance": _rounded(result.certificate.p_hat),
            "bound": _rounded(result.certificate.upper_bound),
            **first,
            "is_doubtful": num_doubtful > 0 if is_right else criticism.is_doubtful,
            "log_evidence": None if criticism is None else _rounded(np.clip(criticism.log_evidence, -1e6, 1e6)),
        }
    return row | {"cpu_seconds": round(time.process_time() - begin, 2)}


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")
