"""What tests of pages share: a parser that refuses what is not well-formed, and collects what is inside."""

from html.parser import HTMLParser

VOID = {"img", "meta", "br"}


class Page(HTMLParser):
    """Reads a page; raises AssertionError where tags do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.stack, self.tags, self.ids, self.words = [], [], [], []
        self.links, self.images = [], []
        self.feed(text)
        self.close()
        assert not self.stack, f"never closed: {self.stack}"

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"])
        if tag == "img":
            self.images.append(attributes)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, f"</{tag}> closes {self.stack[-1:]}"
        self.stack.pop()

    def handle_data(self, data):
        if "style" not in self.stack:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def checked_page(text):
    """Return a page that is well-formed and needs nothing from outside."""
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "iframe", "object", "embed"}
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("src", "data:image/").startswith("data:image/")
    assert "url(" not in text and "@import" not in text
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        assert link.startswith("#") and link[1:] in page.ids, link
    for image in page.images:
        assert image["alt"].strip()
    return page
