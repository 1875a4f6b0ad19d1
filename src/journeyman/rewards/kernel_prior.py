"""Kernel priors: rewards of states that are alike where states are near, so that one answer speaks for neighbours.

A reward for each of S states with the covariance of a kernel has few directions that matter: with L `[S, K]` the best
factor of K columns (see `covariance`), r = mean + L z for a standard normal z keeps a share of the variance that is
stated. Inference then works in K dimensions instead of S.

Its parameters are not z, which means nothing to people, but the rewards of K *anchor* states P, chosen such that the
rest follows from them: r = mean + W (theta - mean_P) with W = L L_P^-1, theta ~ N(mean_P, L_P L_P^T). That is the same
distribution, and every table says "reward of <state>". Where K = S every state is an anchor, and W is the identity.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse

from journeyman.checks import float_array, one_of, positive, real_number, whole_number
from journeyman.errors import InputError
from journeyman.mdp.model import FiniteMDP
from journeyman.progress import progress_bar
from journeyman.rewards.continuous import MultivariateNormal
from journeyman.rewards.covariance import KERNELS, Factor, graph_factor, laplacian, place_factor
from journeyman.rewards.models import PerState, RewardModel
from journeyman.types import FloatArray, IntArray, read_only
from journeyman.wording import plain_number

OVER = ("positions", "graph")
OVER_WORDS = {"positions": "positions", "graph": "the graph", "features": "features"}
SHARE = 0.99  # of the variance: a tenth of the standard deviation is lost
MAX_PAIRS = 10_000  # of neighbours whose correlation is looked at
MAX_NUGGET_STATES = 5000  # of which a matrix [S, S] is factorised


class Smoothness(NamedTuple):
    """What a kernel prior was made of: the kernel and over what it is, numbers, and what of the variance was kept.

    length_scale: one number, or one per feature; std: the least and largest of the states.
    """

    kernel: str
    over: str
    length_scale: tuple[float, ...]
    std: tuple[float, float]
    nugget: float
    num_states: int
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class KernelPrior(MultivariateNormal):
    """Correlated normal rewards of the anchor states of a kernel, made by `kernel_rewards`.

    mean, covariance, factor: as in `MultivariateNormal`; smoothness: the kernel, and how much of it was kept.
    """

    smoothness: Smoothness

    def describe(self) -> str:
        """Return "normal, squared exponential kernel over positions, length scale 3, sd 2, ..."."""
        made = self.smoothness
        scale = ", ".join(map(plain_number, made.length_scale))
        low, high = map(plain_number, made.std)
        size = low if low == high else f"{low} to {high}"
        rest = f", each state apart from that by sd {plain_number(made.nugget)}" if made.nugget else ""
        return (
            f"normal, {KERNELS[made.kernel].words} kernel over {OVER_WORDS[made.over]}, length scale {scale}, sd "
            f"{size}{rest}: {self.num_parameters} of {made.num_states} directions "
            f"keep {made.share:.1%} of the variance".replace("%", " %")
        )

    def widened(self, factor: float) -> "KernelPrior":
        """Return the prior `factor` times as wide around the same mean."""
        low, high = self.smoothness.std
        made = self.smoothness._replace(std=(factor * low, factor * high), nugget=factor * self.smoothness.nugget)
        return KernelPrior(self.mean, factor**2 * self.covariance, smoothness=made)

    def to_record(self) -> dict[str, Any]:
        """Return mean, covariance and what they were made of."""
        made = self.smoothness._asdict()
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in made.items()}
        return {**super().to_record(), "smoothness": plain}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the prior of a record."""
        made: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in record["smoothness"].items()
        }
        return cls(record["mean"], record["covariance"], smoothness=Smoothness(**made))


class KernelRewards(NamedTuple):
    """A reward_model with a reward per state, and the prior of its parameters.

    In their order for a problem: `Problem(mdp, *kernel_rewards(mdp, ...), beta)`.
    """

    reward_model: RewardModel
    prior: KernelPrior


def kernel_rewards(
    mdp: FiniteMDP,
    *,
    length_scale: ArrayLike,
    std: ArrayLike,
    mean: ArrayLike = 0.0,
    kernel: str = "squared_exponential",
    over: str | ArrayLike = "positions",
    share: float | None = None,
    rank: int | None = None,
    nugget: float = 0.0,
    progress: bool = False,
) -> KernelRewards:
    """Return a reward for each state that is alike where states are near, with as few parameters as that takes.

    Parameters
    ----------
    length_scale
        How far a state speaks for others: at that distance the correlation is 0.61 for the squared exponential, 0.37 to
        0.52 for the others. In cells of a grid, units of the coordinates, steps on a graph, or units of the features,
        of which each may have its own, `[F]`.
    std
        Standard deviation of the reward of each state: a number or `[S]`; 0 where the reward is known to be its mean.
    mean
        A number or `[S]`.
    kernel
        "squared_exponential", "matern52", "matern32" or "matern12", from smooth to rough: rough ones need more
        parameters.
    over
        "positions": where states lie, on the grid or by their coordinates; walls between them do not count. "graph":
        how they follow each other, in either direction. Or features `[S, F]` of your own: states with like features
        have like rewards.
    share
        Of the variance that must be kept, in (0, 1]; default 0.99. What is left out is not part of the belief.
    rank
        Number of parameters, instead of a share.
    nugget
        Standard deviation of what each state has of its own, apart from its neighbours. Then there are as many
        parameters as states, and nothing is left out.
    progress
        Whether to show a bar.

    Returns
    -------
    Reward model and prior. Parameters are rewards of states: all of them where nothing could be left out, else so many
    anchor states that the rest follows from these. The prior says which share of the variance is kept.

    Examples
    --------
    >>> from journeyman import kernel_rewards, make_world
    >>> mdp = make_world("random-grid", size=6).problem.mdp
    >>> rewards = kernel_rewards(mdp, length_scale=3.0, std=1.0)
    >>> rewards.reward_model.num_parameters < mdp.num_states
    True
    """
    if not isinstance(mdp, FiniteMDP):
        raise InputError(f"kernel rewards must be made for a FiniteMDP, got {type(mdp).__name__}. Give it first.")
    one_of(kernel, KERNELS, "kernel")
    deviations, centre = _per_state(std, mdp, "std"), _per_state(mean, mdp, "mean")
    if (deviations < 0).any() or not deviations.any():
        s = int(np.argmin(deviations))
        raise InputError(
            f"std must be positive, or 0 for some states that are known, got {plain_number(deviations[s])} for state "
            f"{mdp.state_name(s)}. Give a number such as 3.0."
        )
    wanted, size = _wanted(share, rank, mdp.num_states)
    own = real_number(nugget, "nugget")
    if not 0.0 <= own < 1e150:
        raise InputError(f"nugget must be at least 0, with a finite square, got {own}. Leave it out for none.")
    if own:
        _check_nugget(mdp, share, rank)
        wanted, size = 1.0, None
    places, scales = _places(over, length_scale, mdp)
    with (
        progress_bar("Finding directions of the kernel", is_shown=progress) as report,
        np.errstate(over="ignore", invalid="ignore", divide="ignore"),  # what comes of these is refused in words
    ):
        if places is None:
            factor = graph_factor(mdp, KERNELS[kernel], scales[0], deviations, wanted, size)
        else:
            factor = place_factor(places / np.array(scales), KERNELS[kernel], deviations, wanted, size, report)
    made = Smoothness(
        kernel=kernel,
        over=over if isinstance(over, str) else "features",
        length_scale=scales,
        std=(float(deviations.min()), float(deviations.max())),
        nugget=own,
        num_states=mdp.num_states,
        share=1.0 if own else factor.share,
    )
    if own:
        covariance = factor.matrix @ factor.matrix.T + own**2 * np.eye(mdp.num_states)
        return KernelRewards(PerState(mdp), KernelPrior(centre, covariance, smoothness=made))
    return _anchored(mdp, factor, centre, made)


def kernel_covariance(
    mdp: FiniteMDP,
    *,
    length_scale: ArrayLike,
    std: ArrayLike,
    kernel: str = "squared_exponential",
    over: str | ArrayLike = "positions",
) -> FloatArray:
    """Return the covariance `[S, S]` of rewards under a kernel, nothing left out but what rounding hides (1e-10)."""
    model, prior = kernel_rewards(mdp, length_scale=length_scale, std=std, kernel=kernel, over=over, share=1.0)
    return np.asarray((model.features @ (model.features @ prior.covariance).T).T)


def _anchored(mdp: FiniteMDP, factor: Factor, mean: FloatArray, made: Smoothness) -> KernelRewards:
    """Return r = mean + L z in terms of the rewards of anchor states."""
    matrix = factor.matrix
    anchors = anchor_states(matrix)
    own = matrix[anchors]
    covariance = own @ own.T
    prior = KernelPrior(mean[anchors], 0.5 * (covariance + covariance.T), smoothness=made)
    if len(anchors) == mdp.num_states:
        return KernelRewards(PerState(mdp), prior)
    weights = np.linalg.solve(own.T, matrix.T).T
    weights[anchors] = np.eye(len(anchors))  # but for rounding they are
    offset = mean - weights @ mean[anchors]
    offset[anchors] = 0.0
    model = RewardModel(
        num_states=mdp.num_states,
        num_actions=mdp.num_actions,
        features=sparse.csr_array(weights),
        offset=read_only(offset),
        is_state_only=True,
        kind="kernel",
        names=tuple(f"reward of {mdp.state_name(int(state))}" for state in anchors),
    )
    return KernelRewards(model, prior)


def anchor_states(matrix: FloatArray) -> IntArray:
    """Return K states, in their order, whose rows of a factor `[S, K]` are far from depending on each other.

    By QR with pivots: each is the state of which most variance is left, given those before.
    """
    pivots = linalg.qr(matrix.T, mode="r", pivoting=True)[1]
    return np.sort(pivots[: matrix.shape[1]]).astype(np.int64)


def neighbour_correlation(mdp: FiniteMDP, rewards: KernelRewards) -> float | None:
    """Return the median correlation between rewards of states that are one step apart; None if none are."""
    links = sparse.triu(laplacian(mdp), k=1).tocoo()
    pairs = np.stack([links.row, links.col])[:, :: max(1, links.nnz // MAX_PAIRS)]
    model, prior = rewards
    rows = [np.asarray(model.features[index] @ prior.factor) for index in pairs]
    sizes = np.sqrt((rows[0] ** 2).sum(axis=1) * (rows[1] ** 2).sum(axis=1))
    is_open = sizes > 0.0
    if not is_open.any():
        return None
    return float(np.median((rows[0] * rows[1]).sum(axis=1)[is_open] / sizes[is_open]))


def positions_of(mdp: FiniteMDP) -> FloatArray | None:
    """Return where states lie `[S, 2]`: cells of the grid, or coordinates; None where nothing is known."""
    where = mdp.coordinates if mdp.grid is None else mdp.grid.places
    return None if where is None else np.asarray(where, dtype=np.float64)


def _places(over: Any, length_scale: Any, mdp: FiniteMDP) -> tuple[FloatArray | None, tuple[float, ...]]:
    """Return places `[S, F]` and their length scales, one or F; no places for the graph."""
    places: FloatArray | None
    if isinstance(over, str):
        one_of(
            over,
            OVER,
            "over",
            "Or give features [S, F], one row per state; in a problem file, the table that has them.",
        )
        places = positions_of(mdp) if over == "positions" else None
        if over == "positions" and places is None:
            raise InputError(
                "a kernel over positions must have states that lie somewhere, got an MDP without grid and coordinates. "
                'Use over="graph", or give features [S, F] as over.'
            )
    else:
        places = float_array(over, "over")
        places = places[:, None] if places.ndim == 1 else places
        if places.ndim != 2 or len(places) != mdp.num_states or places.shape[1] < 1:
            raise InputError(
                f"over must have one row of features for each of the {mdp.num_states} states, got shape "
                f"{np.shape(over)}. Give [S, F]."
            )
        if not np.isfinite(places).all():
            s, f = (int(i) for i in np.argwhere(~np.isfinite(places))[0])
            raise InputError(
                f"over must be finite, got {places[s, f]} for state {mdp.state_name(s)}, feature {f}. Give a number."
            )
    scales = np.atleast_1d(float_array(length_scale, "length_scale"))
    num_scales = 1 if places is None else places.shape[1]
    if scales.shape not in ((1,), (num_scales,)):
        raise InputError(
            f"length_scale must be a number{f' or {num_scales} of them' if num_scales > 1 else ''}, got shape "
            f"{np.shape(length_scale)}. Give one for all."
        )
    for scale in scales:
        positive(scale, "length_scale", "It is the distance at which rewards are still alike, such as 3.0.")
    return places, tuple(scales.tolist())


def _per_state(value: Any, mdp: FiniteMDP, name: str) -> FloatArray:
    array = float_array(value, name)
    if array.shape not in ((), (mdp.num_states,)):
        raise InputError(
            f"{name} must be a number or have shape {(mdp.num_states,)}, got {array.shape}. Give one per state."
        )
    spread = np.broadcast_to(array, (mdp.num_states,)).copy()
    if not np.isfinite(spread).all():
        s = int(np.argmin(np.isfinite(spread)))
        raise InputError(f"{name} must be finite, got {spread[s]} for state {mdp.state_name(s)}. Give a number.")
    return spread


def _wanted(share: Any, rank: Any, num_states: int) -> tuple[float, int | None]:
    """Return the share to keep, and the rank if that was asked for."""
    if share is not None and rank is not None:
        raise InputError(f"share or rank must be given, not both, got {share} and {rank}. Leave one out.")
    if rank is not None:
        size = whole_number(rank, "rank", 1, "It is the number of parameters; leave it out to keep a share.")
        if size > num_states:
            raise InputError(f"rank must be at most the number of states, {num_states}, got {size}. Use share=1.0.")
        return 1.0, size
    kept = SHARE if share is None else real_number(share, "share")
    if not 0.0 < kept <= 1.0:
        raise InputError(f"share must lie above 0 and at most at 1, got {kept}. It is of the variance, such as 0.99.")
    return kept, None


def _check_nugget(mdp: FiniteMDP, share: Any, rank: Any) -> None:
    if share is not None or rank is not None:
        raise InputError(
            "a nugget must come without share and rank, got one of them: every state then has a parameter of its own. "
            "Leave them out, or the nugget."
        )
    if mdp.num_states > MAX_NUGGET_STATES:
        raise InputError(
            f"a nugget must come with at most {MAX_NUGGET_STATES} states, got {mdp.num_states}: each has a parameter "
            "of its own. Leave it out."
        )
