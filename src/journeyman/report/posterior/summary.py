"""What a posterior says about a world whose truth is known. Numbers only, no drawing."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.inference import Posterior
from journeyman.mdp import FiniteMDP, evaluate_policy
from journeyman.report.posterior.knowledge import LEVEL, ParameterKnowledge, parameter_knowledge
from journeyman.report.world.summary import without_nonfinite
from journeyman.types import BoolArray
from journeyman.worlds import World


@dataclass(frozen=True, eq=False)
class PosteriorSummary:
    """A posterior beside the truth.

    knowledge
        What is known about each parameter, with central 95 % intervals.
    policy_return, optimal_return, expert_return
        True expected discounted reward from the initial states: of the policy that is best for the mean reward, of an
        optimal one, and of the expert.
    """

    world: World
    demonstrations: tuple[Demonstration, ...]
    posterior: Posterior
    knowledge: ParameterKnowledge
    policy_return: float
    optimal_return: float
    expert_return: float

    @property
    def mdp(self) -> FiniteMDP:
        """The dynamics."""
        return self.world.problem.mdp

    @property
    def is_inside(self) -> BoolArray:
        """`[D]` whether the true parameter lies in its interval; an atom is as true as its bound, but for rounding."""
        truth, (low, high) = self.world.true_parameters, self.knowledge.intervals.T
        slack = 1e-9 * (1.0 + np.abs(truth))
        return np.asarray((low - slack <= truth) & (truth <= high + slack))

    @property
    def coverage(self) -> float:
        """Share of the 95 % intervals that hold the truth."""
        return float(self.is_inside.mean())

    @property
    def spread(self) -> float:
        """Average over parameters of posterior over prior standard deviation; below 1 where something was learned."""
        is_open = self.knowledge.prior_std > 0
        return float(self.knowledge.remaining[is_open].mean()) if is_open.any() else 1.0


def summarise_posterior(
    world: World, demonstrations: tuple[Demonstration, ...], posterior: Posterior
) -> PosteriorSummary:
    """Compare a posterior with the true reward of its world."""
    mdp, expert = world.problem.mdp, world.expert
    policy = posterior.mean_solution.policy
    return PosteriorSummary(
        world=world,
        demonstrations=demonstrations,
        posterior=posterior,
        knowledge=parameter_knowledge(posterior),
        policy_return=float(mdp.initial @ evaluate_policy(mdp, policy, world.reward)),
        optimal_return=float(mdp.initial @ expert.values),
        expert_return=float(mdp.initial @ evaluate_policy(mdp, expert.policy, world.reward)),
    )


def posterior_record(summary: PosteriorSummary) -> dict[str, Any]:
    """Return the summary as plain data for JSON; infinite and undefined numbers become None."""
    world, posterior, model = summary.world, summary.posterior, summary.world.problem.reward_model
    known, is_inside = summary.knowledge, summary.is_inside
    diagnostics = {name: value for name, value in asdict(posterior.diagnostics).items() if value is not None}
    warnings = diagnostics.pop("warnings")
    parameters = {
        model.parameter_name(i): {
            "mean": float(known.mean[i]),
            "std": float(known.std[i]),
            "interval": known.intervals[i].tolist(),
            "truth": float(world.true_parameters[i]),
            "is_inside": bool(is_inside[i]),
        }
        for i in range(model.num_parameters)
    }
    record = {
        "world": world.name,
        "seed": world.seed,
        "method": posterior.method,
        "num_samples": posterior.num_samples,
        "demonstrations": [
            {"start_state": item.start_state, "steps": [list(step) for step in item.steps], "ended": item.ended}
            for item in summary.demonstrations
        ],
        "parameters": parameters,
        "mean_reward": posterior.mean_reward().tolist(),
        "reward_std": posterior.reward_std().tolist(),
        "level": LEVEL,
        "coverage": summary.coverage,
        "spread": summary.spread,
        "policy_return": summary.policy_return,
        "optimal_return": summary.optimal_return,
        "expert_return": summary.expert_return,
        "log_evidence": posterior.log_evidence,
        "diagnostics": diagnostics,
        "warnings": list(warnings),
    }
    plain: dict[str, Any] = without_nonfinite(record)
    return plain
