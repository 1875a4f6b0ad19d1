"""Links of pages to what is in the repository, but not on the site: they become the path in it, as code.

A page may point to `../src/journeyman/problem.py` or to a folder of tables: that works in a checkout. On the site the
words of the link stay, followed by where to look. A path that does not exist is left alone, so that Sphinx complains.
"""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

REPOSITORY = Path(__file__).parents[2]


class OutsideLinks(SphinxTransform):
    """Replace such links, once a page is read."""

    default_priority = 5

    def apply(self) -> None:
        """Do it for the page at hand."""
        for kind in (addnodes.download_reference, addnodes.pending_xref):
            for link in list(self.document.findall(kind)):
                if path := self.outside(link):
                    link.replace_self(self.as_text(link, path))

    def outside(self, link: nodes.Element) -> Path | None:
        """Return the path in the repository if the link leads to a folder, or out of docs/."""
        if link.get("reftype") != "myst":
            return None
        target = link["reftarget"].partition("#")[0]
        if link.get("refdomain") == "doc":  # what ends in .md is taken for a page, wherever it is
            target = f"/{target}.md"
        _, found = self.env.relfn2path(target, self.env.docname)
        path = Path(found).resolve()
        is_page_or_data = path.is_file() and path.is_relative_to(self.env.srcdir)
        if is_page_or_data or not path.exists() or not path.is_relative_to(REPOSITORY):
            return None
        return path.relative_to(REPOSITORY)

    def as_text(self, link: nodes.Element, path: Path) -> list[nodes.Node]:
        """Return the words of the link, and the path if they do not say it already."""
        words = link.astext()
        code = nodes.literal(text=str(path))
        if not words or words.strip("/") in str(path):
            return [code]
        return [*link.children[0].children, nodes.Text(" ("), code, nodes.Text(")")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Have it applied to every page."""
    app.add_transform(OutsideLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
