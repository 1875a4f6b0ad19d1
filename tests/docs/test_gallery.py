"""Every figure of the documentation is made by a program of the repository, in one style, and shown in the gallery."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("matplotlib")
SPEC = importlib.util.spec_from_file_location("gallery", ROOT / "docs" / "gallery" / "make.py")
make = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
IMAGE = re.compile(
    r"!\[[^\]]*\]\(([^)\s]+\.(?:png|svg))\)|```\{image\} (\S+)|:::\{image\} (\S+)|<img[^>]* src=\"([^\"]+)\""
)


def shown_images():
    """Yield each image of a page of ours, as a path below the repository."""
    for page in PAGES:
        if {"_build", "gallery"} & set(page.relative_to(ROOT).parts):
            continue
        for found in IMAGE.findall(page.read_text("utf-8")):
            target = next(filter(None, found))
            if not target.startswith("http"):
                yield page, (page.parent / target).resolve().relative_to(ROOT).as_posix()


def test_every_image_is_made_here_or_by_an_example():
    """An example makes its own (`make examples`); all others are in the gallery."""
    known = {entry.path for entry in make.entries()}
    unknown = [
        (page.name, path) for page, path in shown_images() if path not in known and not path.startswith("examples/")
    ]
    assert not unknown, f"Add them to docs/gallery/make.py: {unknown}"
    assert {"docs/images/demo.png", "docs/images/memory.png"} <= {path for _, path in shown_images()}


def test_there_are_no_orphans():
    """Each picture below docs is in the gallery, and each entry of the gallery exists."""
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "docs").rglob("*.png")
        if "_build" not in path.parts and "_static" not in path.parts
    }
    assert files == {entry.path for entry in make.entries()}
    assert all(entry.draw_fn is not None or entry.is_screenshot for entry in make.OWN)


def test_the_page_is_up_to_date():
    assert make.PAGE.read_text("utf-8") == make.page(), "Run: python docs/gallery/make.py jail"


def test_captions_say_what_to_see():
    for entry in make.OWN:
        assert entry.is_screenshot or "What to see" in entry.caption, entry.name


def test_a_figure_is_made(tmp_path):
    (entry,) = [entry for entry in make.OWN if entry.name == "kernel-reach"]
    before = list(sys.path)
    make.make(entry, tmp_path / "reach.png")
    assert sys.path == before
    assert (tmp_path / "reach.png").stat().st_size > 10_000


def test_unknown_names_are_refused(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["make.py", "nothing"])
    with pytest.raises(SystemExit, match="There is no figure 'nothing'"):
        make.main()
