"""World: a Problem with its truth, for simulation; and the random stream that it is drawn from."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from journeyman.checks import whole_number
from journeyman.experts import SimulatedExpert
from journeyman.mdp import action_probabilities, occupancy
from journeyman.mdp.accuracy import accuracy_of
from journeyman.problem import Problem
from journeyman.types import AnyArray, FloatArray


@dataclass(frozen=True, eq=False)
class World:
    """A problem, `true_parameters` `[D]` of its reward, and how they came about; learners get `problem` alone.

    `is_prior_exact` says whether the truth is a draw from the prior, whatever the rest of the problem is. It is not
    where the dynamics were made with a look at the truth: then no posterior can be calibrated.
    `true_expert_parameters` `[E]` are what the problem leaves unknown about the expert; drawn from their priors, with
    the seed of the world, where they are not given. `truth_origin` says in words how the true parameters came about, as
    in "..., drawn from the prior (standard normal)"; `notes` what else is to be said of the world, by catchword.
    `max_length` is the usual number of actions of a trajectory.

    Examples
    --------
    >>> from journeyman import make_world
    >>> world = make_world("brown-two-state", seed=1)
    >>> world.name, world.reward.shape
    ('brown-two-state', (2, 2))
    >>> world.regret(world.expert.policy.argmax(axis=1))
    0.0
    """

    name: str
    seed: int
    problem: Problem
    true_parameters: FloatArray
    max_length: int = 20
    is_prior_exact: bool = True
    true_expert_parameters: FloatArray | None = None
    truth_origin: str = "drawn from the prior"
    notes: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"World({self.name!r}, seed {self.seed}: {self.problem!r})"

    @property
    def expert_parameters(self) -> FloatArray:
        """What the problem leaves unknown about the expert, `[E]`; empty if that is nothing."""
        if self.true_expert_parameters is not None:
            return self.true_expert_parameters
        rng = world_rng(f"expert of {self.name}", self.seed)
        return np.asarray(self.problem.expert_space.sample(rng, 1)[0])

    @property
    def reward(self) -> FloatArray:
        """The true reward, `[S]` if it depends on the state only, else `[S, A]`."""
        return self.problem.reward_model.reward(self.true_parameters)

    @cached_property
    def expert(self) -> SimulatedExpert:
        """The simulated expert, who knows the true reward; its noise has the seed of the world."""
        own = self.expert_parameters
        return SimulatedExpert(self.problem.mdp, self.reward, self.problem.expert, seed=self.seed, parameters=own)

    def make_expert(self, seed: int) -> SimulatedExpert:
        """Return the same expert with other noise, and without a memory of what it was asked."""
        return self.expert.with_seed(seed)

    def regret(self, policy: AnyArray) -> float:
        """Return what a policy loses under the true reward, from the initial states: exactly 0 where it is rounding."""
        mdp, expert = self.problem.mdp, self.expert
        probabilities = action_probabilities(mdp, policy)
        best = expert.q.max(axis=1)
        loss = best - (probabilities * np.where(probabilities > 0, expert.q, 0.0)).sum(axis=1)
        error = accuracy_of(mdp, expert.reward[None], expert.values[None]).values[0]
        return float(occupancy(mdp, policy) @ np.where(loss <= 2.0 * error, 0.0, loss))


def world_rng(name: str, seed: int) -> np.random.Generator:
    """Return the generator of world `name` for `seed`: each has its own, so that worlds never share draws."""
    return np.random.default_rng([zlib.crc32(name.encode()), whole_number(seed, "seed", 0)])
