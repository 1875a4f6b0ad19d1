"""Reward models: how parameters become a reward.

    r = offset + features . theta

Three kinds share this form: one parameter per state, one per (state, action), or linear features with known parts in
the offset. Features are kept sparse. A state-only model has one row of features per state, and its reward is the same
for all actions; otherwise row s * A + a belongs to (s, a).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from journeyman.errors import InputError
from journeyman.types import FloatArray


@dataclass(frozen=True, eq=False)
class RewardModel:
    """Rewards that are linear in D parameters; made by `PerState`, `PerStateAction` or `LinearFeatures`.

    features: scipy CSR `[S, D]` if `is_state_only`, else `[S * A, D]`; offset `[S]` or `[S * A]`;
    kind: "per_state", "per_state_action" or "features"; names: one per parameter, or None.
    """

    num_states: int
    num_actions: int
    features: Any
    offset: FloatArray
    is_state_only: bool
    kind: str
    names: tuple[str, ...] | None = None

    @property
    def num_parameters(self) -> int:
        """Number of parameters D."""
        return int(self.features.shape[1])

    def parameter_name(self, index: int) -> str:
        """Return the name of a parameter."""
        if self.names is not None:
            return self.names[index]
        if self.kind == "per_state":
            return f"reward[{index}]"
        if self.kind == "per_state_action":
            return "reward[{}, {}]".format(*divmod(index, self.num_actions))
        return f"theta[{index}]"

    def reward(self, theta: ArrayLike) -> FloatArray:
        """Return the reward of parameters `[D]` or `[M, D]`: `[S]` or `[M, S]` if state-only, else with an axis A."""
        parameters = np.asarray(theta, dtype=np.float64)
        if parameters.ndim not in (1, 2) or parameters.shape[-1] != self.num_parameters:
            raise InputError(
                f"theta must have shape [{self.num_parameters}] or [M, {self.num_parameters}], got {parameters.shape}."
            )
        flat = (self.features @ parameters.T).T + self.offset
        if self.is_state_only:
            return np.ascontiguousarray(flat)
        return np.ascontiguousarray(flat.reshape(*parameters.shape[:-1], self.num_states, self.num_actions))

    def unrolled(self, horizon: int) -> "RewardModel":
        """Return the model for `mdp.unrolled(horizon)`: the same parameters at every time."""
        return RewardModel(
            num_states=self.num_states * horizon,
            num_actions=self.num_actions,
            features=sparse.vstack([self.features] * horizon, format="csr"),
            offset=np.tile(self.offset, horizon),
            is_state_only=self.is_state_only,
            kind="features",
            names=tuple(self.parameter_name(i) for i in range(self.num_parameters)),
        )


def PerState(num_states: int, num_actions: int) -> RewardModel:
    """One unknown reward per state, paid whatever is done there."""
    return RewardModel(
        num_states, num_actions, sparse.eye_array(num_states, format="csr"), np.zeros(num_states), True, "per_state"
    )


def PerStateAction(num_states: int, num_actions: int) -> RewardModel:
    """One unknown reward per state and action; parameter s * A + a is r(s, a)."""
    size = num_states * num_actions
    return RewardModel(
        num_states, num_actions, sparse.eye_array(size, format="csr"), np.zeros(size), False, "per_state_action"
    )


def LinearFeatures(
    features: Any, num_actions: int, *, offset: ArrayLike | None = None, names: tuple[str, ...] | None = None
) -> RewardModel:
    """Rewards linear in known features, plus a known offset.

    Parameters
    ----------
    features
        `[S, D]` (the same for all actions) or `[S, A, D]`; a scipy sparse matrix counts as `[S, D]`.
    offset
        Known part: `[S]` or `[S, A]`; default zero.
    names
        One per parameter; optional.
    """
    if sparse.issparse(features):
        matrix, shape = sparse.csr_array(features), features.shape
    else:
        array = np.asarray(features, dtype=np.float64)
        if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[1] != num_actions):
            raise InputError(f"features must have shape [S, D] or [S, {num_actions}, D], got {array.shape}.")
        matrix, shape = sparse.csr_array(array.reshape(-1, array.shape[-1])), array.shape
    num_states, num_parameters = shape[0], shape[-1]
    if num_states < 1 or num_parameters < 1:
        raise InputError(f"features must cover at least one state and one parameter, got shape {shape}.")
    if not np.isfinite(matrix.data).all():
        raise InputError("features must be finite, got a NaN or infinity. Correct it.")
    known = np.zeros(num_states) if offset is None else np.asarray(offset, dtype=np.float64)
    if known.shape not in ((num_states,), (num_states, num_actions)):
        raise InputError(f"offset must have shape {(num_states,)} or {(num_states, num_actions)}, got {known.shape}.")
    if not np.isfinite(known).all():
        raise InputError(
            f"offset must be finite, got a NaN or infinity at state {np.argwhere(~np.isfinite(known))[0][0]}."
        )
    is_state_only = len(shape) == 2 and known.ndim == 1
    if not is_state_only:
        if len(shape) == 2:  # spread state features over actions
            matrix = sparse.csr_array(sparse.kron(matrix, np.ones((num_actions, 1)), format="csr"))
        known = (np.repeat(known, num_actions) if known.ndim == 1 else known).ravel()
    if names is not None and len(names) != num_parameters:
        raise InputError(f"names must have {num_parameters} entries, got {len(names)}. Give one per parameter.")
    return RewardModel(num_states, num_actions, matrix, known, is_state_only, "features", names)
