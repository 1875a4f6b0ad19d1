"""HTML that cannot be broken by what users wrote: every text is escaped, only elements made here are markup."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from journeyman.errors import InputError, MissingExtraError
from journeyman.extras import require
from journeyman.report.drawing.cells import lay_out
from journeyman.storage.files import remove_leftovers, whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = "\n" + (files("journeyman.report.html") / "style.css").read_text("utf-8")
PERCENT, WITHOUT_BREAK = re.compile(r"(?<=\d) %"), "\N{NO-BREAK SPACE}%"
VOID = ("img", "meta", "br")
MAX_ROWS = 20
MAX_SVG_BYTES = 300_000
PNG_DPI = 130


class Markup(str):
    """Text that is HTML already; made by `element` and `join` only."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Return a value as HTML: markup stays what it is, all else is escaped; numbers keep their "%" beside them."""
    return value if isinstance(value, Markup) else Markup(PERCENT.sub(WITHOUT_BREAK, escape(str(value), quote=True)))


def join(*children: object) -> Markup:
    """Return several pieces one after the other."""
    return Markup("".join(text(child) for child in children))


def element(tag: str, *children: object, **attributes: str) -> Markup:
    """Return an element; `class_` stands for the attribute class, an underscore inside a name for a hyphen."""
    names = {name: name.rstrip("_").replace("_", "-") for name in attributes}
    inside = "".join(f' {names[name]}="{escape(value, quote=True)}"' for name, value in attributes.items())
    if tag in VOID:
        return Markup(f"<{tag}{inside}>")
    return Markup(f"<{tag}{inside}>{join(*children)}</{tag}>")


def paragraph(*children: object, **attributes: str) -> Markup:
    """Return a paragraph."""
    return element("p", *children, **attributes)


def bullets(items: Iterable[object]) -> Markup:
    """Return a list; nothing if there are no items."""
    listed = [element("li", item) for item in items]
    return element("ul", *listed) if listed else Markup("")


def table(
    header: Sequence[str], rows: Iterable[Sequence[object]], *, caption: str, numeric: Sequence[int] = ()
) -> Markup:
    """Return a table with its caption; columns in `numeric` are aligned to the right."""
    styles = ["number" if column in numeric else "" for column in range(len(header))]

    def cells(tag: str, values: Sequence[object], **attributes: str) -> Markup:
        return join(
            *(
                element(tag, value, **attributes, **({"class_": style} if style else {}))
                for value, style in zip(values, styles, strict=True)
            )
        )

    head = element("thead", element("tr", cells("th", header, scope="col")))
    body = element("tbody", *(element("tr", cells("td", row)) for row in rows))
    return element("div", element("table", element("caption", caption), head, body), class_="scroll")


def definitions(rows: Iterable[tuple[str, object]]) -> Markup:
    """Return pairs of a word and what it means or is."""
    return element("dl", *(join(element("dt", name), element("dd", value)) for name, value in rows))


def details(summary: str, *children: object) -> Markup:
    """Return a part that is closed until someone opens it; in print it is open."""
    return element("details", element("summary", summary), *children)


def folded_table(
    header: Sequence[str], rows: Sequence[Sequence[object]], caption: str, *, numeric: Sequence[int] = ()
) -> Markup:
    """Return a table; what goes beyond some rows is folded away, not left out."""
    first = table(header, rows[:MAX_ROWS], caption=caption, numeric=numeric)
    if len(rows) <= MAX_ROWS:
        return first
    rest = table(header, rows[MAX_ROWS:], caption="Continued.", numeric=numeric)
    return join(first, details(f"{len(rows) - MAX_ROWS} more rows", rest))


def section(anchor: str, title: str, *children: object) -> Markup:
    """Return a section with a heading."""
    return element("section", element("h2", title), *children, id=anchor)


def contents(parts: Iterable[tuple[str, str]]) -> Markup:
    """Return links to sections, as (anchor, title)."""
    links = [element("li", element("a", title, href=f"#{anchor}")) for anchor, title in parts]
    return element("nav", element("ul", *links), aria_label="Contents")


def document(title: str, *children: object) -> str:
    """Return a whole page, with its style inside: it needs no other file and no network."""
    head = join(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(STYLE)),
    )
    page = element("html", element("head", head), element("body", element("main", *children)), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def checked_page_path(path: str | Path) -> Path:
    """Return the path of a page, if it can be that of one."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"a report must go to a file, got the folder {str(path)!r}. Add a file name.")
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"the name of a report must end in .html, got {path.name!r}. Rename it.")
    if not path.parent.is_dir():
        raise InputError(f"the folder of a report must exist, got {str(path.parent)!r}. Create it first.")
    return path


def write_page(page: str, path: str | Path) -> Path:
    """Write a page to a file, whole or not at all, and return its path."""
    path = checked_page_path(path)
    remove_leftovers(path.parent, path.name)
    with whole_file(path, "a report") as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def picture(figure_fn: "Callable[[], Figure | None]", *, alt: str, caption: str) -> Markup:
    """Return a figure with its caption; a note where matplotlib is not installed; nothing where there is no figure."""
    try:
        figure = figure_fn()
    except MissingExtraError as error:
        return paragraph(f"No picture here ({caption}): {error}", class_="warning")
    if figure is None:
        return Markup("")
    image = element("img", src=data_address(figure), alt=alt)
    return element("figure", image, element("figcaption", caption))


def data_address(figure: "Figure") -> str:
    """Return a figure as a data address that an image can have as its source; the same figure gives the same one."""
    matplotlib = require("matplotlib", "plot")
    lay_out(figure)
    buffer = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "journeyman"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    if buffer.tell() <= MAX_SVG_BYTES:
        return f"data:image/svg+xml;base64,{b64encode(buffer.getvalue()).decode('ascii')}"
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=PNG_DPI)
    return f"data:image/png;base64,{b64encode(buffer.getvalue()).decode('ascii')}"
