"""Claim 8: variational inference gives unreliable uncertainty, by calibration and inside active learning."""

from pandas import DataFrame, Series

from reproduction.pages.claim import Claim, Outcome, Part, decided, no_data
from reproduction.pages.comparing import MIN_INSTANCES
from reproduction.pages.numbers import NumberTable, interval_cell, p_text, with_interval
from reproduction.pages.sources import Sources
from reproduction.pages.steps import at_most, mean_row

PAPER = (
    "A method by variational inference was tried as well; its uncertainty was unreliable for active learning. (No "
    "number is given.)"
)
SIGNIFICANCE, NOMINAL, EPSILON = 0.01, 0.95, 0.1
SMC, USUAL, LIGHT = "smc", "variational, 0.5", "variational, 0.1"  # labels of reproduction/variational.toml
UNKNOWN = (
    "inside active learning its belief about regret is further from the truth",
    "with td_weight 0.5, |share of steps with a regret above 0.1 - mean P[regret > 0.1]| of a run is larger than with "
    "smc on the same instance, mean over instances, by the whole 95 % interval",
)
WORSE = (
    "and questions that are chosen by it are worse than random ones (added after a look at the results)",
    "with td_weight 0.5, the true regret of Reward-EIG, mean over steps, is above that of random on the same "
    "instances, by the whole 95 % interval; fails if it is below",
)
CAVEAT = (
    "The calibration is at `td_weight` = 0.5 (default), and the parts about intervals rest on that: at 0.1 intervals "
    "cover 94 to 95 % ([table](../variational.md)), and hardly anything is learned. AVRIL in tabular form, as here, is "
    "not the published network either."
)


def calibration_claim(sources: Sources) -> Claim:
    """Return claim 8."""
    title = "Variational inference"
    frame = _frame(sources)
    variational, exact = (frame[frame["role"] == role] for role in ("baseline", "method"))
    rejected = f"calibration is rejected (p < {SIGNIFICANCE}) in every world where it was run"
    narrow = "its 95 % credible intervals cover less than 95 % of truths, by the whole confidence interval, everywhere"
    passes = f"p >= {SIGNIFICANCE} for every other method in every world"
    if variational.empty or exact.empty:
        return Claim(8, title, PAPER, (no_data("its uncertainty is wrong", rejected),))
    parts = (
        Part(
            "its uncertainty is wrong (td_weight 0.5)",
            rejected,
            f"largest p {p_text(variational['p_value'].max())}, {len(variational)} worlds",
            decided(bool((variational["p_value"] < SIGNIFICANCE).all())),
        ),
        Part(
            "and too small (td_weight 0.5)",
            narrow,
            "coverage " + ", ".join(f"{row['world']}: {row['share']:.1%}" for row in variational.to_dict("records")),
            decided(bool((variational["high"] < NOMINAL).all())),
        ),
        Part(
            "which is the method's fault: exact methods pass on the same truths",
            passes,
            f"smallest p {p_text(exact['p_value'].min())}, {len(exact)} combinations of method and world",
            decided(bool((exact["p_value"] >= SIGNIFICANCE).all())),
        ),
        _learning_part(sources.variational),
        _asking_part(sources.variational),
    )
    table = NumberTable(
        "claim-08-calibration",
        "Simulation-based calibration after 20 annotations (from docs/calibration/table.json)",
        frame[frame["role"].isin(["baseline", "method"])],
        {
            "world": "world",
            "method": "method",
            "replications": "num_replications",
            "p": lambda row: p_text(row["p_value"]),
            "coverage of 95 % intervals": interval_cell("share", "low", "high"),
        },
    )
    note = "How it was measured, and methods that are wrong on purpose: [calibration](../calibration/README.md)."
    tables = (table,) if sources.variational is None else (table, _learning_table(sources.variational))
    quantities = {} if sources.variational is None else _quantities(sources.variational)
    return Claim(8, title, PAPER, parts, tables, (note,), quantities=quantities, caveat=CAVEAT)


def errors_of_belief(table: DataFrame, inference: str) -> DataFrame:
    """Return by seed, mean over methods: true regret, P[regret > 0.1], share of steps above 0.1, and their distance.

    A seed counts for all inference methods or for none.
    """
    cells = table.groupby("seed", observed=True)["cell"].nunique()
    rows = table[table["seed"].isin(cells[cells == cells.max()].index) & (table["step"] >= 1)]
    rows = rows[rows["inference"] == inference].assign(is_above=lambda here: ~at_most(here["true_regret"], EPSILON))
    runs = rows.groupby(["seed", "method"], observed=True)[["true_regret", "failure_chance", "is_above"]].mean()
    runs["distance"] = (runs["is_above"] - runs["failure_chance"]).abs()
    return runs.groupby("seed").mean()


def _learning_part(table: DataFrame | None) -> Part:
    if table is None:
        return no_data(*UNKNOWN)
    distances = {name: errors_of_belief(table, name)["distance"] for name in (SMC, USUAL, LIGHT)}
    found = {name: mean_row(distances[name] - distances[SMC]) for name in (USUAL, LIGHT)}
    own = found[USUAL]
    measured = "; ".join(
        f"{name} {distances[name].mean():.2f}, smc {distances[SMC].mean():.2f}, difference "
        f"{with_interval(row['mean'], row['low'], row['high'])}"
        for name, row in found.items()
    )
    few = own["n"] < MIN_INSTANCES
    holds, fails = own["low"] > 0.0, own["high"] < 0.0
    outcome = Outcome.NO_DATA if few else Outcome.HOLDS if holds else Outcome.FAILS if fails else Outcome.UNDECIDED
    return Part(*UNKNOWN, f"{measured} ({own['n']} instances)", outcome)


def gain_over_random(table: DataFrame, inference: str) -> Series:
    """Return by seed the true regret of Reward-EIG minus that of random, mean over steps."""
    rows = table[(table["inference"] == inference) & (table["step"] >= 1)]
    regret = rows.groupby(["method", "seed"], observed=True)["true_regret"].mean()
    return (regret["Reward-EIG"] - regret["random"]).dropna()


def _asking_part(table: DataFrame | None) -> Part:
    if table is None:
        return no_data(*WORSE)
    found = {name: mean_row(gain_over_random(table, name)) for name in (USUAL, LIGHT, SMC)}
    own = found[USUAL]
    measured = "; ".join(f"{name} {with_interval(row['mean'], row['low'], row['high'])}" for name, row in found.items())
    few, holds, fails = own["n"] < MIN_INSTANCES, own["low"] > 0.0, own["high"] < 0.0
    outcome = Outcome.NO_DATA if few else Outcome.HOLDS if holds else Outcome.FAILS if fails else Outcome.UNDECIDED
    return Part(*WORSE, f"{measured} ({own['n']} instances)", outcome)


def _quantities(table: DataFrame) -> dict[str, float]:
    last = table[table["step"] == table["step"].max()]
    regret = last.groupby(["inference", "method"], observed=True)["true_regret"].mean()
    keys = {SMC: "smc", USUAL: "half", LIGHT: "tenth"}  # a name in a text must not have a dot
    found = {f"learning {keys[inference]} {method} regret": value for (inference, method), value in regret.items()}
    for name, key in keys.items():
        row = errors_of_belief(table, name).mean()
        found |= {f"learning {key} chance": row["failure_chance"], f"learning {key} share": row["is_above"]}
    return found


def _learning_table(table: DataFrame) -> NumberTable:
    last = int(table["step"].max())
    rows = []
    for inference in (SMC, USUAL, LIGHT):
        by_seed = errors_of_belief(table, inference)
        end = table[(table["inference"] == inference) & (table["step"] == last) & table["seed"].isin(by_seed.index)]
        certified = end[end["certificate_holds"].fillna(False).astype(bool)]
        row = {"inference": inference, "n": len(by_seed), "num_runs": len(end), "num_certified": len(certified)}
        row["num_false"] = int((~at_most(certified["true_regret"], EPSILON)).sum())
        for column in ("true_regret", "failure_chance", "is_above", "distance"):
            found = mean_row(by_seed[column])
            row |= {column: found["mean"], f"{column}_low": found["low"], f"{column}_high": found["high"]}
        rows.append(row)
    shown = {
        words: interval_cell(column, f"{column}_low", f"{column}_high")
        for words, column in (
            ("true regret", "true_regret"),
            ("P[regret > 0.1]", "failure_chance"),
            ("share above 0.1", "is_above"),
            ("distance", "distance"),
        )
    }
    return NumberTable(
        "claim-08-learning",
        f"Inside active learning (reproduction/variational.toml: 4x4 grids with independent terminals, {last} answers, "
        "random, Reward-EIG and nuPAC-EIG, with td_weight 0.5 and 0.1): means over steps and runs, and certificates at "
        "the last step by the rule of 0.1.0",
        DataFrame(rows),
        {
            "inference": "inference",
            "instances": "n",
            **shown,
            "certified": lambda row: f"{row['num_certified']} of {row['num_runs']}",
            "of these above 0.1": "num_false",
        },
    )


def _frame(sources: Sources) -> DataFrame:
    rows = []
    for record in sources.calibration:
        coverage = next(part for part in record["parameter_coverage"] if part["chance"] == NOMINAL)
        keys = ("world", "method", "role", "num_replications", "p_value", "is_calibrated")
        rows.append({key: record[key] for key in keys} | {key: coverage[key] for key in ("share", "low", "high")})
    return DataFrame(rows, columns=["world", "method", "role", "num_replications", "p_value", "is_calibrated",
                                    "share", "low", "high"])  # fmt: skip
