"""World: a Problem with its truth, for simulation; and the random stream that it is drawn from."""

import zlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from journeyman.checks import whole_number
from journeyman.experts import SimulatedExpert
from journeyman.mdp import evaluate_policy
from journeyman.problem import Problem
from journeyman.types import AnyArray, FloatArray

ROUNDING = 1e-9  # of the largest value: a smaller regret is none


@dataclass(frozen=True, eq=False)
class World:
    """A problem, the true parameters, and how they came about; learners get `problem` alone."""

    name: str
    seed: int
    problem: Problem
    true_parameters: FloatArray
    max_length: int = 20

    @property
    def reward(self) -> FloatArray:
        """The true reward, `[S]` if it depends on the state only, else `[S, A]`."""
        return self.problem.reward_model.reward(self.true_parameters)

    @cached_property
    def expert(self) -> SimulatedExpert:
        """The simulated expert, who knows the true reward; its noise has the seed of the world."""
        return SimulatedExpert(self.problem.mdp, self.reward, self.problem.expert, seed=self.seed)

    def make_expert(self, seed: int) -> SimulatedExpert:
        """Return the same expert with other noise, and without a memory of what it was asked."""
        return self.expert.with_seed(seed)

    def regret(self, policy: AnyArray) -> float:
        """Return what a policy loses under the true reward, from the initial states: exactly 0 where it is rounding."""
        mdp, expert = self.problem.mdp, self.expert
        loss = float(mdp.initial @ (expert.values - evaluate_policy(mdp, policy, self.reward)))
        finite_q = expert.q[np.isfinite(expert.q)]
        return loss if loss > ROUNDING * (1.0 + float(np.abs(finite_q).max())) else 0.0


def world_rng(name: str, seed: int) -> np.random.Generator:
    """Return the generator of world `name` for `seed`: each has its own, so that worlds never share draws."""
    return np.random.default_rng([zlib.crc32(name.encode()), whole_number(seed, "seed", 0)])
