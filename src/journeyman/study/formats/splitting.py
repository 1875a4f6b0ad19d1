"""From rows of steps to demonstrations: split where something is missing or impossible, and say what was found.

A row is a step if it has a state and an action that can be done there. Steps that follow each other make one
demonstration; it is split

- at a gap: a step number that is left out, or a next state that is not where the next row stands;
- where a state or an action is missing; the state of a row without an action is where the piece before it ended;
- at an impossible step: an action that is not available, or done in a terminal state, a next state that cannot follow.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.mdp.memory import innermost, world_mask
from journeyman.problem import Problem
from journeyman.storage.tables import NO_INDEX, SEPARATORS, is_missing
from journeyman.study.formats.recorded import Recorded, parsed_time
from journeyman.types import BoolArray, IntArray
from journeyman.wording import counted

MOST_LISTED = 10
NUM_SHOWN = 5  # first rows


@dataclass(frozen=True)
class ImpossibleStep:
    """A step that the problem's dynamics cannot make.

    place, line: where it stands in the file; subject: whose it is; state, action, next_state: the step, by label, None
    where something is not known; reason: what is wrong.
    """

    place: str
    line: int
    subject: str | None
    state: str
    action: str | None
    next_state: str | None
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True)
class SubjectCounts:
    """What a table has of one subject (annotator; None: not said).

    Parameters
    ----------
    demonstrations, pieces, steps
        As the table has them; as they are after splitting; actions in them.
    states
        Different states that were visited.
    gaps
        Places where steps are known to be left out.
    missing
        Rows without a state or an action, but for a last row that only says where it ended.
    impossible
        Steps that the dynamics cannot make.
    duplicates
        Pieces that are there already, in the table or in the study.
    """

    subject: str | None
    demonstrations: int
    pieces: int
    steps: int
    states: int
    gaps: int
    missing: int
    impossible: int
    duplicates: int = 0


@dataclass(frozen=True)
class ImportReport:
    """What was found in a file or a table of demonstrations.

    Parameters
    ----------
    source
        Name of the file, or "the table".
    num_rows
        Its rows.
    separator
        Between the columns of a text: "comma", "semicolon" or "tab".
    columns
        Which column was taken for what.
    ignored
        Columns that mean nothing here.
    subjects
        Counts of each subject.
    impossible
        Steps that the dynamics cannot make, in the order of the table.
    first_rows
        The first rows as they were understood, by label.
    num_moved
        How many rows stood before one that happened earlier, and were put in order.
    """

    source: str
    num_rows: int
    separator: str | None
    columns: Mapping[str, str]
    ignored: tuple[str, ...]
    subjects: tuple[SubjectCounts, ...]
    impossible: tuple[ImpossibleStep, ...]
    first_rows: tuple[Mapping[str, Any], ...]
    num_moved: int = 0

    @property
    def total(self) -> SubjectCounts:
        """Counts of all subjects together; states that several visited count once for each."""
        names = [name for name in SubjectCounts.__dataclass_fields__ if name != "subject"]
        return SubjectCounts(None, **{name: sum(getattr(item, name) for item in self.subjects) for name in names})

    def by(self, name: str | None) -> "ImportReport":
        """Return the report with this name for whoever has none."""
        named = tuple(replace(item, subject=item.subject or name) for item in self.subjects)
        return replace(self, subjects=named)

    def with_duplicates(self, owners: Sequence[str | None]) -> "ImportReport":
        """Return the report with the pieces of these subjects, one each, counted as duplicates."""
        counted_subjects = [replace(item, duplicates=owners.count(item.subject)) for item in self.subjects]
        return replace(self, subjects=tuple(counted_subjects))

    def check_possible(self) -> None:
        """Refuse what the dynamics cannot make: the first ten such steps, and what to do."""
        if not self.impossible:
            return
        shown = "\n".join(f"  {item}" for item in self.impossible[:MOST_LISTED])
        more = len(self.impossible) - MOST_LISTED
        rest = f"\n  and {more} more" if more > 0 else ""
        time = self.columns.get("time")
        counts = f"If {time} counts steps, so that a number left out is a gap: --columns step={time}. " if time else ""
        raise InputError(
            f"demonstrations must be possible in this problem, got {counted(len(self.impossible), 'impossible step')} "
            f"among {self.num_rows} rows:\n{shown}{rest}\nCorrect them, or leave them out and split there: "
            "--skip-impossible (in Python skip_impossible=True). "
            f"{counts}Rows that are separate answers need a column "
            "demonstration that tells them apart."
        )

    def to_record(self) -> dict[str, Any]:
        """Return the report as plain data for JSON."""
        record = asdict(self) | {"columns": dict(self.columns), "total": asdict(self.total)}
        record["total"].pop("subject")
        record["impossible"] = [asdict(item) for item in self.impossible[:MOST_LISTED]]
        record["num_impossible"] = len(self.impossible)
        record["first_rows"] = [dict(row) for row in self.first_rows]
        return record


class Examined(NamedTuple):
    """The demonstrations, split where something is missing or impossible, and a report of what was found on the way."""

    demonstrations: tuple[Demonstration, ...]
    report: ImportReport


class _Marks(NamedTuple):
    """What is known of each row, `[n]` each: whether it is a step, continues the one before, and where it led."""

    is_step: BoolArray
    is_joined: BoolArray
    after: IntArray
    is_gap: BoolArray
    is_missing: BoolArray
    impossible: dict[int, ImpossibleStep]


def split(recorded: Recorded, problem: Problem | None = None) -> Examined:
    """Return the demonstrations of recorded rows, and a report; without a problem nothing is impossible."""
    rules = None if problem is None else _rules(recorded, problem)
    recorded = _with_actions(recorded, rules)
    marks = _marks(recorded, rules)
    pieces = dict(_pieces(recorded, marks, None if rules is None else rules.mdp.terminal))
    demonstrations = tuple(pieces[row] for row in sorted(pieces))
    if problem is not None and problem.mdp.memory is not None:
        _check_remembered(recorded, pieces, marks.impossible)
        demonstrations = problem.lift(demonstrations)
    return Examined(demonstrations, _report(recorded, marks, pieces, None if rules is None else rules.mdp))


class _Rules(NamedTuple):
    """What steps must follow: the dynamics, and where one may be asked."""

    mdp: FiniteMDP
    queryable: BoolArray


def _rules(recorded: Recorded, problem: Problem) -> _Rules:
    """Return what the rows must follow: the world, where there is a memory and all states are named as in the world."""
    world = innermost(problem.mdp)
    columns = (recorded.state, recorded.next_state, recorded.final_state)
    if all(column.max(initial=NO_INDEX) < world.num_states for column in columns):
        return _Rules(world, world_mask(problem.mdp, problem.queryable))
    return _Rules(problem.mdp, problem.queryable)


def _check_remembered(
    recorded: Recorded, pieces: Mapping[int, Demonstration], impossible: Mapping[int, ImpossibleStep]
) -> None:
    """Refuse what begins in the middle of a demonstration: nobody can say what is remembered there."""
    for row in sorted(pieces):
        if recorded.is_first[row]:
            continue
        own = [step for at, step in impossible.items() if recorded.demonstration[at] == recorded.demonstration[row]]
        why = f" after an impossible step ({own[0]})" if own else ""
        raise InputError(
            f"demonstrations of a problem with memory must have no gaps, got one that begins anew at "
            f"{recorded.table.place(row)}{why}: what was remembered there is not known. Fill the gap, or give what "
            "follows it a demonstration of its own (column demonstration), if the memory may begin anew there."
        )


def _marks(recorded: Recorded, problem: _Rules | None) -> _Marks:
    """Say of each row whether it is a step, where it led, and what is wrong with it."""
    state, action, explicit = recorded.state, recorded.action, recorded.next_state
    num_rows, is_last = len(state), recorded.is_last
    has_next = np.zeros(num_rows, dtype=bool)  # whether the next row is the next step
    has_next[:-1] = recorded.is_next[1:]
    following = np.full(num_rows, NO_INDEX, dtype=np.int64)
    following[:-1] = np.where(has_next[:-1], state[1:], NO_INDEX)
    after = np.where(explicit != NO_INDEX, explicit, following)
    final = _last_known(recorded, recorded.final_state, "final_state")
    after = np.where(is_last & (after == NO_INDEX), final, after)
    is_step = (state != NO_INDEX) & (action != NO_INDEX)
    impossible: dict[int, ImpossibleStep] = {}
    if problem is not None:
        is_step, after = _possible(recorded, problem, is_step, after, impossible)
    is_joined = np.zeros(num_rows, dtype=bool)
    is_joined[1:] = is_step[:-1] & is_step[1:] & has_next[:-1] & (after[:-1] == state[1:])
    is_gap = np.zeros(num_rows, dtype=bool)
    is_elsewhere = has_next & (explicit != NO_INDEX) & (following != NO_INDEX) & (explicit != following) & is_step
    is_gap[1:] = ~is_last[:-1] & (~has_next[:-1] | is_elsewhere[:-1])
    only_ends = is_last & ~recorded.is_first & (state != NO_INDEX)
    lacks_action = (action == NO_INDEX) & (not recorded.is_sequence)  # there it is the next row that lacks its state
    missing = ((state == NO_INDEX) | lacks_action) & ~only_ends
    for row in impossible:  # an impossible step has all it needs
        missing[row] = False
    return _Marks(is_step, is_joined, after, is_gap, missing, impossible)


def _last_known(recorded: Recorded, column: IntArray, role: str) -> IntArray:
    """Return what is said of a demonstration as a whole, on all its rows; refuses rows that disagree."""
    known = np.full(len(recorded.names), NO_INDEX, dtype=np.int64)
    rows = np.flatnonzero(column != NO_INDEX)
    known[recorded.demonstration[rows]] = column[rows]
    wrong = rows[column[rows] != known[recorded.demonstration[rows]]]
    if wrong.size:
        raise InputError(
            f"{role} must be the same on all rows of a demonstration, or stand on one, but it changes after "
            f"{recorded.table.place(int(wrong[-1]))}. If it is where each step led, say --columns "
            f"{role}=,next_state={recorded.columns.get(role, role)}."
        )
    return known[recorded.demonstration] if len(known) else column


def _possible(
    recorded: Recorded, problem: _Rules, is_step: BoolArray, after: IntArray, impossible: dict[int, ImpossibleStep]
) -> tuple[BoolArray, IntArray]:
    """Return which steps can be done, and where they led if they can lead there; the others go to `impossible`."""
    mdp, state, action = problem.mdp, recorded.state, recorded.action
    shut = mdp.terminal & ~problem.queryable
    acts_at_end = is_step & shut[state]
    is_unavailable = is_step & ~acts_at_end & ~mdp.available[state, action]
    is_led = is_step & ~acts_at_end & ~is_unavailable & (after != NO_INDEX)
    rows = np.flatnonzero(is_led)
    cannot = np.zeros(len(state), dtype=bool)
    cannot[rows] = ~_can_follow(mdp, state[rows], action[rows], after[rows])
    without_action = (recorded.next_state != NO_INDEX) & (state != NO_INDEX) & (action == NO_INDEX)
    without_action &= "action" not in recorded.columns
    for row in np.flatnonzero(acts_at_end | is_unavailable | cannot | without_action).tolist():
        here = mdp.state_name(int(state[row]))
        done = None if action[row] == NO_INDEX else mdp.action_name(int(action[row]))
        there = None if after[row] == NO_INDEX else mdp.state_name(int(after[row]))
        place = row
        if without_action[row]:
            reason = f"no action leads from {here} to {there}"
        elif acts_at_end[row]:
            reason = f"nobody acts in {here}, which is terminal, but {done} stands there"
        elif is_unavailable[row]:
            reason = f"action {done} is not available in {here}"
        else:
            reason = f"{there} cannot follow action {done} in {here}"
            is_told = recorded.next_state[row] != NO_INDEX or row + 1 == len(state) or not recorded.is_next[row + 1]
            place = row if is_told else row + 1  # where the state stands that cannot follow
        impossible[row] = ImpossibleStep(
            recorded.table.place(place), recorded.table.lines[place], recorded.annotator[row], here, done, there, reason
        )
    is_told_wrong = cannot & (recorded.next_state != NO_INDEX)
    return is_step & ~acts_at_end & ~is_unavailable & ~is_told_wrong, np.where(cannot, NO_INDEX, after)


def _can_follow(mdp: FiniteMDP, state: IntArray, action: IntArray, after: IntArray) -> BoolArray:
    """Return whether each action can lead from a state to the one after."""
    num_rows = mdp.num_states * mdp.num_actions
    known = np.repeat(np.arange(num_rows), np.diff(mdp.rows.indptr)) * mdp.num_states + mdp.rows.next_states
    asked = (state * mdp.num_actions + action) * mdp.num_states + after
    place = np.searchsorted(known, asked)  # rows ascend, and next states within them
    return (place < len(known)) & (known[np.minimum(place, len(known) - 1)] == asked) if len(known) else asked < 0


def _with_actions(recorded: Recorded, problem: _Rules | None) -> Recorded:
    """Return the rows with actions, where next states were given in their place: the only one that can lead there."""
    if "next_state" not in recorded.columns or "action" in recorded.columns:
        return recorded
    if problem is None:
        raise InputError(
            f"actions must be given where no problem is, got next states in {recorded.table.name}. Say which problem."
        )
    mdp = problem.mdp
    row, num_states = np.repeat(np.arange(len(mdp.rows.indptr) - 1), np.diff(mdp.rows.indptr)), mdp.num_states
    leading = (row // mdp.num_actions) * num_states + mdp.rows.next_states
    order = np.argsort(leading, kind="stable")
    leading, leads = leading[order], (row % mdp.num_actions)[order]
    has_both = (recorded.state != NO_INDEX) & (recorded.next_state != NO_INDEX)
    asked = np.where(has_both, recorded.state * num_states + recorded.next_state, NO_INDEX)
    first, end = (np.searchsorted(leading, asked, side) for side in ("left", "right"))
    several = np.flatnonzero(end - first > 1)
    if several.size:
        shown = [
            f"  {recorded.table.place(int(place))}: from {mdp.state_name(int(recorded.state[place]))} to "
            f"{mdp.state_name(int(recorded.next_state[place]))} lead "
            + ", ".join(mdp.action_name(int(action)) for action in leads[first[place] : end[place]])
            for place in several[:MOST_LISTED]
        ]
        more = f"\n  and {len(several) - MOST_LISTED} more" if len(several) > MOST_LISTED else ""
        raise InputError(
            f"next states must tell which action was done, got {len(several)} that several actions lead to:\n"
            + "\n".join(shown)
            + f"{more}\nAdd a column action, or empty the next state in these rows, which splits there."
        )
    action = np.full(len(asked), NO_INDEX, dtype=np.int64)
    found = end - first == 1
    action[found] = leads[first[found]]
    return replace(recorded, action=action)


def _pieces(recorded: Recorded, marks: _Marks, terminal: BoolArray | None) -> Iterator[tuple[int, Demonstration]]:
    """Yield where each demonstration begins, and the demonstration; those without steps come last."""
    group, is_last = recorded.demonstration, recorded.is_last
    begins = np.flatnonzero(marks.is_step & ~marks.is_joined)
    is_end = marks.is_step.copy()
    is_end[:-1] &= ~marks.is_joined[1:]
    ends = np.flatnonzero(is_end)
    states, actions = recorded.state.tolist(), recorded.action.tolist()
    told, is_alone = _told(recorded), recorded.is_first & is_last
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        steps = tuple(zip(states[begin : end + 1], actions[begin : end + 1], strict=True))
        final = None if marks.after[end] == NO_INDEX else int(marks.after[end])
        is_whole_end = bool(is_last[end]) or (bool(is_last[end + 1]) and actions[end + 1] == NO_INDEX)
        ended = told[group[end]] if is_whole_end else None
        if ended is None:
            is_over = final is not None and terminal is not None and bool(terminal[final])
            is_single = bool(is_alone[end]) and final is None
            ended = "terminated" if is_over else "annotation" if is_single else "truncated"
        elif ended == "annotation" and (begin > 0 and group[begin - 1] == group[begin]):
            ended = "truncated"  # the end of what was said to be one answer, but was split
        yield begin, _made(recorded, begin, steps, final, ended)
    for row in np.flatnonzero(is_alone & ~marks.is_step).tolist():
        is_over = terminal is None or (states[row] != NO_INDEX and bool(terminal[states[row]]))
        if is_over and row not in marks.impossible and states[row] != NO_INDEX:
            yield row, _made(recorded, row, (), None, told[group[row]] or "terminated")


def _told(recorded: Recorded) -> list[str | None]:
    """Return how each demonstration is said to have ended; refuses rows that disagree."""
    told: list[str | None] = [None] * len(recorded.names)
    for row, (number, word) in enumerate(zip(recorded.demonstration.tolist(), recorded.ended, strict=True)):
        if word is not None and told[number] not in (None, word):
            raise InputError(
                f"ended must be the same on all rows of a demonstration, got {word} after {told[number]} at "
                f"{recorded.table.place(row)}. Correct one of them."
            )
        told[number] = told[number] if word is None else word
    return told


def _made(
    recorded: Recorded, row: int, steps: tuple[tuple[int, int], ...], final: int | None, ended: str
) -> Demonstration:
    query, stamp = int(recorded.query_id[row]), recorded.timestamp[row]
    try:
        return Demonstration(
            steps[0][0] if steps else int(recorded.state[row]),
            steps,
            final,
            ended,
            None if query == NO_INDEX else query,
            recorded.annotator[row],
            None if is_missing(stamp) else parsed_time(stamp, lambda: recorded.table.place(row)),
        )
    except InputError as error:
        place = recorded.table.place(row)
        raise InputError(str(error) if place in str(error) else f"{place}: {error}") from None


def _report(
    recorded: Recorded, marks: _Marks, pieces: Mapping[int, Demonstration], mdp: FiniteMDP | None
) -> ImportReport:
    """Count what was found, by subject in the order in which they come."""
    names = list(dict.fromkeys(recorded.annotator))
    number = {name: index for index, name in enumerate(names)}
    owner = np.array([number[name] for name in recorded.annotator], dtype=np.int64)
    begins = np.array(sorted(pieces), dtype=np.int64)
    wrong = np.array(sorted(marks.impossible), dtype=np.int64)
    has_state = recorded.state != NO_INDEX
    visited = np.unique(np.stack([owner[has_state], recorded.state[has_state]]), axis=1)[0]

    def per_subject(owners: IntArray) -> list[int]:
        return np.bincount(owners, minlength=len(names)).tolist()  # type: ignore[no-any-return]

    counts = zip(
        names,
        per_subject(owner[recorded.is_first]),
        per_subject(owner[begins]),
        per_subject(owner[marks.is_step]),
        per_subject(visited),
        per_subject(owner[marks.is_gap]),
        per_subject(owner[marks.is_missing]),
        per_subject(owner[wrong]),
        strict=True,
    )
    table = recorded.table
    return ImportReport(
        source=table.name,
        num_rows=len(owner),
        separator=None if table.separator is None else SEPARATORS[table.separator],
        columns=dict(recorded.columns),
        ignored=recorded.ignored,
        subjects=tuple(SubjectCounts(*items) for items in counts),
        impossible=tuple(marks.impossible[row] for row in sorted(marks.impossible)),
        first_rows=tuple(_shown(recorded, marks, row, mdp) for row in range(min(NUM_SHOWN, len(owner)))),
        num_moved=recorded.num_moved,
    )


def _shown(recorded: Recorded, marks: _Marks, row: int, mdp: FiniteMDP | None) -> dict[str, Any]:
    def name(kind: str, index: int) -> str | None:
        if index == NO_INDEX:
            return None
        return str(index) if mdp is None else mdp.state_name(index) if kind == "state" else mdp.action_name(index)

    called = recorded.names[recorded.demonstration[row]]
    return {
        "place": f"{recorded.table.unit} {recorded.table.lines[row]}",
        "subject": recorded.annotator[row],
        "demonstration": None if called is None else str(called),
        "state": name("state", int(recorded.state[row])),
        "action": name("action", int(recorded.action[row])),
        "next_state": name("state", int(marks.after[row])),
    }
