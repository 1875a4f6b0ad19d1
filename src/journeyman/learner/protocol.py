"""Learner: what `ActiveLearner` and `Study` both are, so that one loop, one report and one command serve both.

`LedgerView` is the part of it that follows from the ledger alone, written once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from journeyman.acquisition import RewardKnowledge, Scores
from journeyman.apprentice import Certificate
from journeyman.criticism import Criticism
from journeyman.demonstrations import Demonstration
from journeyman.inference.posterior import Posterior
from journeyman.learner.ledger import Answer, Ledger
from journeyman.learner.records import AnswerId, Event, Forecast, Query, StepRecord
from journeyman.learner.settings import LearnerSettings
from journeyman.problem import Problem
from journeyman.types import IntArray


class Learner(Protocol):
    """Asks, is told, and says when it is done. What may take the time of inference is a method."""

    @property
    def problem(self) -> Problem:
        """What is known before."""

    @property
    def settings(self) -> LearnerSettings:
        """How it asks, infers and stops."""

    @property
    def queries(self) -> tuple[Query, ...]:
        """All queries that were ever asked, by id."""

    @property
    def pending(self) -> tuple[Query, ...]:
        """Queries that wait for an answer."""

    @property
    def answers(self) -> Mapping[AnswerId, Demonstration]:
        """Demonstrations that count, by the id of their query or the id that `attach` gave."""

    @property
    def demonstrations(self) -> tuple[Demonstration, ...]:
        """Demonstrations that count, in the order in which they came."""

    @property
    def events(self) -> tuple[Event, ...]:
        """All that happened, in order."""

    def ask(self) -> Query:
        """Return the query to put to the expert next."""

    def ask_batch(self, k: int, *, progress: bool | None = None) -> tuple[Query, ...]:
        """Return `k` queries that tell most together."""

    def tell(self, query: Query | int, answer: Answer, *, annotator: str | None = None) -> AnswerId:
        """Take the answer to a query; returns its id, for `undo`."""

    def attach(
        self,
        demonstrations: Iterable[Demonstration] | Demonstration,
        *,
        annotator: str | None = None,
        allow_duplicates: bool = False,
    ) -> tuple[AnswerId, ...]:
        """Add data that were never asked for; returns an id for each, for `undo`.

        Data that are there already are refused, unless `allow_duplicates` says that they were really done again.
        """

    def fail(self, query: Query | int) -> None:
        """Say that no answer comes to a query now; its state may be asked about again."""

    def abandon(self, query: Query | int) -> None:
        """Say that a query cannot be answered; its state is not asked about again."""

    def undo(self, answer: Query | AnswerId) -> None:
        """Take an answer out of the posterior."""

    def correct(self, answer: Query | AnswerId, right: Answer, *, annotator: str | None = None) -> None:
        """Put the right answer in the place of one that was given; its question stays the same."""

    def change_settings(self, **changes: Any) -> None:
        """Change settings that only cost computing."""

    def status_of(self, query: Query | int) -> str:
        """Return "waiting", "done", "failed" or "abandoned"."""

    def posterior(self) -> Posterior:
        """Return the belief about the reward after all answers so far."""

    def scores(self) -> Scores:
        """Return the scores of all states, as the next `ask` sees them where no query waits."""

    def apprentice(self) -> IntArray:
        """Return the policy `[S]` that we hand out."""

    def certificate(self, *, progress: bool | None | None = None) -> Certificate:
        """Return what may be said about `apprentice()`, on samples drawn until that is decided, or for long enough."""

    def confirmation(self, *, progress: bool | None | None = None) -> Certificate:
        """Return what a fresh, longer posterior says about `apprentice()`."""

    def criticism(self, *, is_full: bool | None = None) -> Criticism:
        """Return what speaks against the model of the expert."""

    def knowledge(self) -> RewardKnowledge:
        """Return how well the reward itself is known."""

    def is_finished(self) -> bool:
        """Return whether the goal is reached."""

    def forecast(self, *, num_runs: int = 20, limit: int = 100, progress: bool | None = None) -> Forecast:
        """Return how many more answers it may take until the certificate holds."""

    def history(self) -> tuple[StepRecord, ...]:
        """Return one record for the belief before any answer, and one for each that came in or was taken back."""


class LedgerView(ABC):
    """Queries and answers of a learner, as its ledger has them."""

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """Queries, their status and the answers, as they follow from the events."""

    @property
    def queries(self) -> tuple[Query, ...]:
        """All queries that were ever asked, by id."""
        return self.ledger.queries

    @property
    def pending(self) -> tuple[Query, ...]:
        """Queries that wait for an answer."""
        return self.ledger.pending

    @property
    def answers(self) -> Mapping[AnswerId, Demonstration]:
        """Demonstrations that count, by the id of their query or the id that `attach` gave."""
        return MappingProxyType(dict(self.ledger.answers))

    @property
    def demonstrations(self) -> tuple[Demonstration, ...]:
        """Demonstrations that count, in the order in which they came."""
        return tuple(self.ledger.answers.values())

    def status_of(self, query: Query | int) -> str:
        """Return "waiting", "done", "failed" (may be asked again; also after an undo) or "abandoned" (not)."""
        return self.ledger.status_of(query)
