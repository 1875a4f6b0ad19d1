"""Warm sequential Monte Carlo beside Markov chains of the paper's lengths: the same seeds and methods, compared."""

from collections.abc import Sequence

import numpy as np
from pandas import DataFrame, concat

from journeyman.experiment.statistics import entropy_column
from journeyman.experiment.statistics.curves import ESTIMATES
from journeyman.experiment.statistics.paired import student_interval
from journeyman.wording import counted
from reproduction.pages.comparing import equivalence_p
from reproduction.pages.numbers import NumberTable, interval_cell
from reproduction.pages.sources import NUM_STEPS, RESUME, TITLES, Sources
from reproduction.pages.steps import at_step
from reproduction.paper import paper_estimates

STEPS = (10, 20, 30, 50, 100, NUM_STEPS)
SHOWN = (10, 30, 50, NUM_STEPS)
CHANCE_MARGIN, REGRET_SHARE, LEVEL = 0.05, 0.1, 0.05  # of the test of equivalence
COMMAND = f"{RESUME} --inference chains --seeds 2"


def inference_section(sources: Sources) -> tuple[str, tuple[NumberTable, ...]]:
    """Return what to say about the inference, and the numbers; a table per experiment that has both."""
    tables = []
    for name, chains in sources.chains.items():
        if name in sources.tables:
            frame = compared_frame(sources.tables[name], chains)
            if len(frame):
                tables.append(_table(name, frame))
    if not tables:
        text = f"There are no results of Markov chains yet. They are made by `{COMMAND}`."
        return text, ()
    text = (
        "All claims above rest on `smc`: particles that are carried on from answer to answer. The paper sampled anew "
        "after every answer, with Markov chains of 100 warm-up and 200 to 1000 further draws, every other one kept. "
        "`chains` are as long, but not its sampler: NUTS over rewards in the jail, and elsewhere, where the paper ran "
        "NUTS in value space, HMC there with refraction and the exact Jacobian. Steps adapt in warm-up from a first "
        "size of their own: the paper's initial step of 0.1 has no counterpart here. Both are run "
        "here on the same "
        "instances with the same expert. A pair is one method on one seed; a "
        "difference is smc minus chains, mean over pairs with Student's 95 % interval. Pairs of one seed share "
        "the instance, so the interval is somewhat too narrow. Queries differ as soon as one choice does, so single "
        "runs diverge; averages should not. Entropy is by the paper's estimate for that world, which is biased by an "
        "amount that depends on the number of draws and on how they are correlated ([how much](../entropy-bias.md)): "
        f"there a difference is expected. {summary(tables)} They were run to {_steps(sources)} answers. To continue, "
        f"or for more seeds: `{COMMAND}`."
    )
    return text, tuple(tables)


def summary(tables: Sequence[NumberTable]) -> str:
    """Say how many of the comparisons in regret show a difference, and how many show that there is none."""
    rows = concat([table.frame for table in tables], ignore_index=True)
    rows = rows[~rows["measure"].str.startswith("entropy")]
    num_apart = int(((rows["low"] > 0.0) | (rows["high"] < 0.0)).sum())
    num_shown = int((rows["equivalence_p"] < LEVEL).sum())
    seeds = int(rows["num_seeds"].max())
    return (
        f"In {num_apart} of {len(rows)} comparisons of true regret and P[regret > 0.1], below and in the files, the "
        "interval excludes 0; chance alone would give about one in twenty. That is no proof that both are alike. For "
        "that there is a test: two one-sided t tests at 5 %, on one mean per seed, that the difference is within "
        f"{CHANCE_MARGIN} for P[regret > 0.1], and within {REGRET_SHARE:.0%} of the mean of the chains for true "
        f"regret. It shows equivalence in {num_shown} of {len(rows)} comparisons: {counted(seeds, 'seed')} "
        "cannot show more, so **equivalence is not claimed**. What speaks for `smc` is [calibration]"
        "(../calibration/README.md), and that chains on the same answers judge policies nearly alike "
        "([replays](#what-is-to-blame), 16 seeds)."
    )


def _steps(sources: Sources) -> str:
    steps = sorted({int(step) for table in sources.chains.values() for step in table.groupby("cell")["step"].max()})
    return " or ".join(map(str, steps))


def compared_frame(smc: DataFrame, chains: DataFrame) -> DataFrame:
    """Return means of both, and their mean difference, for the pairs of seed and method that both have."""
    keys = ["method", "seed"]
    both = smc[keys].drop_duplicates().merge(chains[keys].drop_duplicates())
    entropy = entropy_column(chains, paper_estimates(chains))
    measures = {"P[regret > 0.1]": "failure_chance", "true regret": "true_regret"}
    if entropy is not None:
        measures[f"entropy, {ESTIMATES[entropy]}"] = entropy
    rows = []
    for words, column in measures.items():
        for step in STEPS:
            pairs = np.array([_pair(smc, chains, column, step, *key) for key in both.itertuples(index=False)])
            pairs = pairs.reshape(-1, 2)
            is_known = np.isfinite(pairs).all(axis=1)
            pairs, seeds = pairs[is_known], both["seed"].to_numpy()[is_known]
            if not len(pairs):
                continue
            difference = pairs[:, 0] - pairs[:, 1]
            by_seed = np.array([difference[seeds == seed].mean() for seed in np.unique(seeds)])
            margin = CHANCE_MARGIN if column == "failure_chance" else REGRET_SHARE * float(pairs[:, 1].mean())
            if column == entropy:
                margin = np.nan
            low, high = student_interval(difference)
            rows.append(
                {
                    "measure": words,
                    "step": step,
                    "num_pairs": len(pairs),
                    "num_seeds": len(by_seed),
                    "smc": float(pairs[:, 0].mean()),
                    "chains": float(pairs[:, 1].mean()),
                    "difference": float(difference.mean()),
                    "low": low,
                    "high": high,
                    "mean_distance": float(np.abs(difference).mean()),
                    "margin": margin,
                    "equivalence_p": equivalence_p(by_seed, margin),
                }
            )
    return DataFrame(rows)


def _pair(smc: DataFrame, chains: DataFrame, column: str, step: int, method: str, seed: int) -> tuple[float, float]:
    ours, theirs = (at_step(table, column, method, step).get(seed, np.nan) for table in (smc, chains))
    return float(ours), float(theirs)


def _table(name: str, frame: DataFrame) -> NumberTable:
    seeds, pairs = int(frame["num_seeds"].max()), int(frame["num_pairs"].max())
    return NumberTable(
        f"inference-{name}",
        f"{TITLES[name]}: {counted(seeds, 'seed')}, {counted(pairs, 'pair')}",
        frame,
        {
            "measure": "measure",
            "step": "step",
            "smc": "smc",
            "chains": "chains",
            "difference (95 %)": interval_cell("difference", "low", "high"),
            "mean distance": "mean_distance",
            "margin": "margin",
            "p of equivalence": "equivalence_p",
        },
        frame[frame["step"].isin(SHOWN)],
    )
