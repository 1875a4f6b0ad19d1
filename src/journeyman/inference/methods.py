"""Inference methods by name, all with one interface: `infer(problem, demonstrations, method) -> Posterior`.

A method from outside the package is one more `Method`, added by `INFERENCE.register("mine", Method(...))`; learners,
sweeps and the command line then know it by its name.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from journeyman.checks import check_options, whole_number
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.inference import enumeration, policywalk, smc, valuewalk, variational
from journeyman.inference.chains import longer_chains
from journeyman.inference.particles import SMCSettings
from journeyman.inference.posterior import Posterior
from journeyman.inference.smc import Snapshot
from journeyman.logs import logged
from journeyman.problem import Problem
from journeyman.registry import Registry
from journeyman.threads import resolve_num_threads

SHARED_OPTIONS = ("seed", "num_threads", "progress")


class Incremental(NamedTuple):
    """What a method can do that keeps its posterior up to date instead of starting from scratch after every answer.

    A state is whatever the method likes; it is never modified.

    start_fn(problem, *, seed, num_threads, **options) -> state
        The belief before any answer.
    advance_fn(state, counts, *, num_threads) -> state
        The belief given counts `[S, A]`, from that given any other counts.
    posterior_fn(state) -> Posterior
        The samples of a state.
    to_snapshot_fn(state) -> Snapshot
        The state as plain data and arrays, from which it continues as if it had never stopped.
    from_snapshot_fn(problem, snapshot, *, seed, **options) -> state
        The state that a snapshot holds.
    draw_fn(state, *, seed, num_threads) -> iterator of Posterior
        For methods that can draw more from what a state knows: posteriors that grow, each with all samples of the last
        one and more, so that a certificate can be computed until it is decided.
    prepare_fn(state, *, num_threads)
        For methods that can work ahead: begins in the background what the next advance will need.
    live_options
        Options of a learner that answers while people wait, where it is given no others and its certificates draw
        samples of their own.
    """

    start_fn: Callable[..., Any]
    advance_fn: Callable[..., Any]
    posterior_fn: Callable[[Any], Posterior]
    to_snapshot_fn: Callable[[Any], Snapshot]
    from_snapshot_fn: Callable[..., Any]
    draw_fn: Callable[..., Iterator[Posterior]] | None = None
    prepare_fn: Callable[..., None] | None = None
    live_options: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Method:
    """An inference method.

    Parameters
    ----------
    summary
        One line for people.
    infer_fn
        infer_fn(problem, counts, *, seed, num_threads, progress, **options) gives a Posterior. Its options are its
        other keyword-only parameters, all with defaults that are plain data.
    refusal_fn
        refusal_fn(problem) says why the method cannot do a problem and what to use instead, or None if it can.
    settings_fn
        Takes the options as keywords and checks their values, as a settings class does; if given, the options are its
        parameters.
    incremental
        For methods that keep their posterior up to date.
    sized_fn
        sized_fn(options, num_independent): the options with a size filled in, where none is given, that is worth so
        many independent draws; default: the options as they are.
    longer_fn
        longer_fn(options, factor): the options of a run `factor` times as long, for the fresh posterior that confirms
        a certificate; default: the options as they are.
    test_options
        Options that make a quick run, for tests that go through all methods.
    retired, added
        Options that the method had once, with their defaults, and options that it did not have always, with what it did
        before: ids of stored results are hashed with the first, and without the second where they have these values.
    """

    summary: str
    infer_fn: Callable[..., Posterior]
    refusal_fn: Callable[[Problem], str | None] = lambda problem: None
    settings_fn: Callable[..., Any] | None = None
    incremental: Incremental | None = None
    sized_fn: Callable[[Mapping[str, Any], float], dict[str, Any]] = lambda options, num_independent: dict(options)
    longer_fn: Callable[[Mapping[str, Any], int], dict[str, Any]] = lambda options, factor: dict(options)
    test_options: Mapping[str, Any] = field(default_factory=dict)
    retired: Mapping[str, Any] = field(default_factory=dict)
    added: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that infer_fn takes what every method is given."""
        try:
            parameters = inspect.signature(self.infer_fn).parameters
        except (TypeError, ValueError):
            raise InputError(f"infer_fn must be a function, got {self.infer_fn!r}. Write one in Python.") from None
        kinds = {one.kind for one in parameters.values()}
        taken = {name for name, one in parameters.items() if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)}
        missing = [name for name in SHARED_OPTIONS if name not in taken]
        if missing and inspect.Parameter.VAR_KEYWORD not in kinds:
            name = getattr(self.infer_fn, "__name__", repr(self.infer_fn))
            raise InputError(
                f"infer_fn must take the keywords {', '.join(SHARED_OPTIONS)}, got {name} without "
                f"{', '.join(missing)}. Add what is missing, even if it is not used."
            )

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Options of the method with their defaults."""
        if self.settings_fn is not None:
            return {name: one.default for name, one in inspect.signature(self.settings_fn).parameters.items()}
        parameters = inspect.signature(self.infer_fn).parameters
        named = {name: one for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY}
        return {name: one.default for name, one in named.items() if name not in SHARED_OPTIONS}

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options."""
        return tuple(self.defaults)

    def check_options(self, options: Mapping[str, Any], what: str = "this method") -> None:
        """Refuse options that the method does not have, and values that it can tell to be wrong."""
        check_options(options, self.options, what)
        if self.settings_fn is not None:
            self.settings_fn(**options)

    def filled_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options, those that are not given at their defaults; 1 is 1.0 where the default is a float."""
        return {name: _alike(options.get(name, default), default) for name, default in self.defaults.items()}


def _alike(value: Any, default: Any) -> Any:
    return float(value) if type(default) is float and type(value) is int else value


INFERENCE: Registry[Method] = Registry(
    "an inference method",
    "journeyman.inference",
    Method,
    {
        "enumerate": Method(
            "exact sum over the atoms of a Discrete prior, or over a fine net of at most 3 parameters",
            enumeration.infer_enumerate,
            enumeration.refusal,
            test_options={"num_points": 512},
        ),
        "policywalk": Method(
            "Markov chains (NUTS or HMC) on the exact gradient, for continuous priors",
            policywalk.infer_policywalk,
            policywalk.refusal,
            longer_fn=longer_chains,
            test_options={"num_chains": 2, "num_warmup": 50, "num_draws": 50},
            retired={"preset": None},
        ),
        "valuewalk": Method(
            "Hamiltonian chains over optimal values, with the exact Jacobian, for one reward per state or state and "
            "action",
            valuewalk.infer_valuewalk,
            valuewalk.refusal,
            longer_fn=longer_chains,
            test_options={"num_chains": 2, "num_warmup": 50, "num_draws": 50},
            retired={"preset": None},
        ),
        "smc": Method(
            "sequential Monte Carlo over demonstrations: incremental, with the log evidence, for every prior",
            smc.infer_smc,
            smc.refusal,
            settings_fn=SMCSettings,
            incremental=Incremental(
                smc.start,
                smc.advance,
                smc.posterior_of,
                smc.to_snapshot,
                smc.from_snapshot,
                smc.draw_more,
                smc.prepare,
                MappingProxyType({"lag": 1}),
            ),
            sized_fn=smc.sized_options,
            longer_fn=smc.longer_options,
            test_options={"num_particles": 200},
            added={"lag": 0, "path": "auto"},
        ),
        "variational": Method(
            "independent Normals fitted by AVRIL: fast, not exact, for comparison; per-state rewards with a Normal "
            "prior",
            variational.infer_variational,
            variational.refusal,
            test_options={"num_draws": 100},
        ),
    },
)


def infer(
    problem: Problem,
    demonstrations: Iterable[Demonstration] | Demonstration = (),
    method: str = "smc",
    *,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool | None = None,
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

    Examples
    --------
    >>> from journeyman import Demonstration, infer, make_world
    >>> problem = make_world("random-grid", size=3).problem
    >>> posterior = infer(problem, [Demonstration.annotation(0, 1)], num_particles=100)
    >>> posterior
    Posterior('smc': 100 samples of 9 parameters, 1 demonstrated action)
    >>> posterior.theta.shape
    (100, 9)
    """
    chosen = INFERENCE.find(method)
    if not isinstance(problem, Problem):
        raise InputError(f"problem must be a Problem, got {type(problem).__name__}. A World has one: world.problem.")
    check_options(options, chosen.options, f"method {method!r}")
    seed = whole_number(seed, "seed", 0)
    resolve_num_threads(num_threads)
    counts = problem.counts(demonstrations)
    reason = chosen.refusal_fn(problem)
    if reason is not None:
        raise UnsupportedError(reason)
    with logged("inference", "inferred", method=method, answers=int(counts.sum()), states=problem.mdp.num_states):
        found = chosen.infer_fn(problem, counts, seed=seed, num_threads=num_threads, progress=progress, **options)
    return checked_posterior(found, method)


def checked_posterior(found: Any, method: str) -> Posterior:
    """Return what a method gave, or say that it is no posterior."""
    if not isinstance(found, Posterior):
        raise InputError(
            f"inference method {method!r} must give a Posterior, got {type(found).__name__}. "
            "Make one with Posterior(problem, counts, theta, weights, values, ...)."
        )
    return found
