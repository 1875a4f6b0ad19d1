"""CalibrationSpec: everything that determines the results of a calibration run, and its id."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from journeyman.checks import one_of, positive, whole_number
from journeyman.errors import InputError, UnsupportedError
from journeyman.experts import KINDS, Boltzmann, ExpertModel, known_beta
from journeyman.inference import INFERENCE
from journeyman.problem import Problem
from journeyman.rewards import continuous, has_atoms
from journeyman.types import FloatArray
from journeyman.worlds import make_world

NUM_SPREAD = 5  # parameters that are tested unless the caller names others
PLAIN_TYPES = (bool, int, float, str)


@dataclass(frozen=True, eq=False)
class CalibrationSpec:
    """What one replication does; with a seed and an index its result is determined.

    Parameters
    ----------
    world, world_options
        Name of a world and its options. Each replication draws an instance of it: truth, and in random grids also
        the terminal cells. Or:
    problem
        A problem of your own; each replication draws the truth from its prior.
    method, method_options
        Inference method that is tested, a key of `INFERENCE`, and its options: numbers, words, True or False.
    num_demonstrations
        Answers of the expert per replication, at states drawn uniformly from the queryable ones.
    kind, length
        What is asked for: "state" (one action) or "trajectory" (up to `length` actions).
    expert
        Who answers, instead of the expert of the world or problem. What it leaves unknown is drawn from its priors in
        each replication, and ranked with the parameters of the reward.
    assumed_beta_factor
        The method is told that beta is this many times what it is. Anything but 1 is a deliberate mistake, which the
        check has to find.
    assumed_expert
        What the method is told of the expert, if that is not the truth: another deliberate mistake. It must leave
        nothing unknown that the expert does not.
    num_draws
        Posterior draws L that the truth is ranked among; ranks are 0..L.
    parameters
        Indices of the parameters that are tested; default: at most five, evenly spread.
    seed
        Of the run; replication i uses the streams (seed, i).
    """

    world: str | None = None
    world_options: Mapping[str, Any] = field(default_factory=dict)
    problem: Problem | None = None
    method: str = "smc"
    method_options: Mapping[str, Any] = field(default_factory=dict)
    num_demonstrations: int = 20
    kind: str = "state"
    length: int | None = None
    expert: ExpertModel | None = None
    assumed_beta_factor: float = 1.0
    assumed_expert: ExpertModel | None = None
    num_draws: int = 99
    parameters: tuple[int, ...] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Check everything that can be checked before any work."""
        if (self.world is None) == (self.problem is None):
            raise InputError("a calibration must have a world or a problem, got both or none. Give exactly one.")
        if self.problem is not None and (not isinstance(self.problem, Problem) or self.world_options):
            raise InputError("problem must be a Problem, without world_options. A World has one: world.problem.")
        for name, lowest in (("num_demonstrations", 0), ("num_draws", 9), ("seed", 0)):
            object.__setattr__(self, name, whole_number(getattr(self, name), name, lowest))
        for name in ("world_options", "method_options"):
            object.__setattr__(self, name, _plain_options(getattr(self, name), name))
        self._check_query()
        factor = positive(self.assumed_beta_factor, "assumed_beta_factor", "1 assumes what is true.")
        object.__setattr__(self, "assumed_beta_factor", factor)
        method, example = INFERENCE.find(self.method), self.example_problem()
        method.check_options(self.method_options, f"method {self.method!r}")
        reason = method.refusal_fn(self.assumed(example))
        if reason is not None:
            raise UnsupportedError(reason)
        object.__setattr__(self, "parameters", _checked_parameters(self.parameters, example.prior.num_parameters))
        surplus = set(self.assumed(example).expert_space.names) - set(example.expert_space.names)
        if surplus:
            raise InputError(
                "assumed_expert must leave nothing unknown that the expert does not, got "
                f"{', '.join(sorted(surplus))}: there is no truth to compare with. Give expert the same priors."
            )

    def _check_query(self) -> None:
        one_of(self.kind, KINDS, "kind", "Leave it out for 'state'.")
        if self.kind == "trajectory":
            whole_number(
                self.length, "the length of a trajectory query", 1, "Say how many steps: --length 5 (length=5)."
            )
        elif self.length is not None:
            raise InputError(f"length must be left out for kind 'state', got {self.length}. Or say kind='trajectory'.")

    def example_problem(self) -> Problem:
        """Return the problem, or that of the world's first instance."""
        if self.problem is not None:
            return self.answered(self.problem)
        assert self.world is not None
        return self.answered(make_world(self.world, 0, **self.world_options).problem)

    def answered(self, problem: Problem) -> Problem:
        """Return `problem` with the expert who answers."""
        return problem if self.expert is None else replace(problem, expert=self.expert)

    def assumed(self, problem: Problem) -> Problem:
        """Return `problem` as the method is told it is: with beta times the factor, or with the assumed expert."""
        if self.assumed_expert is not None:
            return replace(problem, expert=self.assumed_expert)
        if self.assumed_beta_factor == 1.0:
            return problem
        return replace(problem, expert=Boltzmann(self.assumed_beta_factor * problem.beta))

    @property
    def depends_on_truth(self) -> bool:
        """Whether the dynamics are drawn with a look at the true reward, so that no posterior can be calibrated."""
        return self.world is not None and not make_world(self.world, 0, **self.world_options).is_prior_exact

    def record(self) -> dict[str, Any]:
        """Return everything that determines the results, as plain data."""
        source: dict[str, Any] = (
            {"world": self.world, "world_options": dict(self.world_options)}
            if self.problem is None
            else {"problem": problem_id(self.problem)}
        )
        assert self.parameters is not None
        plain = ("method", "num_demonstrations", "kind", "length", "assumed_beta_factor", "num_draws", "seed")
        lists = {"method_options": dict(self.method_options), "parameters": list(self.parameters)}
        given = {name: getattr(self, name) for name in ("expert", "assumed_expert")}
        experts = {name: _expert_record(expert) for name, expert in given.items() if expert is not None}
        return source | {name: getattr(self, name) for name in plain} | lists | experts

    @property
    def id(self) -> str:
        """16 hexadecimal digits that differ between specs that differ."""
        return hashlib.sha256(json.dumps(self.record(), sort_keys=True).encode()).hexdigest()[:16]


def _expert_record(expert: ExpertModel) -> dict[str, Any]:
    return {"kind": type(expert).__name__, **expert.to_record()}


def _plain_options(options: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return options that can be written to a file, sorted by name."""
    for key, value in options.items():
        is_number = isinstance(value, float) and not math.isfinite(value)
        if not isinstance(key, str) or not isinstance(value, PLAIN_TYPES) or is_number:
            raise InputError(
                f"{name} must be finite numbers, words, True or False, got {value!r} at {key}. Convert it."
            )
    return dict(sorted(options.items()))


def _checked_parameters(parameters: tuple[int, ...] | None, num_parameters: int) -> tuple[int, ...]:
    if parameters is None:
        count = min(NUM_SPREAD, num_parameters)
        return tuple(np.linspace(0, num_parameters - 1, count).round().astype(int).tolist())
    chosen = tuple(whole_number(index, "a parameter to test", 0) for index in parameters)
    if not chosen or len(set(chosen)) < len(chosen) or max(chosen) >= num_parameters:
        raise InputError(
            f"parameters must be one or more different indices below {num_parameters}, got {parameters}. "
            "Leave them out for five."
        )
    return chosen


def problem_id(problem: Problem) -> str:
    """Return 16 hexadecimal digits that differ between problems that differ in any number."""
    mdp, model, prior = problem.mdp, problem.reward_model, problem.prior
    features = model.features.tocsr()
    if has_atoms(prior):
        prior_arrays: tuple[FloatArray, ...] = (prior.atoms, prior.weights)
    else:  # a continuous prior is its map from unconstrained space, which these points tell apart
        size = prior.num_parameters
        prior_arrays = (
            continuous(prior).from_unconstrained(np.vstack([np.zeros((1, size)), np.eye(size), -2.0 * np.eye(size)])),
        )
    arrays = (
        mdp.rows.indptr, mdp.rows.next_states, mdp.rows.probabilities, mdp.initial, mdp.available, mdp.terminal,
        features.indptr, features.indices, features.data, model.offset, problem.queryable, *prior_arrays,
        np.array([mdp.discount, *_expert_numbers(problem), float(model.is_state_only)]),
    )  # fmt: skip
    found = hashlib.sha256(type(prior).__name__.encode())
    for array in map(np.ascontiguousarray, arrays):
        found.update(f"{array.shape} {array.dtype.kind}".encode())
        found.update(array.astype(np.float64).tobytes())
    return found.hexdigest()[:16]


def _expert_numbers(problem: Problem) -> list[float]:
    """Return numbers that tell experts apart: beta, or what another model says of a few action values."""
    beta = known_beta(problem.expert)
    if beta is not None:
        return [beta]
    if problem.expert_space.size or getattr(problem.expert, "values", "optimal") == "soft":
        text = json.dumps(_expert_record(problem.expert), sort_keys=True)
        return [float(byte) for byte in hashlib.sha256(text.encode()).digest()]
    q = np.linspace(-1.0, 1.0, 12).reshape(3, 4) ** 3
    return [float(value) for value in problem.expert.log_policy(q).ravel()]
