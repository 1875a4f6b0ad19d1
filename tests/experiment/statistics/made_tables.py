"""Tables of results made up for tests: by hand for exact answers, or at random with all that a sweep writes."""

import numpy as np
import pandas as pd

METHODS = ("random", "action entropy", "Reward-EIG", "nuPAC-EIG")


def by_hand(column, cells, **labels):
    """Return a table with one column of values, from `{(method, seed): values at steps 0, 1, ...}`."""
    keys = {"world": "w", "query": "state", "inference": "smc"} | labels
    rows = [
        {**keys, "method": method, "seed": seed, "step": step, column: value}
        for (method, seed), values in cells.items()
        for step, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def made_table(
    *,
    world="random-grid",
    world_name="random-grid",
    world_options='{"size": 3}',
    query="state",
    inference="smc",
    methods=METHODS,
    num_seeds=4,
    num_steps=40,
    num_states=9,
    has_evidence=True,
):
    """Return results as a sweep writes them; better methods learn faster, and the last of them reaches regret 0."""
    cells = [
        _cell(np.random.default_rng([index, seed]), 3.0 + 12.0 * index / len(methods), num_steps, num_states).assign(
            cell=f"{world}-{query}-{inference}-{method}-{seed}", method=method, acquisition=method, seed=seed
        )
        for seed in range(num_seeds)
        for index, method in enumerate(methods)
    ]
    table = pd.concat(cells, ignore_index=True).assign(
        sweep="made", world=world, world_name=world_name, world_options=world_options, query=query, inference=inference
    )
    if not has_evidence:
        table = table.assign(entropy_evidence=np.nan, log_posterior_truth=np.nan)
    return table


def _cell(rng, speed, num_steps, num_states):
    steps = np.arange(num_steps + 1)
    left = np.exp(-speed * steps / 60.0)
    regret = 8.0 * left * rng.uniform(0.5, 1.5, len(steps))
    failure = np.clip(1.2 * left + 0.05 * rng.normal(size=len(steps)), 0.0, 1.0)
    bound = np.clip(failure + 0.03, 0.0, 1.0)
    entropy = 20.0 - 0.2 * speed * np.sqrt(steps) + rng.normal(scale=0.3, size=len(steps))
    asked = np.where(steps > 0, rng.integers(0, num_states, len(steps)), -1)
    states = pd.array(asked, dtype="Int64")
    states[0] = pd.NA
    return pd.DataFrame(
        {
            "step": steps,
            "entropy_evidence": entropy,
            "entropy_knn": entropy + 3.0,
            "entropy_gaussian": entropy - 1.0,
            "log_posterior_truth": -entropy,
            "true_regret": np.where(regret < 0.3, 0.0, regret),
            "expected_regret": regret + 0.1,
            "failure_chance": failure,
            "certificate_bound": bound,
            "certificate_holds": pd.array(bound <= 0.1, dtype="boolean"),
            "state": states,
            "occupancy": np.where(steps > 0, rng.random(len(steps)), np.nan),
            "num_shown": pd.array(np.ones(len(steps)), dtype="Int64"),
            "score": rng.random(len(steps)),
            "posterior_seconds": rng.uniform(0.1, 0.2, len(steps)),
            "cpu_seconds": np.full(len(steps), 0.3),
            "acquisition_seconds": np.where(steps > 0, rng.uniform(0.001, 0.002, len(steps)), np.nan),
            "warnings": "",
        }
    )
