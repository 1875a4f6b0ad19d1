"""The commands, pictures and links of the README are there."""

import re
from pathlib import Path

from docs.blocks import blocks

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_there_is_a_python_example_of_at_most_12_lines():
    first, *_ = blocks("README.md", "python")
    assert len([line for line in first.text.splitlines() if line]) <= 12


def test_what_make_is_told_to_do_exists():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = [line.split()[1] for block in blocks("README.md", "sh") for line in block.text.splitlines()]
    assert targets == ["demo", "test"]
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_pictures_and_links_exist():
    targets = re.findall(r"\]\(([^)]+)\)", README) + re.findall(r'src="([^"]+)"', README)
    local = [target for target in targets if "://" not in target]
    assert {"docs/images/studio.png", "docs/images/demo.png"} <= set(local)
    for target in local:
        assert (ROOT / target).exists(), target
