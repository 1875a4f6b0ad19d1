"""What the questions are for: a good policy, or the reward itself."""

from dataclasses import dataclass

import numpy as np

from journeyman.acquisition.scoring import score
from journeyman.checks import one_of, positive
from journeyman.inference.posterior import Posterior
from journeyman.types import FloatArray

GOALS = ("policy", "reward")
MAX_LOOKAHEAD_STATES = 150  # looking ahead takes a tenth of a second there, and seconds for 400


def default_acquisition(goal: str, num_states: int | None = None) -> str:
    """Return the acquisition function for a goal: "policy" (a certified apprentice) or "reward" (to know it).

    For a policy it is `failure_chance`, which needs the fewest answers to a certificate (bench/answers.py), where that
    is quick enough: up to 150 states. Beyond that, and without a size, it is `pac_eig`.
    """
    one_of(goal, GOALS, "goal", "The usual is 'policy'.")
    if goal == "reward":
        return "reward_eig"
    is_quick = num_states is not None and num_states <= MAX_LOOKAHEAD_STATES
    return "failure_chance" if is_quick else "pac_eig"


@dataclass(frozen=True, eq=False)
class RewardKnowledge:
    """How well the reward is known.

    widths `[D]` of the credible intervals of the parameters; information: the most that one more answer would tell, in
    nats; is_narrow: whether all intervals are narrow enough; is_exhausted: whether that information is small enough.
    """

    widths: FloatArray
    information: float
    is_narrow: bool
    is_exhausted: bool

    @property
    def is_enough(self) -> bool:
        """Whether one may stop: intervals are narrow enough, or answers tell no more."""
        return self.is_narrow or self.is_exhausted


def reward_knowledge(
    posterior: Posterior,
    *,
    width: float,
    level: float = 0.95,
    information: float = 0.01,
    num_threads: int | None = None,
) -> RewardKnowledge:
    """Say whether the reward is known well enough, for users whose goal is the reward itself.

    Rewards are not identified by demonstrations alone: a constant shift, for example, changes nothing that an expert
    does, so intervals may stay wide for ever. Then the information in one more answer goes to 0, which also ends it.

    Parameters
    ----------
    width
        Wanted width of the credible intervals, in units of the parameters.
    level
        Of the credible intervals.
    information
        In nats: a best state query that tells less is not worth asking.
    """
    for name, value in (("width", width), ("information", information)):
        positive(value, name, "Give the accuracy that you need.")
    widths = np.diff(posterior.credible_intervals(level), axis=1)[:, 0]
    scores = score(posterior, "reward_eig", num_threads=num_threads)
    remaining = float(scores.values.max())
    return RewardKnowledge(widths, remaining, bool((widths <= width).all()), remaining <= information)
