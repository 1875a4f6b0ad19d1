"""Tables that are made from the code: `{public-names}` of a module, and `{entries}` of a registry."""

import importlib
from collections.abc import Iterator

from docutils import nodes
from said import entry_rows, summary
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Table(SphinxDirective):
    """A table of two columns, written as Markdown; its argument is `module` or `module.NAME`."""

    required_arguments = 1
    heading: str

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        cells = ((name, words.replace("|", r"\|")) for name, words in self.rows(self.arguments[0]))
        rows = [f"| {name} | {words} |" for name, words in cells]
        return self.parse_text_to_nodes("\n".join([f"| {self.heading} | |", "|---|---|", *rows]))

    def rows(self, argument: str) -> Iterator[tuple[str, str]]:
        """Yield the cells of each row."""
        raise NotImplementedError


class PublicNames(Table):
    """What a module exports, each with the first line of its docstring and a link to its page."""

    heading = "name"

    def rows(self, argument: str) -> Iterator[tuple[str, str]]:
        """Yield a link and a line for every name; a registry says what it holds."""
        module = importlib.import_module(argument)
        for name in module.__all__:
            home = getattr(module, "_MODULE_OF", {}).get(name, argument)
            thing = getattr(module, name)
            if what := getattr(thing, "what", None):
                yield f"[`{name}`](project:/reference/registries.md#{name.lower()})", f"Registry: each is {what}."
            else:
                yield f"{{py:obj}}`{name} <{home}.{name}>`", summary(thing)


class Entries(Table):
    """What is in a registry, each with what it says of itself and its options."""

    heading = "entry"

    def rows(self, argument: str) -> Iterator[tuple[str, str]]:
        """Yield a name and a line for every entry."""
        return entry_rows(argument)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both directives."""
    app.add_directive("public-names", PublicNames)
    app.add_directive("entries", Entries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
