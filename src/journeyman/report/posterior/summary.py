"""What a posterior says about a world whose truth is known. Numbers only, no drawing."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.inference import Posterior
from journeyman.mdp import FiniteMDP, evaluate_policy, solve
from journeyman.report.world.summary import per_state, without_nonfinite
from journeyman.rewards import Discrete, Prior, Uniform
from journeyman.types import BoolArray, FloatArray
from journeyman.worlds import World

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class PosteriorSummary:
    """A posterior beside the truth.

    Parameters
    ----------
    mean, std
        `[D]` of the parameters.
    intervals
        `[D, 2]` central 95 % intervals.
    is_inside
        `[D]` whether the true parameter lies in its interval.
    spread
        Average over parameters of posterior over prior standard deviation; below 1 where something was learned.
    state_mean, state_std
        `[S]` reward per state, averaged over the available actions where it depends on the action.
    policy_return, optimal_return, expert_return
        True expected discounted reward from the initial states: of the policy that is best for the mean reward, of an
        optimal one, and of the expert.
    """

    world: World
    demonstrations: tuple[Demonstration, ...]
    posterior: Posterior
    mean: FloatArray
    std: FloatArray
    intervals: FloatArray
    is_inside: BoolArray
    spread: float
    state_mean: FloatArray
    state_std: FloatArray
    policy_return: float
    optimal_return: float
    expert_return: float

    @property
    def mdp(self) -> FiniteMDP:
        """The dynamics."""
        return self.world.problem.mdp

    @property
    def coverage(self) -> float:
        """Share of the 95 % intervals that hold the truth."""
        return float(self.is_inside.mean())


def summarise_posterior(
    world: World, demonstrations: tuple[Demonstration, ...], posterior: Posterior
) -> PosteriorSummary:
    """Compare a posterior with the true reward of its world."""
    mdp, expert, truth = world.problem.mdp, world.expert, world.true_parameters
    mean, std = posterior.mean_parameters(), posterior.parameter_std()
    intervals = posterior.credible_intervals(LEVEL)
    slack = 1e-9 * (1.0 + np.abs(truth))  # an atom is as true as its bound, whatever the rounding
    before = prior_std(world.problem.prior)
    policy = solve(mdp, posterior.mean_reward()).policy
    return PosteriorSummary(
        world=world,
        demonstrations=demonstrations,
        posterior=posterior,
        mean=mean,
        std=std,
        intervals=intervals,
        is_inside=(intervals[:, 0] - slack <= truth) & (truth <= intervals[:, 1] + slack),
        spread=float((std[before > 0] / before[before > 0]).mean()) if (before > 0).any() else 1.0,
        state_mean=per_state(mdp, posterior.mean_reward()),
        state_std=per_state(mdp, posterior.reward_std()),
        policy_return=float(mdp.initial @ evaluate_policy(mdp, policy, world.reward)),
        optimal_return=float(mdp.initial @ expert.values),
        expert_return=float(mdp.initial @ evaluate_policy(mdp, expert.policy, world.reward)),
    )


def prior_std(prior: Prior) -> FloatArray:
    """Return the standard deviation of each parameter before any data `[D]`."""
    if isinstance(prior, Discrete):
        mean = prior.weights @ prior.atoms
        return np.asarray(np.sqrt(prior.weights @ (prior.atoms - mean) ** 2))
    if isinstance(prior, Uniform):
        return np.asarray(prior.width / np.sqrt(12.0))
    return np.asarray(prior.std)  # type: ignore[attr-defined]


def posterior_record(summary: PosteriorSummary) -> dict[str, Any]:
    """Return the summary as plain data for JSON; infinite and undefined numbers become None."""
    world, posterior, model = summary.world, summary.posterior, summary.world.problem.reward_model
    diagnostics = {name: value for name, value in asdict(posterior.diagnostics).items() if value is not None}
    warnings = diagnostics.pop("warnings")
    parameters = {
        model.parameter_name(i): {
            "mean": float(summary.mean[i]),
            "std": float(summary.std[i]),
            "interval": summary.intervals[i].tolist(),
            "truth": float(world.true_parameters[i]),
            "is_inside": bool(summary.is_inside[i]),
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
