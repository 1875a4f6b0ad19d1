"""Posteriors over rewards: inference methods by name, all with one interface."""

import difflib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from journeyman.checks import whole_number
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.inference import enumeration, policywalk, smc, valuewalk, variational
from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.entropy import posterior_entropy
from journeyman.inference.particles import SMCSettings
from journeyman.inference.posterior import Posterior
from journeyman.inference.target import Target
from journeyman.problem import Problem
from journeyman.threads import resolve_num_threads

SHARED_OPTIONS = ("seed", "num_threads", "progress")


@dataclass(frozen=True)
class Method:
    """An inference method.

    infer_fn(problem, counts, *, seed, num_threads, progress, **options) gives a Posterior; refusal_fn(problem) says why
    the method cannot do a problem and what to use instead, or None if it can; options are the names of its own.
    """

    summary: str
    infer_fn: Callable[..., Posterior]
    refusal_fn: Callable[[Problem], str | None]
    options: tuple[str, ...]


def _keywords(infer_fn: Callable[..., Posterior]) -> tuple[str, ...]:
    parameters = inspect.signature(infer_fn).parameters.values()
    named = (parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)
    return tuple(name for name in named if name not in SHARED_OPTIONS)


INFERENCE: dict[str, Method] = {
    "enumerate": Method(
        "exact sum over the atoms of a Discrete prior, or over a fine net of at most 3 parameters",
        enumeration.infer_enumerate,
        enumeration.refusal,
        _keywords(enumeration.infer_enumerate),
    ),
    "policywalk": Method(
        "Markov chains (NUTS or HMC) on the exact gradient, for continuous priors",
        policywalk.infer_policywalk,
        policywalk.refusal,
        _keywords(policywalk.infer_policywalk),
    ),
    "valuewalk": Method(
        "Hamiltonian chains over optimal values, with the exact Jacobian, for one reward per state or state and action",
        valuewalk.infer_valuewalk,
        valuewalk.refusal,
        _keywords(valuewalk.infer_valuewalk),
    ),
    "smc": Method(
        "sequential Monte Carlo over demonstrations: incremental, with the log evidence, for every prior",
        smc.infer_smc,
        smc.refusal,
        tuple(field.name for field in fields(SMCSettings)),
    ),
    "variational": Method(
        "independent Normals fitted by AVRIL: fast, not exact, for comparison; per-state rewards with a Normal prior",
        variational.infer_variational,
        variational.refusal,
        _keywords(variational.infer_variational),
    ),
}


def infer(
    problem: Problem,
    demonstrations: Iterable[Demonstration] | Demonstration = (),
    method: str = "smc",
    *,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool = False,
    **options: Any,
) -> Posterior:
    """Return the posterior over rewards given demonstrations.

    Parameters
    ----------
    problem
        What is known before.
    demonstrations
        One, many or none; checked against the problem before any work.
    method
        A key of `INFERENCE`.
    seed
        The result is the same for a seed, whatever the number of threads.
    num_threads
        Default: all cores of this process.
    progress
        Whether to show how far it is.
    options
        Of the method.

    Raises
    ------
    UnsupportedError
        If the method cannot do this problem; the message says what can.
    """
    chosen = find_method(method)
    if not isinstance(problem, Problem):
        raise InputError(f"problem must be a Problem, got {type(problem).__name__}. A World has one: world.problem.")
    for option in options:
        if option not in chosen.options:
            raise InputError(
                f"method {method!r} must get options it knows, got {option!r}. "
                f"{_suggestion(option, chosen.options, 'It has')}"
            )
    seed = whole_number(seed, "seed", 0)
    resolve_num_threads(num_threads)
    counts = problem.counts(demonstrations)
    reason = chosen.refusal_fn(problem)
    if reason is not None:
        raise UnsupportedError(reason)
    return chosen.infer_fn(problem, counts, seed=seed, num_threads=num_threads, progress=progress, **options)


def find_method(name: str) -> Method:
    """Return a method of `INFERENCE`, or say which is meant."""
    if name not in INFERENCE:
        raise InputError(
            f"method must be one that exists, got {name!r}. {_suggestion(name, tuple(INFERENCE), 'Choose from')}"
        )
    return INFERENCE[name]


def _suggestion(name: object, known: tuple[str, ...], otherwise: str) -> str:
    close = difflib.get_close_matches(str(name), known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"{otherwise}: {', '.join(known)}."


__all__ = [
    "INFERENCE",
    "Diagnostics",
    "Method",
    "Posterior",
    "Target",
    "find_method",
    "infer",
    "posterior_entropy",
]
