"""Make every figure of the documentation, in one style, from fixed seeds; and the page that shows them all.

    python docs/gallery/make.py                  # all that take seconds, and docs/gallery/index.md
    python docs/gallery/make.py demo jail        # only these; also those that take minutes
    python docs/gallery/make.py --list           # what there is, and what each takes

Figures are drawn by the functions that users have, or from committed tables. Screenshots are no figures: a browser
takes them (tests/browser/screenshots.py).
"""

import argparse
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS, HERE, IMAGES = ROOT / "docs", ROOT / "docs" / "gallery", ROOT / "docs" / "images"
PAGE = HERE / "index.md"
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10.0,
    "legend.fontsize": 9.0,
    "image.cmap": "viridis",
}


@dataclass(frozen=True)
class Entry:
    """A figure: its file below the repository, what to see, who makes it, and how long that takes.

    draw_fn writes it to a path; None if `source` is another program of the repository, or a browser. is_quick: whether
    it belongs to those that are made together.
    """

    path: str
    caption: str
    source: str
    draw_fn: Callable[[Path], None] | None = None
    is_quick: bool = False
    is_screenshot: bool = False

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return Path(self.path).stem


@contextmanager
def programs_found() -> Iterator[None]:
    """Let programs beside us and of bench/ be imported; only here, since some have names that others have too."""
    before = list(sys.path)
    sys.path[:0] = [str(HERE), str(ROOT / "bench")]
    try:
        yield
    finally:
        sys.path[:] = before


def saved(module: str, function: str) -> Callable[[Path], None]:
    """Return a function that writes the figure which a function of a module beside us, or of bench/, returns."""

    def draw(path: Path) -> None:
        from journeyman.report import save_figure

        save_figure(getattr(importlib.import_module(module), function)(), path)

    return draw


def command(*arguments: str) -> None:
    """Run a command of journeyman here, in this process, so that our style applies."""
    from journeyman.cli.app import app

    try:
        app(list(arguments), standalone_mode=False)
    except SystemExit as end:
        if end.code:
            raise


def draw_demo(path: Path) -> None:
    """`journeyman demo`, its progress."""
    with tempfile.TemporaryDirectory() as folder:
        command("demo", "--out", folder)
        shutil.copyfile(Path(folder) / "progress.png", path)


def draw_jail(path: Path) -> None:
    """`journeyman worlds show jail --seed 3`."""
    command("worlds", "show", "jail", "--seed", "3", "--png", str(path))


def draw_posterior(path: Path) -> None:
    """What 60 annotations at random cells tell on an 8x8 grid."""
    import numpy as np

    from journeyman import infer, make_world
    from journeyman.report import posterior_map, save_figure

    world = make_world("random-8x8", seed=0)
    asked = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), size=60)
    posterior = infer(world.problem, world.expert.answers(asked), seed=0)
    mean, std = posterior.mean_reward(), posterior.reward_std()
    save_figure(posterior_map(world.problem, mean, std, title="After 60 annotations"), path)


def draw_sweep(path: Path) -> None:
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


def draw_labyrinth(path: Path) -> None:
    """The figure that `journeyman compare` of docs/comparison.md wrote beside its committed table."""
    shutil.copyfile(ROOT / "examples" / "labyrinth" / "results" / "comparison.png", path)


def draw_memory(path: Path) -> None:
    """The picture of examples/labyrinth/memory.py."""
    run(["memory.py", "--picture", str(path)], ROOT / "examples" / "labyrinth")


def draw_reliability(path: Path) -> None:
    """The figure of tests/apprentice/coverage.py."""
    run(["tests/apprentice/coverage.py", "2400", str(path)], ROOT)


def run(arguments: list[str], folder: Path) -> None:
    """Run a program of the repository."""
    subprocess.run([sys.executable, *arguments], cwd=folder, check=True)


OWN = (
    Entry(
        "docs/images/demo.png",
        "**The demo.** Two learners ask the same expert in the jail world. What to see: PAC-EIG "
        "(circles) is sure of its "
        "policy after two answers; action entropy (squares) keeps asking in the jail, where nothing can "
        "be learned, and "
        "stays where it began. Regret is in units of the reward, on a logarithmic axis.",
        "`journeyman demo`",
        draw_demo,
        True,
    ),
    Entry(
        "docs/images/jail.png",
        "**The jail world.** A 6x6 grid with a goal, three kinds of obstacles of unknown cost, and a jail that nobody "
        "leaves. What to see: from the right one has to cross an obstacle, and the optimal policy (arrows) crosses the "
        "cheapest, the water.",
        "`journeyman worlds show jail --seed 3 --png jail.png`",
        draw_jail,
        True,
    ),
    Entry(
        "docs/images/posterior.png",
        "**A posterior.** Reward of each cell of an 8x8 grid after 60 answers: its mean on the left, its standard "
        "deviation on the right, both in units of the reward (prior: 0 and 3). What to see: where the expert never "
        "goes, little is known.",
        "`journeyman infer random-8x8 --demonstrations 60 --png posterior.png`",
        draw_posterior,
        True,
    ),
    Entry(
        "docs/images/sweep.png",
        "**A small sweep.** Four functions on eight 5x5 grids with two initial states; means and standard errors. What "
        "to see: nuPAC-EIG ends up knowing less about the reward than Reward-EIG (left), and is sooner sure of its "
        "policy (right).",
        "`journeyman sweep init`, `run` and `plot`",
        draw_sweep,
    ),
    Entry(
        "docs/images/pac-eig-variants.png",
        "**Four readings of PAC-EIG.** Scores in nats on the 10x10 world after 20 random annotations; "
        "hatched cells are terminal, rings are the initial states, the star is the state that is asked next. What to "
        "see: the printed formula and Reward-EIG are the same map; only occupancy and edges together (bottom right) "
        "leave out what the apprentice never meets.",
        "`bench/_pac_variants.py`",
        saved("_pac_variants", "maps"),
        True,
    ),
    Entry(
        "docs/images/kernel-priors.png",
        "**A kernel prior.** 15 answers (arrows) on a 12x12 grid whose reward is smooth. What to see: with a kernel "
        "prior the mean (middle) resembles the truth (left), and neighbours of answers are known better (dark); "
        "independent rewards (right) hardly move from the prior.",
        "`docs/gallery/kernels.py`",
        saved("kernels", "posteriors"),
        True,
    ),
    Entry(
        "docs/images/kernel-reach.png",
        "**How far a cell speaks for others.** Prior correlation with the cell marked x, for three "
        "kernels. What to see: "
        "over positions (top) it reaches through the wall (grey), over the graph (bottom) it has to go round it.",
        "`docs/gallery/kernels.py`",
        saved("kernels", "reach"),
        True,
    ),
    Entry(
        "docs/images/certificate-budget.png",
        "**What a budget buys.** Answers until a certificate first holds against the processor seconds of all its "
        "certificates, by how many samples may be drawn; grey lines are single instances of 10x10. What to see: "
        "4,000 draws save two answers, more save none.",
        "`bench/budget.py`, from `bench/budget.jsonl`",
        saved("budget", "figure"),
        True,
    ),
    Entry(
        "docs/images/certificate-reliability.png",
        "**Stated and true chances.** Runs sorted by the chance of failure that was stated, in tenths, "
        "against the share "
        "that did fail; bars are two binomial standard errors. What to see: points lie on the diagonal, so that a "
        "stated chance is what it says.",
        "`tests/apprentice/coverage.py 2400 FILE`: about an hour",
        draw_reliability,
    ),
    Entry(
        "docs/images/labyrinth.png",
        "**Models of mice in a labyrinth.** Bits per free decision on bouts that were left out (left), "
        "and log evidence "
        "(right). What to see: all models predict alike, evidence tells them apart.",
        "`journeyman compare` in `examples/labyrinth`, from its committed results",
        draw_labyrinth,
        True,
    ),
    Entry(
        "docs/images/memory.png",
        "**What mice want, with a memory.** Posterior mean of the reward of each node of the labyrinth, "
        "before (left) and "
        "after (right) the water. What to see: thirsty mice want the water, those that have drunk the way home.",
        "`examples/labyrinth/memory.py --picture FILE`: minutes",
        draw_memory,
    ),
    Entry(
        "docs/images/studio.png",
        "**The studio.** A question on a grid, and beside it what has been learned.",
        "`tests/browser/screenshots.py docs/images studio`",
        is_screenshot=True,
    ),
)
ELSEWHERE = (
    Entry(
        "docs/trust/calibration/promise.png",
        "**Do certificates keep their promise?** Share of wrong certificates with exact intervals, by world and delta. "
        "What to see: no whole interval lies above its delta.",
        "`docs/trust/calibration/run.py table`, from its committed runs",
    ),
    Entry(
        "docs/trust/calibration/wrong-models.png",
        "**What if the model is wrong?** Wrong certificates, doubts of the model check, and wrong ones that it did not "
        "doubt, by what is wrong.",
        "`docs/trust/calibration/run.py table`, from its committed runs",
    ),
    Entry(
        "docs/trust/soak.png",
        "**Half an hour under attack.** Memory of the studio's server and of the process that computes, over the half "
        "hour of the run.",
        "`docs/trust/soak.py`, from `soak.json`",
    ),
    Entry(
        "docs/calibration/8x8.png",
        "**Ranks on the 8x8 grid.** Differences of the ECDF of ranks from a uniform one, a row per "
        "method. What to see: "
        "exact methods stay inside the bands, mutants leave them.",
        "`docs/calibration/run.py table`, from raw results: hours",
    ),
    Entry(
        "docs/calibration/4x4-and-jail.png",
        "**Ranks on the 4x4 grid and the jail.** As above.",
        "`docs/calibration/run.py table`, from raw results: hours",
    ),
    Entry(
        "docs/calibration/coverage.png",
        "**Coverage of credible intervals.** Share of true parameters in central intervals of 50, 80 and 95 %. What to "
        "see: exact methods are on their lines, `variational` is not.",
        "`docs/calibration/run.py table`, from raw results: hours",
    ),
    Entry(
        "docs/calibration/experts/experts.png",
        "**Ranks with experts with unknown parameters.** As above, with unknown beta, lapses and soft values.",
        "`docs/calibration/run.py table --programme experts`, from raw results: hours",
    ),
    Entry(
        "docs/calibration/experts/coverage.png",
        "**Coverage with such experts.** As above.",
        "`docs/calibration/run.py table --programme experts`, from raw results: hours",
    ),
)


def reproduced() -> list[Entry]:
    """Return the figures of the reproduction, with the captions that its builder wrote."""
    text = (DOCS / "reproduction" / "README.md").read_text("utf-8")
    found = re.findall(r"^!\[[^\]]*\]\((figures/[^)]+)\)\n\n(.+)$", text, re.MULTILINE)
    source = "`make reproduction-docs`, from committed tables"
    return [Entry(f"docs/reproduction/{path}", caption, source) for path, caption in found]


def entries() -> list[Entry]:
    """Return all figures of the documentation."""
    return [*OWN, *ELSEWHERE, *reproduced()]


def page() -> str:
    """Return the page that shows all of them."""
    parts = [
        "# Gallery",
        "Every figure of this documentation, with what to see in it and what makes it. `python "
        "docs/gallery/make.py` makes "
        "those of the first part again, in one style and from fixed seeds (`make gallery`); `--list` "
        "names them. Colours "
        "of lines and marks are Okabe and Ito's, which readers with any colour vision can tell apart, "
        "and no difference "
        "is shown by colour alone; maps use shades of purple (those of kernel priors viridis), or a diverging scale "
        "where 0 matters.",
        "## Learning, asking, certifying",
        *(_shown(entry) for entry in OWN),
        "## Calibration and trust",
        *(_shown(entry) for entry in ELSEWHERE),
        "## Reproduction",
        *(_shown(entry) for entry in reproduced()),
    ]
    return "\n\n".join(parts) + "\n"


def _shown(entry: Entry) -> str:
    where = os.path.relpath(ROOT / entry.path, HERE)
    return f"![{entry.name}]({where})\n\n{entry.caption} *Made by {entry.source}.*"


def make(entry: Entry, path: Path | None = None) -> None:
    """Draw a figure in our style."""
    import matplotlib
    from cycler import cycler

    from journeyman.report.sweep.figure_data import COLOURS

    assert entry.draw_fn is not None
    with matplotlib.rc_context({**STYLE, "axes.prop_cycle": cycler(color=COLOURS[:8])}), programs_found():
        entry.draw_fn(ROOT / entry.path if path is None else path)


def main() -> None:
    """Make what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="figures to make; default: all that take seconds")
    parser.add_argument("--list", action="store_true", help="say what there is")
    options = parser.parse_args()
    ours = {entry.name: entry for entry in OWN if entry.draw_fn is not None}
    if options.list:
        for entry in entries():
            print(f"{entry.path:62} {'here' if entry.name in ours else entry.source}")
        return
    unknown = [name for name in options.names if name not in ours]
    if unknown:
        raise SystemExit(f"There is no figure {unknown[0]!r} to make here. There are: {', '.join(ours)}.")
    for name in options.names or [name for name, entry in ours.items() if entry.is_quick]:
        make(ours[name])
        print(ours[name].path, flush=True)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    with programs_found():
        import _measure  # noqa: F401  before NumPy: one thread

    main()
