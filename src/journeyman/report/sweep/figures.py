"""All figures of a sweep, for whatever worlds, kinds of query and inference methods its table holds."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from journeyman.errors import InputError
from journeyman.experiment.statistics.table import checked_methods, checked_table, groups, method_names, with_methods
from journeyman.report.drawing.maps import FORMATS, save_figure
from journeyman.report.sweep.figure_data import DEFAULTS, FigureOptions
from journeyman.report.sweep.inference import common_to_inferences, inference_figure
from journeyman.report.sweep.maps import query_map_figure
from journeyman.report.sweep.pairs import pairs_figure
from journeyman.report.sweep.results import goals_figure, results_figure
from journeyman.storage.files import made_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

MAX_METHODS = 8  # that one panel of lines can show
MAP_QUERIES = 50  # later ones fill the map and hide what a method is after


def sweep_figures(
    table: "DataFrame",
    folder: str | Path,
    options: FigureOptions = DEFAULTS,
    *,
    formats: Sequence[str] = ("png",),
    on_figure: Callable[[Path], None] | None = None,
) -> list[Path]:
    """Write every figure that a table of results allows.

    Per world, kind of query and inference method: those of `group_figures`, in files such as
    `random-8x8_state_smc_results.png`. Where several inference methods have met a common instance, also
    `random-8x8_state_inference.png`.

    Parameters
    ----------
    table
        Tidy results, of one sweep.
    folder
        Where they go; it is made if need be.
    formats
        Endings of the files, such as "png" and "svg".
    on_figure
        Called with the path of each file when it is written.

    Returns
    -------
    The files that were written, in order.
    """
    table = checked_table(table)
    options.check(table)
    chosen = checked_methods(table, options.methods)
    _check_formats(formats)
    folder = made_folder(folder, "pictures")
    written: list[Path] = []

    def write(stem: str, name: str, figure: "Figure") -> None:
        for ending in formats:
            path = folder / f"{stem}_{name}.{ending}"
            save_figure(figure, path)
            written.append(path)
            if on_figure is not None:
                on_figure(path)

    stems: set[str] = set()
    for group, part in groups(table):
        own = [name for name in chosen if name in method_names(part)]
        if own:
            stem = _stem(group, stems)
            for name, figure in group_figures(part, replace(options, methods=own)):
                write(stem, name, figure)
    for labels, part in with_methods(table, chosen).groupby(["world", "query"], observed=True, sort=True):
        if part["inference"].nunique() > 1 and not common_to_inferences(part).empty:
            write(_stem(labels, stems), "inference", inference_figure(part, replace(options, methods=None)))
    return written


def group_figures(table: "DataFrame", options: FigureOptions = DEFAULTS) -> Iterator[tuple[str, "Figure"]]:
    """Yield the figures of one world, kind of query and inference method, with a name each.

    They are "results", "goals", "queries", and "pairs" if there are two methods. Where there are more methods than one
    panel can show, those that regret is not normalised by come in figures of their own beside the baseline:
    "results-more" and "goals-more".
    """
    own = options.ordered(checked_methods(table, options.methods))
    present = method_names(table)
    baseline = options.baseline_among(present if options.baseline in present else own)
    here = replace(options, methods=own, baseline=baseline)
    for ending, names in _in_parts(own, options.reference_among(present), baseline).items():
        part = replace(here, methods=names)
        yield f"results{ending}", results_figure(table, part)
        yield f"goals{ending}", goals_figure(table, part)
    if int(table["step"].max()) > 0:
        yield "queries", query_map_figure(table, here, first=MAP_QUERIES)
        if set(own) != {baseline}:
            yield "pairs", pairs_figure(table, here)


def _in_parts(methods: Sequence[str], reference: Sequence[str], baseline: str) -> dict[str, Sequence[str]]:
    """Return the methods of each figure of lines by the ending of its name: all in one, or the reference and others."""
    first = [name for name in methods if name in reference]
    others = [name for name in methods if name not in (*first, baseline)]
    if len(methods) <= MAX_METHODS or not first or not others:
        return {"": methods}
    return {"": first, "-more": [*others, baseline]}


def _stem(labels: Iterable[str], taken: set[str]) -> str:
    """Return how names of files begin, each once, and add it to those taken."""
    words = [re.sub(r"[^A-Za-z0-9.+-]+", "-", label).strip("-.") or "unnamed" for label in labels]
    stem = base = "_".join(words)
    number = 2
    while stem in taken:
        stem, number = f"{base}-{number}", number + 1
    taken.add(stem)
    return stem


def _check_formats(formats: Sequence[str]) -> None:
    if isinstance(formats, str) or not formats:
        raise InputError(f"formats must be a list of at least one ending, got {formats!r}. Put it in brackets.")
    for ending in formats:
        if ending not in FORMATS:
            raise InputError(f"formats must be among {', '.join(FORMATS)}, got {ending!r}. Choose one of them.")
