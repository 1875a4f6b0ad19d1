import io
import sys
import time
from datetime import datetime, timedelta

import pytest
from experiment.small import tiny_sweep
from rich.console import Console
from rich.live import Live

from journeyman.experiment import progress, run_sweep
from journeyman.experiment.progress import Bar, Display, Silent, clock, duration, shown
from journeyman.experiment.runner import jobs_of

HOW = "(state, smc num_particles=100)"
JOBS = jobs_of([tiny_sweep(seeds=2, steps=10)])


@pytest.fixture
def now(monkeypatch):
    """A clock that is set by hand, in seconds."""
    time_now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: time_now[0])
    return time_now


def said(capsys):
    captured = capsys.readouterr()
    assert captured.out == ""  # all goes to the error stream
    return captured.err.splitlines()


def test_lines_say_what_was_finished_and_what_is_left(now, capsys):
    lines = Display(JOBS[:3], 4)  # one was finished before
    lines.resumed(5)
    now[0] += 5.0
    lines.advanced(5)
    lines.finished(JOBS[0], 5.0)
    assert said(capsys) == [f"[2/4] 4x4 seed 0, random {HOW}: 5.0 s, about 20 s left"]  # 20 steps at one per second
    now[0] += 10.0
    lines.advanced(10)
    lines.finished_elsewhere(JOBS[1])
    lines.finished(JOBS[2], 10.04)
    assert said(capsys) == [f"[4/4] 4x4 seed 1, random {HOW}: 10.0 s"]


def test_lines_say_what_failed_and_do_not_wait_for_it(now, capsys):
    lines = Display(JOBS[:2], 2)
    now[0] += 4.0
    lines.advanced(4)
    lines.failed(JOBS[0], "ValueError: oops", 6)
    assert said(capsys) == [f"[1/2] 4x4 seed 0, random {HOW}: FAILED, ValueError: oops"]
    assert lines.seconds_left() == 10.0
    lines.stopping()
    assert said(capsys) == ["Stopping after the steps in progress, which are kept. Press Ctrl-C again to stop at once."]


def test_nothing_is_guessed_before_anything_was_done(now):
    assert Display(JOBS, 4).seconds_left() is None


@pytest.fixture
def bar(now):
    console = Console(file=io.StringIO(), force_terminal=True, width=110, color_system=None)
    with Live(console=console, auto_refresh=False) as live:
        yield Bar(JOBS, 4, "my sweep", live)


def screen(bar):
    """What stands on the terminal after a refresh."""
    console = Console(file=io.StringIO(), width=110, color_system=None)
    console.print(bar.live.get_renderable())
    return console.file.getvalue()


def test_a_bar_shows_how_far_it_is_and_what_runs(bar, now):
    bar.refresh([], 4)
    assert "my sweep" in screen(bar)
    assert screen(bar).rstrip().splitlines()[1].rstrip().endswith("0/4 cells")
    now[0] += 5.0
    bar.advanced(10)
    bar.finished(JOBS[0], 5.0)
    bar.refresh([JOBS[1].cell.text, JOBS[2].cell.text], 1)
    text = screen(bar)
    assert "1/4 cells, 2.0 steps/s, about 15 s left, until " in text
    assert "running: 4x4 seed 0, reward_eig" in text
    assert "running: 4x4 seed 1, random" in text
    bar_line = next(line for line in text.splitlines() if "━" in line)
    assert bar_line.count("━") == 6  # a quarter of 24
    assert f"[1/4] 4x4 seed 0, random {HOW}: 5.0 s" in bar.live.console.file.getvalue()  # above the bar


def test_a_bar_shows_that_others_are_at_work(bar):
    bar.refresh([], 3)
    assert "3 cells are run by other processes" in screen(bar)


def test_a_bar_does_not_list_hundreds(bar):
    bar.refresh([f"cell {number}" for number in range(100)], 0)
    assert "running: cell 7" in screen(bar)
    assert "cell 8" not in screen(bar)
    assert "and 92 more" in screen(bar)


def test_a_bar_takes_any_name(bar):
    bar.say("[bold]not markup[/nonsense]")
    assert "[bold]not markup[/nonsense]" in bar.live.console.file.getvalue()


def test_the_display_fits_where_it_is_shown(capsys, monkeypatch):
    with shown("x", JOBS, 4, is_shown=False) as display:
        assert type(display) is Silent
    with shown("x", JOBS, 4, is_shown=True) as display:
        assert type(display) is Display
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with shown("x", JOBS, 4, is_shown=True) as display:
        assert type(display) is Bar
        display.refresh([], 1)


def test_a_run_says_a_line_per_cell(tmp_path, capsys):
    run_sweep(tiny_sweep(), tmp_path)
    lines = said(capsys)
    assert len(lines) == 2
    assert lines[0].startswith(f"[1/2] 4x4 seed 0, random {HOW}: ")
    assert lines[1].startswith(f"[2/2] 4x4 seed 0, reward_eig {HOW}: ")
    run_sweep(tiny_sweep(), tmp_path)
    assert said(capsys) == []  # there was nothing to do
    run_sweep(tiny_sweep(steps=6), tmp_path, progress=False)
    assert said(capsys) == []


def test_a_run_shows_a_bar_on_a_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    run_sweep(tiny_sweep(name="on a terminal"), tmp_path, checkpoint_seconds=0.0)
    assert "[2/2] 4x4 seed 0, reward_eig" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (89.0, "89 s"), (90.0, "2 min"), (5000.0, "83 min"), (9000.0, "2.5 h")]
)
def test_durations_are_easy_to_read(seconds, text):
    assert duration(seconds) == text


def test_the_end_is_a_time_of_day():
    assert time.strptime(clock(0.0), "%H:%M")
    tomorrow = datetime.now() + timedelta(days=1)
    assert clock(86400.0).startswith(tomorrow.strftime("%a "))
