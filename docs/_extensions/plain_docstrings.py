"""Docstrings are plain text with `code`: stars, bars and the like mean themselves, as in |V - V*| or **options.

What a function returns is prose as well, never "type: description". Signatures call array types what the source calls
them, and leave out a default that cannot be written down.
"""

import inspect
import re
from dataclasses import InitVar
from typing import Any

from docutils import nodes
from numpy.typing import ArrayLike
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole
from sphinx.util.docstrings import prepare_docstring
from sphinx.util.typing import stringify_annotation

from journeyman import types

CODE = re.compile(r"(`[^`]*`)")
MARKS = re.compile(r"([*|]|(?<=\w)_(?!\w))")
ALIASES = {"ArrayLike": ArrayLike} | {name: thing for name, thing in vars(types).items() if name.endswith("Array")}
ALIASES["str | ArrayLike"] = str | ArrayLike  # one flat union
SHORT = {stringify_annotation(alias, "smart"): name for name, alias in ALIASES.items()}
SHORT |= {repr(InitVar[alias]): name for name, alias in {**ALIASES, "ArrayLike | None": ArrayLike | None}.items()}
SHORT |= {"dataclasses.InitVar[str]": "str", "Callable[[...], ": "Callable[..., "}  # the latter is how Sphinx spells it
PLAIN = {re.sub(r"~[\w.]+\.", "", long): name for long, name in SHORT.items()}
NAME = re.compile(r"[A-Za-z_][\w.]*(\(\))?")
UNWRITABLE = re.compile(r"(?<== )<.+?>(?=, |\)|$)")  # defaults such as <factory> and <function f at 0x7f>


def escape_marks(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape what reStructuredText would take for its own, except in code, in examples with >>>, and in blocks.

    A block is what is indented after an empty line; it is shown as it is.
    """
    written: list[str] = []
    is_example, above, block = False, 0, None  # indentation of the text above; that of the block at hand
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            is_example = False
        else:
            is_example = is_example or line.lstrip().startswith(">>> ")
            if block is not None and indent < block:
                block = None
            if block is None and written and not written[-1] and indent > above:
                block = indent
                written += [" " * above + "::", ""]
            above = above if block is not None else indent
        is_verbatim = is_example or block is not None
        written.append(line if is_verbatim else escaped(line))
    lines[:] = written


def escaped(line: str) -> str:
    """Return a line whose marks mean themselves, outside of its code."""
    return "".join(part if part.startswith("`") else MARKS.sub(r"\\\1", part) for part in CODE.split(line))


def keep_prose(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Say of what is returned, before napoleon reads it, that it has no type: a colon alone, with all text below."""
    for index in reversed(range(1, len(lines))):
        if lines[index - 1] in ("Returns", "Yields") and set(lines[index]) == {"-"}:
            ends = (at - 1 for at in range(index + 2, len(lines)) if lines[at - 1] and set(lines[at]) == {"-"})
            below = slice(index + 1, next(ends, len(lines)))
            lines[below] = [":", *(f"    {line}".rstrip() for line in lines[below])]


def keep_properties(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Undo what napoleon makes of a property: it takes "The points in words: ..." for a type and its description."""
    if what == "property":
        lines[:] = prepare_docstring(inspect.getdoc(obj) or "")
        escape_marks(app, what, name, obj, options, lines)


def skip_aliases(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out fields of a NamedTuple: Python says "Alias for field number 0" of each, and their class all else."""
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number ") else None


def name_aliases(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Put the names of array types in the place of what they stand for, and "..." in that of unwritable defaults."""
    if getattr(obj, "_is_protocol", False):
        signature = ""  # nobody makes one
    signature = signature and UNWRITABLE.sub("...", signature)
    for long, short in SHORT.items():
        signature, returns = (text and text.replace(long, short) for text in (signature, returns))
    return signature, returns


class CodeOrLink(PyXRefRole):
    """What stands in backticks: code, and a link where it is a name of the same class or module."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Look for a page only of what can be a name."""
        if not NAME.fullmatch(self.text):
            return [nodes.literal(self.rawtext, self.text, classes=["code"])], []
        self.name = "py:obj"
        return super().run()


def name_property_types(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the names of array types in the place of what they stand for in the types of properties, too."""
    for annotation in doctree.findall(addnodes.desc_annotation):
        words = annotation.astext()
        if any(long in words for long in PLAIN):
            for long, short in PLAIN.items():
                words = words.replace(long, short)
            annotation.children = [nodes.Text(words)]


def end_names_with_colon(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Write "name: what it is" in lists of parameters, where Sphinx puts two hyphens."""
    for field in doctree.findall(nodes.field):
        for text in [text for text in field.findall(nodes.Text) if text.startswith(" -- ")]:
            text.parent.replace(text, nodes.Text(": " + text.removeprefix(" -- ")))


def setup(app: Sphinx) -> dict[str, bool]:
    """Have marks escaped before napoleon reads the sections, and for properties once more after that."""
    app.add_role("code-or-link", CodeOrLink())
    app.connect("doctree-resolved", name_property_types)
    app.connect("doctree-resolved", end_names_with_colon)
    app.connect("autodoc-process-docstring", escape_marks, priority=100)
    app.connect("autodoc-process-docstring", keep_prose, priority=200)
    app.connect("autodoc-skip-member", skip_aliases)
    app.connect("autodoc-process-signature", name_aliases)
    app.connect("autodoc-process-docstring", keep_properties, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
