"""Choose the next queries: the best score, or several that tell most together."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from journeyman.acquisition import Scores, choose_batch, score
from journeyman.checks import whole_number
from journeyman.errors import InputError
from journeyman.inference.posterior import Posterior
from journeyman.learner.ledger import Ledger
from journeyman.learner.records import Event, Query, question_text
from journeyman.learner.settings import ASK, LearnerSettings
from journeyman.problem import Problem
from journeyman.progress import Report

MAX_BATCH = 1000


def checked_batch(k: int) -> int:
    """Return the number of queries to choose at once, if it is one."""
    k = whole_number(k, "the number of queries in a batch", 1, "One at a time tells most per answer.")
    if k > MAX_BATCH:
        raise InputError(
            f"the number of queries in a batch must be at most {MAX_BATCH}, got {k}. Ask for more when these are "
            "answered: the answers change what is worth asking."
        )
    return k


@dataclass(frozen=True)
class Chosen:
    """States `[k]` to ask about, what each adds, scores in short, what is doubtful, and lengths `[k]`.

    Without lengths all are those of the settings.
    """

    states: tuple[int, ...]
    gains: tuple[float, ...]
    summary: dict[str, Any]
    warnings: tuple[str, ...]
    lengths: tuple[int | None, ...] | None = None


def rate(
    posterior: Posterior,
    settings: LearnerSettings,
    event_number: int,
    abandoned: frozenset[int],
    num_threads: int | None,
) -> Scores:
    """Score all states as the ask at `event_number` would, minus infinity where it may not ask."""
    options = _options(settings, event_number, num_threads)
    return score(_askable(posterior, abandoned), settings.acquisition, **options)


def choose(
    posterior: Posterior,
    settings: LearnerSettings,
    event_number: int,
    k: int,
    pending: Sequence[Query],
    abandoned: frozenset[int],
    scores: Scores | None,
    num_threads: int | None,
    report_fn: Report | None = None,
) -> Chosen:
    """Choose `k` queries at once, given those that wait; `scores` are reused if they are known.

    `report_fn` is told how far that is.
    """
    rng = settings.rng(ASK, event_number)
    if k == 1 and not pending:
        found = scores or rate(posterior, settings, event_number, abandoned, num_threads)
        state = found.best_state(rng)
        asked = found.values[np.isfinite(found.values)]
        summary: dict[str, Any] = {
            "best": float(found.values[state]),
            "median": float(np.median(asked)),
            "num_queries": 1,
            "unit": found.unit,
        }
        return Chosen((state,), (float(found.values[state]),), summary, found.warnings, (found.length_at(state),))
    options = _options(settings, event_number, num_threads)
    options["pending"] = [query.state for query in pending]
    if settings.kind == "trajectory":
        options["pending_lengths"] = [query.length for query in pending]
    batch = choose_batch(
        _askable(posterior, abandoned), settings.acquisition, k, rng=rng, report_fn=report_fn, **options
    )
    lengths = None if batch.lengths is None else tuple(batch.lengths.tolist())
    gains = tuple(batch.gains.tolist())
    summary = {"best": gains[0], "median": None, "num_queries": k, "unit": batch.unit}
    return Chosen(tuple(batch.states.tolist()), gains, summary, batch.warnings, lengths)


def ask_event(ledger: Ledger, settings: LearnerSettings, chosen: Chosen, seconds: float) -> Event:
    """Return the event that asks what was chosen; `seconds` is what choosing took."""
    queries = queries_of(ledger.problem, settings, chosen, ledger.queries)
    payload = {
        "queries": [query.to_record() for query in queries],
        "scores": chosen.summary,
        "seconds": seconds,
        "warnings": list(chosen.warnings),
    }
    return ledger.next_event("ask", payload)


def queries_of(
    problem: Problem, settings: LearnerSettings, chosen: Chosen, earlier: Sequence[Query]
) -> tuple[Query, ...]:
    """Return chosen states as queries, numbered on from the earlier ones."""
    kind, lengths = settings.kind, chosen.lengths or [settings.length] * len(chosen.states)
    visits = Counter(map(attrgetter("state"), earlier))
    queries: list[Query] = []
    for state, gain, length in zip(chosen.states, chosen.gains, lengths, strict=True):
        text = question_text(problem, state, kind, length)
        queries.append(Query(len(earlier) + len(queries), state, kind, length, gain, text, visits[state]))
        visits[state] += 1
    return tuple(queries)


def _options(settings: LearnerSettings, event_number: int, num_threads: int | None) -> dict[str, Any]:
    return {
        "kind": settings.kind,
        "length": settings.length,
        "epsilon": settings.epsilon,
        "costs": settings.costs,
        "step_cost": settings.step_cost,
        "seed": settings.stream_seed(ASK, event_number),
        "num_histories": settings.num_histories,
        "num_threads": num_threads,
        "candidates": settings.candidates,
        **settings.acquisition_options,
    }


def _askable(posterior: Posterior, abandoned: frozenset[int]) -> Posterior:
    """Return the posterior of a problem in which abandoned states may not be asked about."""
    if not abandoned:
        return posterior
    queryable = posterior.problem.queryable.copy()
    queryable[list(abandoned)] = False
    if not queryable.any():
        raise InputError(
            f"there must be a state left to ask about, got {len(abandoned)} abandoned ones, which are all. "
            "Attach data instead, or start again with more queryable states."
        )
    return replace(posterior, problem=replace(posterior.problem, queryable=queryable))
