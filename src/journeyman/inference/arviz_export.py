"""Posteriors as ArviZ data: InferenceData before ArviZ 1.0, an xarray DataTree from 1.0 on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.extras import require
from journeyman.inference.posterior import Posterior
from journeyman.inference.tables import action_coordinate, state_coordinate
from journeyman.problem import parameter_label
from journeyman.storage.files import whole_file
from journeyman.types import AnyArray


def to_arviz(posterior: Posterior, *, include_reward: bool = False, num_draws: int | None = None, seed: int = 0) -> Any:
    """Return a posterior in the form that the installed ArviZ works with.

    Groups: `posterior` with theta (chain, draw, parameter) and values (chain, draw, state); `sample_stats` where there
    are any; `observed_data` with counts (state, action). Coordinates are labels of states, actions and parameters
    ("reward of home"), or numbers where there are none. Samples that are not chains become one chain. Weighted ones
    are resampled systematically, since ArviZ knows no weights; the attributes say so.

    Parameters
    ----------
    include_reward
        Whether to add reward (chain, draw, state) or (chain, draw, state, action), which theta determines.
    num_draws
        How many draws to resample weighted samples to; default: as many as there are samples. Chains are left alone.
    seed
        Of the resampling.
    """
    arviz = require("arviz", "mcmc")
    is_weighted = not np.allclose(posterior.weights, 1.0 / posterior.num_samples, rtol=1e-9, atol=0.0)
    is_resampled = posterior.chains is None and (is_weighted or num_draws is not None)
    attributes: dict[str, Any] = {
        "inference_library": "journeyman",
        "method": posterior.method,
        "resampled": "systematically, from weighted samples" if is_resampled else "no",
        "warnings": list(posterior.warnings),
    }
    if posterior.log_evidence is not None:
        attributes["log_evidence"] = posterior.log_evidence
    if posterior.log_evidence_error is not None:
        attributes["log_evidence_error"] = posterior.log_evidence_error
    if is_resampled:
        posterior = posterior.resample(np.random.default_rng(seed), num_draws or posterior.num_samples)
    shape = posterior.chains or (1, posterior.num_samples)
    draws = {"theta": posterior.theta, "values": posterior.values}
    if posterior.expert_parameters.shape[1]:
        draws["expert"] = posterior.expert_parameters
    if include_reward:
        draws["reward"] = posterior.rewards
    groups: dict[str, dict[str, AnyArray]] = {
        "posterior": {name: array.reshape(*shape, *array.shape[1:]) for name, array in draws.items()},
        "sample_stats": posterior.sample_stats,
        "observed_data": {"counts": posterior.counts},
    }
    filled = {name: group for name, group in groups.items() if group}
    return _built(arviz, filled, _coordinates(posterior), _dimensions(posterior), attributes)


def _coordinates(posterior: Posterior) -> dict[str, list[Any]]:
    problem = posterior.problem
    return {
        "parameter": [parameter_label(problem, i) for i in range(problem.reward_model.num_parameters)],
        "state": state_coordinate(problem.mdp),
        "action": action_coordinate(problem.mdp),
        **({"expert_parameter": list(names)} if (names := problem.expert_space.names) else {}),
    }


def _dimensions(posterior: Posterior) -> dict[str, list[str]]:
    is_state_only = posterior.problem.reward_model.is_state_only
    return {
        "theta": ["parameter"],
        **({"expert": ["expert_parameter"]} if posterior.problem.expert_space.names else {}),
        "values": ["state"],
        "reward": ["state"] if is_state_only else ["state", "action"],
        "counts": ["state", "action"],
    }


def _built(
    arviz: Any,
    groups: Mapping[str, Mapping[str, AnyArray]],
    coordinates: Mapping[str, list[Any]],
    dimensions: Mapping[str, list[str]],
    attributes: Mapping[str, Any],
) -> Any:
    """Hand the groups to the installed ArviZ: by keyword before 1.0, as one mapping from 1.0 on."""
    if int(arviz.__version__.partition(".")[0]) >= 1:
        tree = arviz.from_dict(groups, coords=coordinates, dims=dimensions, sample_dims=["chain", "draw"])
        tree["posterior"].attrs.update(attributes)
        return tree
    data = arviz.from_dict(**groups, coords=coordinates, dims=dimensions)
    data["posterior"].attrs.update(attributes)
    return data


def write_netcdf(data: Any, path: Path) -> None:
    """Write ArviZ data, or a Dataset, to a file, whole or not at all."""
    require("h5netcdf", "mcmc")  # else old NetCDF would be written, or nothing, by whatever is there
    with whole_file(path, "a NetCDF file") as temporary:
        data.to_netcdf(str(temporary), engine="h5netcdf")
