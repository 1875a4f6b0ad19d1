"""What the runs say: shares of wrong certificates with exact intervals, as JSON, tables of a page, and figures."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from programme import CONFIGURATIONS, EPSILON, NOTHING, SMALL, WRONGS

from journeyman.calibration import exact_interval
from journeyman.report import save_figure
from journeyman.report.drawing.cells import new_figure
from journeyman.report.drawing.palette import BLUE, GREY, VERMILLION
from journeyman.storage.files import write_block
from journeyman.wording import counted, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]
FIRST, CONFIRMED, SECOND = VERMILLION, BLUE, GREY  # told apart by all kinds of eyes, and by their markers
MARKERS = dict(zip(SMALL, ("o", "s", "^"), strict=True))
PROMISE_HEADINGS = (
    "world", "delta", "beta", "runs", "answers", "certified", "wrong", "share wrong (95 %)", "stated",
    "wrong at first", "share wrong at first (95 %)", "doubted", "s each",
)  # fmt: skip
WRONG_HEADINGS = (
    "what is wrong", "runs", "answers", "certified", "wrong", "share wrong (95 %)",
    *(f"wrong, {name}" for name in SMALL), "doubted", "share doubted (95 %)", "wrong, not doubted", "share (95 %)",
)  # fmt: skip


@dataclass(frozen=True)
class Share:
    """So many of so many, with Clopper and Pearson's exact 95 % interval."""

    hits: int
    total: int
    low: float
    high: float

    @classmethod
    def of(cls, flags: Iterable[bool]) -> "Share":
        """Count what is true."""
        listed = [bool(flag) for flag in flags]
        return cls(sum(listed), len(listed), *exact_interval(sum(listed), len(listed)))

    @property
    def share(self) -> float | None:
        """None of nothing."""
        return self.hits / self.total if self.total else None

    def sentence(self) -> str:
        """Return share and interval for a sentence."""
        return "none" if self.share is None else f"{100 * self.share:.1f} %, interval {_range(self)}"

    def words(self) -> str:
        """Return share and interval in percent, for a table."""
        if self.share is None:
            return ""
        return f"{100 * self.share:.1f} ({_range(self)})"


def _range(share: Share) -> str:
    return f"{100 * share.low:.1f} to {100 * share.high:.1f}"


@dataclass(frozen=True)
class Summary:
    """What became of some runs at one delta.

    wrong: of the confirmed certificates, whose true regret is epsilon or more; first_wrong: of the certificates that
    held for the first time, confirmed or not; doubted: runs in which the model check spoke; silent: of the confirmed
    certificates, those that are wrong without a word of the model check. failed: runs that ended in an error; chance:
    stated for confirmed ones, on average; luck: that as many of them are wrong as are, or more, if it is the right one.
    """

    runs: int
    failed: int
    delta: float
    answers: float
    chance: float | None
    luck: float | None
    wrong: Share
    first_wrong: Share
    doubted: Share
    silent: Share
    cpu_seconds: float

    @property
    def is_above(self) -> bool:
        """Whether confirmed certificates are wrong more often than delta allows, beyond chance."""
        return self.wrong.low > self.delta

    @property
    def is_first_above(self) -> bool:
        """Whether first certificates are."""
        return self.first_wrong.low > self.delta

    def record(self) -> dict[str, Any]:
        """Return plain data."""
        verdict = {"is_above": self.is_above, "is_first_above": self.is_first_above}
        return asdict(self) | verdict


def summarise(rows: Sequence[Row]) -> Summary:
    """Count what became of runs, at least one, all with the same delta."""
    (delta,) = {row["delta"] for row in rows}
    certified = [row for row in rows if row["is_certified"]]
    wrong = Share.of(row["regret"] >= EPSILON for row in certified)
    first = [row for row in rows if row["first_answers"] is not None]
    return Summary(
        runs=len(rows),
        failed=sum("error" in row for row in rows),
        delta=delta,
        answers=float(np.mean([row["answers"] for row in rows])),
        chance=float(np.mean([row["chance"] for row in certified])) if certified else None,
        luck=chance_of(wrong.hits, [row["chance"] for row in certified]) if certified else None,
        wrong=wrong,
        first_wrong=Share.of(row["first_regret"] >= EPSILON for row in first),
        doubted=Share.of(row["is_doubtful"] for row in rows),
        silent=Share.of(row["regret"] >= EPSILON and not row["is_doubtful"] for row in certified),
        cpu_seconds=float(np.mean([row["cpu_seconds"] for row in rows])),
    )


def chance_of(hits: int, chances: Iterable[float]) -> float:
    """Return the chance that so many of independent events happen, or more: exact (Poisson's binomial)."""
    counts = np.ones(1)
    for chance in chances:
        counts = np.convolve(counts, (1.0 - chance, chance))
    return float(counts[hits:].sum())


def by_configuration(rows: Iterable[Row]) -> dict[tuple[str, float, str, str], Summary]:
    """Return a summary for each configuration that has runs, in the order of the programme."""
    found: dict[tuple[str, float, str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["family"], row["delta"], row["beta"], row["wrong"]), []).append(row)
    return {key: summarise(found[key]) for key in CONFIGURATIONS if key in found}


def by_wrong(rows: Sequence[Row]) -> dict[str, Summary]:
    """Return a summary for each thing that is wrong, over the small worlds; the first one is what they are without."""
    small = [row for row in rows if (row["delta"], row["beta"]) == (0.1, "known") and row["family"] in SMALL]
    found = {wrong: [row for row in small if row["wrong"] == wrong] for wrong in WRONGS}
    return {wrong: summarise(some) for wrong, some in found.items() if some}


def totals(rows: Iterable[Row]) -> dict[float, Summary]:
    """Return a summary of all runs in which nothing is wrong, for each delta."""
    right = [row for row in rows if row["wrong"] == NOTHING]
    deltas = sorted({row["delta"] for row in right}, reverse=True)
    return {delta: summarise([row for row in right if row["delta"] == delta]) for delta in deltas}


def write_all(rows: Sequence[Row], folder: Path, page: Path) -> None:
    """Write summary.json and the figures into a folder, and the tables into a page."""
    if not rows:
        raise SystemExit("There are no runs yet. Make some: python docs/trust/calibration/run.py run")
    single, wrongs, all_right = by_configuration(rows), by_wrong(rows), totals(rows)
    names = ("family", "delta", "beta", "wrong")
    record = {
        "epsilon": EPSILON,
        "totals": [summary.record() for summary in all_right.values()],
        "configurations": [dict(zip(names, key, strict=True)) | one.record() for key, one in single.items()],
        "wrong": [{"wrong": wrong} | one.record() for wrong, one in wrongs.items()],
    }
    (folder / "summary.json").write_text(json.dumps(record, indent=1, allow_nan=False) + "\n", "utf-8")
    if all_right:
        save_figure(promise_figure(single), folder / "promise.png")
        write_block(page, "promise", promise_lines(single, all_right))
    if wrongs:
        save_figure(wrong_figure(wrongs, single), folder / "wrong-models.png")
        write_block(page, "degradation", wrong_lines(wrongs, single))
    for line in verdict_lines(single, all_right):
        print(line)


def verdict_lines(single: dict[tuple[str, float, str, str], Summary], all_right: dict[float, Summary]) -> list[str]:
    """Say in sentences whether the promise was kept, from the numbers alone."""
    right = {key: one for key, one in single.items() if key[3] == NOTHING}
    parts = [
        f"at delta {delta:g}, {one.wrong.hits} of {one.wrong.total} confirmed certificates are wrong "
        f"({one.wrong.sentence()}), and {one.first_wrong.hits} of {one.first_wrong.total} first ones "
        f"({one.first_wrong.sentence()})"
        for delta, one in all_right.items()
    ]
    lines = [f"{sum(one.runs for one in right.values()):,} problems: {'; '.join(parts)}."]
    stated = [
        f"{one.chance * one.wrong.total:.1f} wrong ones at delta {delta:g}, and {one.wrong.hits} are "
        f"(chance of so many or more, if that is right: {100 * one.luck:.1f} %)"
        for delta, one in all_right.items()
        if one.chance is not None and one.luck is not None
    ]
    if stated:
        lines.append(f"The certificates themselves stated {'; '.join(stated)}.")
    for what, part, flag in (("confirmed", "wrong", "is_above"), ("first", "first_wrong", "is_first_above")):
        above = [f"{key[0]} at {key[1]:g}, beta {key[2]}" for key, one in right.items() if getattr(one, flag)]
        num_below = sum(getattr(one, part).high <= one.delta for one in right.values())
        where = f"above delta on {listed(above)}" if above else "above delta nowhere"
        lines.append(
            f"Of {what} certificates, the whole 95 % interval of the share that is wrong lies {where}, and at or below "
            f"it on {num_below} of {len(right)} configurations; on the others there are too few runs to say."
        )
    num_done, num_wanted = sum(one.runs for one in single.values()), sum(one.wanted for one in CONFIGURATIONS.values())
    lines.append(f"So far {num_done:,} of the {num_wanted:,} runs of the programme are done, wrong models included.")
    num_failed = sum(one.failed for one in single.values())
    lines.append(f"Of all these, {counted(num_failed, 'run')} ended in an error.")
    num_doubted, num_runs = sum(one.doubted.hits for one in right.values()), sum(one.runs for one in right.values())
    lines.append(
        f"The model check doubted the right model in {num_doubted} of the {num_runs:,} runs in which nothing is wrong."
    )
    return lines


def promise_lines(single: dict[tuple[str, float, str, str], Summary], all_right: dict[float, Summary]) -> list[str]:
    """Return what the page says where nothing is wrong."""
    cells = []
    for (family, delta, beta, wrong), one in single.items():
        if wrong == NOTHING:
            cells.append((family, f"{delta:g}", beta, *_promise_cells(one)))
    cells += [("**all**", f"{delta:g}", "both", *_promise_cells(one)) for delta, one in all_right.items()]
    return [*verdict_lines(single, all_right), "", *_markdown(PROMISE_HEADINGS, cells)]


def _promise_cells(one: Summary) -> tuple[str, ...]:
    return (
        str(one.runs), f"{one.answers:.1f}", str(one.wrong.total), str(one.wrong.hits),
        _bold(one.wrong.words(), one.is_above), "" if one.chance is None else f"{100 * one.chance:.1f}",
        f"{one.first_wrong.hits} of {one.first_wrong.total}", _bold(one.first_wrong.words(), one.is_first_above),
        str(one.doubted.hits), f"{one.cpu_seconds:.1f}",
    )  # fmt: skip


def wrong_lines(wrongs: dict[str, Summary], single: dict[tuple[str, float, str, str], Summary]) -> list[str]:
    """Return what the page says where something is wrong."""
    cells = []
    for wrong, one in wrongs.items():
        parts = [single.get((family, 0.1, "known", wrong)) for family in SMALL]
        counts = ["" if part is None else f"{part.wrong.hits} of {part.wrong.total}" for part in parts]
        cells.append((
            wrong, str(one.runs), f"{one.answers:.1f}", str(one.wrong.total), str(one.wrong.hits),
            _bold(one.wrong.words(), one.is_above), *counts, str(one.doubted.hits), one.doubted.words(),
            str(one.silent.hits), _bold(one.silent.words(), one.silent.low > one.delta),
        ))  # fmt: skip
    return _markdown(WRONG_HEADINGS, cells)


def _bold(words: str, is_bold: bool) -> str:
    return f"**{words}**" if is_bold else words


def _markdown(headings: Sequence[str], cells: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (headings, ["---"] * len(headings), *cells)]


def promise_figure(single: dict[tuple[str, float, str, str], Summary]) -> "Figure":
    """Return the share of wrong certificates against delta: one panel per delta, one line per world and beta."""
    right = {key: one for key, one in single.items() if key[3] == NOTHING}
    deltas = sorted({key[1] for key in right}, reverse=True)
    labels = sorted({(key[0], key[2]) for key in right}, key=lambda label: (label[1], _place(label[0])))
    figure = new_figure(11.0, 0.55 * len(labels) + 2.1)
    axes = figure.subplots(1, len(deltas), sharey=True, sharex=True, squeeze=False)[0]
    for ax, delta in zip(axes, deltas, strict=True):
        ones = [right.get((family, delta, beta, NOTHING)) for family, beta in labels]
        ax.axvspan(100 * delta, 100, color="#000000", alpha=0.06, linewidth=0)
        ax.axvline(100 * delta, color="black", linewidth=1.2, linestyle="--", label="delta: what is allowed")
        _bars(ax, [one and one.first_wrong for one in ones], 0.16, FIRST, "D", "at the first certificate")
        _bars(ax, [one and one.wrong for one in ones], -0.16, CONFIRMED, "o", "at the confirmed certificate")
        ax.set_title(f"epsilon {EPSILON:g}, delta {delta:g}", fontsize=11)
        ax.set_xlabel("wrong certificates, percent (bars: exact 95 % intervals)", fontsize=9)
    words = [f"{family}, beta {beta}" for family, beta in labels]
    _finish(axes, words, _limit(one for each in right.values() for one in (each.wrong, each.first_wrong)))
    _legend(figure, axes[0])
    return figure


def wrong_figure(wrongs: dict[str, Summary], single: dict[tuple[str, float, str, str], Summary]) -> "Figure":
    """Return what a wrong model does: certificates that are wrong, doubts, and wrong ones that nobody doubted."""
    figure = new_figure(13.0, 0.45 * len(wrongs) + 2.1)
    axes = figure.subplots(1, 3, sharey=True)
    panels: tuple[tuple[str, Callable[[Summary], Share]], ...] = (
        ("certificates that are wrong", lambda one: one.wrong),
        ("runs that the model check doubts", lambda one: one.doubted),
        ("certificates that are wrong, not doubted", lambda one: one.silent),
    )
    for number, (ax, (title, share_fn)) in enumerate(zip(axes, panels, strict=True)):
        if number != 1:
            ax.axvline(10.0, color="black", linewidth=1.2, linestyle="--", label="delta: what is allowed")
        for family, marker in MARKERS.items():
            parts = [single.get((family, 0.1, "known", wrong)) for wrong in wrongs]
            points = [(i, share_fn(part).share) for i, part in enumerate(parts) if part is not None]
            shown = [(100 * share, -i - 0.22) for i, share in points if share is not None]
            if shown:
                x, y = zip(*shown, strict=True)
                ax.plot(x, y, marker, color=SECOND, markersize=4.5, fillstyle="none", label=f"{family} alone")
        _bars(ax, [share_fn(one) for one in wrongs.values()], 0.1, CONFIRMED, "o", "all three worlds together")
        ax.set_title(title, fontsize=11)
        ax.set_xlabel("percent (bars: exact 95 % intervals)", fontsize=9)
    words = [wrong if wrong != NOTHING else "nothing is wrong" for wrong in wrongs]
    _finish(axes, words, 100.0)
    _legend(figure, axes[0])
    return figure


def _bars(ax: "Axes", shares: Sequence[Share | None], shift: float, colour: str, marker: str, label: str) -> None:
    """Draw shares with their intervals and counts, one below the other."""
    shown = [(i, one) for i, one in enumerate(shares) if one is not None and one.total]
    x = np.array([100 * one.hits / one.total for _, one in shown])
    y = np.array([shift - i for i, _ in shown])
    errors = np.array(
        [[value - 100 * one.low, 100 * one.high - value] for value, (_, one) in zip(x, shown, strict=True)]
    )
    ax.errorbar(
        x,
        y,
        xerr=np.maximum(errors.reshape(-1, 2).T, 0.0),
        fmt=marker,
        color=colour,
        markersize=5.5,
        capsize=2.5,
        label=label,
    )
    for height, (_, one) in zip(y, shown, strict=True):
        ax.annotate(
            f"{one.hits}/{one.total}", (100 * one.high, height), xytext=(5, 0), textcoords="offset points",
            va="center", fontsize=7.5, color=colour, annotation_clip=True,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.8},
        )  # fmt: skip


def _finish(axes: Sequence["Axes"], words: Sequence[str], limit: float) -> None:
    for ax in axes:
        ax.set_xlim(-0.02 * limit, 1.12 * limit)
        ax.set_ylim(-len(words) + 0.4, 0.6)
        ax.grid(axis="y", alpha=0.2)
        ax.set_xticks([tick for tick in ax.get_xticks() if 0 <= tick <= 100 and tick <= 1.12 * limit])
    axes[0].set_yticks(-np.arange(len(words)), words, fontsize=9.5)


def _legend(figure: "Figure", ax: "Axes") -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=9, frameon=False)
    figure.get_layout_engine().set(w_pad=0.15)  # labels are a little wider in the file than in the layout


def _limit(shares: Iterable[Share]) -> float:
    return min(100.0, max((100 * one.high for one in shares if one.total), default=100.0))


def _place(family: str) -> int:
    return [key[0] for key in CONFIGURATIONS].index(family)
