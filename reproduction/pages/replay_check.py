"""What runs were wrong about, and why: the same runs with one thing changed (replay.py)."""

from pandas import DataFrame

from reproduction.pages.numbers import Cell, NumberTable, interval_cell, short, with_interval
from reproduction.pages.sources import Sources
from reproduction.pages.steps import at_most, mean_row

EPSILON = 0.1
BASELINE = "from scratch"
VARIANTS = {
    BASELINE: "nothing (particles from scratch)",
    "chains": "judged by Markov chains",
    "known terminals": "a prior that knows terminal cells",
    "asked again": "the same questions, the expert's noise drawn anew",
    "run again": "the whole run with that other noise",
}
TEXT = (
    "What is to blame where belief and truth part? [replay.py](../../reproduction/replay.py) goes back to step 50 of "
    "these runs and changes one thing at a time: the inference (the same policy is judged by Markov chains on the same "
    "answers), "
    "the prior (normal, with the moments that the generator gives to terminal and to other cells), or the luck: the "
    "expert's noise is drawn anew, for the same questions, which still are those that the first answers led to, or "
    "for a whole run, whose questions follow from its own answers."
)


def replay_section(sources: Sources) -> tuple[str, tuple[NumberTable, ...]]:
    """Return what to say, and the tables if there are results."""
    if sources.replay is None:
        return "", ()
    frame = variant_frame(sources.replay)
    tables = (_variant_table(frame), _mistake_table(mistake_frame(sources.replay)))
    return f"{TEXT}\n\n{conclusion(frame)}", tables


def variant_frame(replay: DataFrame) -> DataFrame:
    """Return belief and truth per experiment and variant, and by how much that changes the same runs.

    Differences and changes are means over seeds.
    """
    excess = (~at_most(replay["true_regret"], EPSILON)).astype(float) - replay["failure_chance"]
    plain = excess[replay["variant"] == BASELINE].set_axis(replay[replay["variant"] == BASELINE]["cell"])
    rows = []
    for (name, variant), here in replay[replay["variant"].isin(VARIANTS)].groupby(
        ["experiment", "variant"], sort=False
    ):
        change = excess[here.index] - plain.loc[here["cell"]].to_numpy()
        changed = mean_row(change.groupby(here["seed"]).mean())
        rows.append(
            {
                "experiment": name,
                "methods": ", ".join(here["method"].unique()),
                "variant": variant,
                "num_runs": len(here),
                **mean_row(excess[here.index].groupby(here["seed"]).mean()),
                **{f"change_{key}": value for key, value in changed.items() if key != "n"},
                "believed": float(here["failure_chance"].mean()),
                "share": float((~at_most(here["true_regret"], EPSILON)).mean()),
                "num_above": int((~at_most(here["true_regret"], EPSILON)).sum()),
            }
        )
    return DataFrame(rows)


def conclusion(frame: DataFrame, name: str = "random-8x8") -> str:
    """Say how much each change takes from the difference, on the grids where it is large."""
    rows = frame[frame["experiment"] == name].set_index("variant")
    if not set(VARIANTS) <= set(rows.index):
        return ""
    words = {
        variant: with_interval(*(float(rows.loc[variant, f"change_{key}"]) for key in ("mean", "low", "high")))
        for variant in VARIANTS
    }
    return (
        f"On 8x8, where the difference is {rows.loc[BASELINE, 'mean']:.2f}: other inference changes it by "
        f"{words['chains']}, a prior that knows how terminal cells are chosen by {words['known terminals']}, other "
        f"noise for the same questions by {words['asked again']} and for whole runs by {words['run again']} (nuPAC-EIG "
        "alone). So it is not the inference, and the prior is a small part. Most of it goes away with other noise, "
        "which all methods on an instance share; the intervals of that are wide, so chance is a likely reason rather "
        "than a proved one."
    )


def mistake_frame(replay: DataFrame) -> DataFrame:
    """Return the runs that have a regret above epsilon which the posterior holds to be unlikely."""
    found = replay[(replay["variant"] == BASELINE) & ~at_most(replay["true_regret"], EPSILON)]
    found = found[at_most(found["failure_chance"], EPSILON)]
    others = {}
    for variant in ("put right", "left out", "asked again", "run again"):
        rows = replay[replay["variant"] == variant].set_index("cell")
        for column in ("failure_chance", "true_regret"):
            others[f"{column}_{variant.replace(' ', '_')}"] = rows[column].reindex(found["cell"]).to_numpy()
    return found.assign(**others)


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
        for column in ("wrong_chance", "failure_chance", "failure_chance_put_right", "failure_chance_left_out"):
            found[f"mistakes {name} {column}"] = float(here[column].max())
        found[f"mistakes {name} true_regret_run_again"] = float(here["true_regret_run_again"].max())
    return found


def _variant_table(frame: DataFrame) -> NumberTable:
    return NumberTable(
        "replay",
        "Runs at step 50, and the same with one thing changed: what the posterior believes, what is true, and by how "
        "much the difference changes on the same runs",
        frame,
        {
            "experiment": "experiment",
            "methods": "methods",
            "changed": lambda row: VARIANTS[row["variant"]],
            "seeds": "n",
            "mean P[regret > 0.1]": "believed",
            "share above 0.1": "share",
            "share minus P (95 %)": interval_cell("mean", "low", "high"),
            "change of that (95 %)": interval_cell("change_mean", "change_low", "change_high"),
        },
    )


def _mistake_table(frame: DataFrame) -> NumberTable:
    return NumberTable(
        "replay-mistakes",
        "Runs with a regret above 0.1 at step 50 that the posterior gives a chance of at most 0.1: the choice that "
        "costs most, how many of the expert's answers there name it, and P[regret > 0.1] and true regret with these "
        "answers put right, left out, all questions asked again, and the whole run again",
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
            "that name it": "num_wrong",
            "chance of such an answer": "wrong_chance",
            "put right": _both("put_right"),
            "left out": _both("left_out"),
            "asked again": _both("asked_again"),
            "run again": _both("run_again"),
        },
    )


def _both(variant: str) -> Cell:
    return lambda row: f"{short(row[f'failure_chance_{variant}'])}, {short(row[f'true_regret_{variant}'])}"
