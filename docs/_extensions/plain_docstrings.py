"""Docstrings are plain text with `code`: stars, bars and the like mean themselves, as in |V - V*| or **options."""

import inspect
import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.docstrings import prepare_docstring

CODE = re.compile(r"(`[^`]*`)")
MARKS = re.compile(r"([*|]|(?<=\w)_(?!\w))")


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


def setup(app: Sphinx) -> dict[str, bool]:
    """Have it done before napoleon reads the sections, and for properties once more after that."""
    app.connect("autodoc-process-docstring", escape_marks, priority=100)
    app.connect("autodoc-process-docstring", keep_properties, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
