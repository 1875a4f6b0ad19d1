"""The check of the built site finds dead links and whatever is loaded from elsewhere."""

import runpy

import pytest
from docs.blocks import ROOT

faults = runpy.run_path(str(ROOT / "docs" / "check.py"))["faults"]
GOOD = '<p id="here">x</p><a href="other.html#there">y</a><a href="https://example.org/z">z</a><img src="a.png">'


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text(GOOD, "utf-8")
    (tmp_path / "other.html").write_text('<h1 id="there">x</h1><a href="#there">y</a><a href="./">home</a>', "utf-8")
    (tmp_path / "a.png").write_bytes(b"")
    return tmp_path


def test_a_whole_site_has_no_faults(site):
    assert list(faults(site)) == []


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="gone.html">x</a>', "points to gone.html, which does not exist"),
        ('<a href="other.html#gone">x</a>', "that page has no #gone"),
        ('<img src="gone.png">', "points to gone.png, which does not exist"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js from another site"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "loads //example.org/x.css from another site"),
        ("<style>@import 'https://example.org/x.css'</style>", "from another site"),
        ('<p style="background: url(https://example.org/x.png)">x</p>', "from another site"),
        ("<script>import('https://example.org/x.js')</script>", "from another site"),
    ],
)
def test_faults_are_found(site, page, fault):
    (site / "bad.html").write_text(page, "utf-8")
    (found,) = faults(site)
    assert found.startswith("bad.html ") and fault in found


def test_an_empty_folder_is_no_site(tmp_path):
    (found,) = faults(tmp_path)
    assert "make docs" in found
