"""How long the README is where most people meet it: beside the files of a repository, in a column 838 pixels wide."""

from pathlib import Path

from markdown_it import MarkdownIt

README = Path(__file__).parents[2] / "README.md"
SCREEN = 900  # pixels, of a laptop's 1440x900
# The measures of such a page. Its fonts are as wide as Arial; DejaVu Sans, which may be all there is, is wider.
STYLE = """
@font-face { font-family: narrow; src: local("Arial"), local("Liberation Sans") }
@font-face { font-family: wide; src: local("DejaVu Sans"); size-adjust: 86.6% }
body { margin: 0; width: 838px; font: 16px/1.5 narrow, wide, sans-serif }
p, ul, pre, table { margin: 0 0 16px }
h1, h2, h3 { margin: 24px 0 16px; line-height: 1.25 }
h1 { margin-top: 0; font-size: 2em; padding-bottom: .3em; border-bottom: 1px solid }
h2 { font-size: 1.5em; padding-bottom: .3em; border-bottom: 1px solid }
h3 { font-size: 1.25em }
li + li { margin-top: .25em }
code { font: 85%/1.5 monospace; padding: .2em .4em }
pre { padding: 16px; overflow: auto; line-height: 1.45; font-size: 85% }
pre code { font-size: 100%; line-height: inherit; padding: 0 }
table { display: block; border-collapse: collapse; width: max-content; max-width: 100% }
th, td { padding: 6px 13px; border: 1px solid }
img[align=right] { padding-left: 20px }
"""


def height_of(text: str, browser) -> float:
    """Return how many pixels high a page of Markdown is."""
    page = browser.new_page(viewport={"width": 838, "height": SCREEN})
    try:
        page.goto(README.as_uri())  # so that pictures are found
        page.set_content(
            f'<!doctype html><base href="{README.as_uri()}"><style>{STYLE}</style>'
            + MarkdownIt("commonmark").enable("table").render(text),
            wait_until="load",
        )
        assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")
        return page.evaluate("document.body.getBoundingClientRect().height")
    finally:
        page.close()


def test_the_readme_is_two_screens_at_most(browser):
    assert height_of(README.read_text("utf-8"), browser) <= 2 * SCREEN


def test_what_is_longer_is_measured_as_longer(browser):
    text = README.read_text("utf-8")
    assert height_of(text + "\n\nOne line more.\n", browser) > height_of(text, browser) + 24
