"""World: a Problem with its truth, for simulation."""

from dataclasses import dataclass
from functools import cached_property

from journeyman.experts import SimulatedExpert
from journeyman.problem import Problem
from journeyman.types import FloatArray


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
