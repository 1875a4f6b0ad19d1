"""StepRecord: what one answer changed, as numbers to plot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from journeyman.learner.query import Query

AnswerId = int | str


@dataclass(frozen=True)
class StepRecord:
    """A step of a learner: an answer that came in (tell, attach), or was taken back (undo).

    Parameters
    ----------
    number, name
        Of the event.
    answers
        Ids of the answers that it is about.
    query
        The query that was answered, or whose answer was taken back; None for attached data.
    scores
        Of the ask that led here: "best", "median" (None where several were chosen together), "num_queries".
    num_demonstrations
        Behind the posterior after this step.
    entropy, entropy_method
        Of the posterior in nats, and the estimate used ("evidence" with SMC); None where it could not be estimated.
    failure_chance
        Posterior estimate of P[regret >= epsilon], of the apprentice. It was chosen on the same samples, which makes
        this look a little better than it is; the certificate does not do that.
    expected_regret
        Posterior mean of that regret.
    posterior_seconds, acquisition_seconds
        What the update took, and the ask before it.
    warnings
        What is doubtful.
    """

    number: int
    name: str
    answers: tuple[AnswerId, ...]
    query: Query | None
    scores: Mapping[str, Any] | None
    num_demonstrations: int
    entropy: float | None
    entropy_method: str | None
    failure_chance: float | None
    expected_regret: float | None
    posterior_seconds: float
    acquisition_seconds: float | None
    warnings: tuple[str, ...] = field(default=())

    def to_record(self) -> dict[str, Any]:
        """Return the step as plain data."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return record | {
            "answers": list(self.answers),
            "query": None if self.query is None else self.query.to_record(),
            "scores": None if self.scores is None else dict(self.scores),
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "StepRecord":
        """Return the step that `to_record` described."""
        values = {name: record[name] for name in cls.__dataclass_fields__}
        query = values["query"]
        return cls(
            **values
            | {
                "answers": tuple(values["answers"]),
                "query": None if query is None else Query.from_record(query),
                "warnings": tuple(values["warnings"]),
            }
        )
