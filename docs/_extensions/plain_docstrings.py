"""Docstrings are plain text with `code`: stars, bars and the like mean themselves, as in |V - V*| or **options.

Array types are called in signatures what they are called in the source.
"""

import inspect
import re
from typing import Any

from numpy.typing import ArrayLike
from sphinx.application import Sphinx
from sphinx.util.docstrings import prepare_docstring
from sphinx.util.typing import stringify_annotation

from journeyman import types

CODE = re.compile(r"(`[^`]*`)")
MARKS = re.compile(r"([*|]|(?<=\w)_(?!\w))")
ALIASES = {"ArrayLike": ArrayLike} | {name: thing for name, thing in vars(types).items() if name.endswith("Array")}
SHORT = {stringify_annotation(alias, "smart"): name for name, alias in ALIASES.items()}


def escape_marks(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape what reStructuredText would take for its own, except in code and in examples with >>>."""
    is_example = False
    for index, line in enumerate(lines):
        is_example = bool(line.strip()) and (is_example or line.lstrip().startswith(">>> "))
        if not is_example:
            lines[index] = "".join(
                part if part.startswith("`") else MARKS.sub(r"\\\1", part) for part in CODE.split(line)
            )


def keep_properties(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Undo what napoleon makes of a property: it takes "The points in words: ..." for a type and its description."""
    if what == "property":
        lines[:] = prepare_docstring(inspect.getdoc(obj) or "")
        escape_marks(app, what, name, obj, options, lines)


def drop_aliases(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Leave out "Alias for field number 0", which Python says of each field of a NamedTuple."""
    if lines and lines[0].startswith("Alias for field number "):
        lines.clear()


def name_aliases(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Put the names of array types in the place of what they stand for."""
    for long, short in SHORT.items():
        signature, returns = (text and text.replace(long, short) for text in (signature, returns))
    return signature, returns


def setup(app: Sphinx) -> dict[str, bool]:
    """Have marks escaped before napoleon reads the sections, and for properties once more after that."""
    app.connect("autodoc-process-docstring", escape_marks, priority=100)
    app.connect("autodoc-process-docstring", drop_aliases)
    app.connect("autodoc-process-signature", name_aliases)
    app.connect("autodoc-process-docstring", keep_properties, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
