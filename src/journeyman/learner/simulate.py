"""The one ask/tell loop: a learner and somebody who answers, by ask and tell alone, as a person would."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from journeyman.apprentice import Certificate
from journeyman.checks import whole_number
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.learner.protocol import Learner
from journeyman.learner.records import Query, StepRecord
from journeyman.progress import is_watched, progress_bar
from journeyman.wording import counted, percent


class Expert(Protocol):
    """Who answers: a `SimulatedExpert`, or anything else that can."""

    def demonstrate(self, question: Query, /) -> Demonstration:
        """Return the answer to a query."""


class Simulation(NamedTuple):
    """How a simulation ended.

    learner: as it is now; num_steps: answers given in this call; is_finished: whether the goal was reached (None if
    nobody asked); certificate: the last one, the confirmed one if the goal was reached; history: all steps.
    """

    learner: Learner
    num_steps: int
    is_finished: bool | None
    certificate: Certificate
    history: tuple[StepRecord, ...]

    def __repr__(self) -> str:
        return f"Simulation({counted(self.num_steps, 'answer')}, is_finished={self.is_finished}: {self.certificate!r})"


def answered_steps(
    learner: Learner, expert: Expert, *, steps: int | None = None, batch_size: int = 1
) -> Iterator[Query]:
    """Ask and tell without end, or `steps` times; yields each query when its answer has been told.

    Queries that wait already are answered first, so that a loop can be stopped and continued.

    Parameters
    ----------
    learner
        It is changed.
    steps
        Answers to give, at most.
    batch_size
        Queries to choose at once.
    """
    if not hasattr(expert, "demonstrate"):
        raise InputError(
            f"expert must be able to demonstrate(query), got {type(expert).__name__}. A World has one: world.expert."
        )
    num_steps = 0
    while steps is None or num_steps < steps:
        if not learner.pending:
            learner.ask_batch(batch_size if steps is None else min(batch_size, steps - num_steps))
        query = learner.pending[0]
        learner.tell(query, expert.demonstrate(query))
        num_steps += 1
        yield query


def simulate(
    learner: Learner,
    expert: Expert,
    steps: int,
    *,
    stop_when_finished: bool = True,
    batch_size: int = 1,
    progress: bool = True,
    on_step: Callable[[Query], None] | None = None,
) -> Simulation:
    """Let an expert answer up to `steps` queries, those that wait already first.

    Parameters
    ----------
    learner
        An `ActiveLearner` or a `Study`; it is changed.
    expert
        The noise of a `SimulatedExpert` is keyed by (its seed, state, how often the learner asked there before), so
        that methods compared on one instance meet the same expert.
    steps
        Answers to give, at most.
    stop_when_finished
        Whether to stop when the learner is finished.
    batch_size
        Queries to choose at once.
    progress
        Whether to show a bar, if somebody watches a terminal or a notebook.
    on_step
        Called with the query after every answer.

    Examples
    --------
    >>> from journeyman import ActiveLearner, make_world
    >>> world = make_world("brown-two-state")
    >>> learner = ActiveLearner(world.problem, inference="enumerate")
    >>> from journeyman import simulate
    >>> found = simulate(learner, world.expert, 5, stop_when_finished=False)
    >>> found.num_steps, len(found.history)
    (5, 6)
    """
    steps = whole_number(steps, "steps", 0, "It is the number of answers.")
    batch_size = whole_number(batch_size, "batch_size", 1, "It is the number of queries to choose at once.")
    answering = answered_steps(learner, expert, steps=steps, batch_size=batch_size)
    num_steps, is_finished = 0, None
    is_shown = progress and is_watched()
    with progress_bar("Asking the expert", is_shown=is_shown) as report:
        while True:
            if stop_when_finished and not learner.pending:
                is_finished = learner.is_finished()
            query = None if is_finished else next(answering, None)
            if query is None:
                break
            num_steps += 1
            if is_shown:
                report(num_steps / steps, f"{num_steps} of {steps} answers. {step_text(learner.history()[-1])}")
            if on_step is not None:
                on_step(query)
    certificate = learner.confirmation() if is_finished and learner.settings.goal == "policy" else learner.certificate()
    return Simulation(learner, num_steps, is_finished, certificate, learner.history())


def step_text(record: StepRecord) -> str:
    """Return a step in a few words: how likely the apprentice loses too much, and how much it loses on average."""
    if record.failure_chance is None or record.expected_regret is None:
        return "Asking the expert"
    return f"Chance of too much regret {percent(record.failure_chance)}, mean regret {record.expected_regret:.3g}"
