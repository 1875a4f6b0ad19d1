"""Simulate: a learner and a simulated expert, by ask and tell alone, as a person would."""

import sys
from collections.abc import Callable
from typing import NamedTuple

from journeyman.apprentice import Certificate
from journeyman.checks import whole_number
from journeyman.demonstrations import Demonstration
from journeyman.experts import Question, SimulatedExpert
from journeyman.learner.learner import ActiveLearner
from journeyman.learner.progress import answers_shown
from journeyman.learner.query import Query
from journeyman.learner.records import StepRecord


class Simulation(NamedTuple):
    """How a simulation ended.

    learner: as it is now; num_steps: answers given in this call; is_finished: whether the goal was reached (None if
    nobody asked); certificate: the last one, the confirmed one if the goal was reached; history: all steps.
    """

    learner: ActiveLearner
    num_steps: int
    is_finished: bool | None
    certificate: Certificate
    history: tuple[StepRecord, ...]


def simulate(
    learner: ActiveLearner,
    expert: SimulatedExpert,
    steps: int,
    *,
    stop_when_certified: bool = True,
    progress: bool = True,
    k: int = 1,
    on_step: Callable[[ActiveLearner], None] | None = None,
) -> Simulation:
    """Let a simulated expert answer up to `steps` queries.

    Queries that wait already are answered first, so that a simulation can be stopped and continued.

    Parameters
    ----------
    learner
        It is changed.
    expert
        Its noise is keyed by (its seed, state, how often that state was asked before).
    steps
        Answers to give, at most.
    stop_when_certified
        Whether to stop when the learner is finished.
    progress
        Whether to show a bar on the error stream, if that is a terminal.
    k
        Queries to choose at once.
    on_step
        Called after every answer.
    """
    steps = whole_number(steps, "steps", 0, "It is the number of answers.")
    k = whole_number(k, "k", 1, "It is the number of queries to choose at once.")
    num_steps, is_finished = 0, None
    with answers_shown(steps, is_shown=progress and sys.stderr.isatty()) as show:
        while True:
            if stop_when_certified and not learner.pending:
                is_finished = learner.is_finished
            if is_finished or num_steps >= steps:
                break
            if not learner.pending:
                learner.ask(min(k, steps - num_steps))
            query = learner.pending[0]
            show(learner.tell(query, answer_of(learner, expert, query)))
            num_steps += 1
            if on_step is not None:
                on_step(learner)
    certificate = learner.confirmation() if is_finished and learner.settings.goal == "policy" else learner.certificate()
    return Simulation(learner, num_steps, is_finished, certificate, learner.history)


def answer_of(learner: ActiveLearner, expert: SimulatedExpert, query: Query) -> Demonstration:
    """Return the expert's answer to a query, the n-th in its state."""
    visit = sum(other.state == query.state for other in learner.queries[: query.id])
    return expert.demonstrate(Question(query.state, visit, query.kind, query.length, query.id))
