"""The check of the built site finds dead links, whatever is loaded from elsewhere, and raw markup."""

import runpy

import pytest
from docs.blocks import ROOT

CHECK = runpy.run_path(str(ROOT / "docs" / "check.py"))
faults, missing_pages = CHECK["faults"], CHECK["missing_pages"]
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
        ("<p>See `solve` for more</p>", "shows raw markup: `solve`"),
        ("<dt>options: ~collections.abc.Mapping[str, int]</dt>", "shows raw markup: ~collections.abc.Mapping[str,"),
        ("<dt>options: dict = &lt;factory&gt;</dt>", "shows raw markup: <factory>"),
        ("<p><code>a</code> and `b`</p>", "shows raw markup: `b`"),
    ],
)
def test_faults_are_found(site, page, fault):
    (site / "bad.html").write_text(page, "utf-8")
    (found,) = faults(site)
    assert found.startswith("bad.html ") and fault in found


@pytest.mark.parametrize(
    "page",
    [
        "<p><code>`a` &lt;factory&gt;</code></p>",
        "<pre>$ echo `<span>date</span>` <b>~journeyman.solve</b></pre>",
        "<math><mi>`</mi></math>",
        "<script>const text = `a`;</script>",
        "<p>~10 % of runs, in ~/journeyman</p>",
    ],
)
def test_code_and_tildes_are_no_raw_markup(site, page):
    (site / "good.html").write_text(page, "utf-8")
    assert list(faults(site)) == []


def test_an_empty_folder_is_no_site(tmp_path):
    (found,) = faults(tmp_path)
    assert "make docs" in found


def test_a_source_without_a_page_is_found(site, tmp_path):
    sources = tmp_path / "docs"
    (sources / "_build").mkdir(parents=True)
    for name in ("index.md", "other.ipynb", "_build/index.md"):
        (sources / name).write_text("# Page\n", "utf-8")
    assert list(missing_pages(site, sources)) == []
    (sources / "gone.md").write_text("# Page\n", "utf-8")
    (found,) = missing_pages(site, sources)
    assert found.startswith("gone.md has no page")
