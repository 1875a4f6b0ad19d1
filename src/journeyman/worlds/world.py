"""World: a Problem with its truth, for simulation."""

from dataclasses import dataclass
from functools import cached_property

from journeyman.expert import BoltzmannExpert
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
    def expert(self) -> BoltzmannExpert:
        """The simulated expert, who knows the true reward."""
        return BoltzmannExpert(self.problem.mdp, self.reward, self.problem.beta)
