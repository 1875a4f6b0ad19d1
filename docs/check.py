"""Check the built site: no page is missing or shows raw markup, links lead somewhere, nothing comes from elsewhere.

    python docs/check.py docs/_build/html

Links to other sites are not followed.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SOURCES = Path(__file__).parent
LOADS = {"src", "srcset", "poster", "data"}  # attributes whose address a browser fetches by itself
STYLE_LOADS = re.compile(r"""@import\s+["']?([^"';)\s]+)|url\(\s*["']?([^"')]+)""")
SCRIPT_LOADS = re.compile(r"""(?:import|importScripts|fetch)\(\s*["'](https?:[^"']+)|from\s+["'](https?:[^"']+)""")
RAW = re.compile(
    r"\S*(?:`|~(?:collections|typing|journeyman|numpy)\b|<factory>)\S*"
)  # what should have become code or a link
VERBATIM = {"code", "pre", "math", "script", "style"}  # elements whose text means itself


class Page(HTMLParser):
    """What a page has: names that links can lead to, links, addresses that are loaded, and raw markup in its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.raw: set[str] = set()
        self._in = ""
        self._num_verbatim = 0  # how many such elements are open
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect from the attributes of a tag."""
        self._in = tag
        self._num_verbatim += tag in VERBATIM
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        loaded = [given[name] for name in LOADS & set(given)]
        if tag == "link" and "canonical" not in given.get("rel", ""):
            loaded.append(given.get("href", ""))
        elif "href" in given:
            self.links.add(given["href"])
        self.loads |= {address for address in loaded if address}
        self.loads |= style_loads(given.get("style", ""))

    def handle_data(self, data: str) -> None:
        """Collect from text, and from styles and scripts within the page."""
        if not self._num_verbatim:
            self.raw |= set(RAW.findall(data))
        if self._in == "style":
            self.loads |= style_loads(data)
        elif self._in == "script":
            self.loads |= script_loads(data)

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        self._in = ""
        self._num_verbatim -= tag in VERBATIM


def style_loads(text: str) -> set[str]:
    """Return the addresses that a stylesheet loads."""
    return {one or other for one, other in STYLE_LOADS.findall(text)}


def script_loads(text: str) -> set[str]:
    """Return the addresses elsewhere that a script imports or fetches."""
    return {one or other for one, other in SCRIPT_LOADS.findall(text)}


def is_elsewhere(address: str) -> bool:
    """Whether an address is on another site."""
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "mailto")


def faults(site: Path) -> Iterator[str]:
    """Yield what is wrong, one line each."""
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"{site} has no pages. Build it first: make docs"
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        yield from (
            f"{where} loads {address} from another site" for address in sorted(page.loads) if is_elsewhere(address)
        )
        yield from (f"{where} shows raw markup: {text}" for text in sorted(page.raw))
        for address in sorted(page.links | page.loads):
            if not is_elsewhere(address) and (fault := fault_of(address, path, pages)):
                yield f"{where} {fault}"
    for pattern, loads_of in (("*.css", style_loads), ("*.js", script_loads)):
        for path in sorted(site.rglob(pattern)):
            for address in sorted(loads_of(path.read_text("utf-8"))):
                if is_elsewhere(address):
                    yield f"{path.relative_to(site)} loads {address} from another site"


def missing_pages(site: Path, sources: Path) -> Iterator[str]:
    """Yield each source that has no page, one line each."""
    for path in sorted([*sources.rglob("*.md"), *sources.rglob("*.ipynb")]):
        name = path.relative_to(sources)
        if not name.parts[0].startswith("_") and not (site / name.with_suffix(".html")).exists():
            yield f"{name} has no page. Look for the first error of the build above"


def fault_of(address: str, path: Path, pages: dict[Path, Page]) -> str | None:
    """Return what is wrong with an address on this site, if anything is."""
    parts = urlsplit(address)
    if parts.scheme:  # data: and the like
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return f"points to {address}, which does not exist"
    name = unquote(parts.fragment)
    if name and target in pages and name not in pages[target].names:
        return f"points to {address}, but that page has no #{name}"
    return None


def main(site: str) -> int:
    """Print what is wrong and return an exit code."""
    found = [*missing_pages(Path(site), SOURCES), *faults(Path(site))]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(list(Path(site).rglob('*.html')))} pages, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
