"""What an expert waits for: the time from a key to the picture of the next question, at a real (pseudo) terminal.

`journeyman study interview` is started on a new study of the 10x10 world, in its default settings, and a simulated
expert presses the keys: the driver reads on the screen where it is, thinks for some seconds, and presses the key of an
action. Once at a human pace, and once without thinking. "p50", "p95" and "max" are seconds on the clock from the key to
the next picture, over the questions after the first; "start" is the time from the command to the first picture, and
"command" that of the whole session.

All cores are shared with whatever else runs on the machine: see "load". So the same session is also held in this
process, with an expert who thinks until the work in the background is done, and the *processor* seconds from key to
picture, of all threads, are counted: "cpu_p50" and so on. On a machine that is not busy nobody waits longer than that.
"""

import argparse
import fcntl
import io
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

from _measure import LOAD, console, environment, finish

# isort: split
import numpy as np
from rich.console import Console

from journeyman.cli.study.desk import DrawFn, LineDesk
from journeyman.cli.study.interview import Interview
from journeyman.experts import Question
from journeyman.study import Study
from journeyman.worlds import World, make_world

PATIENCE = 120.0  # seconds until a picture must be there
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ROWS, COLUMNS = 40, 100


class Terminal:
    """A command at a pseudo terminal."""

    def __init__(self, *arguments: str) -> None:
        self.process, self.file = pty.fork()
        if self.process == 0:
            kept = {name: value for name, value in os.environ.items() if name not in THREADS}  # as people have it
            os.execvpe(sys.executable, [sys.executable, "-m", "journeyman", *arguments], kept | {"TERM": "xterm"})
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def press(self, key: str) -> None:
        os.write(self.file, key.encode())

    def until(self, pattern: str) -> tuple[re.Match[str], float]:
        """Read until a pattern is on the screen; return it, and when that was."""
        end, text = time.perf_counter() + PATIENCE, ""
        while time.perf_counter() < end:
            if not select.select([self.file], [], [], 1.0)[0]:
                continue
            text += os.read(self.file, 65536).decode("utf-8", "replace")
            if found := re.search(pattern, CODES.sub("", text), re.DOTALL):
                return found, time.perf_counter()
        raise TimeoutError(f"{pattern!r} did not come: {CODES.sub('', text)[-500:]!r}")

    def close(self) -> float:
        """Wait for the end; return the processor seconds of the command."""
        while True:
            try:
                if not os.read(self.file, 65536):
                    break
            except OSError:
                break
        usage = os.wait4(self.process, 0)[2]
        return usage.ru_utime + usage.ru_stime


def session(path: Path, num_questions: int, pace: float) -> dict[str, float]:
    """Answer some questions at a pace; return what had to be waited for."""
    world = make_world("random-10x10", 0)
    with Study.create(path, world.problem):
        pass
    expert, places = world.make_expert(1), world.problem.mdp.grid.places.tolist()
    begin = time.perf_counter()
    terminal, waits = Terminal("study", "interview", str(path)), []
    pattern = r"Question {}\b.*You are at row (\d+), column (\d+)\b.*\? help"
    found, now = terminal.until(pattern.format(0))
    start = now - begin
    for number in range(num_questions):
        time.sleep(pace + 0.05)  # the whole screen is there
        action = expert.demonstrate(Question(places.index([int(found[1]), int(found[2])]), number)).steps[0][1]
        pressed = time.perf_counter()
        terminal.press(str(action))
        found, now = terminal.until(pattern.format(number + 1))
        waits.append(now - pressed)
    terminal.press("q")
    cpu = terminal.close()
    whole = time.perf_counter() - begin
    p50, p95 = np.quantile(waits, [0.5, 0.95]).tolist()
    with Study.open(path, read_only=True) as study:
        assert len(study.answers) == num_questions
    return {"p50": p50, "p95": p95, "max": max(waits), "start": start, "command": whole, "cpu": cpu}


class ScriptedDesk(LineDesk):
    """A desk at which a simulated expert sits, and processor time is measured from each answer to the next picture."""

    def __init__(self, world: World, num_questions: int) -> None:
        super().__init__(Console(width=COLUMNS, height=ROWS, file=io.StringIO(), force_terminal=True))
        self.expert, self.places = world.make_expert(1), world.problem.mdp.grid.places.tolist()
        self.text, self.answered, self.waits = "", 0.0, []
        self.num_questions = num_questions

    def show(self, draw_fn: DrawFn) -> None:
        self.text = "\n".join(line.plain for line in draw_fn(COLUMNS, ROWS))
        self.waits.append(time.process_time() - self.answered)

    def read(self) -> str | None:
        for thread in threading.enumerate():
            if thread.name == "journeyman-ahead":
                thread.join()
        if len(self.waits) > self.num_questions:
            return None
        row, column = re.search(r"You are at row (\d+), column (\d+)", self.text).groups()
        state = self.places.index([int(row), int(column)])
        action = self.expert.demonstrate(Question(state, len(self.waits) - 1)).steps[0][1]
        self.answered = time.process_time()
        return str(action)


def processor_seconds(path: Path, num_questions: int) -> dict[str, float]:
    """Return processor seconds from key to picture, where all work ahead was done in time."""
    world = make_world("random-10x10", 0)
    with Study.create(path, world.problem) as study:
        desk = ScriptedDesk(world, num_questions)
        Interview(study, desk, None).run()
    p50, p95 = np.quantile(desk.waits[1:], [0.5, 0.95]).tolist()
    return {"cpu_p50": p50, "cpu_p95": p95, "cpu_max": max(desk.waits[1:])}


def main() -> None:
    """Measure both paces."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--questions", type=int, default=20, help="how many are answered")
    parser.add_argument("--pace", type=float, default=1.5, help="seconds that a person thinks before a key")
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        cpu = processor_seconds(Path(folder) / "cpu.study", options.questions)
        console.print(
            f"Processor time from key to picture: {cpu['cpu_p50']:.2f} s (median), {cpu['cpu_p95']:.2f} s (95 %), "
            f"{cpu['cpu_max']:.2f} s (longest)"
        )
        for name, pace in (("human", options.pace), ("no_thinking", 0.0)):
            found = session(Path(folder) / f"{name}.study", options.questions, pace)
            results[name] = found
            console.print(
                f"{name}: {options.questions} questions, {pace:g} s of thinking each: next picture after "
                f"{found['p50']:.2f} s (median), {found['p95']:.2f} s (95 %), {found['max']:.2f} s (longest); "
                f"{found['command']:.0f} s in all, {found['cpu']:.0f} s of processor time"
            )
    finish(
        {
            "bench": "interview",
            "num_questions": options.questions,
            "pace": options.pace,
            **cpu,
            **{f"{name}_{key}": value for name, found in results.items() for key, value in found.items()},
            "load": LOAD,
            "environment": environment("journeyman", "numba", "numpy", "rich"),
        }
    )


if __name__ == "__main__":
    main()
