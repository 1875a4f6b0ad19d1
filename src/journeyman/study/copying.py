"""New study files with what others hold: backups, clones, which have other settings, and what is recovered."""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from journeyman.errors import InputError
from journeyman.learner import Event, LearnerSettings
from journeyman.learner.ledger import Ledger, apply_event
from journeyman.problem import Problem
from journeyman.storage.files import whole_file
from journeyman.study import store
from journeyman.study.database import check_new, create_file, explain_errors, open_file, transaction
from journeyman.study.log import EventLog


def copy_file(connection: sqlite3.Connection, path: Path, new_path: Path) -> None:
    """Copy a study page by page to a file that does not exist yet, whole or not at all.

    Writers wait for the moment that this takes, so that the copy is of one point in time.
    """
    check_new(new_path)
    with whole_file(new_path, "a backup") as temporary:
        with explain_errors(path), closing(sqlite3.connect(temporary)) as copy:
            connection.backup(copy)
        with closing(open_file(temporary, is_read_only=True)):
            pass  # it is a study, and whole
        check_new(new_path)


def write_study(
    path: Path,
    problem: Problem,
    settings: LearnerSettings,
    events: Iterable[tuple[Event, str | None]],
    identity: str,
    comments: Iterable[tuple[int, str, str, str]] = (),
) -> Ledger:
    """Write a new study with these events and when they happened, and comments, whole or not at all."""
    settings.check_problem(problem)
    connection = create_file(path)
    ledger, checksum = Ledger(problem), ""
    try:
        with transaction(connection, path):
            store.write_problem(connection, problem, settings, identity)
            for event, recorded_at in events:
                after = apply_event(ledger, event)
                checksum = store.append_event(connection, event, checksum, ledger, after, recorded_at)
                ledger = after
            connection.executemany("INSERT INTO comments VALUES (?, ?, ?, ?)", comments)
    except BaseException:
        connection.close()
        path.unlink(missing_ok=True)
        raise
    connection.close()
    return ledger


def cloned_events(log: EventLog, times: Sequence[str]) -> list[tuple[Event, str]]:
    """Return all events but changes of settings, numbered anew, and when they happened.

    Where numbers change, questions and attached data carry the keys by which copies of the study know them.
    """
    is_renumbered, origins = any(event.name == "set" for event in log.events), log.origins()
    kept: list[tuple[Event, str]] = []
    for event, time in zip(log.events, times, strict=False):
        if event.name != "set":
            keys = {"origins": list(origins[event.number])} if is_renumbered and event.number in origins else {}
            kept.append((Event(len(kept), event.name, {**event.payload, **keys}), time))
    return kept


def check_same_states(old: Problem, new: Problem) -> None:
    """Refuse a problem in which the states and actions of answers would mean something else."""
    for kind, before, after in (
        ("states", old.mdp.num_states, new.mdp.num_states),
        ("actions", old.mdp.num_actions, new.mdp.num_actions),
    ):
        if before != after:
            raise InputError(
                f"a clone must have the {kind} of its study, whose answers it takes over: {before}, got {after}. "
                "Make a new study for another problem."
            )
    for kind, names, others in (
        ("state", old.mdp.state_labels, new.mdp.state_labels),
        ("action", old.mdp.action_labels, new.mdp.action_labels),
    ):
        for number, (name, other) in enumerate(zip(names or (), others or (), strict=False)):
            if name != other:
                raise InputError(
                    f"a clone must have the {kind}s of its study in the same order, got {kind} {number}, which is "
                    f"{name!r} in the study and {other!r} in the problem. Write them in the same order."
                )
