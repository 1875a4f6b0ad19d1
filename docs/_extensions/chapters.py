"""What hangs below a page, from `chapters` in conf.py: page -> pages, patterns of their names, or `Title <page>`.

The pages themselves stay plain Markdown, which a directive at their end would not be.
"""

from sphinx.application import Sphinx


def add_toctree(app: Sphinx, page: str, source: list[str]) -> None:
    """Append a hidden table of contents to a page that has chapters."""
    if below := app.config.chapters.get(page):
        entries = "\n".join(name.replace("<", "</") if "<" in name else f"/{name}" for name in below)
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:glob:\n\n{entries}\n```\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the setting, and read it when a page is read."""
    app.add_config_value("chapters", {}, "env", types=[dict])
    app.connect("source-read", add_toctree)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
