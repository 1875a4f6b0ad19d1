"""A situation: where somebody is and what each key does, in words; and what a console can show of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.style import Style
from rich.text import Text

from journeyman.mdp import FiniteMDP
from journeyman.mdp.memory import innermost, places_in, remembered_words
from journeyman.wording import percent

HERE, KEY = Style(color="#000000", bgcolor="#ffd60a", bold=True), Style(color="#ffffff", bgcolor="#1d3557", bold=True)
FAINT = Style(color="#8d8d8d")
MAX_NEXT = 3


@dataclass(frozen=True, eq=False)
class Situation:
    """A place, the key to show for each action that can be taken there, and the states that led there."""

    mdp: FiniteMDP
    state: int
    keys: Mapping[int, str]
    trail: tuple[int, ...] = ()

    def in_world(self) -> "Situation":
        """Return the same place in the world without its memories, where it can be drawn."""
        places = places_in(self.mdp)
        trail = tuple(int(places[state]) for state in self.trail)
        return Situation(innermost(self.mdp), int(places[self.state]), self.keys, trail)


def outcomes(mdp: FiniteMDP, state: int, action: int) -> list[tuple[int | None, float]]:
    """Return the next states of an action and their chances, the likeliest first; None: the episode ends."""
    next_states, chances = mdp.next_states(state, action)
    found: list[tuple[int | None, float]] = [(int(s), float(p)) for s, p in zip(next_states, chances, strict=True)]
    if (missing := 1.0 - float(chances.sum())) > 1e-9:
        found.append((None, missing))
    return sorted(found, key=lambda outcome: -outcome[1])


def place_words(mdp: FiniteMDP, state: int) -> str:
    """Return a place as people say it: "row 2, column 1 (lawn)", "house (row 0, column 0)", "node-7".

    A label that only says row and column, as cells of maps have it ("r2c1"), is left out. What is remembered there
    comes after it: "house (row 0, column 0), after pond".
    """
    if mdp.memory is not None:
        world = place_words(innermost(mdp), int(places_in(mdp)[state]))
        return f"{world}, {remembered_words(mdp, state)}"
    if mdp.grid is None:
        return mdp.state_name(state) if mdp.state_labels else f"state {state}"
    row, column = mdp.grid.places[state].tolist()
    cell, kind = f"row {row}, column {column}", mdp.grid.kinds[state] if mdp.grid.kinds else ""
    if mdp.state_labels and mdp.state_labels[state] != f"r{row}c{column}":
        return f"{mdp.state_labels[state]} ({cell}{', ' if kind else ''}{kind})"
    return f"{cell} ({kind})" if kind else cell


def destination_words(mdp: FiniteMDP, state: int, action: int) -> str:
    """Return where an action leads: "row 1, column 1", "stays here", "node-3 (80 %) or node-4 (20 %)", "the end"."""
    places = places_in(mdp)

    def words(outcome: int | None) -> str:
        if outcome is None:
            return "the end"
        name = "here" if places[outcome] == places[state] else short_name(mdp, outcome)
        return f"{name}, the end" if mdp.terminal[outcome] else name

    found = outcomes(mdp, state, action)
    if len(found) == 1:
        outcome = found[0][0]
        return "stays here" if outcome is not None and places[outcome] == places[state] else words(outcome)
    named = [f"{words(outcome)} ({percent(chance)})" for outcome, chance in found[:MAX_NEXT]]
    return " or ".join(named) + (f" or {len(found) - MAX_NEXT} others" if len(found) > MAX_NEXT else "")


def keys_at(situation: Situation) -> dict[int, str]:
    """Return the keys that most likely lead to each other state."""
    found: dict[int, str] = {}
    for action, key in situation.keys.items():
        likeliest = outcomes(situation.mdp, situation.state, action)[0][0]
        if likeliest is not None and likeliest != situation.state:
            found[likeliest] = found.get(likeliest, "") + key
    return found


def short_name(mdp: FiniteMDP, state: int) -> str:
    """Return the label of a state, else its place on the grid, else its number; what is remembered is left out."""
    if mdp.memory is not None:
        return short_name(innermost(mdp), int(places_in(mdp)[state]))
    if mdp.state_labels:
        return mdp.state_labels[state]
    if mdp.grid is not None:
        row, column = mdp.grid.places[state].tolist()
        return f"row {row}, column {column}"
    return f"state {state}"


@dataclass(frozen=True)
class Pen:
    """What the console can show."""

    has_colour: bool
    is_ascii: bool

    @classmethod
    def of(cls, console: Console) -> "Pen":
        """Return what a console can show."""
        return cls(console.color_system is not None and not console.no_color, console.options.ascii_only)

    def text(self, unicode: str, ascii_only: str) -> str:
        """Return the first text, or the second where only ASCII can be shown."""
        return ascii_only if self.is_ascii else unicode

    def chip(self, text: str, style: Style) -> Text:
        """Return text on a coloured ground, in brackets where there is no colour."""
        return Text(f" {text} ", style=style) if self.has_colour else Text(f"[{text}]")


def flowed(entries: Sequence[Text], width: int, gap: str = "   ") -> list[Text]:
    """Return texts side by side, in as many lines as that takes."""
    lines: list[Text] = []
    for entry in entries:
        if lines and lines[-1].cell_len + len(gap) + entry.cell_len <= width:
            lines[-1].append(gap).append_text(entry)
        else:
            lines.append(entry.copy())
    return lines
