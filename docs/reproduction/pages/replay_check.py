"""What runs were wrong about, and why: the same runs with one thing changed (replay.py)."""

from pandas import DataFrame

from pages.numbers import NumberTable, interval_cell
from pages.sources import Sources
from pages.steps import mean_row

EPSILON = 0.1
VARIANTS = {
    "as run": "as it was run",
    "chains": "judged by Markov chains",
    "known terminals": "a prior that knows terminal cells",
    "asked again": "the same questions, the expert's noise drawn anew",
    "run again": "the whole run with that other noise",
}
TEXT = (
    "What is to blame where belief and truth part? [replay.py](replay.py) goes back to step 50 of these runs and "
    "changes one thing at a time: the inference (the same policy is judged by Markov chains on the same answers), "
    "the prior (normal, with the moments that the generator gives to terminal and to other cells), or the luck: the "
    "expert's noise is drawn anew, for the same questions, which still are those that the first answers led to, or "
    "for a whole run, whose questions follow from its own answers."
)


def replay_section(sources: Sources) -> tuple[str, tuple[NumberTable, ...]]:
    """Return what to say, and the tables if there are results."""
    if sources.replay is None:
        return "", ()
    return TEXT, (_variant_table(variant_frame(sources.replay)), _mistake_table(mistake_frame(sources.replay)))


def variant_frame(replay: DataFrame) -> DataFrame:
    """Return belief and truth per experiment and variant; differences are means over seeds."""
    rows = []
    for (name, variant), here in replay.groupby(["experiment", "variant"], sort=False):
        is_above = (here["true_regret"] > EPSILON).astype(float)
        by_seed = (is_above - here["failure_chance"]).groupby(here["seed"]).mean()
        rows.append(
            {
                "experiment": name,
                "methods": ", ".join(here["method"].unique()),
                "variant": variant,
                "num_runs": len(here),
                **mean_row(by_seed),
                "believed": float(here["failure_chance"].mean()),
                "share": float(is_above.mean()),
                "num_above": int(is_above.sum()),
            }
        )
    return DataFrame(rows)


def mistake_frame(replay: DataFrame) -> DataFrame:
    """Return the runs that have a regret above epsilon which the posterior holds to be unlikely."""
    found = replay[(replay["variant"] == "as run") & (replay["true_regret"] > EPSILON)]
    found = found[found["failure_chance"] <= EPSILON]
    again = replay[replay["variant"] == "asked again"].set_index("cell")
    return found.assign(
        regret_again=again["true_regret"].reindex(found["cell"]).to_numpy(),
        chance_again=again["failure_chance"].reindex(found["cell"]).to_numpy(),
    )


def replay_quantities(sources: Sources) -> dict[str, float]:
    """Return the numbers that reasons may use."""
    if sources.replay is None:
        return {}
    found = {}
    for row in variant_frame(sources.replay).to_dict("records"):
        for key in ("mean", "low", "high", "believed", "share", "num_above", "num_runs"):
            found[f"replay {row['experiment']} {row['variant']} {key}"] = row[key]
    mistakes = mistake_frame(sources.replay)
    for name in sources.replay["experiment"].unique():
        here = mistakes[mistakes["experiment"] == name]
        found[f"mistakes {name}"] = len(here)
        found[f"mistakes {name} misled"] = int((here["num_wrong"] > 0).sum())
        found[f"mistakes {name} largest chance"] = float(here["wrong_chance"].max())
    return found


def _variant_table(frame: DataFrame) -> NumberTable:
    return NumberTable(
        "replay",
        "Runs at step 50, and the same with one thing changed: what the posterior believes, and what is true",
        frame,
        {
            "experiment": "experiment",
            "methods": "methods",
            "changed": lambda row: VARIANTS[row["variant"]],
            "seeds": "n",
            "mean P[regret > 0.1]": "believed",
            "share above 0.1": "share",
            "share minus P (95 %)": interval_cell("mean", "low", "high"),
        },
    )


def _mistake_table(frame: DataFrame) -> NumberTable:
    return NumberTable(
        "replay-mistakes",
        "Runs with a regret above 0.1 at step 50 that the posterior gives a chance of at most 0.1: the choice that "
        "costs most, what the expert answered there, and the same questions asked again",
        frame,
        {
            "experiment": "experiment",
            "method": "method",
            "seed": "seed",
            "true regret": "true_regret",
            "P[regret > 0.1]": "failure_chance",
            "state": "worst_state",
            "gap of values": "worst_gap",
            "answers there": "num_asked",
            "of these wrong": "num_wrong",
            "chance of such an answer": "wrong_chance",
            "asked again: P": "chance_again",
        },
    )
