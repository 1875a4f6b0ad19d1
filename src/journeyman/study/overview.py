"""StudyOverview: what is in a study, by counting alone."""

from dataclasses import asdict, dataclass
from typing import Any

from journeyman.learner import LearnerSettings, Query
from journeyman.learner.ledger import Ledger


@dataclass(frozen=True)
class StudyOverview:
    """What is in a study, without any inference.

    num_demonstrations: those that count; num_steps: actions in them; num_undone: answers that were taken back.
    """

    created_at: str
    created_by: str
    num_events: int
    num_queries: int
    num_done: int
    num_failed: int
    num_abandoned: int
    num_demonstrations: int
    num_attached: int
    num_steps: int
    num_undone: int
    pending: tuple[Query, ...]
    settings: LearnerSettings

    @classmethod
    def of(cls, ledger: Ledger, settings: LearnerSettings, created_at: str, created_by: str) -> "StudyOverview":
        """Count what a ledger holds."""
        return cls(
            created_at=created_at,
            created_by=created_by,
            num_events=ledger.num_events,
            num_queries=len(ledger.queries),
            num_done=ledger.statuses.count("done"),
            num_failed=ledger.statuses.count("failed"),
            num_abandoned=ledger.statuses.count("abandoned"),
            num_demonstrations=len(ledger.answers),
            num_attached=sum(isinstance(answer, str) for answer in ledger.answers),
            num_steps=sum(len(demonstration) for demonstration in ledger.answers.values()),
            num_undone=len(ledger.undone),
            pending=ledger.pending,
            settings=settings,
        )

    def to_record(self) -> dict[str, Any]:
        """Return the status as plain data."""
        record = asdict(self)
        return record | {
            "pending": [query.to_record() for query in self.pending],
            "settings": self.settings.to_record(),
        }
