"""The acquisition functions by name: one explicit dict that code, command line, tests and docs go through."""

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from journeyman.acquisition import entropy, information, lookahead, pac, regret
from journeyman.acquisition.scores import Rating
from journeyman.errors import InputError
from journeyman.experts import KINDS


@dataclass(frozen=True)
class Acquisition:
    """An acquisition function.

    rate_fn(posterior, setting, **options) gives a Rating, whose details may name another function under "used" if that
    one decided; unit is that of its values; kinds are the queries that it can rate.
    """

    summary: str
    rate_fn: Callable[..., Rating]
    unit: str
    kinds: tuple[str, ...] = KINDS

    @property
    def options(self) -> tuple[str, ...]:
        """Names of its own options."""
        parameters = inspect.signature(self.rate_fn).parameters.values()
        return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)


ACQUISITIONS: dict[str, Acquisition] = {
    "random": Acquisition("all states alike: chance decides", entropy.rate_random, ""),
    "action_entropy": Acquisition(
        "entropy of the expert's next action (Kweon 2023)", entropy.rate_action_entropy, "nats"
    ),
    "policy_entropy": Acquisition(
        "entropy of the expert's policy itself (Lopes 2009)", entropy.rate_policy_entropy, "nats", ("state",)
    ),
    "active_var": Acquisition("value at risk of the apprentice (Brown 2018)", regret.rate_active_var, "reward"),
    "reward_eig": Acquisition("information about the reward", information.rate_reward_eig, "nats"),
    "pac_eig": Acquisition("information about whether the apprentice is nearly right", pac.rate_pac_eig, "nats"),
    "regret_eig": Acquisition(
        "information about the total regret, which misses known regret", regret.rate_regret_eig, "nats"
    ),
    "ir_eig": Acquisition("information about immediate regret in fine buckets", pac.rate_ir_eig, "nats"),
    "expected_regret": Acquisition(
        "how much one answer lowers the expected regret", lookahead.rate_expected_regret, "reward"
    ),
    "optimal_action_value": Acquisition(
        "what it is worth to know the optimal actions of a state",
        lookahead.rate_optimal_action_value,
        "reward",
        ("state",),
    ),
    "regret_pac": Acquisition(
        "expected_regret, and pac_eig where no single answer helps", lookahead.rate_regret_pac, "reward"
    ),
}


def find_acquisition(name: str) -> Acquisition:
    """Return a function of `ACQUISITIONS`, or say which is meant."""
    if name not in ACQUISITIONS:
        close = difflib.get_close_matches(str(name), ACQUISITIONS, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Choose from {', '.join(ACQUISITIONS)}."
        raise InputError(f"the acquisition function must be one that exists, got {name!r}. {hint}")
    return ACQUISITIONS[name]


def check_options(name: str, options: dict[str, Any]) -> None:
    """Refuse options that the function does not have."""
    known = find_acquisition(name).options
    for option in options:
        if option not in known:
            raise InputError(
                f"{name!r} must get options it knows, got {option!r}. It has: {', '.join(known) or 'none'}."
            )
