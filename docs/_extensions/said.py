"""What the reference says of names and of entries of registries, from the code alone."""

import importlib
import inspect
from collections.abc import Iterator
from typing import Any


def summary(thing: Any) -> str:
    """Return what a thing is in one line: what it says of itself, or the first line of its docstring."""
    said = getattr(thing, "summary", None)
    if isinstance(said, str):
        return said
    text = inspect.getdoc(thing) or ""
    return " ".join(text.split("\n\n")[0].split())


def options(thing: Any) -> list[str]:
    """Return the options of an entry: those that it names, or the keyword-only parameters of a function."""
    if inspect.isfunction(thing):
        parameters = inspect.signature(thing).parameters.values()
        return [each.name for each in parameters if each.kind is each.KEYWORD_ONLY and each.name != "seed"]
    return list(getattr(thing, "options", ())) if not inspect.isclass(thing) else []


def entry_rows(argument: str) -> Iterator[tuple[str, str]]:
    """Yield each entry of a registry, `module.NAME`, and what it says of itself, with its options after it."""
    importlib.import_module("journeyman.continuous")  # with what it registers
    module, _, name = argument.rpartition(".")
    registry = getattr(importlib.import_module(module), name)
    for entry, thing in registry.items():
        names = ", ".join(f"`{name}`" for name in options(thing))
        yield f"`{entry}`", summary(thing).rstrip(".") + (f". Options: {names}" if names else "")
