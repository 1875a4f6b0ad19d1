"""Results made up by hand, with the columns of a sweep that bounds and timing read."""

import pandas as pd


def made_results(cells, *, world="jail", world_name=None, options="{}", query="state", inference="smc"):
    """Return a table from `{(method, seed): {column: values at steps 0, 1, ...}}`."""
    labels = {
        "world": world,
        "world_name": world_name or world,
        "world_options": options,
        "query": query,
        "inference": inference,
    }
    parts = [
        pd.DataFrame({"step": range(len(next(iter(columns.values())))), **columns}).assign(
            **labels, method=method, seed=seed
        )
        for (method, seed), columns in cells.items()
    ]
    return pd.concat(parts, ignore_index=True)


def certified(*steps):
    """Return columns of a cell that is certified, and has a small chance of regret, as `+` and `-` tell per step."""
    holds = [sign == "+" for sign in steps[0]]
    chance = [0.05 if sign == "+" else 0.5 for sign in steps[-1]]
    return {"certificate_holds": pd.array(holds, dtype="boolean"), "failure_chance": chance}
