"""Study: the durable form of a learner, in one SQLite file.

What happens is checked, then stored, then acknowledged; inference comes after that, when somebody needs the posterior.
So an answer is acknowledged at once, and an acknowledged answer is never lost.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar

from journeyman.apprentice import Certificate
from journeyman.apprentice.looks import checked_seconds
from journeyman.checks import check_options, one_of
from journeyman.criticism import Criticism
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, StudyError
from journeyman.learner import ActiveLearner, AnswerId, Event, Forecast, Learner, LearnerSettings, Query
from journeyman.learner.asking import checked_batch
from journeyman.learner.ledger import PROPOSALS, Answer, Ledger, set_event
from journeyman.learner.protocol import LedgerView
from journeyman.learner.records import BELIEF_EVENTS
from journeyman.learner.stopping import is_goal_reached
from journeyman.problem import Problem
from journeyman.progress import progress_bar
from journeyman.registry import import_plugins
from journeyman.study import store
from journeyman.study.copying import check_same_states, cloned_events, copy_file, write_study
from journeyman.study.database import create_file, explain_errors, open_file, transaction
from journeyman.study.log import EventLog, StudyOverview, Verdict, last_change
from journeyman.study.merging import PREFERENCES, MergePlan, MergeReport, keys_of, plan_merge, read_source
from journeyman.study.sheets import check_sheet_place, write_sheet
from journeyman.wording import counted

T = TypeVar("T")
SNAPSHOT_EVERY = 10  # answers; as many are replayed at most after a crash
PATIENCE = 3  # asks that others may spoil before we make them wait


def _current(method: Callable[[ActiveLearner], T]) -> Callable[["Study"], T]:
    """Make a method of a learner one of the study: of its learner after all that is stored, for one thread at a time.

    A thread that tells meanwhile must not change what is computed on.
    """

    @wraps(method)
    def current(study: "Study") -> T:
        with study._lock:
            return method(study.learner())

    return current


class Study(LedgerView):
    """A learner that survives crashes, days of waiting and several processes; made by `create` or `open`.

    It asks and is told as an `ActiveLearner` is, and gives the same queries as one that never stopped. Any number of
    processes (and the threads of one) may use one file: each first reads what the others have written. Use it as a
    context manager, or `close` it: that keeps a snapshot, so that the next opening is quick.

    Examples
    --------
    >>> from journeyman import Study, make_world
    >>> with Study.create("brown.study", make_world("brown-two-state").problem, inference="enumerate") as study:
    ...     answer = study.tell(study.ask(), 0)
    >>> with Study.open("brown.study") as study:
    ...     len(study.answers)
    1
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        *,
        num_threads: int | None,
        is_read_only: bool,
        max_seconds: float | None = None,
    ) -> None:
        import_plugins()  # a module that is not found is no damage to the study
        with explain_errors(path, is_reading=True):
            self.problem: Problem = store.read_problem(connection)
            settings: LearnerSettings = store.read_settings(connection)
            self.identity: str = store.read_identity(connection)
        self.path, self.num_threads, self.max_seconds = path, num_threads, checked_seconds(max_seconds)
        self._connection, self._lock = connection, threading.RLock()
        self._log = EventLog(connection, path, self.problem, settings, is_read_only=is_read_only)
        self._learner: ActiveLearner | None = None
        self._num_kept = 0  # events behind the newest snapshot that we know of

    @classmethod
    def create(
        cls,
        path: str | Path,
        problem: Problem,
        *,
        num_threads: int | None = None,
        max_seconds: float | None = None,
        **settings: Any,
    ) -> "Study":
        """Make a new study file, with settings as in `LearnerSettings`. Refuses a file that exists.

        Examples
        --------
        >>> from journeyman import Study, make_world
        >>> with Study.create("created.study", make_world("brown-two-state").problem, epsilon=0.5) as study:
        ...     study.settings.epsilon
        0.5
        """
        path = Path(path)
        check_options(settings, LearnerSettings.__dataclass_fields__, "a study")
        given = {name: value for name, value in settings.items() if value is not None}
        chosen = LearnerSettings.for_problem(problem, **given)
        chosen.check_problem(problem)
        connection = create_file(path)
        try:
            with transaction(connection, path):
                store.write_problem(connection, problem, chosen)
            return cls(connection, path, num_threads=num_threads, max_seconds=max_seconds, is_read_only=False)
        except BaseException:
            connection.close()
            for suffix in ("", "-journal"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            raise

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        num_threads: int | None = None,
        max_seconds: float | None = None,
        read_only: bool = False,
    ) -> "Study":
        """Open a study file; with `read_only` nothing is written to it, and asking and telling are refused.

        `num_threads` and `max_seconds` are as in `ActiveLearner`, and not kept in the file.

        Examples
        --------
        >>> from journeyman import Study, make_world
        >>> Study.create("opened.study", make_world("brown-two-state").problem).close()
        >>> with Study.open("opened.study") as study:
        ...     study.problem.mdp
        FiniteMDP(2 states, 2 actions, discount 0.9)
        """
        connection = open_file(Path(path), is_read_only=read_only)
        try:
            return cls(connection, Path(path), num_threads=num_threads, max_seconds=max_seconds, is_read_only=read_only)
        except BaseException:
            connection.close()
            raise

    # Asking and being told

    def ask(self) -> Query:
        """Return the query to put to the expert next."""
        return self.ask_batch(1)[0]

    def ask_batch(self, k: int, *, progress: bool | None = None) -> tuple[Query, ...]:
        """Return `k` queries that tell most together, for experts who answer several at once."""
        k = checked_batch(k)
        with self._lock, progress_bar("Updating the belief", is_shown=progress) as report:
            self._log.check_writable()
            choosing = partial(report, description=f"Choosing {counted(k, 'question')}")
            for _ in range(PATIENCE):  # scoring takes time: others may write meanwhile
                event = self._catch_up().propose_ask(k, report_fn=choosing)
                if self._log.store(partial(self._if_next, event)):
                    break
            else:
                self._log.store(lambda: self._catch_up_with(self._log.events).propose_ask(k))  # now they wait for us
            if self._learner is not None:
                self._learner.prepare()
            return self._log.ledger.queries[-k:]

    def _if_next(self, event: Event) -> Event | None:
        return event if event.number == self._log.ledger.num_events else None

    def tell(self, query: Query | int, answer: Answer, *, annotator: str | None = None) -> AnswerId:
        """Store the answer to a query, whichever process asked it; once this returns, it is kept.

        Arguments and result are those of `ActiveLearner.tell`.

        Examples
        --------
        >>> from journeyman import Study, make_world
        >>> with Study.create("told.study", make_world("brown-two-state").problem, inference="enumerate") as study:
        ...     study.tell(study.ask(), 0)
        0
        """
        event = self._do("tell", query, answer, annotator=annotator, timestamp=this_second())
        return int(event.payload["query"])

    def attach(
        self,
        demonstrations: Iterable[Demonstration] | Demonstration,
        *,
        annotator: str | None = None,
        allow_duplicates: bool = False,
    ) -> tuple[AnswerId, ...]:
        """Store data that were never asked for, all or none; returns an id for each, for `undo`.

        Data that are there already are refused (see `learner.duplicates`), unless `allow_duplicates` says that they
        were really done again.
        """
        with self._lock:
            options = {"annotator": annotator, "allow_duplicates": allow_duplicates}
            event = self._do("attach", demonstrations, **options)
            return tuple(self._log.ledger.answers)[-len(event.payload["demonstrations"]) :]

    def fail(self, query: Query | int) -> None:
        """Say that no answer comes to a query now; its state may be asked about again."""
        self._do("fail", query)

    def abandon(self, query: Query | int) -> None:
        """Say that a query cannot be answered; its state is not asked about again."""
        self._do("abandon", query)

    def undo(self, answer: Query | AnswerId) -> None:
        """Take an answer out of the posterior: that of a query (or its id), or attached data (by the id it got)."""
        self._do("undo", answer)

    def correct(self, answer: Query | AnswerId, right: Answer, *, annotator: str | None = None) -> None:
        """Put the right answer in the place of one that was given; its question, and who answered, stay the same.

        Arguments are those of `ActiveLearner.correct`. History keeps both answers.
        """
        self._do("correct", answer, right, annotator=annotator, timestamp=this_second())

    def keep(self, write_fn: Callable[[sqlite3.Connection, Ledger], Sequence[Event]]) -> None:
        """Store several events at once, all or none, with what `write_fn` itself writes into other tables.

        `write_fn(connection, ledger)` is called inside the transaction, once all that others wrote is read; it returns
        the events, each made by the proposals of `learner.ledger` for what the ones before it leave behind.
        """
        with self._lock:
            self._log.store_all(lambda: write_fn(self._connection, self._log.ledger))

    def look(self, read_fn: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `read_fn` reads in the tables of the file."""
        with self._lock, explain_errors(self.path):
            return read_fn(self._connection)

    def keep_found(self, event_number: int, snapshot: dict[str, Any] | None, verdicts: dict[str, str]) -> None:
        """Keep what a process that does not write found out: a snapshot after some events, which certificates hold."""
        with self._lock, transaction(self._connection, self.path):
            if snapshot is not None:
                store.write_snapshot(self._connection, event_number, snapshot)
            for name, status in verdicts.items():
                store.write_verdict(self._connection, event_number, name, status)

    def change_settings(self, **changes: Any) -> None:
        """Change settings that only cost computing (samples, particles, burn-in, budgets), for all who use the file.

        Which these are: `COMPUTING_SETTINGS`, and `COMPUTING_OPTIONS` of the inference method, in `learner.settings`.
        None sets one back to its default. To change others, make a copy that has them: `clone`.
        """
        with self._lock:
            self._log.store(lambda: set_event(self._log.ledger, self._log.settings, changes))

    def clone(self, path: str | Path, *, problem: Problem | None = None, **settings: Any) -> None:
        """Write a new study with the same data and with other settings, as in `LearnerSettings`, or another problem.

        The other problem must have the same states and actions, and the answers must be possible in it: another prior,
        beta or discount, for example.

        All questions and answers are taken over with their numbers, annotators, times and links, waiting questions too;
        changes of settings in place are part of its settings from the start. It is a study of its own from then on;
        sheets and copies of the one can be merged into the other.
        """
        check_options(settings, LearnerSettings.__dataclass_fields__, "a study")
        with self._lock:
            record, wanted = self.settings.to_record(), problem or self.problem
            check_same_states(self.problem, wanted)
            chosen = LearnerSettings.for_problem(wanted, **_without_defaults(self.problem, record) | settings)
            with explain_errors(self.path):
                times, comments = store.read_times(self._connection), store.read_comments(self._connection)
            write_study(Path(path), wanted, chosen, cloned_events(self._log, times), self.identity, comments)

    def backup(self, path: str | Path) -> None:
        """Copy the study to a new file, whole, whoever writes to it meanwhile; never overwrites.

        The copy has all that was acknowledged before, and is a study like this one: with its identity, so that answers
        to the one can be merged into the other.
        """
        with self._lock:
            copy_file(self._connection, self.path, Path(path))

    def sheet(
        self, path: str | Path, k: int = 1, *, title: str | None = None, progress: bool | None = None
    ) -> tuple[Query, ...]:
        """Write an answer sheet for all questions that wait, for somebody elsewhere; `merge` takes the answers.

        Parameters
        ----------
        path
            .csv: a table to fill in; .html: a form that works from the file, offline, and saves such a table.
        k
            How many questions it shall have at least: as many are asked as are missing.
        title
            Of the form; default: the name of the study.
        """
        place, k = Path(path), checked_batch(k)
        check_sheet_place(place)
        with self._lock:
            missing = k - len(self.pending)
            if missing > 0:
                self.ask_batch(missing, progress=progress)
            keys = {number: key for key, number in keys_of(self._log.events, self._log.origins())[0].items()}
            queries = self._log.ledger.pending
            named = [keys[query.id] for query in queries]
            write_sheet(self.problem, queries, self.identity, named, place, title=title or self.path.stem)
        return queries

    def merge(
        self,
        sources: Sequence[str | Path] | str | Path,
        *,
        prefer: str | None = None,
        allow_duplicates: bool = False,
        dry_run: bool = False,
    ) -> MergeReport:
        """Take answers over from answer sheets, copies of this study, or exports of them; all or none.

        Parameters
        ----------
        sources
            Sheets (.csv, as `sheets.write_sheet` or its form writes them), studies, or exported demonstrations.
        prefer
            "ours" or "theirs": which answer counts where a question was answered differently. Without it that is
            refused.
        allow_duplicates
            Whether attached data count again that were attached here and there.
        dry_run
            Whether to say only what would be done.
        """
        listed = [sources] if isinstance(sources, str | Path) else list(sources)
        if prefer is not None:
            one_of(prefer, PREFERENCES, "prefer", "Leave it out to see what differs.")
        with self._lock:
            read = [read_source(Path(place), self.problem, self.identity) for place in listed]
            options: dict[str, Any] = {
                "prefer": prefer,
                "allow_duplicates": allow_duplicates,
                "timestamp": this_second(),
            }
            if dry_run:
                self._log.refresh()
                return plan_merge(self._log, read, is_dry_run=True, **options).report
            plans: list[MergePlan] = []

            def events_fn() -> Sequence[Event]:
                plans.append(plan_merge(self._log, read, **options))
                store.write_comments(self._connection, plans[-1].comments)
                return plans[-1].events

            self._log.store_all(events_fn)
            return plans[-1].report

    # What is known

    def learner(self) -> ActiveLearner:
        """Return the learner behind the study. Look, but do not tell it anything: that would not be stored."""
        with self._lock:
            return self._catch_up()

    posterior = _current(ActiveLearner.posterior)
    scores = _current(ActiveLearner.scores)
    apprentice = _current(ActiveLearner.apprentice)
    knowledge = _current(ActiveLearner.knowledge)
    history = _current(ActiveLearner.history)

    def certificate(self, *, progress: bool | None | None = None) -> Certificate:
        """Return what may be said about `apprentice()`; others can ask and tell meanwhile."""
        return self._certified("certificate", progress)

    def quick_certificate(self, *, progress: bool | None | None = None) -> Certificate:
        """Return the same, with a quick check of the model only: for those who know its `verdict` already."""
        with self._lock:
            certify_fn = self._catch_up().certifying("certificate", is_quick=True)
        return certify_fn(progress)

    def confirmation(self, *, progress: bool | None | None = None) -> Certificate:
        """Return what a fresh, longer posterior says about `apprentice()`; others can ask and tell meanwhile."""
        return self._certified("confirmation", progress)

    def verdict(self) -> Verdict | None:
        """Return whether the certificate holds, as far as that was found out and kept; without any inference.

        None: nobody has looked since the last answer, or it did not hold.
        """
        with self._lock, explain_errors(self.path):
            self._log.refresh()
            kept = store.read_verdicts(self._connection, last_change(self._log.events))
        if "certificate" not in kept and "confirmation" not in kept:
            return None
        return Verdict("confirmation" in kept, "doubtful" in kept.values())

    def criticism(self, *, is_full: bool | None = None) -> Criticism:
        """Return what speaks against the model of the expert; others can ask and tell meanwhile."""
        with self._lock:
            criticise_fn = self._catch_up().criticising()
        return criticise_fn(is_full)

    def _certified(self, name: str, progress: bool | None) -> Certificate:
        with self._lock:
            learner = self._catch_up()
            certify_fn, number = learner.certifying(name), last_change(learner.events)
        found = certify_fn(progress)
        if found.holds_if_model_is_right and not self._log.is_read_only:
            # It only saves the next one who asks the time to look.
            with self._lock, suppress(StudyError), explain_errors(self.path):
                if name not in store.read_verdicts(self._connection, number):
                    with transaction(self._connection, self.path):
                        store.write_verdict(self._connection, number, name, found.status)
        return found

    def is_finished(self) -> bool:
        """Return whether the goal is reached; others can ask and tell meanwhile."""
        return is_goal_reached(self)

    def forecast(self, *, num_runs: int = 20, limit: int = 100, progress: bool | None = None) -> Forecast:
        """Return how many more answers it may take until the certificate holds; others can ask and tell meanwhile."""
        with self._lock:
            learner = self._catch_up()
            learner.posterior()
            copy = self._replay(list(learner.events), learner.snapshot())
        return copy.forecast(num_runs=num_runs, limit=limit, progress=progress)

    @property
    def settings(self) -> LearnerSettings:
        """How the study asks, infers and stops, after all changes that are stored now."""
        with self._lock:
            self._log.refresh()
            return self._log.settings

    @property
    def ledger(self) -> Ledger:
        """Queries, their status and the answers, as they follow from all events that are stored now."""
        with self._lock:
            self._log.refresh()
            return self._log.ledger

    @property
    def events(self) -> tuple[Event, ...]:
        """All that happened, in order."""
        with self._lock:
            self._log.refresh()
            return tuple(self._log.events)

    def overview(self) -> StudyOverview:
        """Return what is in the study, without any inference."""
        with self._lock, explain_errors(self.path):
            creation = store.read_creation(self._connection)
            return StudyOverview.of(self.ledger, self.settings, self.identity, *creation)

    # Keeping

    def save_snapshot(self) -> None:
        """Keep the posterior, so that the next opening need not compute it again."""
        with self._lock:
            learner = self._learner
            if learner is None or self._log.is_read_only or len(learner.events) <= self._num_kept:
                return
            number = len(learner.events)
            with transaction(self._connection, self.path):
                store.write_snapshot(self._connection, number, learner.snapshot())
            self._num_kept = number

    def close(self) -> None:
        """Keep a snapshot and close the file. A snapshot that cannot be kept (full disk) only costs time later."""
        with self._lock:
            with suppress(StudyError):
                self.save_snapshot()
            self._connection.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # Inside

    def _do(self, name: str, *arguments: Any, **options: Any) -> Event:
        """Check what happens against all that is stored, store it, and remember it."""
        with self._lock:
            self._log.store(lambda: PROPOSALS[name](self._log.ledger, *arguments, **options))
            return self._log.events[-1]

    def _catch_up(self) -> ActiveLearner:
        """Return the learner after all stored events, with a snapshot kept every few answers."""
        self._log.refresh()
        events = self._log.events
        learner = self._catch_up_with(events)
        unkept = sum(event.name in BELIEF_EVENTS for event in events[self._num_kept :])
        # Methods that are not incremental do not compute the numbers of past steps again: those are kept at once.
        if (
            unkept >= (1 if self._log.settings.method.incremental is None else SNAPSHOT_EVERY)
            and not self._connection.in_transaction
        ):
            with suppress(StudyError):  # said when something has to be stored; a snapshot only saves time
                self.save_snapshot()
        return learner

    def _catch_up_with(self, events: list[Event]) -> ActiveLearner:
        learner = self._learner if self._learner is not None else self._restore(events)
        changes = [event.number for event in events[len(learner.events) :] if event.name in BELIEF_EVENTS]
        if len(changes) > 1 and self._log.settings.method.incremental is None:  # compute the last posterior only
            learner = self._replay(events[: changes[-1]], learner.snapshot())
        for event in events[len(learner.events) :]:
            learner.apply(event)
        self._learner = learner
        return learner

    def _restore(self, events: list[Event]) -> ActiveLearner:
        """Return a learner from the newest snapshot that can be used, or from all events."""
        with explain_errors(self.path):
            snapshots = store.read_snapshots(self._connection)
        for number, snapshot in snapshots:
            try:
                learner = self._replay(events, snapshot)
            except InputError:
                continue  # of another format; events hold everything
            self._num_kept = number
            return learner
        return self._replay(events, None)

    def _replay(self, events: list[Event], snapshot: dict[str, Any] | None) -> ActiveLearner:
        limits: dict[str, Any] = {"num_threads": self.num_threads, "max_seconds": self.max_seconds}
        return ActiveLearner.restore(self.problem, self._log.first_settings, events, snapshot, **limits)


def _without_defaults(problem: Problem, record: dict[str, Any]) -> dict[str, Any]:
    """Return settings without an acquisition function that nobody chose: it depends on the others."""
    free = record | {"acquisition": "", "acquisition_options": {}}
    is_default = LearnerSettings.for_problem(problem, **free).to_record() == record
    return free if is_default else record


def this_second() -> datetime:
    """Return the time of now, without parts of a second."""
    return datetime.now(UTC).replace(microsecond=0)


LEARNERS: tuple[type[Learner], ...] = (ActiveLearner, Study)  # the type checker proves that both are
