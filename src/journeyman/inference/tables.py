"""Posteriors as tidy tables: one row per parameter, reward, action or sample, with labels of states and actions.

A table is a dict of columns, all equally long; what is not known, or does not apply, is None. `as_frame` makes it a
pandas DataFrame, `as_dataset` an xarray Dataset whose dimensions are labelled.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from journeyman.extras import require
from journeyman.inference.posterior import Posterior, weighted_quantile
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem, parameter_label
from journeyman.rewards import has_atoms
from journeyman.types import AnyArray, FloatArray, IntArray

Table = dict[str, list[Any]]
Report = Callable[[float], None]

LEVEL = 0.95
WHOLE = (  # columns of whole numbers, some of which may be unknown
    "state", "action", "count", "sample", "chain", "draw", "event", "query", "num_demonstrations", "demonstration",
    "final_state", "query_id", "num_samples", "num_looks",
)  # fmt: skip
WORDS = (  # columns of words, all of which may be unknown
    "kind", "parameter", "state_label", "action_label", "annotator", "ended", "timestamp", "warnings", "name",
)  # fmt: skip


def posterior_table(posterior: Posterior, level: float = LEVEL) -> Table:
    """Return what is known of each parameter, one row each: those of the reward, then the expert's unknown ones.

    Columns: `kind` ("reward" or "expert"), `parameter` (its name, by labels); `state`, `state_label`, `action`,
    `action_label` where it is the reward of one state or action; `annotator` where it is that of one; `mean`, `sd`,
    `median`; `low` and `high`, the ends of the central interval of posterior chance `level`; `level`; `ess`: how many
    independent samples the mean is worth, by ArviZ for chains (bulk), by Kish from the weights for others, None where
    the posterior is exact.
    """
    problem = posterior.problem
    mdp, model, space = problem.mdp, problem.reward_model, problem.expert_space
    index = np.arange(model.num_parameters)
    states: IntArray | None = None
    actions: IntArray | None = None
    if model.names is None and model.kind == "per_state":
        states = index
    elif model.names is None and model.kind == "per_state_action":
        states, actions = index // mdp.num_actions, index % mdp.num_actions
    unknown = space.size
    own = len(space.single_names)
    places = _places(mdp, states, actions, len(index))
    return {
        "kind": ["reward"] * len(index) + ["expert"] * unknown,
        "parameter": [parameter_label(problem, i) for i in range(len(index))] + list(space.names),
        **{name: column + [None] * unknown for name, column in places.items()},
        "annotator": [None] * len(index)
        + [space.annotators[i // own] if space.annotators else None for i in range(unknown)],
        **_summary(posterior, np.concatenate([posterior.theta, posterior.expert_parameters], axis=1), level),
        "ess": effective_sizes(posterior),
    }


def reward_table(posterior: Posterior, level: float = LEVEL) -> Table:
    """Return what is known of each reward: one row per state, or per available action where it depends on that.

    Columns: `state`, `state_label`, and where rewards depend on the action `action`, `action_label`; `mean`, `sd`,
    `median`, `low`, `high`, `level` as in `posterior_table`.
    """
    mdp, rewards = posterior.problem.mdp, posterior.rewards
    if rewards.ndim == 2:
        places = _places(mdp, np.arange(mdp.num_states), None, mdp.num_states)
        return {name: places[name] for name in ("state", "state_label")} | _summary(posterior, rewards, level)
    states, actions = np.nonzero(mdp.available)
    return _places(mdp, states, actions, len(states)) | _summary(posterior, rewards[:, states, actions], level)


def policy_table(posterior: Posterior, policy: AnyArray) -> Table:
    """Return how sure each action of a policy is, one row per action that is available where actions are taken.

    Columns: `state`, `state_label`, `action`, `action_label`; `chance_optimal`: that this action is optimal there, ties
    included, so that those of a state may sum to more than 1; `probability` with which the policy takes it;
    `is_chosen`: whether the policy takes it at all.

    Parameters
    ----------
    policy
        `[S]` actions or `[S, A]` probabilities.
    """
    mdp = posterior.problem.mdp
    states, actions = acted_pairs(posterior.problem)
    given = np.asarray(policy)
    taken = given[states, actions] if given.ndim == 2 else (given[states] == actions).astype(np.float64)
    chances = np.minimum(posterior.optimal_action_probabilities()[states, actions], 1.0)
    return _places(mdp, states, actions, len(states)) | {
        "chance_optimal": chances.tolist(),
        "probability": taken.tolist(),
        "is_chosen": (taken > 0.0).tolist(),
    }


def predictive_table(posterior: Posterior, level: float = LEVEL, *, report_fn: Report | None = None) -> Table:
    """Return the chance of each action of the expert, one row per action that is available where actions are taken.

    Columns: `state`, `state_label`, `action`, `action_label`; `annotator` where annotators have parameters of their
    own: None for any of them, as `Posterior.predictive_policy` averages them, then each; `count`: how often it was
    demonstrated (by all); `mean`: the posterior predictive chance, which sums to 1 over the actions of a state; `sd`,
    `median`, `low`, `high`, `level` of that chance under the posterior, as in `posterior_table`.

    Parameters
    ----------
    report_fn
        Told which part of the work is done.
    """
    problem = posterior.problem
    mdp, space = problem.mdp, problem.expert_space
    pairs = np.zeros((mdp.num_states, mdp.num_actions), dtype=bool)
    pairs[acted_pairs(problem)] = True
    whose: list[str | None] = [None, *space.annotators]
    parts: list[Table] = []
    for number, annotator in enumerate(whose):
        for states in posterior.state_chunks():
            rows, actions = np.nonzero(pairs[states])
            if not len(rows):
                continue
            chances = np.exp(posterior.log_policies(states, annotator))[:, rows, actions]
            chosen = states[rows]
            part = _places(mdp, chosen, actions, len(rows))
            if space.annotators:
                part["annotator"] = [annotator] * len(rows)
            part["count"] = posterior.counts[chosen, actions].tolist()
            parts.append(part | _summary(posterior, chances, level))
            if report_fn is not None:
                report_fn((number + (states[-1] + 1) / mdp.num_states) / len(whose))
    return {name: [value for part in parts for value in part[name]] for name in (parts[0] if parts else ())}


def draws_table(posterior: Posterior) -> Table:
    """Return the samples as they are, one row each; nothing is resampled, so use the weights.

    Columns: `sample`, `weight` (they sum to 1), `chain` and `draw` where the samples are chains, then one per parameter
    of the reward and unknown one of the expert, by the names of `posterior_table`.
    """
    problem, index = posterior.problem, np.arange(posterior.num_samples)
    table: Table = {"sample": index.tolist(), "weight": posterior.weights.tolist()}
    if posterior.chains is not None:
        table |= {"chain": (index // posterior.chains[1]).tolist(), "draw": (index % posterior.chains[1]).tolist()}
    names = [parameter_label(problem, i) for i in range(problem.reward_model.num_parameters)]
    names += problem.expert_space.names
    values = np.concatenate([posterior.theta, posterior.expert_parameters], axis=1)
    for name, column in zip(names, values.T, strict=True):
        table[name if name not in table else f"{name} (parameter)"] = column.tolist()
    return table


def effective_sizes(posterior: Posterior) -> list[float | None]:
    """Return how many independent samples the mean of each parameter is worth `[D + E]`; None if it is exact.

    For chains the effective sample size in the bulk (ArviZ), 1 for a parameter that does not move within some chain;
    for weighted samples Kish's, the same for all.
    """
    draws, prior = np.concatenate([posterior.theta, posterior.expert_parameters], axis=1), posterior.problem.prior
    if has_atoms(prior) and np.array_equal(posterior.theta, prior.atoms):
        return [None] * draws.shape[1]
    if posterior.chains is None:
        return [posterior.diagnostics.particle_ess] * draws.shape[1]
    chains = draws.reshape(*posterior.chains, -1)
    if posterior.chains[1] < 4:  # too short for any estimate
        return [1.0] * draws.shape[1]
    sizes = np.asarray(require("arviz", "mcmc").ess({"theta": chains}, method="bulk")["theta"])
    is_stuck = (np.ptp(chains, axis=1) == 0.0).any(axis=0)
    return list(np.where(is_stuck, 1.0, sizes).tolist())


def acted_pairs(problem: Problem) -> tuple[IntArray, IntArray]:
    """Return states and actions of all that can be done; in terminal states only if they may be asked about."""
    states, actions = np.nonzero(problem.mdp.available & (~problem.mdp.terminal | problem.queryable)[:, None])
    return states, actions


def as_frame(table: Mapping[str, Sequence[Any]]) -> Any:
    """Return a table as a pandas DataFrame, whole numbers as such also where some are missing. Needs `tables`."""
    pandas = require("pandas", "tables")
    types = {name: "Int64" for name in table if is_whole(name, table[name])}
    return pandas.DataFrame(dict(table)).astype(types)


def is_whole(name: str, values: Sequence[Any]) -> bool:
    """Return whether a column holds whole numbers, of which some may be unknown; labels are none."""
    return name in WHOLE and not any(isinstance(value, str) for value in values)


def as_dataset(table: Mapping[str, Sequence[Any]], problem: Problem, attributes: Mapping[str, Any]) -> Any:
    """Return a table of states, or of states and actions, as an xarray Dataset with these as labelled dimensions.

    Numbers that the table does not have (of actions that do not exist) are NaN. With a column `annotator` there is one
    more dimension, on which "any" is any of them. Needs the extra `mcmc`.
    """
    xarray = require("xarray", "mcmc")
    mdp = problem.mdp
    coordinates: dict[str, list[Any]] = {}
    places: list[Any] = []
    if "annotator" in table:
        coordinates["annotator"] = ["any", *problem.expert_space.annotators]
        places.append([0 if name is None else coordinates["annotator"].index(name) for name in table["annotator"]])
    coordinates |= {"state": state_coordinate(mdp)} | ({"action": action_coordinate(mdp)} if "action" in table else {})
    places += [table[name] for name in ("state", "action") if name in table]
    shape = tuple(len(values) for values in coordinates.values())
    others = {"state", "action", "annotator", "state_label", "action_label", "level"}
    variables = {}
    for name in table:
        if name not in others:
            is_truth = name.startswith("is_")
            array = np.zeros(shape, dtype=np.int8) if is_truth else np.full(shape, np.nan)
            array[tuple(np.asarray(place, dtype=np.int64) for place in places)] = table[name]
            variables[name] = (list(coordinates), array)
    levels = {"level": float(table["level"][0])} if table.get("level") else {}
    return xarray.Dataset(variables, coords=coordinates, attrs={**attributes, **levels})


def state_coordinate(mdp: FiniteMDP) -> list[Any]:
    """Return what states are called along a dimension: labels, or numbers where there are none."""
    return list(mdp.state_labels or range(mdp.num_states))


def action_coordinate(mdp: FiniteMDP) -> list[Any]:
    """Return what actions are called along a dimension: labels, or numbers where there are none."""
    return list(mdp.action_labels or range(mdp.num_actions))


def _places(mdp: FiniteMDP, states: IntArray | None, actions: IntArray | None, size: int) -> Table:
    """Return the columns that say which state and action a row is about; None where it is about none."""

    def named(index: IntArray | None, labels: tuple[str, ...] | None) -> tuple[list[Any], list[Any]]:
        if index is None:
            return [None] * size, [None] * size
        numbers = index.tolist()
        return numbers, [labels[i] for i in numbers] if labels else [None] * size

    (state, state_label), (action, action_label) = named(states, mdp.state_labels), named(actions, mdp.action_labels)
    return {"state": state, "state_label": state_label, "action": action, "action_label": action_label}


def _summary(posterior: Posterior, values: FloatArray, level: float) -> Table:
    """Return mean, sd, median and central interval of numbers `[M, N]` that each sample has."""
    mean = posterior.mean(values)
    intervals = posterior.intervals(values, level)
    return {
        "mean": mean.tolist(),
        "sd": np.sqrt(posterior.mean((values - mean) ** 2)).tolist(),
        "median": weighted_quantile(values, posterior.weights, 0.5).tolist(),
        "low": intervals[:, 0].tolist(),
        "high": intervals[:, 1].tolist(),
        "level": [float(level)] * len(mean),
    }
