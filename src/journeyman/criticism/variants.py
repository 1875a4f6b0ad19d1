"""Variants of one problem: what of a model may be changed, in one's own words, and what the result is called.

Each key of `CHANGES` is a part of the model that can be varied. Its values are words that a command line can hold, or
the Python objects that they stand for.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from journeyman.checks import known_name, one_of, positive, real_number
from journeyman.errors import InputError, UnsupportedError
from journeyman.experts import Beta, Boltzmann, LogNormal
from journeyman.experts.priors import ParameterPrior
from journeyman.memory import Memory, combined, last_action, visited
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState, PerStateAction, Prior, RewardModel, Uniform, widened

BETA_SIGMA = 0.7  # of an unknown beta: within a factor of 4 of its median, with chance 0.95
USUAL_LAPSE = Beta(1.0, 9.0)
WHEN_VISITED = {"visited": "leaving", "entered": "entering"}
REWARDS = {"state": "per_state", "state_action": "per_state_action", "as_given": "features"}
REWARD_WORDS = {"state": "per state", "state_action": "per state and action", "as_given": "as given"}


@dataclass(frozen=True, eq=False)
class Variant:
    """A model to compare with others: a problem, perhaps with a memory, to which demonstrations are lifted."""

    problem: Problem

    @property
    def memory(self) -> Memory | None:
        """What its expert remembers."""
        remembered = self.problem.mdp.memory
        return None if remembered is None else remembered.automaton


def model_variants(
    problem: Problem,
    vary: Mapping[str, Iterable[Any]] | None = None,
    also: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Variant]:
    """Return variants of a problem by names that say what they are.

    Parameters
    ----------
    vary
        Values of parts of the model (keys of `CHANGES`); all combinations are made.
    also
        Further changes, such as {"beta": "unknown"}: each is made to each of these combinations.

    Examples
    --------
    `model_variants(problem, {"reward": ["state", "state_action"]}, [{"beta": "unknown"}, {"values": "soft"}])` gives
    six: two rewards, each with the expert as given, with an unknown beta, and with soft values.
    """
    grid = {checked_key(key): _listed(key, values) for key, values in (vary or {}).items()}
    further = [{checked_key(key): value for key, value in changes.items()} for changes in also]
    variants: dict[str, Variant] = {}
    for values in product(*grid.values()):
        base = dict(zip(grid, values, strict=True))
        for changes in ({}, *further):
            name, variant = varied(problem, base | changes)
            variants.setdefault(name, variant)
    return variants


def varied(problem: Problem, changes: Mapping[str, Any]) -> tuple[str, Variant]:
    """Return the name of a variant and the variant itself: the problem with some of its parts changed."""
    given = {checked_key(key): value for key, value in changes.items()}
    variant, words = Variant(problem), {}
    for key, change_fn in CHANGES.items():
        if key in given:
            words[key], variant = change_fn(variant, given[key])
    return ", ".join(words[key] for key in given) or "as given", variant


def checked_key(key: str) -> str:
    """Return the part of the model that a key means; those of the expert may have `expert.` before them."""
    short = key.removeprefix("expert.").replace("-", "_").replace("prior.scale", "prior_scale")
    return known_name(short, CHANGES, "what is varied")


def _listed(key: str, values: Any) -> list[Any]:
    found = [values] if isinstance(values, str) or not isinstance(values, Iterable) else list(values)
    if not found:
        raise InputError(f"what is varied must have values, got none for {key}. Name at least one.")
    return found


def _reward(variant: Variant, value: Any) -> tuple[str, Variant]:
    problem = variant.problem
    if isinstance(value, RewardModel):
        model, words = value, f"reward of {value.num_parameters} parameters"
    else:
        one_of(value, REWARDS, "reward", "state: one per state; state_action: one per state and action; as_given.")
        words = f"reward {REWARD_WORDS[value]}"
        if value == "as_given" or REWARDS[value] == problem.reward_model.kind:
            return words, variant
        model = PerState(problem.mdp) if value == "state" else PerStateAction(problem.mdp)
    prior = spread_prior(problem.prior, model.num_parameters)
    return words, Variant(replace(problem, reward_model=model, prior=prior))


def spread_prior(prior: Prior, size: int) -> Prior:
    """Return a prior that is alike for all parameters, over another number of them."""
    if isinstance(prior, Normal) and np.ptp(prior.mean) == 0 and np.ptp(prior.std) == 0:
        return Normal(size, float(np.ravel(prior.mean)[0]), float(np.ravel(prior.std)[0]))
    if isinstance(prior, Uniform) and np.ptp(prior.low) == 0 and np.ptp(prior.high) == 0:
        return Uniform(size, float(np.ravel(prior.low)[0]), float(np.ravel(prior.high)[0]))
    raise UnsupportedError(
        "to vary the reward model the prior must be a Normal or Uniform one that is alike for all parameters, got "
        f"{type(prior).__name__}, {prior.describe()}. Make variants in Python, with a prior for each."
    )


def _prior_scale(variant: Variant, value: Any) -> tuple[str, Variant]:
    factor = positive(_number(value, "prior_scale"), "prior_scale", "It multiplies the sd: 2 is twice as wide.")
    prior = variant.problem.prior
    wider = widened(prior, factor)
    if wider is None:
        raise UnsupportedError(
            f"to vary its scale the prior must be Normal, Uniform or MultivariateNormal, got {type(prior).__name__}. "
            "Make variants in Python, with a prior for each."
        )
    return f"prior {factor:g} times as wide", replace(variant, problem=replace(variant.problem, prior=wider))


def _discount(variant: Variant, value: Any) -> tuple[str, Variant]:
    discount = _number(value, "discount")
    mdp = replace(variant.problem.mdp, discount=discount)
    return f"discount {discount:g}", replace(variant, problem=replace(variant.problem, mdp=mdp))


def _beta(variant: Variant, value: Any) -> tuple[str, Variant]:
    expert = boltzmann_of(variant.problem, "beta")
    beta = unknown_beta(expert) if value == "unknown" else _part(value, "beta")
    return f"beta {_part_words(value)}", _with_expert(variant, replace(expert, beta=beta))


def _lapse(variant: Variant, value: Any) -> tuple[str, Variant]:
    expert = boltzmann_of(variant.problem, "lapse")
    lapse = unknown_lapse(expert) if value == "unknown" else _part(value, "lapse")
    words = "no lapse" if lapse == 0.0 else f"lapse {_part_words(value)}"
    return words, _with_expert(variant, replace(expert, lapse=lapse))


def _values(variant: Variant, value: Any) -> tuple[str, Variant]:
    expert = replace(boltzmann_of(variant.problem, "values"), values=value)
    return f"{value} values", _with_expert(variant, expert)


def _memory(variant: Variant, value: Any) -> tuple[str, Variant]:
    if value is None or value == "none":
        return "no memory", variant
    memory = value if isinstance(value, Memory) else _memory_in_words(variant.problem, value)
    return f"memory: {memory.name}", Variant(variant.problem.with_memory(memory))


def _memory_in_words(problem: Problem, words: Any) -> Memory:
    """Return what "last_action", "visited:116", "visited:116:0" and "entered:116" mean, several joined by +."""
    mdp, found = problem.mdp, []
    for part in str(words).split("+"):
        kind, *places = part.strip().split(":")
        if kind == "last_action" and not places:
            found.append(last_action(mdp))
        elif kind in WHEN_VISITED and 1 <= len(places) <= 2:
            known = {mdp.state_name(s): s for s in range(mdp.num_states)} | {str(s): s for s in range(mdp.num_states)}
            numbers = [known[known_name(place, known, "a state of a memory")] for place in places]
            found.append(visited(mdp, *numbers, on=WHEN_VISITED[kind]))
        else:
            raise InputError(
                f"memory must be none, last_action, visited:STATE or visited:STATE:UNTIL, got {words!r}. "
                "Example: memory=visited:116:0 remembers state 116 until state 0 is met (entered:116:0: on "
                "arrival). Join several by +."
            )
    return combined(*found)


CHANGES: dict[str, Callable[[Variant, Any], tuple[str, Variant]]] = {
    "reward": _reward,
    "prior_scale": _prior_scale,
    "discount": _discount,
    "beta": _beta,
    "lapse": _lapse,
    "values": _values,
    "memory": _memory,  # last: the product is made of all the others
}


def boltzmann_of(problem: Problem, what: str) -> Boltzmann:
    """Return the expert of a problem if it is Boltzmann's, whose parts are known; else refuse."""
    if not isinstance(problem.expert, Boltzmann):
        raise UnsupportedError(
            f"to vary {what} the expert must be Boltzmann's, got {type(problem.expert).__name__}. "
            "Make variants in Python, with an expert for each."
        )
    return problem.expert


def unknown_beta(expert: Boltzmann) -> ParameterPrior:
    """Return the prior of a beta that is to be inferred: its own, or within a factor of 4 of what was assumed."""
    return expert.beta if isinstance(expert.beta, ParameterPrior) else LogNormal(expert.beta, BETA_SIGMA)


def unknown_lapse(expert: Boltzmann) -> ParameterPrior:
    """Return the prior of a lapse that is to be inferred: its own, or one with a mean of 0.1."""
    return expert.lapse if isinstance(expert.lapse, ParameterPrior) else USUAL_LAPSE


def _with_expert(variant: Variant, expert: Boltzmann) -> Variant:
    return replace(variant, problem=replace(variant.problem, expert=expert))


def _part(value: Any, what: str) -> float | ParameterPrior:
    return value if isinstance(value, ParameterPrior) else _number(value, what, " or unknown")


def _part_words(value: Any) -> str:
    if isinstance(value, ParameterPrior):
        return f"unknown ({value.words()})"
    return value if value == "unknown" else f"{float(value):g}"


def _number(value: Any, what: str, more: str = "") -> float:
    try:
        return real_number(float(value) if isinstance(value, str) else value, what)
    except ValueError:
        raise InputError(f"{what} must be a number{more}, got {value!r}. Example: {what}=0.5") from None
