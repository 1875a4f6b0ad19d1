"""Formulas as MathML, made when the site is built: browsers draw it, and nothing is loaded from elsewhere."""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger
from sphinx.util.math import get_node_equation_number

LOGGER = getLogger(__name__)
UNKNOWN = re.compile(r"\\[A-Za-z]+")  # commands that the converter passes through as text


def mathml(node: nodes.math | nodes.math_block, display: str = "inline") -> str:
    """Convert a formula; warn of what cannot be converted, so that the build fails and names the place."""
    formula = node.astext().strip()
    try:
        found = convert(formula, display=display)
    except Exception as error:  # the converter has errors of many kinds
        LOGGER.warning("formula cannot be converted (%r): %s", error, formula, location=node)
        return ""
    if unknown := UNKNOWN.search(found):
        LOGGER.warning("formula has an unknown command (%s): %s", unknown[0], formula, location=node)
    return found


def visit_math(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(f'<span class="math">{mathml(node)}</span>')
    raise nodes.SkipNode


def visit_math_block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, with its number if it has one."""
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    if node["number"]:
        number = get_node_equation_number(writer, node)
        writer.body.append(f'<span class="eqno">({number})')
        writer.add_permalink_ref(node, "Link to this equation")
        writer.body.append("</span>")
    writer.body.append(f"{mathml(node, 'block')}</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register `html_math_renderer = "mathml"`."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
