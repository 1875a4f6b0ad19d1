"""Code blocks of the README and of docs/: what they say, and how they run.

The Python blocks of a page are one program. It runs in an empty folder that holds the files which the page shows
(blocks with a name after their language). A `text` block right after a Python block is what that block prints; a line
"..." in it stands for any lines that are left out. A comment on the line before a block says more about it:

    <!-- fragment: why it cannot run here -->      it is only compiled
"""

import contextlib
import io
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from journeyman.acquisition import ACQUISITIONS
from journeyman.apprentice import APPRENTICES
from journeyman.experiment import METRICS
from journeyman.experts import EXPERTS
from journeyman.inference import INFERENCE
from journeyman.mdp.origin import ORIGINS
from journeyman.rewards import PRIORS
from journeyman.worlds import WORLDS

ROOT = Path(__file__).parents[2]
REGISTRIES = {
    "ACQUISITIONS": ACQUISITIONS, "APPRENTICES": APPRENTICES, "EXPERTS": EXPERTS, "INFERENCE": INFERENCE,
    "METRICS": METRICS, "ORIGINS": ORIGINS, "PRIORS": PRIORS, "WORLDS": WORLDS,
}  # fmt: skip
FENCE = re.compile(
    r"(?:^<!-- (?P<mark>fragment): (?P<why>[^\n]+) -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w+)(?: (?P<file>\S+))?\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One block: its language, the file that it shows (or ""), its text, its mark (or ""), and its line in the page."""

    language: str
    file: str
    text: str
    mark: str
    line: int


def pages():
    """Return the README and all pages, by their path in the repository."""
    found = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in path.parts]
    return [str(path.relative_to(ROOT)) for path in (ROOT / "README.md", *found)]


def blocks(page, language=None):
    """Return the blocks of a page, perhaps only those in one language."""
    text = (ROOT / page).read_text("utf-8")
    found = [
        Block(
            match["language"],
            match["file"] or "",
            textwrap.dedent(match["text"]),
            match["mark"] or "",
            text.count("\n", 0, match.start("text")) + 1,
        )
        for match in FENCE.finditer(text)
    ]
    return [block for block in found if language in (None, block.language)]


def without_blocks(text):
    """Return the text of a page without its code, which is not Markdown."""
    return re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)


def table(page, *headings):
    """Return the table of a page whose first columns have these headings: its rows of cells, as they are written."""
    first = " | ".join(headings)
    text = without_blocks((ROOT / page).read_text("utf-8"))
    (found,) = re.findall(rf"^\| {re.escape(first)} \|.*\n\|[-:| ]+\|\n((?:^\|.*\n?)+)", text, re.MULTILINE)
    return [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in found.splitlines()]


def write_files(page, folder):
    """Write the files that a page shows."""
    for block in blocks(page):
        if block.file:
            (folder / block.file).write_text(block.text, "utf-8")


def run_page(page, folder, *, forgets=True):
    """Run the Python of a page, compare what it prints with what the page shows, and return its names and output.

    What the page registers is forgotten afterwards if `forgets`.
    """
    found, names, printed = blocks(page), {"__name__": "__main__"}, ""
    write_files(page, folder)
    with forgotten() if forgets else contextlib.nullcontext():
        for block, following in zip(found, [*found[1:], None], strict=True):
            if block.language != "python":
                continue
            code = compile("\n" * (block.line - 1) + block.text, page, "exec")  # lines of errors are those of the page
            if block.mark == "fragment":
                continue
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(code, names)
            printed += output.getvalue()
            if following is not None and following.language == "text" and not following.mark:
                assert is_shown(output.getvalue(), following.text), f"{page}:{following.line}\n{output.getvalue()}"
    return names, printed


@contextlib.contextmanager
def forgotten():
    """Forget on leaving what was registered within."""
    before = {name: dict(registry._entries) for name, registry in REGISTRIES.items()}
    try:
        yield
    finally:
        for name, registry in REGISTRIES.items():
            registry._entries = before[name]


def is_shown(printed, shown):
    """Whether the lines that are shown are those that were printed; a line "..." stands for any lines."""
    pattern = r"(?:.*\n)*?".join(re.escape(part) for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE))
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in printed.splitlines())) is not None
