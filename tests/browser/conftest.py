"""What the tests of the page share: one browser, and one server."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.server import Server

from journeyman.problem import Problem
from journeyman.study import Study

QUICK = {"inference_options": {"num_particles": 300}, "max_samples": 4000}
PICTURE = bytes.fromhex(  # one grey pixel
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550"
    "000000a49444154789c636800000082008177cd72b60000000049454e44ae426082"
)
AXE = Path(__file__).parents[2] / ".venv/axe/node_modules/axe-core/axe.min.js"


@pytest.fixture(scope="session")
def browser():
    """Return Debian's Chromium."""
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium")
    if executable is None:
        pytest.fail(
            "The tests of the studio's page need Chromium, and there is none. Install it: apt-get install chromium"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """Return axe-core, a program that finds what keeps people from using a page."""
    if not AXE.exists():
        pytest.fail(
            f"The tests of the studio's page need axe-core at {AXE}. Get it: make {AXE.relative_to(AXE.parents[4])}"
        )
    return AXE.read_text("utf-8")


@pytest.fixture
def person(browser):
    """Return a function that brings somebody to a page of their own; what the page complains about fails the test."""
    from browser.person import Person

    contexts, complaints = [], []

    def arrive(**options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if _is_complaint(message) else None)
        return Person(page)

    yield arrive
    for context in contexts:
        context.close()
    assert complaints == []


def _is_complaint(message) -> bool:
    """Return whether the page itself is wrong; that a server was killed is no fault of it."""
    return message.type == "error" and "net::ERR" not in message.text and "Failed to load resource" not in message.text


@pytest.fixture(scope="session")
def studio(tmp_path_factory) -> Iterator[Server]:
    """Return a server for all studies of a folder; tests put theirs there with `make_study`."""
    server = Server(tmp_path_factory.mktemp("studio"))
    (server.folder / "pictures").mkdir()
    for state in ("0", "1"):
        (server.folder / "pictures" / f"{state}.png").write_bytes(PICTURE)
    server.start("--pictures", "pictures")
    yield server
    server.stop()


def make_study(studio: Server, name: str, problem: Problem, **settings) -> None:
    """Make a study whose sampler is quick."""
    Study.create(studio.folder / f"{name}.study", problem, **QUICK | settings).close()


def read_study(studio: Server, name: str) -> Study:
    """Open a study as it lies on the disk, to see what was kept; it has to be closed."""
    return Study.open(studio.folder / f"{name}.study", read_only=True)


def violations(page, axe: str, where: str) -> list[str]:
    """Return what axe calls serious on a page."""
    page.add_script_tag(content=axe)
    violations = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{where}: {one['id']} ({one['impact']}): {one['nodes'][0]['html']}"
        for one in violations
        if one["impact"] in ("serious", "critical")
    ]
