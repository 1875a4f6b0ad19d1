"""Pictures inside a page: as SVG while that is small, else as PNG, always with words for those who cannot see them."""

from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING

from journeyman.errors import MissingExtraError
from journeyman.extras import require
from journeyman.report.html.page import Markup, element, paragraph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_SVG_BYTES = 300_000
PNG_DPI = 130


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
    buffer = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "journeyman"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    if buffer.tell() <= MAX_SVG_BYTES:
        return f"data:image/svg+xml;base64,{b64encode(buffer.getvalue()).decode('ascii')}"
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=PNG_DPI)
    return f"data:image/png;base64,{b64encode(buffer.getvalue()).decode('ascii')}"
