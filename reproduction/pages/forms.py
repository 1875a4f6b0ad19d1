"""The forms of PAC-EIG that claims rest on: those that were run at full size, and those that the paper prints."""

from pandas import DataFrame

from reproduction.pages.numbers import NumberTable, interval_cell
from reproduction.pages.sources import NUM_STEPS, Sources, num_instances
from reproduction.pages.steps import at_most, at_step, mean_row
from reproduction.paper import PAPER_METHODS

PRINTED, PRINTED_NU = "PAC-EIG joint", "nuPAC-EIG joint (0, 1)"  # their labels in the tables
RUN_WORDS = "PAC-EIG local (0, 1) and nuPAC-EIG local (1/2, 1)"
PRINTED_WORDS = "the printed forms (joint, thresholds 0 and epsilon)"
SHOWN = ("Reward-EIG", "PAC-EIG", PRINTED, "nuPAC-EIG", PRINTED_NU, "nuPAC-EIG (0, 1)")
NAMES = {
    "PAC-EIG": "PAC-EIG: local (0, 1)",
    PRINTED: "PAC-EIG: joint (0, 1), as printed",
    "nuPAC-EIG": "nuPAC-EIG: local (1/2, 1)",
    PRINTED_NU: "nuPAC-EIG: joint (0, 1), as printed",
    "nuPAC-EIG (0, 1)": "nuPAC-EIG: local (0, 1)",
}
STEPS, EPSILON = (50, NUM_STEPS), 0.1


def extent_words(sources: Sources, experiment: str) -> str:
    """Say on how many instances, and for how many answers, the printed forms are compared with the paper's methods."""
    table = sources.most_complete(experiment, [*PAPER_METHODS, PRINTED, PRINTED_NU])
    if table is None:
        return f"{experiment} not yet"
    return f"{experiment} {num_instances(table)} seeds of {int(table['step'].max())} answers"


def form_table(name: str, sources: Sources, experiment: str) -> NumberTable:
    """Return how the forms do at two steps, on the instances on which all that have got so far have met."""
    table = sources.tables[experiment]
    present = [method for method in SHOWN if method in set(table["method"])]
    rows = []
    for step in STEPS:
        seeds = [set(at_step(table, "true_regret", method, step).index) for method in present]
        shared = sorted(set.intersection(*(found for found in seeds if found)))
        for method in present:
            regret, chance, holds = (
                at_step(table, column, method, step).reindex(shared).dropna()
                for column in ("true_regret", "failure_chance", "certificate_holds")
            )
            if len(regret):
                means = {
                    f"{words}_{key}": value
                    for words, values in (("regret", regret), ("chance", chance))
                    for key, value in mean_row(values).items()
                }
                counts = {"num_small": int(at_most(regret, EPSILON).sum()), "num_certified": int(holds.sum())}
                rows.append({"step": step, "form": NAMES.get(method, method), "n": len(regret), **means, **counts})
    return NumberTable(
        name,
        "Forms of PAC-EIG on the instances that all of them have met: means of true regret and P[regret > 0.1], "
        "instances with a true regret of at most 0.1, and with a certificate by the rule of 0.1.0",
        DataFrame(rows),
        {
            "step": "step",
            "form": "form",
            "n": "n",
            "true regret": interval_cell("regret_mean", "regret_low", "regret_high"),
            "P[regret > 0.1]": interval_cell("chance_mean", "chance_low", "chance_high"),
            "at most 0.1": "num_small",
            "certified": "num_certified",
        },
    )
