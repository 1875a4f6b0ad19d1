"""Session: one study that is open in the studio. Its writer stores what people do, its worker computes.

People's operations wait in a queue; the writer takes all that wait, stores them in one transaction, and only then are
they acknowledged. Questions are prepared ahead by the worker; where they run out, the places that were worth most when
the worker looked last are asked about, so that nobody waits for the sampler.
"""

import json
import logging
import queue
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from journeyman.apprentice.epsilon import epsilon_record, epsilon_words
from journeyman.errors import InputError, JourneymanError, StudyError
from journeyman.learner import Event, Query
from journeyman.learner.asking import Chosen, ask_event
from journeyman.learner.ledger import Ledger
from journeyman.storage.files import try_lock
from journeyman.studio.acting import by
from journeyman.studio.desks import NOBODY, Desks, Draft
from journeyman.studio.link import WorkerLink
from journeyman.studio.live import Hub
from journeyman.study import Study, store
from journeyman.study.log import last_change

T = TypeVar("T")
log = logging.getLogger("journeyman.studio")
MOST_AT_ONCE = 64  # operations in one transaction
SHORT = 0.3  # seconds that opening a study may wait for another program
IDLE = 1.0  # seconds without an answer, after which a snapshot is written, and others' changes are looked for
BUSY = 30.0  # seconds after which that is done in any case
AWAY = 300.0  # seconds without a page or a request after which a person has left
BACK_AFTER = 3  # answers of a person after which a place that they skipped may be asked about again


class Ready:
    """Questions that were prepared: those that were chosen together, and how much each place was worth.

    Once the chosen ones are used up, places are taken by their worth, which is halved each time that one is given away:
    a second answer at the same place tells less.
    """

    def __init__(self, record: dict[str, Any], waiting: Iterable[int] = ()) -> None:
        values = np.array([np.nan if value is None else value for value in record["values"]])
        self.is_open = ~np.isnan(values)
        self.values, self.median = values, float(np.nanmedian(values))
        self.chosen = list(zip(record["states"], record["gains"], record["lengths"], strict=True))
        self.lengths: Sequence[int] | None = record["all_lengths"]
        self.unit, self.warnings = str(record["unit"]), tuple(record["warnings"])
        self.based_on, self.seconds = int(record["based_on"]), float(record["seconds"])
        self._worth = np.where(self.is_open, values - np.nanmin(values), -1.0)
        self._num_given = np.zeros(len(values), dtype=np.int64)
        for state in waiting:
            self._give(state)

    def _give(self, state: int) -> None:
        self._num_given[state] += 1
        self._worth[state] *= 0.5

    def take(self, avoided: Iterable[int], length: int | None) -> tuple[int, float, int | None] | None:
        """Take the next question, not about one of some places: its state, what it is worth, and its length."""
        refused = set(avoided)
        for i, (state, _, _) in enumerate(self.chosen):
            if state not in refused:
                self._give(state)
                return self.chosen.pop(i)
        allowed = self.is_open.copy()
        allowed[list(refused)] = False
        if not allowed.any():
            return None
        best = np.flatnonzero(allowed & (self._worth >= self._worth[allowed].max()))
        state = int(best[np.argmin(self._num_given[best])])
        self._give(state)
        return state, float(self.values[state]), length if self.lengths is None else self.lengths[state]


def held(path: Path) -> IO[bytes]:
    """Return the file of a study, open and locked: two studios must not serve one, whoever starts them.

    The lock is not one of SQLite's, so that the command line can add to the study meanwhile.
    """
    file = path.open("rb")
    if try_lock(file):
        return file
    file.close()
    raise InputError(
        f"a study must be served by one studio at a time, but another one serves {str(path)!r}. Open its address, or "
        "stop it first."
    )


class Busy(StudyError):
    """Another program holds the study file; it is worth asking again in a moment."""


def check_free(path: Path) -> None:
    """Refuse a study whose file another program holds just now, instead of waiting for it."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=SHORT)) as file:
            file.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise Busy(busy_words(path.stem)) from None


def busy_words(name: str) -> str:
    """Return what people read while another program holds the file of a study."""
    return f"another program is using the file of the study {name!r}. It is tried again by itself; nothing is lost."


class Session:
    """A study that people answer. `do` is for operations, everything else only looks."""

    def __init__(self, study: Study, *, num_threads: int | None = None, has_worker: bool = True) -> None:
        self.has_worker = has_worker
        self._held = held(study.path)
        self.study, self.problem, self.name = study, study.problem, study.path.stem
        self.created_at = study.overview().created_at
        self.desks = study.look(Desks.read)
        self.ledger: Ledger = study.ledger
        self.settings = study.settings
        self.events: list[Event] = list(study.events)
        self.ready: Ready | None = None
        self.no_place_left = ""
        self.skipped: dict[str, dict[int, int]] = {}  # by person and place: answers after which it may come back
        self.counts, self.answered = _counted(self.ledger)
        self.authors: dict[int | str, str | None] = {}  # who gave an answer, also one that was taken back since
        self.changes: dict[int | str, tuple[str, str | None]] = {}  # what happened to an answer last, and by whom
        self._note_authors(self.events)
        self.abandoned = self.ledger.abandoned_states
        self.unheld = self._unheld()
        self.belief: bytes | None = None
        self.belief_revision, self.certificate_revision, self.behind_at = 0, 0, 0
        self.certificate: dict[str, Any] | None = None
        self.certificate_event = -2
        self.worker_state = {"state": "starting", "words": "The learner is starting."}
        self.failure = ""  # what the worker said when it gave up
        self.seen: dict[str, float] = {}
        self.started_at = time.monotonic()
        self.assigning: dict[str, Future[None]] = {}
        self._unkept: tuple[int, str, bytes] | None = None
        self._verdicts: dict[int, dict[str, str]] = {}
        self._queue: queue.SimpleQueue[tuple[Callable[[Draft], Any] | None, Future[Any]]] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_all, name="studio-writer", daemon=True)
        self._data_version, self._looked_at = -1, time.monotonic()
        self._is_closed = False
        self.hub = Hub(self.hello)
        self.link = WorkerLink(study.path, self, num_threads)

    def start(self) -> None:
        """Start writer and worker."""
        self._writer.start()
        if self.has_worker:
            self.link.start()
        else:
            self.worker_state = {"state": "idle", "words": "Answers are collected; nothing is computed here."}

    def close(self) -> None:
        """Store what waits, let the worker hand over its snapshot, and close the study."""
        self.hub.close()
        self.link.close()
        done: Future[Any] = Future()
        self._queue.put((None, done))
        if self._writer.is_alive():
            done.result(30.0)
        self.study.close()
        self._held.close()  # after the study: to close it earlier would end the locks of SQLite as well

    # Operations

    def do(self, operation: Callable[[Draft], T]) -> "Future[T]":
        """Have an operation stored; its result comes once it is kept, its error if it is refused."""
        result: Future[T] = Future()
        if self._is_closed:
            result.set_exception(StudyError("the studio is closing. Try again in a moment."))
        else:
            self._queue.put((operation, result))
        return result

    def _write_all(self) -> None:
        while True:
            try:
                waiting = [self._queue.get(timeout=IDLE)]
            except queue.Empty:
                self._when_idle()
                continue
            while len(waiting) < MOST_AT_ONCE:
                try:
                    waiting.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            end = next((result for operation, result in waiting if operation is None), None)
            self._write([(operation, result) for operation, result in waiting if operation is not None])
            if time.monotonic() - self._looked_at > BUSY:
                self._when_idle()
            if end is not None:
                self._is_closed = True
                self._when_idle()
                end.set_result(None)
                return

    def _write(self, waiting: Sequence[tuple[Callable[[Draft], Any], Future[Any]]]) -> None:
        """Store operations in one transaction, and acknowledge them when it is on the disk."""
        outcomes: list[tuple[Future[Any], Any, BaseException | None]] = []
        drafts: list[Draft] = []

        def write(connection: sqlite3.Connection, ledger: Ledger) -> list[Event]:
            self._catch_up(ledger)
            draft = Draft(ledger, self.desks)
            outcomes.clear()
            for operation, result in waiting:
                saved = draft.ledger, draft.desks, len(draft.events)
                try:
                    outcomes.append((result, operation(draft), None))
                except BaseException as error:
                    draft.ledger, draft.desks = saved[:2]
                    del draft.events[saved[2] :]
                    outcomes.append((result, None, error))
            draft.desks.write(connection, self.desks)
            drafts[:] = [draft]
            return draft.events

        before = len(self.events)
        try:
            self.study.keep(write)
        except BaseException as error:
            self._catch_up(self.study.ledger)
            for _, result in waiting:
                _set(result, None, error)
            return
        draft = drafts[0]
        self._catch_up(draft.ledger, draft.events)
        self.desks = draft.desks  # last: what is on them is in the ledger
        for result, value, found in outcomes:
            _set(result, value, found)
        if len(self.events) > before:
            self._tell_answers(self.events[before:])

    def _catch_up(self, ledger: Ledger, events: Sequence[Event] | None = None) -> None:
        """Take note of events: our own, or what others wrote into the study."""
        missing = ledger.num_events - len(self.events)
        if missing <= 0:
            self.ledger = ledger
            return
        new = list(events) if events is not None and len(events) == missing else list(self.study.events[-missing:])
        before = self.ledger
        self.events.extend(new)  # first, so that whoever looks meanwhile finds what the ledger speaks of
        self.ledger = ledger
        self._note_authors(new)
        names = {event.name for event in new}
        if names - {"ask", "tell"}:
            self.counts, self.answered = _counted(ledger)
            self.abandoned = ledger.abandoned_states
        else:
            for event in new:
                if event.name == "tell":
                    self.counts[event.payload["demonstration"].get("annotator") or NOBODY] += 1
                    self.answered[ledger.queries[event.payload["query"]].state] += 1
        if "set" in names:
            self.settings = self.study.settings
        if events is None or (self.unheld and ledger.statuses != before.statuses):
            self.unheld = self._unheld()

    def _note_authors(self, events: Iterable[Event]) -> None:
        """Remember who gave each answer, and who changed it last."""
        for event in events:
            payload = event.payload
            if event.name == "tell":
                self.authors[payload["query"]] = payload["demonstration"].get("annotator")
                self.changes.pop(payload["query"], None)
            elif event.name in ("undo", "correct"):
                self.changes[payload["answer"]] = event.name, payload.get("by")
                if event.name == "correct":
                    self.authors[payload["answer"]] = payload["demonstration"].get("annotator")

    def _unheld(self) -> list[int]:
        """Return questions that wait and are on nobody's desk: somebody asked them on the command line."""
        held = {query for queries in self.desks.queries.values() for query in queries}
        return [query.id for query in self.ledger.pending if query.id not in held]

    def _open(self) -> set[int]:
        """Return the questions on anybody's desk that can still be answered."""
        statuses = self.ledger.statuses
        held = {query for queries in self.desks.queries.values() for query in queries}
        return {query for query in held if statuses[query] in ("waiting", "failed")}

    def _tell_answers(self, events: Sequence[Event]) -> None:
        told = [event for event in events if event.name != "ask"] or list(events)
        last = told[-1]
        who = last.payload.get("demonstration", {}).get("annotator") if last.name == "tell" else None
        self.link.tell_events()
        self.hub.tell(
            "answers",
            {
                "num_answers": len(self.ledger.answers),
                "num_events": self.ledger.num_events,
                "by": who,
                "open": sorted(self._open()),
                "what": last.name if last.name in ("tell", "undo", "correct", "fail", "abandon", "ask") else "other",
            },
        )
        if told[-1].name != "ask":
            self.hub.tell("people", {"annotators": self.people()})

    def _when_idle(self) -> None:
        """Keep a snapshot and verdicts that wait, and look for what others wrote."""
        self._looked_at = time.monotonic()
        try:
            if self._unkept is not None or self._verdicts:
                number, facts, arrays = self._unkept or (0, "", b"")
                snapshot = None
                if self._unkept is not None:
                    snapshot = {**json.loads(facts), **store.arrays_from_bytes(arrays, "a snapshot")}
                self._unkept = None
                verdicts, self._verdicts = self._verdicts, {}
                self.study.keep_found(number, snapshot, {})
                for event, found in verdicts.items():
                    self.study.keep_found(event, None, found)
            (version,) = self.study.look(lambda connection: connection.execute("PRAGMA data_version").fetchone())
            if version != self._data_version:
                self._data_version = version
                before = len(self.events)
                self._catch_up(self.study.ledger)
                if len(self.events) > before:
                    self._tell_answers(self.events[before:])
        except JourneymanError as error:  # only time was lost
            log.warning("%s", error)

    # Questions

    def assign(self, draft: Draft, person: str) -> None:
        """Put a question on the desk of a person who has none, if there is one to be had."""
        if draft.on_desk(person):
            return
        held = draft.holders()
        for query in self.unheld:
            if query not in held and draft.ledger.statuses[query] == "waiting":
                draft.put(person, (query,))
                return
        count = self.counts[person]
        skipped = {state for state, back in self.skipped.get(person, {}).items() if back > count}
        abandoned = self.abandoned
        if any(event.name == "abandon" for event in draft.events):
            abandoned = draft.ledger.abandoned_states
        left = self._left_behind(draft, person, abandoned | skipped)
        if left is not None:
            draft.take_off(*left)
            draft.put(person, (left[1],))
            return
        ready = self.ready
        if ready is None:
            return
        taken = ready.take(abandoned | skipped, self.settings.length) or ready.take(abandoned, self.settings.length)
        if taken is None:
            return
        state, gain, length = taken
        summary = {
            "best": gain, "median": ready.median, "num_queries": 1, "unit": ready.unit, "based_on": ready.based_on,
            "num_answers": len(draft.ledger.answers),
        }  # fmt: skip
        chosen = Chosen((state,), (gain,), summary, ready.warnings, (length,))
        draft.do(ask_event(draft.ledger, self.settings, chosen, ready.seconds))
        draft.put(person, (draft.ledger.queries[-1].id,))

    def _left_behind(self, draft: Draft, person: str, avoided: Set[int]) -> tuple[str, int] | None:
        """Return a question that waits on the desk of somebody who has left, and whose desk that is."""
        for name in draft.desks.queries:
            if name != person and self.has_left(name):
                for query in draft.on_desk(name):
                    if draft.ledger.statuses[query] == "waiting" and draft.find(query).state not in avoided:
                        return name, query
        return None

    def has_left(self, person: str) -> bool:
        """Whether a person has no page open, and has asked for nothing in the last minutes."""
        silent = time.monotonic() - self.seen.get(person, self.started_at)
        return silent > AWAY and person not in self.hub.people.values()

    def ask_for_question(self, person: str) -> "Future[None]":
        """Have a question put on the desk of a person; one order at a time, however often it is asked for."""
        waiting = self.assigning.get(person)
        if waiting is None or waiting.done():
            waiting = self.assigning[person] = self.do(lambda draft: self.assign(draft, person))
        return waiting

    def remember_skip(self, person: str, query: Query) -> None:
        """Note that a person skipped a place, so that it does not come back at once."""
        self.skipped.setdefault(person, {})[query.state] = self.counts[person] + BACK_AFTER

    def note(self, person: str) -> None:
        """Note that a person is there."""
        is_new = person not in self.seen or self.has_left(person)
        self.seen[person] = time.monotonic()
        if is_new:
            self.link.tell("people", sum(not self.has_left(name) for name in self.seen))

    def current(self, person: str) -> Query | None:
        """Return the question on top of the desk of a person."""
        statuses = self.ledger.statuses
        for query in reversed(self.desks.queries.get(person, ())):
            if statuses[query] in ("waiting", "failed"):
                return self.ledger.queries[query]
        return None

    # What the worker says

    def events_from(self, number: int) -> Sequence[Event]:
        """Return the events from this number on."""
        return self.events[number:]

    def hear(self, name: str, *content: Any) -> None:
        """Take in a message of the worker."""
        if name == "questions":
            had = self.ready is not None
            self.no_place_left = content[1]
            waiting = [self.ledger.queries[query].state for queries in self.desks.queries.values() for query in queries]
            self.ready = None if content[0] is None else Ready(content[0], waiting)
            if not had or content[0] is None:
                self.hub.tell("question", {})
        elif name == "belief":
            self.behind_at = content[0]
            self.belief = content[1]
            self.belief_revision += 1
            self.hub.tell("belief", {"revision": self.belief_revision, "based_on": content[0]})
        elif name == "certificate":
            self.certificate_event, self.certificate = content[0], content[1]
            if content[2]:
                self._verdicts[content[0]] = dict(content[2])
            self.certificate_revision += 1
            told = {key: content[1][key] for key in ("status", "is_enough")}
            self.hub.tell("certificate", {"revision": self.certificate_revision, **told})
        elif name == "snapshot":
            self._unkept = content[0], content[1], content[2]
        elif name == "ready":
            self.failure = ""
        elif name in ("status", "failed"):
            if name == "failed":
                self.failure = f"The learner cannot go on: {content[0]}"
            state, words = ("failed", self.failure) if name == "failed" else content
            if self.failure and state in ("restarting", "starting"):  # nobody would read what is replaced at once
                state, words = "failed", f"{self.failure} It is started again."
            if {"state": state, "words": words} != self.worker_state:
                self.worker_state = {"state": state, "words": words}
                self.hub.tell("worker", self.worker())

    # How things stand

    def worker(self) -> dict[str, Any]:
        """Return what the worker does, and how many answers it is behind."""
        behind = max(0, len(self.ledger.answers) - self.behind_at)
        return {**self.worker_state, "behind": behind}

    def people(self) -> list[dict[str, Any]]:
        """Return who answers, how much, and who is there."""
        here = set(self.hub.people.values())
        names = dict.fromkeys([*self.counts, *self.desks.queries, *here])
        return [
            {"name": by(name), "num_answers": self.counts[name], "is_here": name in here}
            for name in names
            if name in here or self.counts[name] or name != NOBODY
        ]

    def hello(self) -> dict[str, Any]:
        """Return how things stand, in short."""
        return {
            "study": self.name,
            "num_answers": len(self.ledger.answers),
            "belief_revision": self.belief_revision,
            "certificate_revision": self.certificate_revision,
            "worker": self.worker(),
            "annotators": self.people(),
        }

    def certificate_now(self) -> dict[str, Any]:
        """Return what the certificate says, and whether that is about all answers."""
        unknown = {
            "status": "unknown", "is_enough": False, "is_confirmed": False, "after": None,
            "headline": "Nobody has looked for a certificate yet.", "claim": "", "sentences": [], "reasons": [],
            "advice": [], "assumptions": [], "p_hat": None, "upper_bound": None,
        }  # fmt: skip
        is_current = self.certificate is not None and self.certificate_event == last_change(self.events)
        return {
            **(self.certificate or unknown),
            "is_current": is_current,
            "epsilon": epsilon_record(self.settings.epsilon),
            "epsilon_words": epsilon_words(self.settings.epsilon),
            "delta": self.settings.delta,
        }


def _counted(ledger: Ledger) -> tuple[Counter[str], Counter[int]]:
    """Return how many answers there are of each person, and at each place."""
    answers = ledger.answers.values()
    people = Counter(answer.annotator or NOBODY for answer in answers)
    return people, Counter(answer.start_state for answer in answers)


def _set(result: "Future[Any]", value: Any, error: BaseException | None) -> None:
    if result.cancelled():
        return
    if error is None:
        result.set_result(value)
    else:
        result.set_exception(error)
