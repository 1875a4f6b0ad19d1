"""Keys and names that are checked, with a suggestion for those that are nearly right."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from journeyman.errors import InputError


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a question that suggests the nearest name, or the list of all."""
    names = list(known)
    close = difflib.get_close_matches(str(name), names, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Choose from: {', '.join(names) or 'none'}."


def check_keys(record: Mapping[str, Any], known: Iterable[str], what: str, *, hint_for_options: bool = False) -> None:
    """Refuse keys that are not known, and say which is meant."""
    names = list(known)
    for key in record:
        if key not in names:
            hint = " Options go into a table of their own: options = {key = value}." if hint_for_options else ""
            raise InputError(f"{what} must have keys that are known, got {key!r}. {did_you_mean(key, names)}{hint}")


def checked_name(name: Any, registry: Iterable[str], what: str) -> str:
    """Return a name that a registry has, or say which is meant."""
    names = list(registry)
    if name not in names:
        raise InputError(f"{what} must be one that exists, got {name!r}. {did_you_mean(name, names)}")
    return str(name)
