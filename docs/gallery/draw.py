"""How figures of the documentation are drawn: for each, or each family of them, a function that writes it to a path.

They use the functions and commands that users have, or other programs of the repository and their committed tables.
"""

import importlib
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reproduction.pages.figures import Picture

ROOT = Path(__file__).resolve().parents[2]
STYLE = Path(__file__).with_name("matplotlibrc")
DrawFn = Callable[[Path], None]


@contextmanager
def our_style() -> Iterator[None]:
    """Let figures of this process have our style."""
    import matplotlib

    with matplotlib.rc_context(fname=STYLE):
        yield


@contextmanager
def programs_found() -> Iterator[None]:
    """Let programs beside us and of bench/ be imported; only here, since some have names that others have too."""
    before = list(sys.path)
    sys.path[:0] = [str(STYLE.parent), str(ROOT / "bench"), str(ROOT)]
    try:
        yield
    finally:
        sys.path[:] = before


def save(figure, path: Path) -> None:
    """Write a figure."""
    from journeyman.report import save_figure

    save_figure(figure, path)


def saved(module: str, function: str) -> DrawFn:
    """Return a function that writes the figure which a function of a module beside us, or of bench/, returns."""

    def draw(path: Path) -> None:
        save(getattr(importlib.import_module(module), function)(), path)

    return draw


def program(*arguments: str, folder: Path = ROOT) -> None:
    """Run a program of the repository in a process of its own, with our style."""
    environment = os.environ | {"MATPLOTLIBRC": str(STYLE)}
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, check=True)


def command(*arguments: str) -> None:
    """Run a command of journeyman here, in this process, so that our style applies."""
    from journeyman.cli.app import app

    try:
        app(list(arguments), standalone_mode=False)
    except SystemExit as end:
        if end.code:
            raise


def demo(path: Path) -> None:
    """`journeyman demo`, its progress."""
    with tempfile.TemporaryDirectory() as folder:
        command("demo", "--out", folder)
        shutil.copyfile(Path(folder) / "progress.png", path)


def jail(path: Path) -> None:
    """`journeyman worlds show jail --seed 3`."""
    command("worlds", "show", "jail", "--seed", "3", "--png", str(path))


def posterior(path: Path) -> None:
    """`journeyman infer random-8x8 --demonstrations 60`."""
    command("infer", "random-8x8", "--demonstrations", "60", "--png", str(path))


def sweep(path: Path) -> None:
    """The example of `journeyman sweep init`, its results."""
    with tempfile.TemporaryDirectory() as name:
        folder, back = Path(name), Path.cwd()
        try:
            os.chdir(folder)
            command("sweep", "init")
            command("sweep", "run", "sweep.toml")
            command("sweep", "plot", "sweep.toml", "--to", "figures")
        finally:
            os.chdir(back)
        (found,) = folder.glob("figures/*_results.png")
        shutil.copyfile(found, path)


def labyrinth(path: Path) -> None:
    """`journeyman compare` of docs/comparison.md, with its committed fits."""
    example = ROOT / "examples" / "labyrinth"
    with tempfile.TemporaryDirectory() as folder:
        out = shutil.copytree(example / "results", Path(folder) / "results")
        data = (str(example / "problem.toml"), str(example / "labyrinth.csv.gz"))
        columns = ("--columns", "state=node,action=move,demonstration=bout", "--test", "every-fifth")
        others = ("--also", "beta=unknown", "--also", "lapse=unknown", "--also", "values=soft")
        command("compare", *data, *columns, "--vary", "reward=state,state_action", *others, "--out", str(out))
        shutil.copyfile(out / "comparison.png", path)


def memory(path: Path) -> None:
    """The picture of examples/labyrinth/memory.py."""
    program("memory.py", "--picture", str(path), folder=ROOT / "examples" / "labyrinth")


def reliability(path: Path) -> None:
    """The curve of tests/apprentice/coverage.py, from its committed table."""
    script = runpy.run_path(str(ROOT / "tests" / "apprentice" / "coverage.py"))
    save(script["reliability_figure"](script["committed_runs"]()), path)


def soak(path: Path) -> None:
    """Memory of the studio, from the committed run."""
    script = runpy.run_path(str(ROOT / "docs" / "trust" / "soak.py"))
    save(script["figure"](script["read_row"]()), path)


def studio(path: Path) -> None:
    """The studio's page in a browser."""
    with tempfile.TemporaryDirectory() as folder:
        program("tests/browser/screenshots.py", folder, "studio")
        shutil.copyfile(Path(folder) / "studio.png", path)


def trust(path: Path) -> None:
    """A figure of the runs that show whether certificates keep their promise, and nothing else that is made of them."""
    with tempfile.TemporaryDirectory() as folder:
        page = shutil.copy(ROOT / "docs" / "trust.md", folder)
        program("docs/trust/calibration/run.py", "table", "--folder", folder, "--page", page)
        shutil.copyfile(Path(folder) / path.name, path)


def calibration(programme: str) -> DrawFn:
    """Return a function that continues a calibration programme, and makes its table and figures where they belong."""
    folder = ROOT / "docs" / "calibration" / ("experts" if programme == "experts" else "")

    def draw(path: Path) -> None:
        for task in ("run", "table"):
            program("docs/calibration/run.py", task, "--programme", programme)
        if path.parent != folder:
            shutil.copyfile(folder / path.name, path)

    return draw


@cache
def reproduced() -> "dict[str, Picture]":
    """Return the pictures of the reproduction by name, not drawn yet."""
    from reproduction.build import all_pictures, all_sources

    return {picture.name: picture for picture in all_pictures(all_sources())}


def reproduction(path: Path) -> None:
    """The picture of the reproduction that the name of the file says."""
    from reproduction.pages.figures import save as save_small

    save_small(reproduced()[path.stem].draw(), path)
