"""Progress of long work: one bar, whoever called whom."""

import io
import re
import threading
import time

import nbformat
import pytest
from nbclient import NotebookClient

from journeyman import progress
from journeyman.progress import progress_bar


class Watched(io.StringIO):
    """An error stream that is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def watch(monkeypatch):
    """Give a function that puts a terminal in the place of the error stream: in the test, since pytest does so too."""

    def put():
        stream = Watched()
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(progress, "DELAY", 0.05)
        return stream

    return put


def plain(stream):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())


def test_a_bar_that_is_asked_for_appears_at_once(watch):
    terminal = watch()
    with progress_bar("Solving", is_shown=True) as report:
        report(0.25)
        report(0.5, "Solving more")
    assert "Solving" in plain(terminal)


def test_short_work_shows_nothing_unless_asked(watch):
    terminal = watch()
    with progress_bar("Solving") as report:
        report(0.5)
    time.sleep(0.1)
    assert terminal.getvalue() == ""


def test_long_work_shows_a_bar_by_itself(watch):
    terminal = watch()
    with progress_bar("Solving") as report:
        report(0.4)
        time.sleep(0.3)
    assert "Solving" in plain(terminal) and "40 %" in plain(terminal)


def test_work_inside_of_work_speaks_through_the_outer_bar(watch):
    terminal = watch()
    with progress_bar("Updating", is_shown=True), progress_bar("Moving particles", is_shown=True) as report:
        report(0.3)
        time.sleep(0.3)
    assert "Updating: Moving particles" in plain(terminal) and "30 %" in plain(terminal)


def test_the_outer_work_says_how_far_it_is_if_it_knows(watch):
    terminal = watch()
    with progress_bar("Updating", is_shown=True) as outer:
        outer(0.6)
        with progress_bar("Moving particles") as inner:
            inner(0.1)
            time.sleep(0.3)
    assert "60 %" in plain(terminal) and "10 %" not in plain(terminal)


def test_silence_reaches_what_is_inside(watch):
    terminal = watch()
    with progress_bar("Quietly", is_shown=False), progress_bar("Moving particles", is_shown=True) as report:
        report(0.3)
        time.sleep(0.1)
    assert terminal.getvalue() == ""


def test_other_threads_show_nothing_by_themselves(watch):
    terminal = watch()

    def work():
        with progress_bar("In the background") as report:
            report(0.5)
            time.sleep(0.2)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert terminal.getvalue() == ""


def test_nothing_is_shown_where_nobody_watches(monkeypatch, capsys):
    monkeypatch.setattr(progress, "DELAY", 0.01)
    with progress_bar("Solving") as report:
        time.sleep(0.1)
        report(0.5)
    assert capsys.readouterr().err == ""


def test_a_bar_is_over_after_an_error(watch):
    terminal = watch()
    with pytest.raises(ZeroDivisionError), progress_bar("Solving", is_shown=True):
        raise ZeroDivisionError
    length = len(terminal.getvalue())
    with progress_bar("Again", is_shown=False):
        time.sleep(0.05)
    assert len(terminal.getvalue()) == length


@pytest.fixture
def clock(monkeypatch):
    """Give a clock that is what one sets it to."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def at(seconds):
        now[0] = seconds

    return at


def test_the_time_left_goes_on_as_it_went(clock):
    forecast = progress._Clock()
    clock(20.0)
    assert forecast.left(0.2) == "about 80 s left"
    clock(90.0)
    assert forecast.left(0.9) == "about 10 s left"
    assert forecast.left(1.0) == ""


def test_no_time_is_said_before_there_is_a_basis_for_one(clock):
    forecast = progress._Clock()
    clock(0.5)
    assert forecast.left(0.5) == ""
    clock(100.0)
    assert forecast.left(0.001) == forecast.left(0.0) == ""


def test_work_that_begins_anew_has_a_time_of_its_own(clock):
    forecast = progress._Clock()
    clock(300.0)
    assert forecast.left(0.9) == "about 33 s left"
    assert forecast.left(0.1) == ""
    clock(310.0)
    assert forecast.left(0.3) == "about 35 s left"


CELLS = (
    """
from journeyman import ActiveLearner, make_world, progress, simulate

progress.DELAY = progress.MIN_SECONDS = 0.0
world = make_world("random-grid", 1, size=3)
options = {"inference_options": {"num_particles": 100}, "num_threads": 1, "is_checked": False}
learner = ActiveLearner(world.problem, **options)
""",
    "found = simulate(learner, world.expert, 3, stop_when_finished=False)",
    """
import time

progress.DELAY = 0.05  # so that a thread draws it
with progress.progress_bar("<b>Solving</b>") as report:
    time.sleep(0.3)
    report(0.5)
""",
    """
from tempfile import mkdtemp

from journeyman.experiment import run_sweep
from journeyman.experiment.spec_file import sweep_from_record

record = {
    "name": "a <sweep>", "steps": 2, "seeds": 1, "acquisitions": ["random", "reward_eig"],
    "worlds": [{"name": "random-grid", "options": {"size": 3}}],
    "inference": [{"name": "smc", "options": {"num_particles": 100}}],
}
sweep = sweep_from_record(record)
done = run_sweep(sweep, mkdtemp(), num_workers=1)
""",
    "learner",
)


class Client(NotebookClient):
    """Runs a notebook, and keeps all that the kernel said: in the notebook an update takes the place of the last."""

    def process_message(self, message, cell, cell_index):
        self.said.append((cell_index, message["msg_type"], message["content"].get("data", {}).get("text/html")))
        return super().process_message(message, cell, cell_index)


@pytest.mark.filterwarnings("default")  # those of the packages that run notebooks
def test_a_notebook_shows_one_bar_that_is_replaced_and_gone_in_the_end():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    client = Client(notebook, timeout=120, kernel_name="python3")
    client.said = []
    client.execute()
    _, simulating, solving, sweeping, last = (cell.outputs for cell in notebook.cells)
    for outputs, most in ((simulating, 5), (solving, 1), (sweeping, 1)):  # a certificate has a bar of its own
        left = [(output.output_type, output.data["text/html"]) for output in outputs]
        assert set(left) == {("display_data", "")} and len(left) <= most
    assert "journeyman-shown" in last[0].data["text/html"] and len(last) == 1
    looks = {cell: [html for at, _, html in client.said if at == cell and html] for cell in (1, 2, 3)}
    assert any("3 of 3 answers" in html for html in looks[1]) and all("<progress" in html for html in looks[1])
    assert any("&lt;b&gt;Solving&lt;/b&gt;" in html and "50 %" in html for html in looks[2])
    assert any("a &lt;sweep&gt;, 1 of 2 cells" in html for html in looks[3])
    assert not [kind for at, kind, _ in client.said if at in (1, 2, 3) and kind == "stream"]
