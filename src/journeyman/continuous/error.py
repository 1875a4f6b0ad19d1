"""How far a discretised world is off, estimated by refinement.

The return of the best policy, and that of a fixed one, from the initial states, are computed with points h apart, then
h / 2, and perhaps h / 4. If the error falls as h^p,

    error(h) = |V_h - V_(h/2)| * 2^p / (2^p - 1)

(Richardson). With three grids p is measured, with two it is taken to be 1, which is what interpolation reaches where
values have kinks or jumps. This is an estimate, not a bound: a grid that misses something altogether misses it in both.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from journeyman.checks import float_array, share, whole_number
from journeyman.continuous.decisions import ActFn
from journeyman.continuous.discretisation import Discretisation
from journeyman.errors import InputError
from journeyman.mdp import Discretised, solve_batch
from journeyman.mdp.policies import evaluate_policy_batch
from journeyman.progress import progress_bar
from journeyman.types import FloatArray
from journeyman.wording import counted

ORDERS = (0.5, 2.0)  # lowest and highest order that three grids may show
MAX_REWARDS = 64

T = TypeVar("T")


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
    level
        Share of the rewards for which `error` and `return_error` are to be large enough.
    """

    sizes: tuple[tuple[int, ...], ...]
    theta: FloatArray
    best: FloatArray
    acted: FloatArray
    order: float
    level: float

    def __repr__(self) -> str:
        grids, rewards = counted(len(self.sizes), "grid"), counted(len(self.theta), "reward")
        return f"GridError({grids}, {rewards}: error {self.error:.3g}, return_error {self.return_error:.3g})"

    @property
    def regrets(self) -> FloatArray:
        """`[L, M]` regret of the policy that acts, on each grid; not negative up to rounding."""
        return np.asarray(self.best - self.acted)

    @property
    def errors(self) -> FloatArray:
        """`[M]` estimated error of the regret on the first grid."""
        return self._extrapolated(self.regrets)

    @property
    def return_errors(self) -> FloatArray:
        """`[M]` estimated error of returns on the first grid: of the best policy or the one that acts, the larger."""
        return np.maximum(self._extrapolated(self.best), self._extrapolated(self.acted))

    @property
    def error(self) -> float:
        """At least as large as the errors of the regret of a share `level` of the rewards."""
        return float(np.quantile(self.errors, self.level, method="higher"))

    @property
    def return_error(self) -> float:
        """At least as large as the errors of the return of a share `level` of the rewards."""
        return float(np.quantile(self.return_errors, self.level, method="higher"))

    def _extrapolated(self, numbers: FloatArray) -> FloatArray:
        return np.asarray(np.abs(numbers[0] - numbers[1]) * 2.0**self.order / (2.0**self.order - 1.0))

    def stated_by(self, known: T) -> T:
        """Return a Discretisation, Problem or Posterior whose certificates state this error."""
        what: Any = known
        if isinstance(what, Discretisation):
            stated: Any = what.stating(self.error, return_error=self.return_error, level=self.level)
        elif hasattr(what, "problem"):
            stated = replace(what, problem=self.stated_by(what.problem))
        elif isinstance(getattr(getattr(what, "mdp", None), "origin", None), Discretised):
            origin = replace(what.mdp.origin, error=self.error, return_error=self.return_error, level=self.level)
            stated = replace(what, mdp=replace(what.mdp, origin=origin))
        else:
            raise InputError(
                f"an error can be stated by a Discretisation, or a Problem or Posterior on one, got "
                f"{type(what).__name__}. Give one of these."
            )
        return stated  # type: ignore[no-any-return]


def grid_error(
    discretisation: Discretisation,
    belief: Any,
    *,
    act: ActFn | None = None,
    num_grids: int = 2,
    level: float = 0.95,
    seed: int = 0,
    progress: bool | None = None,
) -> GridError:
    """Estimate how much regrets and returns on the grid differ from those in the continuous world.

    Parameters
    ----------
    discretisation
        With features of the reward.
    belief
        Rewards to take: a Posterior, of which up to 64 samples are drawn by weight, or parameters `[M, D]`, for example
        draws from the prior: `prior.sample(rng, 64)`.
    act
        Policy whose regret counts, everywhere in the continuous world. Default: that of `policy_fn`, for a Posterior
        of its mean reward; for parameters each has its own, which shows what is lost by planning on the grid.
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
    if act is None and mean is not None:
        act = discretisation.policy_fn(mean)
    best, acted, sizes = [], [], []
    with progress_bar("Refining the grid", is_shown=progress) as report:
        grid = discretisation
        for index in range(grids):
            if index:
                grid = grid.finer(progress=False)
            report(2.0 ** (grid.lattice.num_dimensions * (index - grids)), f"Refining to {grid.origin.grid_words}")
            rewards = grid.reward_model.reward(theta)
            best.append(solve_batch(grid.mdp, rewards).values @ grid.mdp.initial)
            acted.append(_returns_of(discretisation, grid, act, theta, rewards))
            sizes.append(tuple(grid.lattice.sizes.tolist()))
    order = 1.0
    if grids == 3:
        coarse, fine = np.abs(np.diff(best, axis=0)).sum(axis=1)
        order = float(np.clip(np.log2(coarse / fine), *ORDERS)) if fine > 0 else ORDERS[1]
    return GridError(tuple(sizes), theta, np.array(best), np.array(acted), order, level)


def _returns_of(
    planned: Discretisation, grid: Discretisation, act: ActFn | None, theta: FloatArray, rewards: FloatArray
) -> FloatArray:
    """Return what a policy earns on a grid under each reward `[M]`; without one, what the planned one of each earns."""
    if act is not None:
        policy = np.asarray(act(grid.states), dtype=np.int64)
        return np.asarray(evaluate_policy_batch(grid.mdp, policy, rewards) @ grid.mdp.initial)
    earned = np.empty(len(theta))
    for i, own in enumerate(theta):
        policy = np.asarray(planned.policy_fn(own)(grid.states), dtype=np.int64)
        earned[i] = evaluate_policy_batch(grid.mdp, policy, rewards[i : i + 1])[0] @ grid.mdp.initial
    return earned


def _rewards(belief: Any, seed: int) -> tuple[FloatArray, FloatArray | None]:
    """Return up to MAX_REWARDS parameters `[M, D]`, equally likely, and the mean `[D]` of a posterior."""
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
    return theta, None
