"""The policy we hand out, what it may lose, and when that is little enough to stop asking."""

from journeyman.apprentice.bounds import Bound, all_bounds, eig_min, expected_steps, h_max
from journeyman.apprentice.certificate import Certificate, certify
from journeyman.apprentice.over_dynamics import certify_over_dynamics
from journeyman.apprentice.policies import APPRENTICES, Apprentice, expected_return, least_risky, most_likely_optimal
from journeyman.apprentice.regret import (
    action_gaps,
    immediate_regrets,
    regret_contributions,
    regrets,
    sample_values,
    state_regrets,
)

__all__ = [
    "APPRENTICES",
    "Apprentice",
    "Bound",
    "Certificate",
    "action_gaps",
    "all_bounds",
    "certify",
    "certify_over_dynamics",
    "eig_min",
    "expected_return",
    "expected_steps",
    "h_max",
    "immediate_regrets",
    "least_risky",
    "most_likely_optimal",
    "regret_contributions",
    "regrets",
    "sample_values",
    "state_regrets",
]
