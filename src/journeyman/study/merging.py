"""Merging: answers that were given elsewhere come into a study, each once.

They come from an answer sheet, from a copy of the study file, or from demonstrations that such a copy exported.

- A question is the same here and there if it came from the same event, which keys tell that all copies share, or if it
  has the same number and asks for the same (state, kind and length): two copies that ask next choose alike.
- An answer that both have counts once. If only one of the two has changed since the copy was made, the change counts.
  If both have, and differ, that is a conflict: nothing is merged until somebody says which of the two is preferred.
- Questions that only the copy has asked are taken over with their answers, and get numbers of their own here. Those
  that still wait there are left alone.
- Attached data of the copy are attached, unless the same were attached here.

All that is done is ordinary events, stored together or not at all.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, StudyError
from journeyman.learner import AnswerId, Event, Query
from journeyman.learner.duplicates import is_same
from journeyman.learner.ledger import (
    ATTACHED,
    Ledger,
    apply_event,
    attach_event,
    attached_ids,
    correct_event,
    tell_event,
    undo_event,
)
from journeyman.problem import Problem
from journeyman.storage.tables import file_bytes, file_text
from journeyman.study import store
from journeyman.study.database import explain_errors, open_file
from journeyman.study.formats import read_demonstrations
from journeyman.study.log import EventLog
from journeyman.study.sheets import SheetAnswer, is_sheet, read_sheet
from journeyman.study.typed import answer_words

PREFERENCES = ("ours", "theirs")
SQLITE = b"SQLite format 3\x00"
MOST_NAMED = 10  # conflicts that a message names
# What can become of an answer from elsewhere, in words for a report.
KINDS = {
    "told": "Answers to questions that waited here",
    "taken_over": "Questions that only the copy asked, taken over with their answers",
    "attached": "Attached data",
    "corrected": "Corrected there, and now here",
    "taken_back": "Taken back there, and now here",
    "duplicate": "Here already, skipped",
    "kept": "Changed here since, left as it is",
    "conflict": "Answered differently",
}


@dataclass(frozen=True)
class Copy:
    """A copy of a study: its name for messages, its events, and comments on its questions as their table has them."""

    name: str
    log: EventLog
    comments: tuple[tuple[int, str, str, str], ...] = ()


@dataclass(frozen=True)
class Sheet:
    """An answer sheet: its name, and the answers that were filled in."""

    name: str
    answers: tuple[SheetAnswer, ...]


@dataclass(frozen=True)
class Exported:
    """Demonstrations that a copy exported: which question they answered is known by its number alone."""

    name: str
    demonstrations: tuple[Demonstration, ...]


Source = Copy | Sheet | Exported


@dataclass(frozen=True)
class MergeItem:
    """What became of one answer from elsewhere.

    Parameters
    ----------
    kind
        A key of `KINDS`.
    answer
        Its id here: that of a question, or "attached-N"; None where it is not here.
    source
        Where it comes from.
    ours, theirs
        The answer that was here before, and the one from there; None where there is none (or it was taken back).
    resolved
        For a conflict: "ours" or "theirs", or None if nobody has said which.
    """

    kind: str
    answer: AnswerId | None
    source: str
    ours: Demonstration | None
    theirs: Demonstration | None
    resolved: str | None = None

    def to_record(self) -> dict[str, Any]:
        """Return it as plain data."""
        answers = {"ours": self.ours, "theirs": self.theirs}
        return {
            "kind": self.kind,
            "answer": self.answer,
            "source": self.source,
            **{name: None if one is None else one.to_record() for name, one in answers.items()},
            "resolved": self.resolved,
        }


@dataclass(frozen=True)
class MergeReport:
    """What a merge did, or would do if it is a dry run.

    Parameters
    ----------
    items
        One for each answer that was looked at.
    num_events
        How many events that adds to the study.
    is_dry_run
        Whether nothing was written.
    """

    items: tuple[MergeItem, ...]
    num_events: int
    is_dry_run: bool

    def count(self, kind: str) -> int:
        """Return how many answers this became of."""
        return sum(item.kind == kind for item in self.items)

    @property
    def conflicts(self) -> tuple[MergeItem, ...]:
        """Questions that were answered differently."""
        return tuple(item for item in self.items if item.kind == "conflict")

    def to_record(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "is_dry_run": self.is_dry_run,
            "num_events": self.num_events,
            "counts": {kind: self.count(kind) for kind in KINDS},
            "items": [item.to_record() for item in self.items],
        }

    def text(self, problem: Problem) -> str:
        """Return the report in words."""
        lines = [f"{words}: {self.count(kind)}" for kind, words in KINDS.items() if self.count(kind)]
        for item in self.conflicts:
            lines.append(f"- {conflict_words(problem, item)}")
        if not self.items:
            lines.append("There are no answers to merge.")
        elif not self.num_events:
            lines.append("Nothing is new.")
        if self.is_dry_run:
            lines.append("This was a dry run: nothing was changed.")
        return "\n".join(lines)


def conflict_words(problem: Problem, item: MergeItem) -> str:
    """Return what differs, and what counts if that is decided."""
    mdp = problem.mdp
    name = f"question {item.answer}" if isinstance(item.answer, int) else str(item.answer)
    ours, theirs = ("taken back" if one is None else answer_words(mdp, one) for one in (item.ours, item.theirs))
    shown = item.ours or item.theirs
    place = "" if shown is None else f" (state {mdp.state_name(shown.start_state)})"
    end = "" if item.resolved is None else f"; {item.resolved} counts"
    return f"{name}{place}: here {ours}, in {item.source} {theirs}{end}"


@dataclass(frozen=True)
class MergePlan:
    """The events that merge, the report of what they do, and comments that come along, by our own questions."""

    events: tuple[Event, ...]
    report: MergeReport
    comments: tuple[tuple[int, str, str, str], ...] = ()


def read_source(path: Path, problem: Problem, identity: str) -> Source:
    """Read a copy of the study, an answer sheet of it, or an export, by what the file holds."""
    if os.path.isdir(path):
        raise InputError(f"answers must come from a file, got the folder {str(path)!r}. Name the file in it.")
    start = file_bytes(path, "answers")[: len(SQLITE)]
    if start == SQLITE:
        return _read_copy(path, identity)
    if path.suffix.lower() in (".html", ".htm"):
        raise InputError(
            f"answers must come from the file that the form saves, got the form {str(path)!r} itself. Open it in a "
            "browser, press 'Save answers', and merge the .csv file that this writes."
        )
    if path.suffix.lower() in (".csv", ".tsv", ".txt") and is_sheet(path):
        sheet = read_sheet(path, problem)
        if sheet.identity != identity:
            raise InputError(
                f"a sheet must be of this study, got {path.name}, which is of study {sheet.identity}, not {identity}. "
                "Merge it into the study that wrote it."
            )
        return Sheet(path.name, sheet.answers)
    if path.suffix.lower() in (".csv", ".tsv", ".txt"):
        _check_columns(path)
    return Exported(path.name, read_demonstrations(path, problem))


def _check_columns(path: Path) -> None:
    """Refuse a table that is neither a sheet nor an export: a merge takes no columns of other names."""
    header = file_text(path, "answers").partition("\n")[0].strip()
    if not all(name in header for name in ("demonstration", "state", "action")):
        raise InputError(
            f"answers must come from an answer sheet, a copy of the study or an export, got {path.name}, whose first "
            f"line is {header[:80]!r}. Leave the columns of a sheet as they were written (question, answer, study, key "
            "and others); to add other recorded data: journeyman study import."
        )


def _read_copy(path: Path, identity: str) -> Copy:
    with closing(open_file(path, is_read_only=True)) as connection:
        with explain_errors(path, is_reading=True):
            found = store.read_identity(connection)
            problem, settings = store.read_problem(connection), store.read_settings(connection)
        if found != identity:
            raise StudyError(
                f"a copy must be of this study to be merged, got {str(path)!r}, which is study {found}, not "
                f"{identity}. To add its answers as data: journeyman study export {path} answers.csv, then journeyman "
                "study import."
            )
        log = EventLog(connection, path, problem, settings, is_read_only=True)
        return Copy(path.name, log, tuple(store.read_comments(connection)))


def plan_merge(
    log: EventLog,
    sources: Iterable[Source],
    *,
    prefer: str | None,
    allow_duplicates: bool,
    timestamp: datetime,
    is_dry_run: bool = False,
) -> MergePlan:
    """Return the events that bring the answers of all sources into a study, one source after the other.

    Conflicts are refused unless `prefer` decides them; a dry run only lists them.
    """
    merge = _Merge(log, prefer, allow_duplicates, timestamp)
    for source in sources:
        if isinstance(source, Copy):
            merge.take_copy(source)
        elif isinstance(source, Sheet):
            merge.take_sheet(source)
        else:
            merge.take_export(source)
    report = MergeReport(tuple(merge.items), len(merge.events), is_dry_run)
    undecided = [item for item in report.conflicts if item.resolved is None]
    if undecided and not is_dry_run:
        raise InputError(_conflicts_message(log.ledger.problem, undecided))
    return MergePlan(tuple(merge.events), report, tuple(merge.comments))


def _conflicts_message(problem: Problem, conflicts: Sequence[MergeItem]) -> str:
    named = "; ".join(conflict_words(problem, item) for item in conflicts[:MOST_NAMED])
    more = f"; and {len(conflicts) - MOST_NAMED} more" if len(conflicts) > MOST_NAMED else ""
    return (
        f"questions must be answered alike in both to be merged, got {len(conflicts)} that differ: {named}{more}. "
        "Nothing was merged. Say which answers count: --prefer ours or --prefer theirs (in Python prefer='ours')."
    )


@dataclass
class _Merge:
    """A merge while it is planned: the ledger as it will be, the events that make it so, and what they did."""

    log: EventLog
    prefer: str | None
    allow_duplicates: bool
    timestamp: datetime
    items: list[MergeItem] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    comments: list[tuple[int, str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ledger: Ledger = self.log.ledger
        self.queries, self.attached = keys_of(self.log.events, self.log.origins())
        self.changed: set[AnswerId] = set()  # by this merge

    def apply(self, event: Event) -> Event:
        self.ledger = apply_event(self.ledger, event, is_checked=True)
        self.events.append(event)
        return event

    def note(self, kind: str, answer: AnswerId | None, source: str, theirs: Demonstration | None, **more: Any) -> None:
        ours = None if answer is None else self.ledger.answers.get(answer)
        self.items.append(MergeItem(kind, answer, source, ours, theirs, **more))

    # Sources

    def take_copy(self, copy: Copy) -> None:
        theirs, log = copy.log.ledger, copy.log
        prefix = _common_prefix(self.log.checksums, log.checksums)
        ours_changed = changed_answers(self.log.events, prefix) | self.changed
        theirs_changed = changed_answers(log.events, prefix)
        origins = log.origins()
        query_keys, attached_keys = keys_of(log.events, origins)
        matches = self._matching_queries(theirs.queries, {query: key for key, query in query_keys.items()})
        twins: dict[AnswerId, AnswerId] = dict(matches.items())
        twins |= {their: self.attached[key] for key, their in attached_keys.items() if key in self.attached}
        both = {**theirs.answers, **dict.fromkeys(theirs.undone)}
        for their, answer in both.items():
            if their in twins:
                our = twins[their]
                self._merge_known(our, answer, copy.name, our in ours_changed, their in theirs_changed)
        left = {their: answer for their, answer in theirs.answers.items() if their not in twins}
        new = self._without_twins(left, copy.name, set(twins.values()))
        names = {query: key for key, query in query_keys.items()}
        self._take_over(copy, {their: item for their, item in new.items() if isinstance(their, int)}, names)
        places = {their: key for key, their in attached_keys.items()}
        extra = {their: item for their, item in new.items() if isinstance(their, str)}
        self._attach(list(extra.values()), copy.name, [places[their] for their in extra])
        for their, who, text, time in copy.comments:
            asked = matches.get(their, self.queries.get(names.get(their, "")))
            if asked is not None:
                self.comments.append((asked, who, text, time))

    def take_sheet(self, sheet: Sheet) -> None:
        for answer in sheet.answers:
            query = self._asked(answer, sheet.name)
            item = replace(answer.demonstration, query_id=None)
            self._merge_known(query.id, item, f"{sheet.name} line {answer.line}", True, True)

    def take_export(self, exported: Exported) -> None:
        used: set[AnswerId] = set()
        left: dict[AnswerId, Demonstration] = {}
        for number, item in enumerate(exported.demonstrations):
            asked = None if item.query_id is None else self._answers_question(item)
            if asked is None or asked.id in used:
                left[number] = item
                continue
            used.add(asked.id)
            self._merge_known(asked.id, item, exported.name, True, True)
        new = self._without_twins(left, exported.name, used, is_export=True)
        self._attach([replace(item, query_id=None) for item in new.values()], exported.name, None)

    # Matching

    def _matching_queries(self, theirs: Sequence[Query], keys: Mapping[int, str]) -> dict[int, int]:
        """Return our query for each of theirs that is the same: by its key, else by its number and what it asks."""
        matches = {query.id: self.queries[keys[query.id]] for query in theirs if keys[query.id] in self.queries}
        taken = set(matches.values())
        for query in theirs:
            ours = self.ledger.queries[query.id : query.id + 1]
            is_free = query.id not in matches and query.id not in taken
            if is_free and any(_content(our) == _content(query) for our in ours):
                matches[query.id] = query.id
        return matches

    def _asked(self, answer: SheetAnswer, name: str) -> Query:
        """Return the query that a line of a sheet answers."""
        found = self.queries.get(answer.key, answer.query)
        queries, mdp = self.ledger.queries, self.ledger.problem.mdp
        if found >= len(queries):
            raise InputError(
                f"{name} line {answer.line}: a sheet must answer questions of this study, got question {answer.query}, "
                "which was not asked here. If a copy of the study asked it, merge that copy first."
            )
        if _content(queries[found]) != (answer.state, answer.kind, answer.length):
            raise InputError(
                f"{name} line {answer.line}: question {answer.query} must be the same in the sheet and in the study, "
                f"got one about state {mdp.state_name(answer.state)} there, and state "
                f"{mdp.state_name(queries[found].state)} here. If a copy of the study asked it, merge that copy first."
            )
        return queries[found]

    def _answers_question(self, item: Demonstration) -> Query | None:
        """Return the query with the number that an exported answer names, if it can be an answer to it."""
        assert item.query_id is not None
        if item.query_id >= len(self.ledger.queries):
            return None
        query = self.ledger.queries[item.query_id]
        is_one = query.kind == "state"
        fits = query.state == item.start_state and (len(item) == 1 if is_one else item.ended != "annotation")
        return query if fits and len(item) <= (query.length or len(item)) else None

    def _without_twins(
        self, theirs: Mapping[AnswerId, Demonstration], source: str, matched: set[AnswerId], *, is_export: bool = False
    ) -> dict[AnswerId, Demonstration]:
        """Return their answers that are not here under another id; the others are noted as duplicates.

        Attached data are the same if they look the same. The answer to a question is the same only at the same time:
        whoever asks again gets a new one.
        """
        if self.allow_duplicates:
            return dict(theirs)
        places: dict[object, list[AnswerId]] = {}
        for our, item in self.ledger.answers.items():
            if our not in matched:
                places.setdefault(item.steps, []).append(our)
        new: dict[AnswerId, Demonstration] = {}
        for their, item in theirs.items():
            is_answer = item.query_id is not None if is_export else isinstance(their, int)
            known = places.get(item.steps, [])
            twin = next((our for our in known if self._is_twin(our, item, is_answer)), None)
            if twin is None:
                new[their] = item
            else:
                known.remove(twin)
                self.note("duplicate", twin, source, item)
        return new

    def _is_twin(self, our: AnswerId, item: Demonstration, is_answer: bool) -> bool:
        other = self.ledger.answers[our]
        is_stamped = item.timestamp is not None and item.timestamp == other.timestamp
        return is_same(item, other) and (is_stamped or not (is_answer or isinstance(our, int)))

    # What is done

    def _merge_known(
        self, our: AnswerId, theirs: Demonstration | None, source: str, is_ours_new: bool, is_theirs_new: bool
    ) -> None:
        """Merge an answer (None: taken back) to a question, or attached data, that are here as well.

        is_ours_new, is_theirs_new: whether each of the two was changed since the copy was made.
        """
        ours, is_undone = self.ledger.answers.get(our), our in self.ledger.undone
        if ours is None and not is_undone:
            if theirs is not None:
                is_waiting = self.ledger.statuses[int(our)] == "waiting"
                self._answer("tell" if is_waiting else "correct", our, theirs, source, "told")
        elif theirs is None or ours is None or not _is_same_answer(ours, theirs):
            if theirs is None and ours is None:
                return
            if not is_theirs_new:
                self.note("kept", our, source, theirs)
            elif not is_ours_new:
                self._change(our, theirs, source, "corrected")
            else:
                self._decide(our, theirs, source)
        else:
            self.note("duplicate", our, source, theirs)

    def _decide(self, our: AnswerId, theirs: Demonstration | None, source: str) -> None:
        self.note("conflict", our, source, theirs, resolved=self.prefer)
        if self.prefer == "theirs":
            self._change(our, theirs, source, None)

    def _change(self, our: AnswerId, theirs: Demonstration | None, source: str, kind: str | None) -> None:
        if theirs is not None:
            self._answer("correct", our, theirs, source, kind)
            return
        if kind is not None:
            self.note("taken_back", our, source, None)
        self.apply(undo_event(self.ledger, our))
        self.changed.add(our)

    def _answer(self, name: str, our: AnswerId, theirs: Demonstration, source: str, kind: str | None) -> None:
        make_fn = tell_event if name == "tell" else correct_event
        item = replace(theirs, query_id=None)
        try:
            event = make_fn(self.ledger, our, item, timestamp=self.timestamp)  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(f"{source}: {error}") from error
        if kind is not None:
            self.note(kind, our, source, theirs)
        self.apply(event)
        self.changed.add(our)

    def _take_over(self, copy: Copy, answers: Mapping[int, Demonstration], keys: Mapping[int, str]) -> None:
        """Ask here what only the copy asked, one event for each ask of theirs, and tell the answers."""
        theirs = copy.log.ledger
        asks: dict[int, list[int]] = {}
        for their in sorted(answers):
            asks.setdefault(theirs.asks[their], []).append(their)
        for number, listed in asks.items():
            first = len(self.ledger.queries)
            queries = [replace(theirs.queries[their], id=first + place) for place, their in enumerate(listed)]
            payload = {
                **copy.log.events[number].payload,
                "queries": [query.to_record() for query in queries],
                "origins": [keys[their] for their in listed],
            }
            self.apply(self.ledger.next_event("ask", payload))
            for query, their in zip(queries, listed, strict=True):
                self.queries[keys[their]] = query.id
                self._answer("tell", query.id, answers[their], copy.name, "taken_over")

    def _attach(self, items: Sequence[Demonstration], source: str, keys: Sequence[str] | None) -> None:
        if not items:
            return
        try:
            event = attach_event(self.ledger, items, allow_duplicates=True)
        except InputError as error:
            raise InputError(f"{source}: {error}") from error
        if keys is not None:
            event = replace(event, payload={**event.payload, "origins": list(keys)})
        for place, (our, item) in enumerate(zip(attached_ids(self.ledger, event), items, strict=True)):
            self.note("attached", our, source, item)
            self.changed.add(our)
            if keys is not None:
                self.attached[keys[place]] = our
        self.apply(event)


def keys_of(events: Sequence[Event], origins: Mapping[int, Sequence[str]]) -> tuple[dict[str, int], dict[str, str]]:
    """Return the queries and the attached data that events brought, by the keys that all copies share."""
    asked, attached = (
        [key for event in events if event.name == name for key in origins[event.number]] for name in ("ask", "attach")
    )
    queries = {key: number for number, key in enumerate(asked)}
    return queries, {key: f"{ATTACHED}{number}" for number, key in enumerate(attached)}


def changed_answers(events: Sequence[Event], first: int) -> set[AnswerId]:
    """Return the answers that were given, corrected or taken back from event `first` on."""
    changed: set[AnswerId] = set()
    num_attached = 0
    for event in events:
        found: list[AnswerId] = []
        if event.name == "attach":
            count = len(event.payload["demonstrations"])
            found = [f"{ATTACHED}{num_attached + place}" for place in range(count)]
            num_attached += count
        elif event.name in ("tell", "undo", "correct"):
            found = [event.payload["query" if event.name == "tell" else "answer"]]
        if event.number >= first:
            changed.update(found)
    return changed


def _common_prefix(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return how many events two logs share from the start."""
    return next(
        (place for place, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other),
        min(len(ours), len(theirs)),
    )


def _content(query: Query) -> tuple[int, str, int | None]:
    return query.state, query.kind, query.length


def _is_same_answer(one: Demonstration, other: Demonstration) -> bool:
    """Whether two answers to one question say the same, whoever gave them and when."""
    return (one.steps, one.final_state, one.ended) == (other.steps, other.final_state, other.ended)
