"""Take pictures of the studio's page, to be looked at.

    python tests/browser/screenshots.py FOLDER

They show a start page, questions on a grid (light, dark, on a phone), a graph, a run with a slip, a problem without a
drawing, and the end. `studio.png` is the one of the README: python tests/browser/screenshots.py docs/images studio
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from browser.person import ARROWS, Person
from browser.server import Server
from playwright.sync_api import Browser, sync_playwright
from problem_files.texts import REST

from journeyman.problem_files import load_problem
from journeyman.study import Study
from journeyman.worlds import jail

TOWN = (
    """
discount = 0.9
[graph]
edges = [
  ["home", "street"], ["street", "park"], ["street", "shop"], ["park", "lake"], ["park", "shop"], ["shop", "station"],
  ["lake", "station"], ["home", "lake"], ["station", "work"],
]
"""
    + REST
)
WIDE, PHONE = {"width": 1360, "height": 900}, {"width": 390, "height": 844}
QUICK = {"inference_options": {"num_particles": 500}, "max_samples": 8000}
WORLD = jail(0)


def best_keys(world) -> list[str]:
    """Return the key that the expert presses in each state of a grid."""
    moves = world.problem.mdp.grid.moves.tolist()
    return [ARROWS[tuple(moves[action])] for action in world.expert.q.argmax(axis=1)]


class Photographer:
    """Opens pages of one server and takes pictures."""

    def __init__(self, browser: Browser, server: Server, folder: Path) -> None:
        self.browser, self.server, self.folder = browser, server, folder

    def visit(self, study: str, annotator: str = "ada", **options) -> Person:
        """Go to the questions of a study."""
        page = self.browser.new_context(**{"viewport": WIDE, "device_scale_factor": 1} | options).new_page()
        return Person(page).open(self.server.address(study=study, annotator=annotator))

    def take(self, person: Person, name: str, **options) -> None:
        """Take a picture once everything is still."""
        person.page.wait_for_timeout(600)
        person.page.screenshot(path=self.folder / f"{name}.png", **options)
        print(self.folder / f"{name}.png")


def settle(person: Person) -> None:
    """Wait until the learner has thought about all answers."""
    person.page.wait_for_timeout(300)
    person.page.wait_for_function('() => !document.querySelector(".worker").classList.contains("busy")')
    person.page.wait_for_timeout(300)


def answer(person: Person, keys: list[str], count: int) -> None:
    """Answer some questions as the expert would."""
    for _ in range(count):
        person.answer(keys[person.place])
        settle(person)


def studio(camera: Photographer) -> None:
    """The one of the README: a question after some answers."""
    person = camera.visit("garden", viewport={"width": 1240, "height": 1090})
    answer(person, best_keys(WORLD), 5)
    camera.take(person, "studio")


def questions(camera: Photographer) -> None:
    """The same in light and dark, all of the page, and on a phone."""
    person = camera.visit("garden", viewport={"width": 1360, "height": 1500})
    camera.take(person, "light", full_page=True)
    person = camera.visit("garden", "ben", color_scheme="dark")
    camera.take(person, "dark")
    person = camera.visit("garden", "eve", viewport=PHONE, device_scale_factor=2, has_touch=True, is_mobile=True)
    camera.take(person, "phone")


def run(camera: Photographer) -> None:
    """A run, until somebody slips."""
    person = camera.visit("walk")
    for _ in range(30):
        person.page.keyboard.press("ArrowUp" if person.place > 8 else "ArrowRight")
        person.page.wait_for_timeout(700)
        person.wait_for_question()
        if person.page.locator(".missed").count():
            break
    camera.take(person, "slip")


def graph(camera: Photographer) -> None:
    """A graph, after two answers."""
    person = camera.visit("town")
    for _ in range(2):
        before = person.question
        person.page.locator(".stage .chip").first.click()
        person.wait_for_question(after=before)
        settle(person)
    camera.take(person, "graph")


def bare(camera: Photographer) -> None:
    """A problem without a drawing."""
    person = camera.visit("bandit")
    camera.take(person, "list")


def start(camera: Photographer) -> None:
    """The first page, and the form for a new study."""
    page = camera.browser.new_context(viewport=WIDE).new_page()
    page.goto(camera.server.address(study="garden"))
    page.locator(".meter").wait_for()
    page.locator(".create > summary").click()
    camera.take(Person(page), "start", full_page=True)


def finish(camera: Photographer) -> None:
    """The end."""
    person, keys = camera.visit("jail"), best_keys(WORLD)
    while not person.page.locator(".finish").is_visible():
        person.page.keyboard.press(keys[person.place])
        person.page.wait_for_timeout(500)
        settle(person)
    camera.take(person, "finished")


PICTURES: dict[str, Callable[[Photographer], None]] = {
    "studio": studio,
    "questions": questions,
    "slip": run,
    "graph": graph,
    "list": bare,
    "start": start,
    "finished": finish,
}


def _problems(folder: Path) -> Iterator[tuple[str, object, dict]]:
    """Yield the studies that are shown: name, problem and settings."""
    from journeyman.worlds import WORLDS

    yield "garden", WORLD.problem, {"epsilon": 0.01}
    yield "jail", WORLD.problem, {"epsilon": 0.05}
    yield "walk", jail(0, slip=0.4).problem, {"kind": "trajectory", "length": 12}
    (folder / "town.toml").write_text(TOWN)
    yield "town", load_problem(folder / "town.toml"), {}
    yield "bandit", WORLDS["bandit"](0).problem, {}


def main(folder: Path, names: list[str]) -> None:
    """Make the studies, start the server, and take the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        for name, problem, settings in _problems(Path(place)):
            Study.create(Path(place) / f"{name}.study", problem, **QUICK | settings).close()
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        server = Server(Path(place)).start()
        try:
            for name in names or PICTURES:
                PICTURES[name](Photographer(browser, server, folder))
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
