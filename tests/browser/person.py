"""Somebody in front of the page: opens it, reads the question, presses keys, and waits for what happens."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

# Milliseconds for whatever must happen: nothing here is timed, and machines that are busy may take long.
PATIENCE = 90_000
expect.set_options(timeout=PATIENCE)
ARROWS = {(-1, 0): "ArrowUp", (1, 0): "ArrowDown", (0, -1): "ArrowLeft", (0, 1): "ArrowRight", (0, 0): "Space"}


class Person:
    """A page, and what a person can do and see on it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.set_default_timeout(PATIENCE)

    def open(self, address: str) -> "Person":
        """Open the address and go to the questions."""
        self.page.goto(address)
        self.page.get_by_role("button", name="Start").or_(
            self.page.get_by_role("button", name="Continue", exact=True)
        ).click()
        self.wait_for_question()
        return self

    @property
    def ask(self) -> Locator:
        """The part of the page with the question."""
        return self.page.locator("section.ask")

    @property
    def question(self) -> int:
        """The number of the question that is shown."""
        return int(self.ask.get_attribute("data-question") or -1)

    @property
    def place(self) -> int:
        """Where the person is, on the drawing."""
        return int(self.page.locator(".stage .place.here").get_attribute("data-place") or -1)

    @property
    def said(self) -> Locator:
        """What the page says about the last thing that was done."""
        return self.page.locator(".said")

    @property
    def history(self) -> Locator:
        """The answers so far, newest first."""
        return self.page.locator(".history li:not(.draft)")

    def wait_for_question(self, after: int | None = None) -> None:
        """Wait until a question can be answered; another one than `after`."""
        self.page.wait_for_function(
            """(after) => { const { phase, question } = document.querySelector("section.ask")?.dataset ?? {};
                            return phase === "asking" && question !== String(after); }""",
            arg=after,
        )

    def wait_until(self, condition_fn: Callable[[], object]) -> None:
        """Wait until something is true that the page's requests make true."""
        for _ in range(PATIENCE // 50):
            if condition_fn():
                return
            self.page.wait_for_timeout(50)
        raise TimeoutError(f"waited {PATIENCE / 1000:.0f} s")

    def answer(self, key: str) -> None:
        """Press a key, and wait for the next question."""
        before = self.question
        self.page.keyboard.press(key)
        self.wait_for_question(after=before)

    def expect_answers(self, count: int, by: str = "") -> None:
        """Wait until so many answers are listed as counting, of one person or of all."""
        counting = self.page.locator(".history li:not(.draft):not(.void)").filter(has_text=by)
        expect(counting).to_have_count(count)
