import pytest
from report.html_checks import Page, checked_page

from journeyman.report.html import (
    Markup,
    bullets,
    contents,
    details,
    document,
    element,
    folded_table,
    join,
    paragraph,
    section,
    table,
    text,
)


def test_text_is_escaped_and_markup_is_not():
    assert text("<b>\"&'") == "&lt;b&gt;&quot;&amp;&#x27;"
    assert text(Markup("<b>")) == "<b>"
    assert element("p", "<i>", element("b", "x & y")) == "<p>&lt;i&gt;<b>x &amp; y</b></p>"
    assert element("img", src='a"b', alt="<") == '<img src="a&quot;b" alt="&lt;">'
    assert element("p", class_="x", aria_label="y") == '<p class="x" aria-label="y"></p>'


def test_numbers_keep_their_percent_sign_beside_them():
    assert text("at most 4.06 % of 50 % or > 99 %") == "at most 4.06\xa0% of 50\xa0% or &gt; 99\xa0%"
    assert text("a % b") == "a % b"


def test_what_users_wrote_stays_text_everywhere():
    evil = "<script>alert(1)</script>"
    page = document(
        evil,
        contents([("a", evil)]),
        section(
            "a", evil, paragraph(evil), bullets([evil]), table([evil], [[evil]], caption=evil), details(evil, evil)
        ),
    )
    found = checked_page(page)
    assert found.text.count(evil) == 10  # the title is in the head too


def test_long_tables_are_folded_not_cut():
    rows = [[i, f"name {i}"] for i in range(75)]
    markup = folded_table(("number", "name"), rows, "Many.", numeric=(0,))
    page = Page(markup)
    assert sum(tag == "tr" for tag, _ in page.tags) == 75 + 2  # and two headers
    assert "55 more rows" in page.text and "name 74" in page.text
    assert "details" not in [tag for tag, _ in Page(folded_table(("a", "b"), rows[:20], "Few.")).tags]


def test_the_checker_finds_what_is_wrong():
    for wrong in ("<p><b></p></b>", "<p>"):
        with pytest.raises(AssertionError):
            Page(wrong)
    with pytest.raises(AssertionError):
        checked_page(document("t", element("img", src="http://x/y.png", alt="a")))
    with pytest.raises(AssertionError):
        checked_page(document("t", element("a", "x", href="#nowhere")))
    assert checked_page(document("t", join("a", paragraph("b")))).text == "t a b"
