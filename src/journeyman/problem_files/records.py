"""A Problem as plain data and arrays, bit by bit: what a study keeps of it."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from journeyman.errors import InputError, UnsupportedError
from journeyman.experts import EXPERTS, Boltzmann, ExpertModel, known_beta
from journeyman.mdp.arrays import mdp_from_arrays, mdp_to_arrays
from journeyman.problem import Problem
from journeyman.registry import Registry
from journeyman.rewards import PRIORS, Prior, RewardModel
from journeyman.types import AnyArray, read_only

FORMAT = "journeyman-problem-1"


class ProblemRecord(NamedTuple):
    """facts: numbers and words for JSON; arrays: by name, of numbers and words (no objects, so no pickle)."""

    facts: dict[str, Any]
    arrays: dict[str, AnyArray]


def problem_to_record(problem: Problem) -> ProblemRecord:
    """Return a problem as plain data; `problem_from_record` gives it back exactly."""
    model = problem.reward_model
    prior_facts, prior_arrays = _prior_record(problem.prior)
    facts = {
        "format": FORMAT,
        **_expert_record(problem.expert),
        "reward_model": model.kind,
        "is_state_only": model.is_state_only,
        "parameter_names": None if model.names is None else list(model.names),
        "num_parameters": model.num_parameters,
        **prior_facts,
    }
    arrays = {f"mdp_{name}": np.asarray(array) for name, array in mdp_to_arrays(problem.mdp).items()}
    arrays |= {
        "queryable": problem.queryable,
        "features_data": model.features.data,
        "features_indices": model.features.indices,
        "features_indptr": model.features.indptr,
        "offset": model.offset,
    }
    return ProblemRecord(facts, arrays | prior_arrays)


def is_same_problem(one: Problem, other: Problem) -> bool:
    """Whether two problems would be written alike into a file."""
    (facts, arrays), (others, other_arrays) = problem_to_record(one), problem_to_record(other)
    return (facts, arrays.keys()) == (others, other_arrays.keys()) and all(
        np.array_equal(arrays[name], other_arrays[name]) for name in arrays
    )


def problem_from_record(record: ProblemRecord | tuple[dict[str, Any], dict[str, AnyArray]]) -> Problem:
    """Return the problem that `problem_to_record` took apart; refuses a record of another format, and a damaged one."""
    facts, arrays = record
    if facts.get("format") != FORMAT:
        raise InputError(
            f"a stored problem must be of format {FORMAT!r}, got {facts.get('format')!r}. "
            "Read it with the version of journeyman that wrote it."
        )
    try:
        mdp = mdp_from_arrays({name[4:]: array for name, array in arrays.items() if name.startswith("mdp_")})
        model = _reward_model(facts, arrays, mdp.num_states, mdp.num_actions)
        return Problem(mdp, model, _prior(facts, arrays), _expert(facts), arrays["queryable"])
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


def _name_of(part: object, registry: Registry[Any]) -> str:
    """Return the name by which the class of a prior or an expert is registered."""
    for name, known in registry.usable():
        if type(part) is known:
            return name
    cls = type(part).__name__
    where = "PRIORS" if registry is PRIORS else "EXPERTS"
    raise UnsupportedError(
        f"{registry.what} must be registered to be stored, got {cls}. "
        f'Call {where}.register("{cls.lower()}", {cls}) first, or keep the learner in memory.'
    )


def _prior_record(prior: Prior) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the kind and the plain data of a prior, and its arrays."""
    kind, record = _name_of(prior, PRIORS), prior.to_record()
    arrays = {f"prior_{name}": value for name, value in record.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in record.items() if not isinstance(value, np.ndarray)}
    return {"prior": kind} | ({"prior_facts": plain} if plain else {}), arrays


def _prior(facts: dict[str, Any], arrays: dict[str, AnyArray]) -> Prior:
    stored = {name[6:]: array for name, array in arrays.items() if name.startswith("prior_")}
    return PRIORS.find(facts["prior"]).from_record({**stored, **facts.get("prior_facts", {})})


def _expert_record(expert: ExpertModel) -> dict[str, Any]:
    """Return a Boltzmann expert as its beta, as in the first release, and another with the name of its class."""
    if known_beta(expert) is not None:
        return {"beta": known_beta(expert)}
    return {"expert": {"kind": _name_of(expert, EXPERTS), **expert.to_record()}}


def _expert(facts: dict[str, Any]) -> ExpertModel:
    if "expert" not in facts:
        return Boltzmann(facts["beta"])
    record = dict(facts["expert"])
    return EXPERTS.find(record.pop("kind")).from_record(record)
