"""Belief beside truth: how often the true regret is above 0.1, and what chance the posterior gave to that."""

from collections.abc import Sequence

from pandas import DataFrame

from reproduction.pages.numbers import NumberTable, interval_cell
from reproduction.pages.sources import NUM_STEPS, TITLES, Sources
from reproduction.pages.steps import at_most, mean_row

EPSILON = 0.1
STEPS = (10, 30, 50, 100, NUM_STEPS)
BOTH = ("random", "Reward-EIG", "nuPAC-EIG")  # methods that were also run on independent terminals
TEXT = (
    "P[regret > 0.1] is the posterior's, and certificates rest on it. Were the posterior right, it would agree on "
    "average with the share of runs whose true regret is above 0.1, and of all certificates that hold at most a "
    "tenth would be false. The difference is the mean over seeds (Student's 95 % interval), because runs on one seed "
    "share its truth and, answer by answer, the noise of its expert; above 0 means that the posterior is too "
    "confident. With annotations it is, at some steps. The published random grids make the tenth of cells with "
    "the highest *true* rewards terminal, which the prior does not know ([calibration](../calibration/README.md) "
    "finds posteriors wrong there); so the last rows have runs on 8x8 grids whose terminal cells are drawn apart from "
    "the reward ([independent.toml](../../reproduction/independent.toml)), and before them the same methods on the "
    "published grids. "
    "These are other instances with other noise, so the two cannot be paired: the [next section](#what-is-to-blame) "
    "changes one thing at a time. All of this was run after the disagreement had been seen on the first 6 seeds."
)


def belief_section(sources: Sources) -> tuple[str, tuple[NumberTable, ...]]:
    """Return what to say, and the table if there are results."""
    rows = []
    for name in TITLES:
        methods = sources.paper_methods(name)
        rows += belief_rows(name, "the paper's", sources.complete(name, methods) if methods else None)
    if sources.independent is not None:
        steps = [step for step in STEPS if step <= sources.independent["step"].max()]
        words = ", ".join(BOTH)
        rows += belief_rows("random-8x8", words, sources.complete("random-8x8", BOTH), steps)
        rows += belief_rows("8x8, independent terminals", words, sources.independent, steps)
    if not rows:
        return TEXT, ()
    table = NumberTable(
        "belief-and-truth",
        "Chance of a regret above 0.1 by the posterior, share of runs that have it, and certificates",
        DataFrame(rows),
        {
            "experiment": "experiment",
            "methods": "methods",
            "step": "step",
            "seeds": "n",
            "mean P[regret > 0.1]": "believed",
            "share above 0.1": "share",
            "share minus P (95 %)": interval_cell("mean", "low", "high"),
            "certified": lambda row: f"{row['num_certified']} of {row['num_runs']}",
            "of these above 0.1": "num_false",
        },
    )
    return TEXT, (table,)


def belief_quantities(tables: Sequence[NumberTable]) -> dict[str, float]:
    """Return by how much the share of runs with regret exceeds the chance that the posterior gives, by name."""
    found = {}
    for row in (row for table in tables for row in table.frame.to_dict("records")):
        kind = "" if row["methods"] == "the paper's" else "same methods "
        for key, value in (("excess", row["mean"]), ("low", row["low"]), ("high", row["high"])):
            found[f"belief {kind}{row['experiment']} {row['step']} {key}"] = value
    return found


def belief_rows(
    name: str, methods: str, table: DataFrame | None, steps: Sequence[int] = STEPS
) -> list[dict[str, object]]:
    """Return belief and truth at some steps, over all runs of a table."""
    if table is None:
        return []
    rows: list[dict[str, object]] = []
    for step in steps:
        here = table[table["step"] == step]
        is_above = (~at_most(here["true_regret"], EPSILON)).astype(float)
        is_certified = here["certificate_holds"].fillna(False).astype(bool)
        by_seed = (is_above - here["failure_chance"]).groupby(here["seed"]).mean()
        counts = {"num_certified": int(is_certified.sum()), "num_false": int(is_above[is_certified].sum())}
        keys = {"experiment": name, "methods": methods, "step": step, "num_runs": len(here)}
        means = {"believed": float(here["failure_chance"].mean()), "share": float(is_above.mean())}
        rows.append(keys | means | mean_row(by_seed) | counts)
    return rows
