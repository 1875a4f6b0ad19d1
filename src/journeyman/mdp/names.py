"""Which state or action a name means: a label or a number, in every file and on every command line."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

from journeyman.checks import nearest
from journeyman.errors import InputError

MAX_LISTED = 8


@dataclass(frozen=True)
class Names:
    """Names of `size` things of one kind ("state"): labels where there are any, and numbers from 0.

    A label always means what it names. A number counts from 0, also where it is written as text ("3") or as
    spreadsheets write whole numbers ("3.0"), unless labels look like numbers themselves: then only labels are taken,
    since nobody could tell which of the two is meant. `others` are further names of the first of them.
    """

    kind: str
    size: int
    labels: tuple[str, ...] | None = None
    others: "Names | None" = None

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {label: index for index, label in enumerate(self.labels or ())}

    @cached_property
    def are_numbers(self) -> bool:
        """Whether some label looks like a number, and is not the number of what it names."""
        found = ((index, whole_or_none(label)) for index, label in enumerate(self.labels or ()))
        return any(number is not None and number != index for index, number in found)

    def index(self, name: Any) -> int:
        """Return which one a label or a number means."""
        text = name.strip() if isinstance(name, str) else name
        found = self._indices.get(text) if isinstance(text, str) else None
        if found is not None:
            return found
        if self.others is not None and self.others.knows(text):
            return self.others.index(text)
        number = whole_or_none(text)
        if number is not None and self.are_numbers and str(number) in self._indices:
            if isinstance(text, str):  # "3.0" where a label is "3"
                return self._indices[str(number)]
            raise InputError(self._ambiguity(number))
        if number is None or not 0 <= number < self.size or self.are_numbers:
            raise InputError(self._refusal(name))
        return number

    def knows(self, name: Any) -> bool:
        """Return whether a name means one of them."""
        try:
            self.index(name)
        except InputError:
            return False
        return True

    def _ambiguity(self, number: int) -> str:
        labelled = self._indices[str(number)]
        other = f", or that with number {number}, {self._words[number]!r}" if 0 <= number < self.size else ""
        return (
            f"{self._title} must be named by its label where labels look like numbers, got the number {number}: that "
            f"may mean the {self.kind} with the label {str(number)!r}, number {labelled}{other}. Write the label as "
            f'text: "{number}".'
        )

    def _refusal(self, name: Any) -> str:
        if self.are_numbers:
            return (
                f"{self._title} must be named by its label where labels look like numbers, got {name!r}. There are "
                f"{self._listed()}."
            )
        numbers = f"a number in 0..{self.size - 1}" if self.size else "a number, but there are none"
        what = f"{numbers}, for this problem has no labels" if not self.labels else f"a label or {numbers}"
        hint = nearest(name, self.labels or ()) or (f"Labels are {self._listed()}." if self.labels else "Example: 0.")
        return f"{self._title} must be {what}, got {name!r}. {hint}"

    @property
    def _title(self) -> str:
        return f"{'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind}"

    @property
    def _words(self) -> tuple[str, ...]:
        return self.labels or ()

    def _listed(self) -> str:
        return ", ".join(self._words[:MAX_LISTED]) + (" ..." if len(self._words) > MAX_LISTED else "")


def whole_or_none(value: Any) -> int | None:
    """Return the whole number that a value is or spells ("3", 3.0, "3.0"), or None; none that an index cannot hold."""
    if isinstance(value, bool) or not isinstance(value, str | Real):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if not (number.is_integer() and abs(number) < 2.0**63):
        return None
    return int(number if isinstance(value, str) or not isinstance(value, Integral) else value)
