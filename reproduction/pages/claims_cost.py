"""Claim 7: what a step costs, and all of it."""

from pandas import DataFrame, Series, concat

from journeyman.experiment.statistics import seconds_per_step
from reproduction.pages.claim import Claim, Part, decided
from reproduction.pages.numbers import NumberTable, short
from reproduction.pages.sources import INDEPENDENT, TITLES, Sources
from reproduction.paper import PAPER_METHODS
from reproduction.timing_table import PAPER_ACQUISITION_SECONDS, PAPER_SECONDS, PAPER_THREAD_HOURS

PAPER = (
    "A step's time is dominated by sampling from the posterior: from 5 s on the structured grid to about 5 min on "
    "10x10, in one thread. Any acquisition function takes less than 0.03 (seconds, it seems: no unit is given). All "
    "experiments take less than a day on 128 threads."
)
BY = ["experiment", "inference", "method"]
STANDSTILL = 3.0  # times what the thread worked, and a second: a step that took longer stood still, or was crowded out


def cost_claim(sources: Sources) -> Claim:
    """Return claim 7."""
    steps = step_costs(sources)
    smc = steps[steps["inference"] == "smc"]
    own = smc[[row.method in sources.paper_methods(row.experiment) for row in smc.itertuples()]]
    hours = core_hours(sources)
    slowest = own.loc[own["acquisition_median"].idxmax()]
    over = own[own["acquisition_median"] >= PAPER_ACQUISITION_SECONDS]
    dominated = own[own["acquisition_mean"] < own["posterior_mean"]]
    least = own.loc[(own["posterior_mean"] / own["acquisition_mean"]).idxmin()]
    total = float(hours["core_hours"].sum())
    chains = float(hours[hours["inference"] == "chains"]["core_hours"].sum())
    parts = (
        Part(
            "learning takes longer than choosing",
            "mean seconds of the posterior above those of the choice, for each of the paper's methods",
            f"in {len(dominated)} of {len(own)} combinations of experiment and method; the least so is "
            f"{least['method']} on {least['experiment']}: {short(least['posterior_mean'])} s and "
            f"{short(least['acquisition_mean'])} s",
            decided(len(dominated) == len(own)),
        ),
        Part(
            f"choosing takes less than {PAPER_ACQUISITION_SECONDS} s",
            "median below that for each of the paper's methods",
            f"in {len(own) - len(over)} of {len(own)}; the slowest is {slowest['method']} on {slowest['experiment']}: "
            f"{short(slowest['acquisition_median'])} s",
            decided(over.empty),
        ),
        Part(
            "everything takes less than a day on 128 threads",
            f"core-hours of all results below {PAPER_THREAD_HOURS:g}; by our inference for the most part, so this "
            "says little about the paper's own",
            f"{short(total)} core-hours so far, of which {short(chains)} by Markov chains",
            decided(total < PAPER_THREAD_HOURS),
        ),
    )
    num_annotations = sum(sources.has_annotations(name) for name in over["experiment"])
    quantities = {
        "cost_over_trajectories": len(over) - num_annotations,
        "cost_over_annotations": num_annotations,
        "cost_total": total,
        "cost_over": len(over),
        "cost_slowest": float(slowest["acquisition_median"]),
    }
    for row in posterior_frame(steps).to_dict("records"):
        quantities[f"cost_{row['experiment']}_{row['inference']}_posterior"] = row["posterior_mean"]
    return Claim(
        7,
        "Timing",
        PAPER,
        parts,
        (_posterior_table(steps), _choice_table(steps), hours_table(hours)),
        (
            "Seconds of posterior and choice are of the wall clock, on machines that also did other things, so they "
            "are upper limits; core-hours are the time that threads worked, measuring included. "
            f"{num_standing(sources)} steps that took {STANDSTILL:g} times what their thread worked, and a second, "
            "are left out of the seconds: the process was stopped then, or crowded out. The paper's machine is "
            "another one.",
        ),
        quantities=quantities,
    )


def step_costs(sources: Sources) -> DataFrame:
    """Return seconds per step by experiment, inference and method, Markov chains included."""
    parts = []
    for tables in (sources.tables, sources.chains):
        for name, table in tables.items():
            found = seconds_per_step(table[~is_standing(table)].assign(experiment=name), BY)
            parts.append(found.assign(paper_seconds=PAPER_SECONDS.get(name, float("nan"))))
    return concat(parts, ignore_index=True)


def is_standing(table: DataFrame) -> Series:
    """Return in which rows of smc, which works in one thread, the clock went on without the thread."""
    seconds = table["posterior_seconds"].fillna(0.0) + table["acquisition_seconds"].fillna(0.0)
    return (table["inference"] == "smc") & (seconds > STANDSTILL * table["cpu_seconds"] + 1.0)


def num_standing(sources: Sources) -> int:
    """Return how many steps are left out of the seconds."""
    return sum(int(is_standing(table).sum()) for table in sources.tables.values())


def posterior_frame(steps: DataFrame) -> DataFrame:
    """Return seconds per posterior by experiment and inference, over all methods."""
    weighted = steps.assign(total=steps["posterior_mean"] * steps["num_steps"])
    keys = ["experiment", "inference"]
    found = weighted.groupby(keys, sort=False).agg(
        num_cells=("num_cells", "sum"),
        num_steps=("num_steps", "sum"),
        total=("total", "sum"),
        lowest_mean=("posterior_mean", "min"),
        highest_mean=("posterior_mean", "max"),
        median=("posterior_median", "median"),
        paper_seconds=("paper_seconds", "first"),
    )
    found["posterior_mean"] = found["total"] / found["num_steps"]
    found["times_faster"] = found["paper_seconds"] / found["posterior_mean"]
    return found.drop(columns="total").reset_index()


def _posterior_table(steps: DataFrame) -> NumberTable:
    return NumberTable(
        "claim-07-posterior",
        "Seconds to learn from one answer, all methods together, beside the paper's (most answers only change "
        "weights, which the median shows; particles are moved when weights have become too uneven, which the mean "
        "pays for)",
        posterior_frame(steps),
        {
            "experiment": "experiment",
            "inference": "inference",
            "cells": "num_cells",
            "mean": "posterior_mean",
            "means of methods": lambda row: f"{short(row['lowest_mean'])} to {short(row['highest_mean'])}",
            "median": "median",
            "paper": "paper_seconds",
            "times faster": "times_faster",
        },
    )


def _choice_table(steps: DataFrame) -> NumberTable:
    methods = list(dict.fromkeys([*PAPER_METHODS, *sorted(steps["method"].unique())]))
    smc = steps[steps["inference"] == "smc"]
    medians = 1e3 * smc.pivot(index="method", columns="experiment", values="acquisition_median")
    page = medians.reindex([method for method in methods if method in medians.index]).reset_index()
    shown = {name: name for name in TITLES if name in page.columns}
    caption = "Median milliseconds to choose a query (smc), by method and experiment"
    return NumberTable("claim-07-steps", caption, steps, {"method": "method", **shown}, page)


def core_hours(sources: Sources) -> DataFrame:
    """Return the time that threads worked for all results, by experiment, inference and kind of method, in hours."""
    parts = []
    for tables in (sources.tables, sources.chains):
        for name, table in tables.items():
            kind = table["method"].isin(sources.paper_methods(name)).map({True: "the paper's", False: "beyond it"})
            times = table.assign(experiment=name, methods=kind, hours=table["cpu_seconds"] / 3600.0)
            grouped = times.groupby(["experiment", "inference", "methods"], sort=False)
            parts.append(grouped.agg(num_cells=("cell", "nunique"), core_hours=("hours", "sum")).reset_index())
    if sources.independent is not None:
        cells, hours = sources.independent["cell"].nunique(), sources.independent["cpu_seconds"].sum() / 3600.0
        row = {"experiment": INDEPENDENT, "inference": "smc", "methods": "beyond it", "num_cells": cells}
        parts.append(DataFrame([row | {"core_hours": hours}]))
    return concat(parts, ignore_index=True)


def hours_table(hours: DataFrame) -> NumberTable:
    """Return core-hours as a table."""
    shown = {"experiment": "experiment", "inference": "inference", "methods": "methods"}
    return NumberTable(
        "core-hours",
        "Core-hours of all results so far",
        hours,
        shown | {"cells": "num_cells", "core-hours": "core_hours"},
    )
