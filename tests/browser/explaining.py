"""Numbers on the page, and what explains them: every text with a digit that can be seen, and what is said about it."""

from playwright.sync_api import Page

# Names of keys, of studies and of places in a drawing are no numbers; what somebody typed is theirs to know.
NO_NUMBERS = (
    "kbd, .names, .chip, option, textarea, #explanations, .bubble, #announcer, #study-name, h1, .studies button"
)
FIND = """(exempt) => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const described = [...document.querySelectorAll("[aria-describedby]")].filter((one) => one.tabIndex >= 0);
  const textOf = (one) => document.getElementById(one.getAttribute("aria-describedby"))?.textContent;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!/\\d/.test(node.data) || !parent.checkVisibility() || parent.closest(exempt)) continue;
    const part = parent.closest("[data-explain]");
    const isNear = part !== null && !part.matches("section, main, body, .card, .work, .left, .right");
    const text = isNear ? part.dataset.explain : "";
    const isReached = described.some((one) => one.checkVisibility() && textOf(one) === text);
    found.push({ shown: node.data.trim(), text, isReached });
  }
  return found;
}"""


def numbers(page: Page) -> list[dict]:
    """Return all texts with digits that can be seen: `shown`, the `text` that explains it, whether Tab gets there."""
    return page.evaluate(FIND, NO_NUMBERS)


def unexplained(page: Page) -> list[str]:
    """Return those that nothing explains, or nothing that can be reached with the keyboard."""
    return [one["shown"] for one in numbers(page) if not one["text"] or not one["isReached"]]


def missed_by_tab(page: Page, presses: int = 250) -> set[str]:
    """Return the explanations of numbers that do not show up on the way through the page with Tab, round and round."""
    missed = {one["text"] for one in numbers(page)}
    for _ in range(presses):
        if not missed:
            break
        page.keyboard.press("Tab")
        missed -= set(page.locator(".bubble:not([hidden])").all_text_contents())
    return missed
