"""A learner in numbers: what it asked and why, what it knows now, and how far that can be trusted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from journeyman.acquisition import ACQUISITIONS, Acquisition, Scores
from journeyman.apprentice import Certificate
from journeyman.apprentice.failures import failures_of
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.inference import posterior_entropy
from journeyman.inference.posterior import Posterior
from journeyman.learner import ActiveLearner, LearnerSettings, Query
from journeyman.problem import Problem
from journeyman.report.learning.identifiability import Identifiability, identifiability
from journeyman.report.learning.reward import (
    ActionCertainty,
    ParameterKnowledge,
    RewardIntervals,
    action_certainty,
    parameter_knowledge,
    reward_intervals,
)
from journeyman.types import IntArray
from journeyman.wording import plain_number
from journeyman.worlds import World


class Point(NamedTuple):
    """The belief after some answers, as numbers to plot; None where one is not known."""

    num_demonstrations: int
    failure_chance: float | None
    expected_regret: float | None
    entropy: float | None
    true_regret: float | None = None


@dataclass(frozen=True)
class Asked:
    """A query with its status, its answer if that counts, and why it was asked, in words."""

    query: Query
    status: str
    answer: Demonstration | None
    why: str


@dataclass(frozen=True, eq=False)
class LearningSummary:
    """All that a report says about a learner.

    Parameters
    ----------
    name
        Of the study or the world.
    asked
        Every query that was ever asked, in order.
    num_attached
        Demonstrations that count without having been asked for.
    course
        How the belief changed: before any answer, then after each step.
    scores
        What the next question would be worth in each state; None if no state may be asked about.
    apprentice
        `[S]` the policy that is handed out.
    certificate
        On the learner's own samples.
    confirmation
        On a fresh, longer posterior, where the certificate holds and a policy is the goal; else None.
    is_finished
        Whether the learner says that its goal is reached.
    warnings
        What is doubtful, each once.
    """

    name: str
    problem: Problem
    settings: LearnerSettings
    posterior: Posterior
    asked: tuple[Asked, ...]
    num_attached: int
    num_undone: int
    course: tuple[Point, ...]
    scores: Scores | None
    apprentice: IntArray
    certificate: Certificate
    confirmation: Certificate | None
    is_finished: bool
    parameters: ParameterKnowledge
    rewards: RewardIntervals
    certainty: ActionCertainty
    identifiability: Identifiability
    seconds: float
    warnings: tuple[str, ...]

    @property
    def num_demonstrations(self) -> int:
        """Answers that count."""
        return self.course[-1].num_demonstrations

    @property
    def times_shown(self) -> IntArray:
        """`[S]` how many demonstrated actions there are in each state."""
        return np.asarray(self.posterior.counts.sum(axis=1))


def summarise_learning(learner: ActiveLearner, name: str, *, start: Point | None = None) -> LearningSummary:
    """Collect what there is to say about a learner.

    Parameters
    ----------
    name
        Of the study or the world, for titles.
    start
        The belief before any answer; computed if it is not given.
    """
    posterior, settings = learner.posterior(), learner.settings
    apprentice, is_finished = learner.apprentice(), learner.is_finished()
    certificate = learner.certificate()
    is_confirmed = settings.goal == "policy" and certificate.holds
    scores, doubts = _scores(learner)
    return LearningSummary(
        name=name,
        problem=learner.problem,
        settings=settings,
        posterior=posterior,
        asked=_asked(learner),
        num_attached=sum(isinstance(answer, str) for answer in learner.answers),
        num_undone=sum(step.name == "undo" for step in learner.history()),
        course=course_of(learner, start),
        scores=scores,
        apprentice=apprentice,
        certificate=certificate,
        confirmation=learner.confirmation() if is_confirmed else None,
        is_finished=is_finished,
        parameters=parameter_knowledge(posterior),
        rewards=reward_intervals(posterior),
        certainty=action_certainty(posterior, apprentice),
        identifiability=identifiability(posterior, kind=settings.kind),
        seconds=sum(step.posterior_seconds + (step.acquisition_seconds or 0.0) for step in learner.history()),
        warnings=tuple(dict.fromkeys([*posterior.warnings, *doubts])),
    )


def course_of(learner: ActiveLearner, start: Point | None = None) -> tuple[Point, ...]:
    """Return how the belief changed: before any answer, and after each step."""
    if start is None:
        start = starting_point(learner.problem, learner.settings, num_threads=learner.num_threads)
    return (
        start,
        *(
            Point(step.num_demonstrations, step.failure_chance, step.expected_regret, step.entropy)
            for step in learner.history()[1:]
        ),
    )


def starting_point(problem: Problem, settings: LearnerSettings, *, num_threads: int | None = None) -> Point:
    """Return what was believed before any answer."""
    return point_now(ActiveLearner.from_settings(problem, settings, num_threads=num_threads))


def point_now(learner: ActiveLearner, world: World | None = None) -> Point:
    """Return what a learner believes now; with a world also the true regret of its apprentice."""
    if learner.history():
        last = learner.history()[-1]
        chance, regret, entropy = last.failure_chance, last.expected_regret, last.entropy
    else:
        settings = learner.settings
        failures = failures_of(learner.posterior(), learner.apprentice(), settings.epsilon, settings.scope)
        chance = min(1.0, float(learner.posterior().mean(failures.is_failing)))
        regret = float(learner.posterior().mean(failures.regret))
        try:
            entropy = posterior_entropy(learner.posterior()).nats
        except InputError:  # some methods and priors have none
            entropy = None
    truth = None if world is None else world.regret(learner.apprentice())
    return Point(len(learner.demonstrations), chance, regret, entropy, truth)


def _scores(learner: ActiveLearner) -> tuple[Scores | None, tuple[str, ...]]:
    """Return the scores of the next question and what is doubtful about them; None if nothing may be asked."""
    try:
        scores = learner.scores()
    except InputError as error:
        return None, (str(error),)
    return scores, scores.warnings


def _asked(learner: ActiveLearner) -> tuple[Asked, ...]:
    """Return every query with its status, answer and reason."""
    answers = learner.answers
    asks = [event.payload for event in learner.events if event.name == "ask"]
    facts = {record["id"]: payload for payload in asks for record in payload["queries"]}
    acquisition = ACQUISITIONS.find(learner.settings.acquisition)
    return tuple(
        Asked(query, learner.status_of(query), answers.get(query.id), reason_of(query, facts[query.id], acquisition))
        for query in learner.queries
    )


def reason_of(query: Query, ask: Any, acquisition: Acquisition) -> str:
    """Say why a query was chosen, given the payload of its ask event and the function that rated it."""
    together: Sequence[Any] = ask["queries"]
    median = ask["scores"].get("median")
    if acquisition.is_by_chance:
        return "chosen by chance"
    value = plain_number(query.score)
    unit = "of reward" if acquisition.unit == "reward" else acquisition.unit
    amount = f"{value} {unit}".rstrip()
    if len(together) > 1:
        place = 1 + [record["id"] for record in together].index(query.id)
        return f"{place} of {len(together)} chosen together; adds {amount}"
    if median is None:
        return f"adds most to what still waits: {amount}"
    if abs(query.score - median) <= 1e-9 * (1.0 + abs(query.score)):
        return f"{amount}, as elsewhere"
    if median > 1e-6 * abs(query.score):
        return f"highest score: {amount}, {query.score / median:.3g} times the median"
    return f"highest score: {amount}; about 0 in most states"
