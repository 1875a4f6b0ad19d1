"""Make every figure of the documentation, in one style, from fixed seeds; and the page that shows them all.

python docs/gallery/make.py                    # all that take seconds, and docs/gallery/index.md
python docs/gallery/make.py demo memory        # only these, however long they take
python docs/gallery/make.py --within minutes   # all that take minutes at most
python docs/gallery/make.py --within hours     # all; runs of hours continue where they stopped
python docs/gallery/make.py --list             # what there is, and what each takes
"""

import argparse
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import draw
from draw import ROOT, DrawFn, saved

del sys.path[0]

DOCS, HERE = ROOT / "docs", ROOT / "docs" / "gallery"
PAGE = HERE / "index.md"
TAKES = ("seconds", "minutes", "hours")


@dataclass(frozen=True)
class Entry:
    """A figure: its file below the repository, what to see, what makes it, the function that does, and how long."""

    path: str
    caption: str
    source: str
    draw_fn: DrawFn
    takes: str = "seconds"
    is_screenshot: bool = False

    @property
    def name(self) -> str:
        """What it is called on the command line: `coverage`, or `experts/coverage` where that says too little."""
        path = Path(self.path)
        return f"{path.parent.name}/{path.stem}" if path.parent.name == "experts" else path.stem


LEARNING = (
    Entry(
        "docs/images/demo.png",
        "**The demo.** Two learners ask the same expert in the jail world. What to see: PAC-EIG "
        "(circles) is sure of its policy after two answers; action entropy (squares) keeps asking in the jail, where "
        "nothing can be learned, and stays where it began. Regret is in units of the reward, on a logarithmic axis.",
        "`journeyman demo`",
        draw.demo,
    ),
    Entry(
        "docs/images/jail.png",
        "**The jail world.** A 6x6 grid with a goal, three kinds of obstacles of unknown cost, and a jail that nobody "
        "leaves. What to see: from the lower right one has to cross an obstacle, and the optimal policy (arrows) "
        "crosses the cheapest, the water.",
        "`journeyman worlds show jail --seed 3 --png jail.png`",
        draw.jail,
    ),
    Entry(
        "docs/images/posterior.png",
        "**A posterior.** Reward of each cell of an 8x8 grid after 60 answers: its mean on the left, its standard "
        "deviation on the right, both in units of the reward (prior: 0 and 3). What to see: where the expert never "
        "goes, little is known.",
        "`journeyman infer random-8x8 --demonstrations 60 --png posterior.png`",
        draw.posterior,
    ),
    Entry(
        "docs/images/sweep.png",
        "**A small sweep.** Four functions on eight 5x5 grids with two initial states; means and standard errors. What "
        "to see: nuPAC-EIG ends up knowing less about the reward than Reward-EIG (left), and is sooner sure of its "
        "policy (right).",
        "`journeyman sweep init`, `run` and `plot`",
        draw.sweep,
    ),
    Entry(
        "docs/images/pac-eig-variants.png",
        "**Four readings of PAC-EIG.** Scores in nats on the 10x10 world after 20 random annotations; "
        "hatched cells are terminal, rings are the initial states, the star is the state that is asked next. What to "
        "see: the printed formula and Reward-EIG give the same map; with occupancy and a first edge above zero (bottom "
        "right) what the apprentice hardly ever meets is left out.",
        "`bench/_pac_variants.py`",
        saved("_pac_variants", "maps"),
    ),
    Entry(
        "docs/images/kernel-priors.png",
        "**A kernel prior.** 15 answers (arrows) on a 12x12 grid whose reward is smooth. What to see: with a kernel "
        "prior the mean (middle) resembles the truth (left), and all cells are known better than before (below: paler "
        "is a smaller standard deviation); independent rewards (right) hardly move from the prior.",
        "`docs/gallery/kernels.py`",
        saved("kernels", "posteriors"),
    ),
    Entry(
        "docs/images/kernel-reach.png",
        "**How far a cell speaks for others.** Prior correlation with the cell marked x, for three kernels. What to "
        "see: over positions (top) it reaches through the wall (grey), over the graph (bottom) it has to go round it.",
        "`docs/gallery/kernels.py`",
        saved("kernels", "reach"),
    ),
    Entry(
        "docs/images/certificate-budget.png",
        "**What a budget buys.** Answers until a certificate first holds against the processor seconds of all its "
        "certificates, by how many samples may be drawn; grey lines are single instances of 10x10. What to see: "
        "4,000 draws save two answers, more save none.",
        "`bench/budget.py`, from `bench/budget.jsonl`",
        saved("budget", "figure"),
    ),
    Entry(
        "docs/images/certificate-reliability.png",
        "**Stated and true chances.** Runs sorted by the chance of failure that was stated, in ten groups, against the "
        "share that did fail; bars are two binomial standard errors. What to see: nearly all points lie on the "
        "diagonal within their bars.",
        "`tests/apprentice/coverage.py`, from its committed runs",
        draw.reliability,
    ),
    Entry(
        "docs/images/labyrinth.png",
        "**Models of mice in a labyrinth.** Bits per free decision on bouts that were left out (left), and log "
        "evidence (right). What to see: all models predict alike; the evidence tells them apart.",
        "`journeyman compare` in `examples/labyrinth`, from its committed fits",
        draw.labyrinth,
    ),
    Entry(
        "docs/images/memory.png",
        "**What mice want, with a memory.** Posterior mean of the reward of each node of the labyrinth, before (left) "
        "and after (right) the water, node 116; on the right, nodes without a circle cannot be met before the mouse is "
        "home. What to see: thirsty mice want the water, and mice that have drunk want to go home, to node 0.",
        "`examples/labyrinth/memory.py --picture FILE`",
        draw.memory,
    ),
    Entry(
        "docs/images/studio.png",
        "**The studio.** A question on a grid, and beside it what has been learned.",
        "`tests/browser/screenshots.py docs/images studio`, which needs chromium",
        draw.studio,
        "minutes",
        is_screenshot=True,
    ),
)
TRUST = (
    Entry(
        "docs/trust/calibration/promise.png",
        "**Do certificates keep their promise?** Share of wrong certificates with exact intervals, by world and delta. "
        "What to see: no whole interval lies above its delta.",
        "`docs/trust/calibration/run.py table`, from its committed runs",
        draw.trust,
    ),
    Entry(
        "docs/trust/calibration/wrong-models.png",
        "**What if the model is wrong?** Wrong certificates, doubts of the model check, and wrong ones that it did not "
        "doubt, by what is wrong. What to see: slips that the learner is not told about do most harm in the jail, and "
        "the check does not notice them.",
        "`docs/trust/calibration/run.py table`, from its committed runs",
        draw.trust,
    ),
    Entry(
        "docs/trust/soak.png",
        "**Half an hour under attack.** Memory of the studio's server and of the process that computes, over the half "
        "hour of the run. What to see: it grows slowly, with the answers that a study keeps.",
        "`docs/trust/soak.py`, from `soak.json`",
        draw.soak,
    ),
    Entry(
        "docs/calibration/8x8.png",
        "**Ranks on the 8x8 grid.** Differences of the ECDF of ranks from a uniform one, one row per method. What to "
        "see: exact methods stay inside the bands; `variational` and what is wrong on purpose leave them.",
        "`docs/calibration/run.py`, `run` and then `table`",
        draw.calibration("methods"),
        "hours",
    ),
    Entry(
        "docs/calibration/4x4-and-jail.png",
        "**Ranks on the 4x4 grid and the jail.** As above.",
        "`docs/calibration/run.py`, `run` and then `table`",
        draw.calibration("methods"),
        "hours",
    ),
    Entry(
        "docs/calibration/coverage.png",
        "**Coverage of credible intervals.** Share of true parameters in central intervals of 50, 80 and 95 %. What to "
        "see: exact methods are on their lines or near them, `variational` is not.",
        "`docs/calibration/run.py`, `run` and then `table`",
        draw.calibration("methods"),
        "hours",
    ),
    Entry(
        "docs/calibration/experts/experts.png",
        "**Ranks where the expert has unknown parameters.** As above, with unknown beta, lapses and soft values.",
        "`docs/calibration/run.py`, `run` and then `table`, with `--programme experts`",
        draw.calibration("experts"),
        "hours",
    ),
    Entry(
        "docs/calibration/experts/coverage.png",
        "**Coverage with such experts.** As above.",
        "`docs/calibration/run.py`, `run` and then `table`, with `--programme experts`",
        draw.calibration("experts"),
        "hours",
    ),
)


def reproduced() -> list[Entry]:
    """Return the figures of the reproduction, with the captions that its builder wrote."""
    text = (DOCS / "reproduction" / "README.md").read_text("utf-8")
    found = re.findall(r"^!\[[^\]]*\]\((figures/[^)]+)\)\n\n(.+)$", text, re.MULTILINE)
    source = "`python -m reproduction.build`, from committed tables"
    return [Entry(f"docs/reproduction/{path}", caption, source, draw.reproduction) for path, caption in found]


def entries() -> list[Entry]:
    """Return all figures of the documentation."""
    return [*LEARNING, *TRUST, *reproduced()]


def page() -> str:
    """Return the page that shows all of them."""
    parts = [
        "# Gallery",
        "Every figure of this documentation, with what to see in it and what makes it. `python docs/gallery/make.py` "
        "makes them again, from fixed seeds and in one style (`docs/gallery/matplotlibrc`): those that take seconds, "
        "or with `--within hours` all of them; `--list` names them. Colours of lines and points are those of Okabe and "
        "Ito, then of Tol, which readers with any colour vision can tell apart; lines differ in their dashes or "
        "markers as well. Maps use shades of purple, or a diverging scale where 0 matters.",
        "## Learning, asking, certifying",
        *(_shown(entry) for entry in LEARNING),
        "## Calibration and trust",
        *(_shown(entry) for entry in TRUST),
        "## Reproduction",
        *(_shown(entry) for entry in reproduced()),
    ]
    return "\n\n".join(parts) + "\n"


def _shown(entry: Entry) -> str:
    where = os.path.relpath(ROOT / entry.path, HERE)
    takes = "" if entry.takes == "seconds" else f" ({entry.takes})"
    return f"![{entry.name}]({where})\n\n{entry.caption} *Made by {entry.source}{takes}.*"


def make(entry: Entry, path: Path | None = None) -> None:
    """Draw a figure in our style."""
    with draw.our_style(), draw.programs_found():
        entry.draw_fn(ROOT / entry.path if path is None else path)


def main() -> None:
    """Make what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="figures to make, however long they take")
    parser.add_argument("--within", choices=TAKES, default=TAKES[0], help="without names: all that take at most this")
    parser.add_argument("--list", action="store_true", help="say what there is")
    options = parser.parse_args()
    found = {entry.name: entry for entry in entries()}
    if options.list:
        for name, entry in found.items():
            print(f"{name:40} {entry.takes:8} {entry.path}")
        return
    unknown = [name for name in options.names if name not in found]
    if unknown:
        raise SystemExit(f"There is no figure {unknown[0]!r}. --list names all {len(found)}.")
    within = TAKES[: TAKES.index(options.within) + 1]
    for name in options.names or [name for name, entry in found.items() if entry.takes in within]:
        make(found[name])
        print(found[name].path, flush=True)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    with draw.programs_found():
        import _measure  # noqa: F401  before NumPy: one thread

    main()
