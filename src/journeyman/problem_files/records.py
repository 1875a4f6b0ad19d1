"""A Problem as plain data and arrays, bit by bit: what a study keeps of it."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from journeyman.errors import InputError, UnsupportedError
from journeyman.mdp.arrays import mdp_from_arrays, mdp_to_arrays
from journeyman.problem import Problem
from journeyman.rewards import Discrete, MultivariateNormal, Normal, Prior, RewardModel, Uniform
from journeyman.types import AnyArray, read_only

FORMAT = "journeyman-problem-1"
PRIORS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "normal": (Normal, ("mean", "std")),
    "uniform": (Uniform, ("low", "high")),
    "multivariate_normal": (MultivariateNormal, ("mean", "covariance")),
    "discrete": (Discrete, ("atoms", "probabilities")),
}


class ProblemRecord(NamedTuple):
    """facts: numbers and words for JSON; arrays: by name, of numbers and words (no objects, so no pickle)."""

    facts: dict[str, Any]
    arrays: dict[str, AnyArray]


def problem_to_record(problem: Problem) -> ProblemRecord:
    """Return a problem as plain data; `problem_from_record` gives it back exactly."""
    model = problem.reward_model
    kind = _prior_kind(problem.prior)
    facts = {
        "format": FORMAT,
        "beta": problem.beta,
        "reward_model": model.kind,
        "is_state_only": model.is_state_only,
        "parameter_names": None if model.names is None else list(model.names),
        "num_parameters": model.num_parameters,
        "prior": kind,
    }
    arrays = {f"mdp_{name}": np.asarray(array) for name, array in mdp_to_arrays(problem.mdp).items()}
    arrays |= {
        "queryable": problem.queryable,
        "features_data": model.features.data,
        "features_indices": model.features.indices,
        "features_indptr": model.features.indptr,
        "offset": model.offset,
    }
    arrays |= {f"prior_{name}": np.asarray(getattr(problem.prior, name)) for name in PRIORS[kind][1]}
    return ProblemRecord(facts, arrays)


def problem_from_record(record: ProblemRecord | tuple[dict[str, Any], dict[str, AnyArray]]) -> Problem:
    """Return the problem that `problem_to_record` took apart.

    Raises
    ------
    InputError
        If the record is of another format, or damaged.
    """
    facts, arrays = record
    if facts.get("format") != FORMAT:
        raise InputError(
            f"a stored problem must be of format {FORMAT!r}, got {facts.get('format')!r}. "
            "Read it with the version of journeyman that wrote it."
        )
    try:
        mdp = mdp_from_arrays({name[4:]: array for name, array in arrays.items() if name.startswith("mdp_")})
        model = _reward_model(facts, arrays, mdp.num_states, mdp.num_actions)
        return Problem(mdp, model, _prior(facts, arrays), facts["beta"], arrays["queryable"])
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(f"a stored problem must be whole, but {error} is missing or wrong. Store it again.") from error


def _reward_model(facts: dict[str, Any], arrays: dict[str, AnyArray], num_states: int, num_actions: int) -> RewardModel:
    num_rows = num_states if facts["is_state_only"] else num_states * num_actions
    entries = (arrays["features_data"], arrays["features_indices"], arrays["features_indptr"])
    names = facts["parameter_names"]
    return RewardModel(
        num_states=num_states,
        num_actions=num_actions,
        features=sparse.csr_array(entries, shape=(num_rows, facts["num_parameters"])),
        offset=read_only(arrays["offset"]),
        is_state_only=facts["is_state_only"],
        kind=facts["reward_model"],
        names=None if names is None else tuple(names),
    )


def _prior_kind(prior: Prior) -> str:
    for kind, (prior_type, _) in PRIORS.items():
        if type(prior) is prior_type:
            return kind
    raise UnsupportedError(
        f"only priors of the library can be stored ({', '.join(PRIORS)}), got {type(prior).__name__}. "
        "Approximate it by one of these, or keep the learner in memory."
    )


def _prior(facts: dict[str, Any], arrays: dict[str, AnyArray]) -> Prior:
    if facts["prior"] not in PRIORS:
        raise InputError(f"a stored prior must be one of {', '.join(PRIORS)}, got {facts['prior']!r}. Store it again.")
    prior_type, names = PRIORS[facts["prior"]]
    given = [arrays[f"prior_{name}"] for name in names]
    if prior_type is Discrete:
        prior = Discrete(*given)
        # They were normalised once; doing it again could change their last bits, and with them every later query.
        object.__setattr__(prior, "probabilities", read_only(given[1]))
        return prior
    sized = (facts["num_parameters"], *given) if prior_type in (Normal, Uniform) else given
    built: Prior = prior_type(*sized)
    return built
