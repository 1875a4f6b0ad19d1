"""Desks: what each person has before them, and a draft of changes to all of that and to the study's events.

A desk is a stack of questions, the last of which is shown: a question whose answer was taken back lies on top of the
one that waited before. Steps are those of runs that are not finished.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from journeyman.learner import Event, Query
from journeyman.learner.ledger import Ledger, apply_event
from journeyman.study.store import now

NOBODY = ""  # the name of people who did not say theirs


class Step(NamedTuple):
    """One step of a run: what was done where, and where it led; next_state None: the episode ended."""

    state: int
    action: int
    next_state: int | None
    slipped: bool


@dataclass(frozen=True)
class Desks:
    """Questions of each person, the last one on top; steps by question; comments by question and person."""

    queries: dict[str, tuple[int, ...]] = field(default_factory=dict)
    steps: dict[int, tuple[Step, ...]] = field(default_factory=dict)
    comments: dict[tuple[int, str], str] = field(default_factory=dict)

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> "Desks":
        """Return what the study file holds."""
        queries = connection.execute("SELECT annotator, queries FROM desks")
        steps = connection.execute("SELECT query_id, steps FROM desk_steps")
        comments = connection.execute("SELECT query_id, annotator, text FROM comments")
        return cls(
            {str(name): tuple(map(int, json.loads(text))) for name, text in queries},
            {int(query): tuple(Step(*step) for step in json.loads(text)) for query, text in steps},
            {(int(query), str(name)): str(text) for query, name, text in comments},
        )

    def write(self, connection: sqlite3.Connection, before: "Desks") -> None:
        """Write what differs from `before`, inside the caller's transaction."""
        for name, queries in self.queries.items():
            if before.queries.get(name) != queries:
                connection.execute("INSERT OR REPLACE INTO desks VALUES (?, ?)", (name, json.dumps(queries)))
        for query in before.steps.keys() - self.steps.keys():
            connection.execute("DELETE FROM desk_steps WHERE query_id = ?", (query,))
        for query, steps in self.steps.items():
            if before.steps.get(query) != steps:
                connection.execute("INSERT OR REPLACE INTO desk_steps VALUES (?, ?)", (query, json.dumps(steps)))
        if self.comments is not before.comments:
            for key in before.comments.keys() - self.comments.keys():
                connection.execute("DELETE FROM comments WHERE query_id = ? AND annotator = ?", key)
            for key, text in self.comments.items():
                if before.comments.get(key) != text:
                    connection.execute("INSERT OR REPLACE INTO comments VALUES (?, ?, ?, ?)", (*key, text, now()))


class Draft:
    """What the study would be after some operations that are not stored yet."""

    def __init__(self, ledger: Ledger, desks: Desks) -> None:
        self.ledger, self.desks = ledger, desks
        self.events: list[Event] = []

    def do(self, event: Event) -> None:
        """Apply an event that was proposed for this very ledger."""
        self.ledger = apply_event(self.ledger, event, is_checked=True)
        self.events.append(event)

    def on_desk(self, person: str) -> tuple[int, ...]:
        """Return the questions of a person that can still be answered, the one to show last."""
        statuses = self.ledger.statuses
        return tuple(query for query in self.desks.queries.get(person, ()) if statuses[query] in ("waiting", "failed"))

    def put(self, person: str, queries: Sequence[int]) -> None:
        """Put these questions on the desk of a person, the one to show last."""
        self.desks = replace(self.desks, queries={**self.desks.queries, person: tuple(queries)})

    def take_off(self, person: str, query: int) -> None:
        """Take a question, and the steps of its run, off the desk of a person."""
        self.put(person, tuple(one for one in self.on_desk(person) if one != query))
        self.walk(query, ())

    def walk(self, query: int, steps: Sequence[Step]) -> None:
        """Set the steps of a run."""
        others = {key: value for key, value in self.desks.steps.items() if key != query}
        if len(others) != len(self.desks.steps) or steps:
            self.desks = replace(self.desks, steps={**others, query: tuple(steps)} if steps else others)

    def say(self, query: int, person: str, text: str) -> None:
        """Set the comment of a person on a question; an empty one is removed."""
        others = {key: value for key, value in self.desks.comments.items() if key != (query, person)}
        self.desks = replace(self.desks, comments={**others, (query, person): text} if text else others)

    def holders(self) -> set[int]:
        """Return the questions that are on somebody's desk."""
        return {query for queries in self.desks.queries.values() for query in queries}

    def find(self, query: int) -> Query:
        """Return a question by its number."""
        return self.ledger.find(query)
