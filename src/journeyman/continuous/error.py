"""How far a discretised world is off, estimated by refinement.

The return of the best policy, and that of a fixed one, from the initial states, are computed with points h apart, then
h / 2, and perhaps h / 4. If the error falls as h^p,

    error(h) = |V_h - V_(h/2)| * 2^p / (2^p - 1)

(Richardson). With three grids p is measured, with two it is taken to be 1, which is what interpolation reaches where
values have kinks or jumps. This is an estimate, not a bound: a grid that misses something altogether misses it in both.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from journeyman.checks import float_array, share, whole_number
from journeyman.continuous.decisions import ActFn
from journeyman.continuous.discretisation import Discretisation
from journeyman.errors import InputError
from journeyman.mdp import evaluate_policy, solve_batch
from journeyman.progress import progress_bar
from journeyman.types import FloatArray

ORDERS = (0.5, 2.0)  # lowest and highest order that three grids may show
MAX_REWARDS = 64


@dataclass(frozen=True, eq=False)
class GridError:
    """The estimated error of a discretisation, for some rewards.

    Parameters
    ----------
    sizes
        Points along each dimension of each grid.
    theta
        `[M, D]` the rewards.
    best, acted
        `[L, M]` return from the initial states of the best policy, and of the one that acts, on each of L grids.
    order
        How fast the error falls: taken to be 1 with two grids, measured with three.
    errors
        `[M]` estimated error of the regret on the first grid: that of `best` plus that of `acted`.
    level, error
        `error` is at least as large as the errors of this share of the rewards.
    """

    sizes: tuple[tuple[int, ...], ...]
    theta: FloatArray
    best: FloatArray
    acted: FloatArray
    order: float
    errors: FloatArray
    level: float
    error: float

    @property
    def regrets(self) -> FloatArray:
        """`[L, M]` regret of the policy that acts, on each grid; not negative up to rounding."""
        return np.asarray(self.best - self.acted)


def grid_error(
    discretisation: Discretisation,
    belief: Any,
    *,
    act: ActFn | None = None,
    num_grids: int = 2,
    level: float = 0.95,
    seed: int = 0,
    progress: bool = True,
) -> GridError:
    """Estimate how much regrets on the grid differ from those in the continuous world.

    Parameters
    ----------
    discretisation
        With features of the reward.
    belief
        Rewards to take: a Posterior, of which up to 64 samples are drawn by weight, or parameters `[M, D]`, for example
        draws from the prior: `prior.sample(rng, 64)`.
    act
        Policy whose regret counts; default: `policy_fn` of the mean of these rewards.
    num_grids
        2 or 3; each has half the spacing of the one before, that is 2^d times as many points.
    level
        Share of the rewards for which the error is to be at most what is stated.
    """
    grids = whole_number(num_grids, "num_grids", 2, "It counts the grid itself and finer ones.")
    if grids > 3:
        raise InputError(f"num_grids must be 2 or 3, got {grids}. A third one measures the order; more are not used.")
    level = share(level, "level", "0.95 is usual.")
    theta, mean = _rewards(belief, seed)
    act = discretisation.policy_fn(mean) if act is None else act
    best, acted, sizes = [], [], []
    with progress_bar("Refining the grid", is_shown=progress) as report:
        level_of = discretisation
        for index in range(grids):
            if index:
                level_of = level_of.finer(progress=False)
            report(
                (2.0 ** (level_of.lattice.num_dimensions * (index - grids))), f"Refining: {level_of.origin.grid_words}"
            )
            mdp, rewards = level_of.mdp, level_of.reward_model.reward(theta)
            best.append(solve_batch(mdp, rewards).values @ mdp.initial)
            policy = np.asarray(act(level_of.states), dtype=np.int64)
            acted.append(np.atleast_2d(evaluate_policy(mdp, policy, rewards)) @ mdp.initial)
            sizes.append(tuple(level_of.lattice.sizes.tolist()))
    returns = np.stack([best, acted])  # [2, L, M]
    gaps = np.abs(np.diff(returns, axis=1))
    order = 1.0
    if grids == 3:
        coarse, fine = gaps[:, 0].sum(), gaps[:, 1].sum()
        order = float(np.clip(np.log2(coarse / fine), *ORDERS)) if fine > 0 else ORDERS[1]
    errors = gaps[:, 0].sum(axis=0) * 2.0**order / (2.0**order - 1.0)
    return GridError(
        sizes=tuple(sizes),
        theta=theta,
        best=returns[0],
        acted=returns[1],
        order=order,
        errors=errors,
        level=level,
        error=float(np.quantile(errors, level, method="higher")),
    )


def _rewards(belief: Any, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return up to MAX_REWARDS parameters `[M, D]`, equally likely, and the mean `[D]` of the belief."""
    if hasattr(belief, "theta") and hasattr(belief, "weights"):
        theta, weights = belief.theta, np.asarray(belief.weights)
        if len(theta) <= MAX_REWARDS and np.ptp(weights) == 0.0:
            return theta, belief.mean_parameters()
        places = (np.random.default_rng(seed).random() + np.arange(MAX_REWARDS)) / MAX_REWARDS
        chosen = np.minimum(np.searchsorted(np.cumsum(weights), places, side="right"), len(theta) - 1)
        return theta[chosen], belief.mean_parameters()
    theta = float_array(belief, "rewards")
    if theta.ndim != 2 or not theta.size or not np.isfinite(theta).all():
        raise InputError(
            f"rewards must be a Posterior, or finite parameters [M, D], got shape {theta.shape}. Example: "
            "prior.sample(np.random.default_rng(0), 64)."
        )
    return theta, theta.mean(axis=0)
