"""A learner in numbers: what it asked and why, what it knows now, and how far that can be trusted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from journeyman.acquisition import ACQUISITIONS, Acquisition, Scores
from journeyman.apprentice import Certificate
from journeyman.criticism import Criticism
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.inference.posterior import Posterior
from journeyman.learner import Learner, LearnerSettings, Query, StepRecord
from journeyman.learner.records import Forecast
from journeyman.problem import Problem
from journeyman.report.learning.identifiability import Identifiability, identifiability
from journeyman.report.posterior.knowledge import (
    ActionCertainty,
    ExpertKnowledge,
    ParameterKnowledge,
    RewardIntervals,
    action_certainty,
    expert_knowledge,
    parameter_knowledge,
    reward_intervals,
)
from journeyman.types import IntArray
from journeyman.wording import plain_number


@dataclass(frozen=True)
class Asked:
    """A query with its status, its answer if that counts, and why it was asked, in words."""

    query: Query
    status: str
    answer: Demonstration | None
    why: str


@dataclass(frozen=True, eq=False)
class BeliefSummary:
    """What a learner asked and believes now, without what it takes long to find out: all that most figures show.

    Parameters
    ----------
    name
        Of the study or the world.
    asked
        Every query that was ever asked, in order.
    course
        How the belief changed: the learner's history, which begins before any answer.
    true_regrets
        Of the apprentice after each step of the course, where the truth is known; else empty.
    scores
        What the next question would be worth in each state; None if no state may be asked about.
    apprentice
        `[S]` the policy that is handed out.
    warnings
        What is doubtful, each once.
    """

    name: str
    problem: Problem
    settings: LearnerSettings
    posterior: Posterior
    asked: tuple[Asked, ...]
    course: tuple[StepRecord, ...]
    true_regrets: tuple[float, ...]
    scores: Scores | None
    apprentice: IntArray
    parameters: ParameterKnowledge
    certainty: ActionCertainty
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class LearningSummary(BeliefSummary):
    """All that a report says about a learner.

    Parameters
    ----------
    num_decisions
        Actions in all demonstrations that count.
    num_attached
        Demonstrations that count without having been asked for.
    forecast
        How many more answers it may take, if somebody asked for it: it takes a while.
    certificate
        On the learner's own samples.
    confirmation
        On a fresh, longer posterior, where the certificate holds (if the model is right) and a policy is the goal; else
        None.
    criticism
        What speaks against the model: in full where the certificate would hold, else quick.
    is_finished
        Whether the learner says that its goal is reached.
    """

    num_decisions: int
    num_attached: int
    num_undone: int
    forecast: Forecast | None
    certificate: Certificate
    confirmation: Certificate | None
    criticism: Criticism
    is_finished: bool
    expert: tuple[ExpertKnowledge, ...]
    rewards: RewardIntervals
    identifiability: Identifiability
    seconds: float

    @property
    def num_demonstrations(self) -> int:
        """Answers that count."""
        return self.course[-1].num_demonstrations

    @property
    def verdict(self) -> Certificate:
        """The certificate that counts, and from which every number about the present comes: confirmed, if it was."""
        return self.confirmation or self.certificate


def summarise_belief(learner: Learner, name: str, *, true_regrets: Sequence[float] = ()) -> BeliefSummary:
    """Collect what a learner asked and believes; `name` is that of the study or the world, for titles."""
    posterior, apprentice = learner.posterior(), learner.apprentice()
    scores, doubts = _scores(learner)
    return BeliefSummary(
        name=name,
        problem=learner.problem,
        settings=learner.settings,
        posterior=posterior,
        asked=_asked(learner),
        course=learner.history(),
        true_regrets=tuple(true_regrets),
        scores=scores,
        apprentice=apprentice,
        parameters=parameter_knowledge(posterior),
        certainty=action_certainty(posterior, apprentice),
        warnings=tuple(dict.fromkeys([*posterior.warnings, *doubts])),
    )


def summarise_learning(
    learner: Learner, name: str, *, true_regrets: Sequence[float] = (), forecast: Forecast | None = None
) -> LearningSummary:
    """Collect what there is to say about a learner; `name` is that of the study or the world, for titles."""
    is_finished, certificate = learner.is_finished(), learner.certificate()
    belief = summarise_belief(learner, name, true_regrets=true_regrets)
    posterior, settings, course = belief.posterior, belief.settings, belief.course
    is_confirmed = settings.goal == "policy" and certificate.holds_if_model_is_right
    return LearningSummary(
        **vars(belief),
        num_decisions=sum(map(len, learner.demonstrations)),
        num_attached=sum(isinstance(answer, str) for answer in learner.answers),
        num_undone=sum(step.name == "undo" for step in course),
        forecast=forecast,
        certificate=certificate,
        confirmation=learner.confirmation() if is_confirmed else None,
        criticism=certificate.criticism or learner.criticism(is_full=False),
        is_finished=is_finished,
        expert=expert_knowledge(posterior),
        rewards=reward_intervals(posterior),
        identifiability=identifiability(posterior, kind=settings.kind),
        seconds=sum(step.posterior_seconds + (step.acquisition_seconds or 0.0) for step in course),
    )


def _scores(learner: Learner) -> tuple[Scores | None, tuple[str, ...]]:
    """Return the scores of the next question and what is doubtful about them; None if nothing may be asked."""
    try:
        scores = learner.scores()
    except InputError as error:
        return None, (str(error),)
    return scores, scores.warnings


def _asked(learner: Learner) -> tuple[Asked, ...]:
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
    """Say why a query was chosen, given the payload of its ask event and the function that was to rate it.

    A function may hand over to another, so that the unit is that of the scores themselves; where version 0.1 did not
    write it down, the score has none.
    """
    together: Sequence[Any] = ask["queries"]
    median, unit = ask["scores"].get("median"), ask["scores"].get("unit", "")
    if acquisition.is_by_chance:
        return "chosen by chance"
    amount = f"{plain_number(query.score)} {'of reward' if unit == 'reward' else unit}".rstrip()
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
