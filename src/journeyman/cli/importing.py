"""Demonstrations from a table, the same for every command that reads them: options, and what was found in words."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeyman.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from journeyman.demonstrations import Demonstration
    from journeyman.problem import Problem
    from journeyman.study.formats import ImportReport

Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns", metavar="WHAT=COLUMN,...",
        help="Which column of a table is what, such as state=node,action=move,annotator=animal. "
        "Known: demonstration, step, time, state, action, next_state, final_state, ended, query_id, annotator, "
        "timestamp; a column with such a name is taken for it, other columns are ignored. WHAT= alone leaves one out.",
    ),
]  # fmt: skip
Separator = Annotated[
    str | None, typer.Option("--separator", metavar="SIGN", help="comma, semicolon or tab, if it is not clear.")
]
SkipImpossible = Annotated[
    bool,
    typer.Option("--skip-impossible", help="Leave out steps that the problem cannot make, and split there."),
]
FromFile = Annotated[
    Path | None,
    typer.Option("--from", metavar="TABLE", help="Read the steps from a table, as [bold]study import[/] does."),
]


def parse_columns(texts: list[str] | None) -> dict[str, str]:
    """Return "state=node,action=move" as a dict; the option may be repeated."""
    found: dict[str, str] = {}
    for pair in (part.strip() for text in texts or [] for part in text.split(",")):
        role, separator, column = (part.strip() for part in pair.partition("="))
        if not separator or not role:
            raise InputError(
                f"columns must be written as WHAT=COLUMN, got {pair!r}. Example: --columns state=node,action=move"
            )
        if role in found:
            raise InputError(f"{role} must have one column, got {found[role]!r} and {column!r}. Remove one of them.")
        found[role] = column
    return found


def read_noted(
    source: Path, problem: "Problem", columns: list[str] | None, separator: str | None, skip_impossible: bool
) -> "tuple[Demonstration, ...]":
    """Read demonstrations, and note on stderr where they were not taken as they stand."""
    from journeyman.study.formats import examine_demonstrations

    found, report = examine_demonstrations(source, problem, columns=parse_columns(columns), separator=separator)
    if not skip_impossible:
        report.check_possible()
    if note := split_note(report):
        typer.echo(note, err=True)
    return found


def check_one_source(texts: Sequence[str] | None, steps_from: Path | None) -> None:
    """Refuse an answer that is neither typed nor in a file, or both."""
    if bool(texts) == (steps_from is not None):
        got = "both" if texts else "neither"
        raise InputError(f"an answer must be typed or come from a file, got {got}. Type it, or say --from steps.csv.")


def read_one(
    source: Path, problem: "Problem", columns: list[str] | None, final: str | None, ended: str | None
) -> "Demonstration":
    """Read the steps of one demonstration, which must be whole; where it ended may be said besides."""
    from journeyman.study.formats import examine_demonstrations

    found, report = examine_demonstrations(source, problem, columns=parse_columns(columns))
    report.check_possible()
    if len(found) != 1:
        note = split_note(report)
        raise InputError(
            f"an answer must be one demonstration without gaps, got {len(found)} in {source.name}. {note}".rstrip()
            + " Fill the gaps, or take them as several: journeyman study import."
        )
    item = replace(found[0], query_id=None)  # that of another study
    if final is None and ended is None:
        return item
    mdp = problem.mdp
    final_state = item.final_state if final is None else mdp.state_names.index(final)
    is_over = final_state is not None and bool(mdp.terminal[final_state])
    return replace(item, final_state=final_state, ended=ended or ("terminated" if is_over else "truncated"))


def split_note(report: "ImportReport") -> str:
    """Say in a sentence or two what was split, left out and ignored; "" if nothing was."""
    from journeyman.wording import counted

    total, parts = report.total, []
    why = {"gap": total.gaps, "incomplete row": total.missing, "impossible step": total.impossible}
    reasons = [counted(count, word) for word, count in why.items() if count]
    if reasons:
        parts.append(
            f"{report.source}: {counted(total.demonstrations, 'demonstration')} became {counted(total.pieces, 'piece')}"
            f" of {counted(total.steps, 'step')}, because of {', '.join(reasons)}."
        )
    if report.ignored:
        parts.append(f"Columns ignored: {', '.join(report.ignored)}.")
    return " ".join(parts)


def print_report(console: "Console", report: "ImportReport", *, is_refused: bool = False) -> None:
    """Print what was found in a table: columns, counts of each subject, first rows as understood, impossible steps.

    With `is_refused` the last are left out: the message that follows lists them.
    """
    from rich.table import Table

    from journeyman.study.formats.splitting import MOST_LISTED
    from journeyman.wording import counted

    def plain(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    sign = f", separated by {report.separator}" if report.separator else ""
    plain(f"{report.source}: {counted(report.num_rows, 'row')}{sign}.")
    if report.columns:
        plain("Columns: " + ", ".join(f"{role} = {column}" for role, column in report.columns.items()) + ".")
    if report.ignored:
        plain(f"Ignored columns: {', '.join(report.ignored)}.")
    if report.num_moved:
        plain(f"Put in order: {report.num_moved} rows stood before one that happened earlier.")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("subject")
    heads = ("demonstrations", "pieces", "steps", "states", "gaps", "missing", "impossible", "duplicates")
    for head in heads:
        table.add_column("runs" if head == "demonstrations" else head, justify="right", no_wrap=True)
    for item in report.subjects:
        table.add_row(item.subject or "-", *(str(getattr(item, head)) for head in heads))
    if len(report.subjects) > 1:
        total = {head: str(getattr(report.total, head)) for head in heads} | {"states": ""}
        table.add_row("all", *(total[head] for head in heads))
    console.print(table)
    if report.first_rows:
        plain("First rows as understood:")
    for row in report.first_rows:
        owner = "".join(f" {word}" for word in (row["subject"], row["demonstration"]) if word)
        led = f" -> {row['next_state']}" if row["action"] and row["next_state"] else ""
        plain(f"  {row['place']}{owner}: {row['state'] or '(no state)'}, {row['action'] or '(no action)'}{led}")
    if is_refused:
        return
    if report.impossible:
        plain(
            f"Impossible steps, first {MOST_LISTED}:" if len(report.impossible) > MOST_LISTED else "Impossible steps:"
        )
    for step in report.impossible[:MOST_LISTED]:
        plain(f"  {step}")
