"""Links between the Markdown files of the repository lead somewhere, also in those that the site does not have."""

import re

import pytest
from docs.blocks import ROOT, pages, without_blocks

LINK = re.compile(r"\]\(\s*([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
REFERENCE = re.compile(r"(?<![\]\\])\[([^\[\]]+)\]\[([^\[\]]*)\]")  # [text][name], or [name][]
DEFINITION = re.compile(r"^ {0,3}\[([^\[\]]+)\]:\s*(\S+)", re.MULTILINE)
ELSEWHERE = [
    *ROOT.glob("*.md"),
    *(path for name in ("examples", "reproduction") for path in (ROOT / name).rglob("*.md")),
]
FILES = sorted({*ELSEWHERE, *(ROOT / page for page in pages())})


def anchors(path):
    """Return the names of the headings of a page, as links write them."""
    found = []
    for heading in re.findall(r"^#+ (.+)$", without_blocks(path.read_text("utf-8")), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        found.append(name if name not in found else f"{name}-{found.count(name)}")
    return found


def dead_links(path):
    """Yield the links of a page to what is not there; those to other sites are not followed."""
    text = without_blocks(path.read_text("utf-8"))
    defined = {name.lower(): link for name, link in DEFINITION.findall(text)}
    for words, name in REFERENCE.findall(re.sub(r"`[^`]*`|\$[^$\n]*\$", "", text)):
        if (name or words).lower() not in defined:
            yield f"[{words}][{name}]"
    for link in (*defined.values(), *(found[0] or found[1] for found in LINK.findall(text))):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, name = link.partition("#")
        target = path.parent / place if place else path
        if not target.exists() or (name and target.suffix == ".md" and name not in anchors(target)):
            yield link


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    assert list(dead_links(path)) == []


def test_dead_links_are_found(tmp_path):
    (tmp_path / "there.md").write_text("# Two words\n", "utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](there.md#two-words) [b](#here) [c](https://example.org/x)\n"
        '[d](gone.md) [e](there.md#gone) [f](#gone) <img src="gone.png">\n```sh\n[g](gone.md)\n```\n'
        "[h][there] [there][] [i][nowhere] `x[0][1]`\n\n[there]: there.md\n[away]: away.md\n",
        "utf-8",
    )
    assert list(dead_links(page)) == [
        "[i][nowhere]", "away.md", "gone.md", "there.md#gone", "#gone", "gone.png"
    ]  # fmt: skip
