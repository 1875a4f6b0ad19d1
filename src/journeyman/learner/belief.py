"""Belief: the posterior of a learner after some event, and how the next event changes it.

A method that is incremental keeps a state that every answer updates, so that what was known is not computed again. With
any other method the samples are computed from all demonstrations each time. Either way the belief follows from the
problem, the settings and the events alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from journeyman.demonstrations import Demonstration
from journeyman.inference import Snapshot, infer
from journeyman.inference.methods import Incremental, checked_posterior
from journeyman.inference.posterior import Posterior
from journeyman.learner.records import BEFORE
from journeyman.learner.settings import POSTERIOR, LearnerSettings
from journeyman.problem import Problem


@dataclass(frozen=True, eq=False)
class Belief:
    """Posterior after the event `event_number`, and the state that an incremental method continues from."""

    event_number: int
    posterior: Posterior
    state: Any = None


def first_belief(problem: Problem, settings: LearnerSettings, num_threads: int | None) -> Belief:
    """Return the belief before any event."""
    incremental = settings.method.incremental
    if incremental is None:
        return inferred_belief(problem, settings, BEFORE, (), num_threads)
    options = _options(settings, incremental)
    state = incremental.start_fn(problem, seed=settings.seed, num_threads=num_threads, **options)
    return _kept_belief(settings, incremental, BEFORE, state)


def inferred_belief(
    problem: Problem,
    settings: LearnerSettings,
    event_number: int,
    demonstrations: Iterable[Demonstration],
    num_threads: int | None,
) -> Belief:
    """Return the belief after an event, inferred from all demonstrations that count then."""
    seed, options = settings.stream_seed(POSTERIOR, event_number + 1), settings.sized_options
    samples = infer(problem, demonstrations, settings.inference, seed=seed, num_threads=num_threads, **options)
    return Belief(event_number, samples)


def updated_belief(
    problem: Problem,
    settings: LearnerSettings,
    belief: Belief | None,
    event_number: int,
    demonstrations: Iterable[Demonstration],
    num_threads: int | None,
) -> Belief:
    """Return the belief after the next event that changed what counts.

    Parameters
    ----------
    belief
        After the last such event. Only incremental methods look at it.
    demonstrations
        All that count now.
    """
    incremental = settings.method.incremental
    if incremental is None:
        return inferred_belief(problem, settings, event_number, demonstrations, num_threads)
    assert belief is not None
    counts = problem.tally(demonstrations)  # checked when they came
    state = incremental.advance_fn(belief.state, counts, num_threads=num_threads)
    return _kept_belief(settings, incremental, event_number, state)


def reset_belief(
    problem: Problem,
    old: LearnerSettings,
    new: LearnerSettings,
    belief: Belief | None,
    event_number: int,
    demonstrations: Iterable[Demonstration],
    num_threads: int | None,
) -> Belief:
    """Return the belief after an event that changed settings: as it was, if it would be computed in the same way.

    Else it is computed again from all demonstrations at once.
    """
    incremental = new.method.incremental
    if incremental is None:
        return inferred_belief(problem, new, event_number, demonstrations, num_threads)
    if belief is not None and _options(old, incremental) == _options(new, incremental):
        return belief
    first, listed = first_belief(problem, new, num_threads), tuple(demonstrations)
    if not listed:
        return replace(first, event_number=event_number)
    return updated_belief(problem, new, first, event_number, listed, num_threads)


def prepare_belief(settings: LearnerSettings, belief: Belief | None, num_threads: int | None) -> None:
    """Begin in the background what the next event will need, where the method can."""
    incremental = settings.method.incremental
    if belief is not None and incremental is not None and incremental.prepare_fn is not None:
        incremental.prepare_fn(belief.state, num_threads=num_threads)


def belief_to_snapshot(settings: LearnerSettings, belief: Belief | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return plain data and arrays from which `belief_from_snapshot` makes it again; none if it is to be inferred."""
    incremental = settings.method.incremental
    if belief is None or incremental is None:
        return {"belief_event": None}, {}
    facts, arrays = incremental.to_snapshot_fn(belief.state)
    return {"belief_event": belief.event_number, "belief": facts}, dict(arrays)


def belief_from_snapshot(problem: Problem, settings: LearnerSettings, snapshot: Mapping[str, Any]) -> Belief | None:
    """Return the belief that a snapshot holds, or None if it holds none."""
    facts, incremental = snapshot["state"], settings.method.incremental
    if facts["belief_event"] is None or incremental is None:
        return None
    arrays = {name: value for name, value in snapshot.items() if name != "state"}
    kept, options = Snapshot(facts["belief"], arrays), _options(settings, incremental)
    state = incremental.from_snapshot_fn(problem, kept, seed=settings.seed, **options)
    return _kept_belief(settings, incremental, int(facts["belief_event"]), state)


def _options(settings: LearnerSettings, incremental: Incremental) -> dict[str, Any]:
    """Return the options of the method: those of a live learner, unless certificates rest on its samples alone."""
    live = incremental.live_options if settings.max_samples > 0 else {}
    return {**live, **settings.sized_options}


def _kept_belief(settings: LearnerSettings, incremental: Incremental, event_number: int, state: Any) -> Belief:
    return Belief(event_number, checked_posterior(incremental.posterior_fn(state), settings.inference), state)
