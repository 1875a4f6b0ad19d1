"""What `journeyman --help` prints: the page that typer would draw with rich, without importing rich.

Importing rich and drawing with it takes longer than all the rest of `journeyman --help`. The help of a command is
left to typer.
"""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Any

BOLD, DIM, OPTION, SWITCH, TYPE, USAGE = "1", "2", "1;36", "1;32", "1;33", "33"  # codes of a terminal
CODES = re.compile(r"\x1b\[[0-9;]*m")


def front_page(group: Any, ctx: Any, summaries: dict[str, str]) -> str:
    """Return the help of a group, given what to say of each command."""
    width = shutil.get_terminal_size().columns
    usage = group.get_usage(ctx).replace("Usage: ", styled("Usage: ", USAGE), 1)
    first, *more = group.help.split("\n\n")
    rows = [option_row(parameter, ctx) for parameter in group.get_params(ctx)]
    commands = [(styled(name, OPTION), summary) for name, summary in summaries.items()]
    lines = ["", f" {styled(usage, BOLD)}", "", *paragraph(first, width), ""]
    for text in more:
        lines += [*(styled(line, DIM) for line in paragraph(text, width)), ""]
    lines += [*panel("Options", rows, width), *panel("Commands", commands, width), ""]
    lines += [*(marked(line) for line in paragraph(group.epilog, width)), ""]
    return "\n".join(lines)


def wants_colour() -> bool | None:
    """Return whether the environment asks for colour; None if it depends on where the page goes."""
    return False if os.environ.get("NO_COLOR") else True if os.environ.get("FORCE_COLOR") else None


def option_row(parameter: Any, ctx: Any) -> tuple[str, ...]:
    """Return what is said of an option: its long names, its short ones, what it takes, and what it means."""
    long = ",".join(name for name in parameter.opts if name.startswith("--"))
    short = ",".join(name for name in parameter.opts if not name.startswith("--"))
    kind = f"    {styled(parameter.display_type_rich(ctx), TYPE)}"
    return styled(long, OPTION), styled(short, SWITCH), kind, parameter.help


def panel(title: str, rows: Iterable[tuple[str, ...]], width: int) -> list[str]:
    """Return rows in columns, with a box around them; the last column is wrapped."""
    rows = list(rows)
    boxes = "╭─╮│╰╯" if (sys.stdout.encoding or "").lower().startswith("utf") else "+-+|++"
    widths = [max(len(without_colour(row[column])) for row in rows) for column in range(len(rows[0]) - 1)]
    room = width - 4 - sum(widths) - 2 * len(widths)
    left, right = styled(f"{boxes[3]} ", DIM), styled(f" {boxes[3]}", DIM)
    lines = [styled(f"{boxes[0]}{boxes[1]} {title} ".ljust(width - 1, boxes[1]) + boxes[2], DIM)]
    for row in rows:
        cells = "".join(padded(cell, size + 2) for cell, size in zip(row[:-1], widths, strict=True))
        for number, line in enumerate(textwrap.wrap(row[-1], max(room, 20)) or [""]):
            start = cells if number == 0 else " " * (sum(widths) + 2 * len(widths))
            lines.append(left + padded(start + line, width - 4) + right)
    return [*lines, styled(boxes[4] + boxes[1] * (width - 2) + boxes[5], DIM)]


def paragraph(text: str, width: int) -> list[str]:
    """Return a paragraph in lines; words in [bold]...[/] stay marked."""
    shown = textwrap.wrap(without_marks(text), width - 2)
    words = iter(text.split())
    return [" " + " ".join(next(words) for _ in line.split()) for line in shown]


def marked(line: str) -> str:
    """Return a line with what stands in [bold]...[/] in bold."""
    return line.replace("[bold]", f"\x1b[{BOLD}m").replace("[/]", "\x1b[0m")


def without_marks(text: str) -> str:
    """Return text without [bold] and [/]."""
    return re.sub(r"\[bold\]|\[/\]", "", text)


def styled(text: str, code: str) -> str:
    """Return text in a style of the terminal."""
    return f"\x1b[{code}m{text}\x1b[0m" if text else ""


def without_colour(text: str) -> str:
    """Return text without styles."""
    return CODES.sub("", text)


def padded(text: str, width: int) -> str:
    """Return text filled up with spaces, not counting its styles."""
    return text + " " * (width - len(without_colour(text)))
