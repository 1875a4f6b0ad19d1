"""Kernels over states, and what of their covariance is worth keeping.

With d the distance of two states in units of the length scale l, and their standard deviations s and s', the covariance
of their rewards is s s' k(d):

    squared_exponential   exp(-d^2 / 2)                                very smooth
    matern52              (1 + sqrt(5) d + 5 d^2 / 3) exp(-sqrt(5) d)  twice differentiable
    matern32              (1 + sqrt(3) d) exp(-sqrt(3) d)              once differentiable
    matern12              exp(-d)                                      continuous, rough

Distances are Euclidean, between positions or between features. On a graph, k of the distance in steps would not be
positive definite: on a ring of four states the squared exponential of length scale 1 has a negative eigenvalue. There
the same kernels are functions of the Laplacian D - W of the graph in which two states are joined if one leads to the
other in one step (Kondor and Lafferty 2002; Borovitskiy et al. 2021), with eigenvalues x:

    squared_exponential   exp(-l^2 x / 2)
    matern                (1 + l^2 x / (2 nu))^-(nu + 1)

which are positive for every x, so that the matrix is a covariance on any graph. These are the spectral densities of the
kernels in the plane, so that far from the edge of a large grid both ways agree. The diagonal of such a matrix differs
from state to state (it is larger at dead ends), so it is divided by its roots from both sides: every state then has the
standard deviation that was asked for.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from journeyman.errors import InputError
from journeyman.mdp.graph import state_links
from journeyman.mdp.model import FiniteMDP
from journeyman.progress import Report
from journeyman.types import FloatArray

MAX_GRAPH_STATES = 4000  # of which all eigenvectors are computed: about half a minute
MAX_ENTRIES = 200_000_000  # numbers of a factor before it is compressed: 1.6 GB
NEGLIGIBLE = 1e-10  # part of the largest variance below which a direction counts as none
FINER = 0.05  # part of what may be lost that a factor may lose before it is compressed
WIDER = 10  # columns of a factor before it is compressed, in units of a rank that was asked for


class Kernel(NamedTuple):
    """A kernel: its correlation at distances in units of the length scale, and its spectrum on a graph.

    `spectrum_fn` takes eigenvalues of the Laplacian times the squared length scale; it is 1 at 0 and falls.
    """

    words: str
    correlation_fn: Callable[[FloatArray], FloatArray]
    spectrum_fn: Callable[[FloatArray], FloatArray]


def _matern(nu: float) -> Callable[[FloatArray], FloatArray]:
    return lambda x: (1.0 + x / (2.0 * nu)) ** -(nu + 1.0)


def _matern52(d: FloatArray) -> FloatArray:
    x = np.sqrt(5.0) * d
    return np.asarray((1.0 + x + x**2 / 3.0) * np.exp(-x))


def _matern32(d: FloatArray) -> FloatArray:
    x = np.sqrt(3.0) * d
    return np.asarray((1.0 + x) * np.exp(-x))


KERNELS: dict[str, Kernel] = {
    "squared_exponential": Kernel(
        "squared exponential", lambda d: np.asarray(np.exp(-0.5 * d**2)), lambda x: np.asarray(np.exp(-0.5 * x))
    ),
    "matern52": Kernel("Matern 5/2", _matern52, _matern(2.5)),
    "matern32": Kernel("Matern 3/2", _matern32, _matern(1.5)),
    "matern12": Kernel("Matern 1/2", lambda d: np.asarray(np.exp(-d)), _matern(0.5)),
}


class Factor(NamedTuple):
    """A matrix `[S, K]` whose product with its transpose is nearly a covariance, and the share of the variance kept.

    Its columns are orthogonal, those of most variance first.
    """

    matrix: FloatArray
    share: float


def place_factor(
    places: FloatArray, kernel: Kernel, std: FloatArray, share: float, rank: int | None, report: Report
) -> Factor:
    """Return the factor of a kernel over places `[S, F]` in units of the length scale; `std` is `[S]`.

    By Cholesky with pivots, which needs no matrix `[S, S]`, and then the best directions of what that finds: those that
    keep a share of the variance, or `rank` of them if that is given.
    """

    def column(state: int) -> FloatArray:
        distance = np.sqrt(((places - places[state]) ** 2).sum(axis=1))
        return np.asarray(std * std[state] * kernel.correlation_fn(distance))

    lost = FINER * (1.0 - share) if rank is None else NEGLIGIBLE
    wanted = len(std) if rank is None else min(len(std), WIDER * rank)
    return compressed(pivoted_cholesky(column, std**2, lost, wanted, report), float((std**2).sum()), share, rank)


def pivoted_cholesky(
    column_fn: Callable[[int], FloatArray], variances: FloatArray, lost: float, wanted: int, report: Report
) -> FloatArray:
    """Return L `[S, K]` with L L^T below a covariance, whose trace is within `lost` of that of the covariance.

    Each step takes the state of which most variance is left (Harbrecht, Peters and Schneider 2012), and at most
    `wanted` are made. K S numbers are kept, and column_fn(state) gives the others.
    """
    left, total = variances.copy(), float(variances.sum())
    limit = MAX_ENTRIES // len(left)
    found = np.empty((min(wanted, 64), len(left)))
    for count in range(wanted):
        state = int(np.argmax(left))
        if left[state] <= NEGLIGIBLE * variances.max() or left.sum() <= lost * total:
            return found[:count].T
        if count >= limit:
            raise InputError(
                f"a kernel must need at most {limit} directions for {len(left)} states, got one of which "
                f"{left.sum() / total:.1%} of the variance is left then. Use a longer length_scale, a smoother kernel, "
                "a smaller share, or give the rank."
            )
        if count == len(found):
            found = np.concatenate([found, np.empty((min(count, wanted - count), len(left)))])
        row = column_fn(state) - found[:count, state] @ found[:count]
        found[count] = row / np.sqrt(left[state])
        left = np.maximum(left - found[count] ** 2, 0.0)
        left[state] = 0.0
        report(1.0 - float(left.sum()) / total)
    return found.T


def graph_factor(
    mdp: FiniteMDP, kernel: Kernel, length_scale: float, std: FloatArray, share: float, rank: int | None
) -> Factor:
    """Return the factor of a kernel over the graph of an MDP."""
    if mdp.num_states > MAX_GRAPH_STATES:
        raise InputError(
            f"a kernel over the graph must have at most {MAX_GRAPH_STATES} states, got {mdp.num_states}: all "
            'eigenvectors are computed. Use over="positions", or features that tell how alike states are.'
        )
    eigenvalues, vectors = np.linalg.eigh(laplacian(mdp).toarray())
    spectrum = kernel.spectrum_fn(np.maximum(eigenvalues, 0.0) * length_scale**2)
    is_kept = spectrum > NEGLIGIBLE * spectrum.max()
    tall = vectors[:, is_kept] * np.sqrt(spectrum[is_kept])
    tall *= (std / np.sqrt((tall**2).sum(axis=1)))[:, None]
    return compressed(tall, float((std**2).sum()), share, rank)


def laplacian(mdp: FiniteMDP) -> sparse.csr_array:
    """Return D - W `[S, S]` of the graph in which two states are joined if one leads to the other in one step."""
    links = state_links(mdp).tocoo()
    other = links.row != links.col
    one_way = sparse.csr_array((np.ones(other.sum()), (links.row[other], links.col[other])), shape=links.shape)
    joined = ((one_way + one_way.T) > 0).astype(np.float64)
    return sparse.csr_array(sparse.diags_array(np.asarray(joined.sum(axis=1)).ravel()) - joined)


def compressed(tall: FloatArray, total: float, share: float, rank: int | None) -> Factor:
    """Return the best factor of few columns of the covariance tall tall^T, whose variances are part of `total`.

    So few that a share of the total is kept, or `rank` of them if that is given; directions of next to no variance are
    left out in either case.
    """
    if tall.shape[1] == 0 or not 0.0 < total < np.inf or not np.isfinite(tall).all():
        raise InputError(
            f"a kernel must have variances and distances that numbers can hold, got {total:g} for all variances. "
            "Choose other units for std, length_scale and positions."
        )
    variances, axes = np.linalg.eigh(tall.T @ tall)
    variances, axes = variances[::-1], axes[:, ::-1]
    num_open = int((variances > NEGLIGIBLE * variances[0]).sum())
    kept = np.minimum(np.cumsum(variances[:num_open]) / total, 1.0)
    size = rank if rank is not None else 1 + int(np.searchsorted(kept, share - 1e-12))
    size = min(size, num_open)
    return Factor(tall @ axes[:, :size], float(kept[size - 1]))
