"""Figures of the pages: the paper's redrawn from our data, and new ones, with captions that say what to see."""

from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from pandas import DataFrame, concat
from PIL import Image

from journeyman.experiment.statistics import common_instances
from journeyman.report.sweep.inference import common_to_inferences, inference_figure
from journeyman.report.sweep.maps import query_map_figure
from journeyman.report.sweep.pairs import pairs_figure
from journeyman.report.sweep.results import goals_figure, results_figure
from reproduction.pages.advice import MIN_SEEDS
from reproduction.pages.sources import NUM_STEPS, TITLES, Sources, num_instances
from reproduction.paper import paper_options

FOLDER, DPI, NUM_COLOURS = "figures", 100, 256
MAP_QUERIES = 50
FORMS_WORDS = "forms of PAC-EIG beyond the paper's experiment"
SEE = {
    "jail": "action entropy stays where the prior is, because it asks in the jail, where there is nothing to learn; "
    "both information gains have hardly any regret left after a few trajectories.",
    "random-10x10": "nuPAC-EIG is the first with a small regret and a small chance of it, while its entropy stays "
    "high: it asks about what matters from the two initial states only. Below the axis: the share of instances "
    "without regret, or with hardly any.",
    "random-8x8": "the information gains and ActiveVaR stay close together; action entropy stops learning early.",
    "random-8x8-trajectories": "the information gains lead; action entropy stops learning early.",
}
SEE_OURS = "less regret than nuPAC-EIG in the first steps, most of all before the chance of regret begins to fall."
SEE_FORMS = {
    "jail": "all forms have hardly any regret left after a few trajectories; they differ, if at all, in the entropy "
    "that they leave.",
    "random-10x10": "only the weighted forms with edges above zero part from the others, the one of local scope first.",
    "random-8x8": "where episodes start anywhere, forms hardly differ before step 75.",
}
SEE_ON_MAPS = {
    "jail": "Average over instances. Action entropy puts all of them into the jail; Reward-EIG asks from behind "
    "the obstacles, PAC-EIG also from around them.",
    "random-10x10": "One instance; rings are the two initial states. nuPAC-EIG leaves out what the apprentice hardly "
    "visits.",
    "random-8x8": "One instance. Action entropy comes back to few states; the information gains spread.",
    "random-8x8-trajectories": "One instance. Action entropy comes back to few states; the information gains spread.",
}


class Picture(NamedTuple):
    """A figure in a file of the folder, with a caption."""

    name: str
    caption: str
    draw: Callable[[], Figure]


def pictures(sources: Sources) -> Iterator[Picture]:
    """Yield all figures of the experiments that have results."""
    for name, table in sources.tables.items():
        published = sources.paper_methods(name)
        others = [method for method in table["method"].unique() if method not in published]
        yield from _paper_pictures(name, table, published)
        forms = [method for method in others if "PAC-EIG" in method]
        own = [method for method in others if method not in forms and _is_whole(sources, name, method)]
        for ending, words, chosen in (("ours", _ours_words(own), own), ("forms", FORMS_WORDS, forms)):
            if chosen:
                common = sources.most_complete(name, [*chosen, *published])
                if common is not None:
                    yield from _other_pictures(name, common, published, chosen, ending, words)
        if name in sources.chains:
            yield from _inference_pictures(name, table, sources.chains[name])


def _ours_words(methods: Sequence[str]) -> str:
    """Return what our own functions are called in captions."""
    names = ", ".join(f"`{method}`" for method in methods)
    return f"our own {names}" if len(methods) == 1 else f"our own functions {names}"


def _is_whole(sources: Sources, name: str, method: str) -> bool:
    """Whether a method is far enough to be drawn: else it would take instances from the others."""
    return num_instances(sources.complete(name, [method])) >= MIN_SEEDS


def _paper_pictures(name: str, table: DataFrame, methods: Sequence[str]) -> Iterator[Picture]:
    title, own = TITLES[name], common_instances(table, list(methods))
    seeds = f"n = {num_instances(own)}"
    yield Picture(
        f"{name}-results",
        f"**{title}, the paper's methods ({seeds}).** The paper's figure from our data, with its estimate of the "
        f"entropy. What to see: {SEE[name]}",
        lambda: results_figure(own, paper_options(own, methods, reference=methods, entropy="paper")),
    )
    yield Picture(
        f"{name}-certificate",
        f"**{title}: steps to goals ({seeds}).** Share of instances that have reached a goal for good. The further "
        "left a line rises, the fewer answers are needed; a line that stays low never gets there in 150.",
        lambda: goals_figure(own, paper_options(own, methods)),
    )
    yield Picture(
        f"{name}-queries",
        f"**{title}: where the first {MAP_QUERIES} queries go.** {SEE_ON_MAPS[name]}",
        lambda: query_map_figure(own, paper_options(own, methods), first=MAP_QUERIES),
    )
    if len(methods) > 1:
        yield Picture(
            f"{name}-pairs",
            f"**{title}: differences on the same instances ({seeds}), averaged over steps 1 to {NUM_STEPS}.** Left of "
            "the line is better than the baseline; a filled dot has p < 0.05, corrected for the number of methods.",
            lambda: pairs_figure(own, paper_options(own, methods, reference=methods)),
        )


def _other_pictures(
    name: str, own: DataFrame, published: Sequence[str], others: Sequence[str], ending: str, words: str
) -> Iterator[Picture]:
    beside = [method for method in ("Reward-EIG", "PAC-EIG", "nuPAC-EIG") if method in published]
    chosen = [*others, *beside]
    title, seeds = TITLES[name], f"n = {num_instances(own)}"
    see = SEE_OURS if ending == "ours" else SEE_FORMS[name]
    yield Picture(
        f"{name}-{ending}",
        f"**{title}: {words} ({seeds}).** Entropy is from the evidence. What to see: {see}",
        lambda: results_figure(own, paper_options(own, chosen, reference=list(published))),
    )
    if ending == "forms":
        return
    yield Picture(
        f"{name}-{ending}-certificate",
        f"**{title}: steps to goals, {words} ({seeds}).** The further left a line rises, the fewer answers are needed.",
        lambda: goals_figure(own, paper_options(own, chosen)),
    )
    yield Picture(
        f"{name}-{ending}-pairs",
        f"**{title}: {words}, differences on the same instances ({seeds}).** Left of the line is better.",
        lambda: pairs_figure(own, paper_options(own, [*published, *others], reference=list(published))),
    )


def _inference_pictures(name: str, smc: DataFrame, chains: DataFrame) -> Iterator[Picture]:
    """Yield the curves of both ways of inference on common instances, as far as both were run."""
    common = common_to_inferences(concat([smc, chains], ignore_index=True))
    if len(common):
        common = common[common["step"] <= common.groupby("cell")["step"].max().min()]
        yield Picture(
            f"{name}-inference",
            f"**{TITLES[name]}: `smc` beside Markov chains of the paper's lengths (n = {num_instances(common)}).** "
            "Each column is a method. Single runs diverge as soon as one query differs; what to see is whether one "
            "line lies above the other all the way.",
            lambda: inference_figure(common, paper_options(common)),
        )


def save(figure: Figure, path: Path) -> None:
    """Write a figure as a small PNG: bands of many shades are drawn with few colours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    few_colours(Image.open(buffer).convert("RGB")).save(path, optimize=True)


def few_colours(picture: Image.Image) -> Image.Image:
    """Draw a picture with `NUM_COLOURS`: the half that most pixels have, and as many for all others, however rare."""
    pixels = np.asarray(picture)
    shades, places, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    by_count = np.argsort(-counts, kind="stable")
    palette, rare = shades[by_count[: NUM_COLOURS // 2]], shades[by_count[NUM_COLOURS // 2 :]]
    if len(rare):
        found = Image.fromarray(rare[None]).quantize(NUM_COLOURS - len(palette)).getpalette() or []
        palette = np.concatenate([palette, np.reshape(found, (-1, 3)).astype(np.uint8)])[:NUM_COLOURS]
    distances = ((shades[:, None].astype(int) - palette[None].astype(int)) ** 2).sum(axis=2)
    numbers = distances.argmin(axis=1).astype(np.uint8)[places.reshape(pixels.shape[:2])]
    drawn = Image.fromarray(numbers, mode="L")
    drawn.putpalette(palette.ravel().tolist())
    return drawn
