"""A situation as a small tree: the place, where its actions lead, and what comes after that."""

import numpy as np
from rich.style import Style
from rich.text import Text

from journeyman.mdp import FiniteMDP
from journeyman.report.drawing.situations.place import (
    FAINT,
    HERE,
    KEY,
    Pen,
    Situation,
    destination_words,
    flowed,
    outcomes,
    short_name,
)


def tree_lines(pen: Pen, situation: Situation, width: int, height: int) -> list[Text]:
    """Return the place, where each action leads, and what comes after that, from left to right."""
    mdp, state = situation.mdp, situation.state
    actions = list(situation.keys)
    here = pen.chip(short_name(mdp, state), HERE)
    shows_after = 2 * len(actions) + 3 < height
    labels = {action: _own_label(mdp, state, action) for action in actions}
    label_width = max((len(label) for label in labels.values()), default=0)
    key_width = max((len(situation.keys[action]) for action in actions), default=1) + 2
    branches: list[list[Text]] = []
    for action in actions:
        stem = Text.assemble(pen.chip(situation.keys[action].ljust(key_width - 2), KEY))
        stem.append(f" {labels[action].ljust(label_width)} " if label_width else " ")
        stem.append(pen.text("──▸ ", "--> "), style=FAINT)
        stem.append(destination_words(mdp, state, action), style=Style(bold=True))
        branches.append([stem, *(_after(pen, situation, action, stem.cell_len) if shows_after else [])])
    middle = len(branches) // 2 if len(branches) % 2 else len(branches) // 2 - 1
    joints = pen.text("┌├└│┼┤─", "+++|++-")
    lines: list[Text] = []
    blank = " " * here.cell_len
    for index, branch in enumerate(branches):
        for part, content in enumerate(branch):
            is_first, is_last, is_middle = index == 0, index == len(branches) - 1, index == middle
            if part == 0:
                joint = joints[6] if len(branches) == 1 else joints[0 if is_first else 2 if is_last else 1]
                if is_middle and len(branches) > 1:
                    joint = joints[4] if not is_first else pen.text("┬", "+")
                start = (
                    Text.assemble(here, (joints[6] + joint + joints[6], FAINT))
                    if is_middle
                    else Text.assemble(blank, (f" {joint}{joints[6]}", FAINT))
                )
            else:
                start = Text(blank + (" " if is_last else f" {joints[3]}"), style=FAINT)
                start.append(" " * (len(blank) + 3 - start.cell_len))
            line = Text.assemble(start, content)
            line.truncate(width, overflow="ellipsis")
            lines.append(line)
    entries = [Text.assemble(pen.chip(short_name(mdp, state), HERE), " you are here")]
    if branches:
        entries.append(Text.assemble(pen.chip(situation.keys[actions[0]], KEY), " key to press"))
    return [*(lines or [here]), Text(""), *flowed(entries, width)]


def _after(pen: Pen, situation: Situation, action: int, indent: int) -> list[Text]:
    """Return a line with the states that come after the likeliest outcome of an action."""
    mdp = situation.mdp
    first = outcomes(mdp, situation.state, action)[0][0]
    if first is None or first == situation.state or mdp.terminal[first]:
        return [Text("")]
    found = dict.fromkeys(
        outcome
        for other in np.flatnonzero(mdp.available[first]).tolist()
        for outcome, _ in outcomes(mdp, first, other)
        if outcome is not None and outcome not in (first, situation.state)
    )
    if not found:
        return [Text("")]
    names = [short_name(mdp, state) for state in found]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    words = Text(" " * (indent - len(destination_words(mdp, situation.state, action))))
    return [words.append(pen.text("╰─ from there: ", "`- from there: ") + shown, style=FAINT)]


def _own_label(mdp: FiniteMDP, state: int, action: int) -> str:
    """Return the label of an action, "" where it only repeats where it leads."""
    label = mdp.action_name(action)
    return "" if label == destination_words(mdp, state, action) else label
