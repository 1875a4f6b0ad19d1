"""Every figure of the documentation is made by a program of the repository, in one style, and shown in the gallery."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from docs.blocks import ROOT, pages

from journeyman.report.drawing.palette import COLOURS

matplotlib = pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")  # of matplotlib
SPEC = importlib.util.spec_from_file_location("gallery", ROOT / "docs" / "gallery" / "make.py")
make = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make)
IMAGE = re.compile(
    r"!\[[^\]]*\]\(([^)\s]+\.(?:png|svg))\)|```\{image\} (\S+)|:::\{image\} (\S+)|<img[^>]* src=\"([^\"]+)\""
)


def shown_images():
    """Yield each image of a page of ours, as a path below the repository."""
    for page in (ROOT / page for page in pages() if not page.startswith("docs/gallery/")):
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


def test_the_page_is_up_to_date():
    assert make.PAGE.read_text("utf-8") == make.page(), "Run: python docs/gallery/make.py jail"


def test_captions_say_what_to_see():
    for entry in (*make.LEARNING, *make.TRUST):
        assert entry.is_screenshot or re.search(r"What to see|As above", entry.caption), entry.name


def test_names_are_those_of_one_figure():
    names = [entry.name for entry in make.entries()]
    assert len(set(names)) == len(names)


def test_a_figure_is_made(tmp_path):
    (entry,) = [entry for entry in make.entries() if entry.name == "kernel-reach"]
    before = list(sys.path)
    make.make(entry, tmp_path / "reach.png")
    assert sys.path == before
    assert (tmp_path / "reach.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["certificate-reliability", "soak", "jail-pairs"])
def test_figures_from_committed_tables_are_those_that_are_committed(name, tmp_path):
    """Pixel by pixel with the version of matplotlib that drew them; others may set letters otherwise."""
    (entry,) = [entry for entry in make.entries() if entry.name == name]
    path = tmp_path / Path(entry.path).name
    make.make(entry, path)
    drawn, kept = (np.asarray(Image.open(file).convert("RGB"), dtype=int) for file in (path, ROOT / entry.path))
    assert abs(np.subtract(drawn.shape, kept.shape)).max() <= 20
    if f"matplotlib=={matplotlib.__version__}" in (ROOT / "constraints.txt").read_text("utf-8").split():
        assert (drawn == kept).all(axis=2).mean() > 0.999


def test_one_style_and_one_palette(tmp_path):
    """What we draw ourselves, and what other programs draw for us."""
    with make.draw.our_style():
        ours = matplotlib.rcParams.copy()
    colours = [f"#{colour.lstrip('#')}" for colour in ours["axes.prop_cycle"].by_key()["color"]]
    assert colours == list(COLOURS[:8])
    told = tmp_path / "told.json"
    asks = "import json, matplotlib, sys; json.dump(matplotlib.rcParams['axes.titlesize'], open(sys.argv[1], 'w'))"
    make.draw.program("-c", asks, str(told))
    assert json.loads(told.read_text()) == ours["axes.titlesize"] != matplotlib.rcParamsDefault["axes.titlesize"]


def test_unknown_names_are_refused(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["make.py", "nothing"])
    with pytest.raises(SystemExit, match="There is no figure 'nothing'"):
        make.main()
