"""The acquisition functions by name: one registry that code, command line, tests and docs go through.

A function of your own is `Acquisition(summary, rate_fn, unit)` in `ACQUISITIONS.register("mine", ...)`, with

    def rate_fn(posterior: Posterior, context: ScoringContext, *, option=1.0) -> Rating

which returns one value for each of `context.states`. Its keyword-only arguments are its options.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from journeyman.acquisition import entropy, failure, information, lookahead, pac, regret
from journeyman.acquisition.scores import Rating, ScoringContext, checked_rating
from journeyman.checks import check_options, one_of
from journeyman.experts import KINDS
from journeyman.inference.posterior import Posterior
from journeyman.registry import Registry


@dataclass(frozen=True)
class Acquisition:
    """An acquisition function.

    Parameters
    ----------
    summary
        What it rates, in a few words.
    rate_fn
        rate_fn(posterior, context, **options) gives a Rating, whose details may name another function under "used" if
        that one decided.
    unit
        Of its values: "nats", "reward", or any other word; "" if they have none.
    kinds
        The queries that it can rate.
    is_by_chance
        Whether it rates all states alike, so that chance decides.
    renamed
        Names that options had before, by the present one: old records still load, and hashes of settings stay the same.
    """

    summary: str
    rate_fn: Callable[..., Rating]
    unit: str = ""
    kinds: tuple[str, ...] = KINDS
    is_by_chance: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the kinds of queries."""
        for kind in self.kinds:
            one_of(kind, KINDS, "each of the kinds of an acquisition function")

    @property
    def options(self) -> tuple[str, ...]:
        """Names of its own options."""
        parameters = inspect.signature(self.rate_fn).parameters.values()
        return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)

    def with_present_names(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options with those that go by an old name under their present one."""
        present = {old: new for new, old in self.renamed.items()}
        return {present.get(name, name): value for name, value in options.items()}

    def with_old_names(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options under the names that they had at first: what hashes of settings are made of."""
        return {self.renamed.get(name, name): value for name, value in options.items()}


COMPONENTS = {"components": "scope"}

ACQUISITIONS: Registry[Acquisition] = Registry(
    "an acquisition function",
    "journeyman.acquisitions",
    Acquisition,
    {
        "random": Acquisition("all states alike: chance decides", entropy.rate_random, is_by_chance=True),
        "action_entropy": Acquisition(
            "entropy of the expert's next action (Kweon 2023)", entropy.rate_action_entropy, "nats"
        ),
        "policy_entropy": Acquisition(
            "entropy of the expert's policy itself (Lopes 2009)", entropy.rate_policy_entropy, "nats", ("state",)
        ),
        "active_var": Acquisition(
            "value at risk of the apprentice (Brown 2018)", regret.rate_active_var, "reward", renamed={"tail": "delta"}
        ),
        "reward_eig": Acquisition("information about the reward", information.rate_reward_eig, "nats"),
        "pac_eig": Acquisition(
            "information about whether the apprentice is nearly right", pac.rate_pac_eig, "nats", renamed=COMPONENTS
        ),
        "regret_eig": Acquisition(
            "information about the total regret, which misses known regret", regret.rate_regret_eig, "nats"
        ),
        "ir_eig": Acquisition(
            "information about immediate regret in fine buckets", pac.rate_ir_eig, "nats", renamed=COMPONENTS
        ),
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
        "failure_chance": Acquisition(
            "how much answers lower the chance of a regret of epsilon or more", failure.rate_failure_chance
        ),
    },
)


def check_acquisition_options(acquisition: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the function does not have."""
    check_options(options, ACQUISITIONS.find(acquisition).options, repr(acquisition))


def rate(acquisition: str, posterior: Posterior, context: ScoringContext, options: Mapping[str, Any]) -> Rating:
    """Return the checked rating of a function by its name."""
    rating = ACQUISITIONS.find(acquisition).rate_fn(posterior, context, **options)
    return checked_rating(acquisition, context, rating)
