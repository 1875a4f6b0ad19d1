"""What of a reward can be learned at all, and what was learned so far.

An expert's choices depend on differences of Q* within a state. A change d of the parameters is invisible to every
expert if there are numbers phi(s) with

    (features . d)(s, a) = phi(s) - discount * sum over s' of p(s' | s, a) phi(s')     for every available (s, a),

for then Q*(s, a) changes by phi(s), the same for all actions (potential shaping: Ng, Harada and Russell 1999; necessary
too, as the change of Q* at an expert's own optimal policy shows). These d are a linear space, which is computed here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from journeyman.inference.posterior import Posterior
from journeyman.mdp.graph import reachable
from journeyman.problem import Problem
from journeyman.report.posterior.knowledge import ParameterKnowledge
from journeyman.types import BoolArray, FloatArray

MAX_ENTRIES = 1_500_000  # of the matrix whose null space is taken: about two seconds
RANK_TOLERANCE = 1e-9
WHOLLY = 0.99


@dataclass(frozen=True, eq=False)
class Identifiability:
    """What can be known about the reward, and how much of that is known.

    Parameters
    ----------
    invisible
        `[K, D]` orthonormal changes of the parameters that change no expert's choices; None if the problem is too large
        to look for them.
    shift
        `[D]` the change that adds one constant to the reward of every step, if it is invisible; else None.
    spreads
        Posterior over prior standard deviation along the principal directions of what was learned, best known first, at
        most D; 1 is nothing learned.
    num_learned, num_learned_error
        How many of D directions were pinned down: sum of 1 - variance ratio, between 0 and D; and its Monte-Carlo
        standard error, 0 where the posterior is exact.
    unseen
        `[S]` states where there is a choice, but no answer has shown one.
    beyond
        `[S]` states with a choice that no answer can ever show: not queryable, nor on a way from a queryable one where
        trajectories are asked for.
    """

    invisible: FloatArray | None
    shift: FloatArray | None
    spreads: FloatArray
    num_learned: float
    num_learned_error: float
    unseen: BoolArray
    beyond: BoolArray

    @property
    def invisible_share(self) -> FloatArray | None:
        """`[D]` in 0..1: how much of each parameter lies in invisible directions; at 1 it can never be learned."""
        return None if self.invisible is None else np.asarray((self.invisible**2).sum(axis=0))


def identifiability(posterior: Posterior, *, kind: str = "state") -> Identifiability:
    """Say what can be known about the reward of a problem, and what is; `kind` is that of the queries."""
    problem, counts = posterior.problem, posterior.counts
    mdp = problem.mdp
    spreads = learned_spreads(posterior)
    has_choice = ~mdp.terminal & (mdp.available.sum(axis=1) > 1)
    starts = np.flatnonzero(problem.queryable)
    can_show = reachable(mdp, starts) if kind == "trajectory" else problem.queryable
    return Identifiability(
        invisible=invisible_directions(problem),
        shift=constant_shift(problem),
        spreads=spreads,
        num_learned=float(np.clip((1.0 - spreads**2).sum(), 0.0, len(spreads))),
        num_learned_error=float(np.sqrt(2.0 * (spreads**4).sum() * unevenness(posterior))),
        unseen=has_choice & ~(counts.sum(axis=1) > 0),
        beyond=has_choice & ~can_show & ~(counts.sum(axis=1) > 0),
    )


def invisible_directions(problem: Problem) -> FloatArray | None:
    """Return `[K, D]` orthonormal changes of parameters that no expert's choice depends on, K = 0 if there is none.

    None if the search would take too long.
    """
    features, differences = _rows_of_choices(problem)
    if features.shape[0] * (features.shape[1] + differences.shape[1]) > MAX_ENTRIES:
        return None
    matrix = sparse.hstack([features, -differences]).toarray()
    if matrix.shape[0] > matrix.shape[1]:
        matrix = linalg.qr(matrix, mode="r")[0][: matrix.shape[1]]  # smaller, with the same null space
    null = linalg.null_space(matrix, rcond=RANK_TOLERANCE)[: features.shape[1]]
    if null.shape[1] == 0:
        return np.zeros((0, features.shape[1]))
    basis, sizes, _ = np.linalg.svd(null, full_matrices=False)
    return np.ascontiguousarray(basis[:, sizes > RANK_TOLERANCE].T)


def constant_shift(problem: Problem) -> FloatArray | None:
    """Return the parameters `[D]` of a reward that gives every state the value 1, if there are such; else None.

    Without terminal states it pays 1 - discount everywhere; a terminal cell, which pays once, pays 1.
    """
    features, differences = _rows_of_choices(problem)
    target = differences @ np.ones(differences.shape[1])
    if features.shape[0] * features.shape[1] > MAX_ENTRIES:
        return None
    solution = np.linalg.lstsq(features.toarray(), target, rcond=None)[0]
    return solution if np.abs(features @ solution - target).max() < RANK_TOLERANCE else None


def _rows_of_choices(problem: Problem) -> tuple[Any, Any]:
    """Return sparse features `[N, D]` and phi's change `[N, S]`, one row per available (state, action)."""
    mdp, model = problem.mdp, problem.reward_model
    rows = np.flatnonzero(mdp.available.ravel())
    states = rows // mdp.num_actions
    own: Any = sparse.csr_array((np.ones(len(rows)), (np.arange(len(rows)), states)), shape=(len(rows), mdp.num_states))
    features = model.features[states if model.is_state_only else rows]
    return sparse.csr_array(features), sparse.csr_array(own - mdp.discount * mdp.transition_matrix[rows])


def learned_spreads(posterior: Posterior) -> FloatArray:
    """Return posterior over prior standard deviation along principal directions, best known first.

    The directions are those in which the posterior covariance, in units of the prior's, is diagonal. Directions that
    the prior knew exactly are left out. The sum of the squares has no bias; with few samples the smallest is too small
    and the largest too large.
    """
    variances, axes = np.linalg.eigh(posterior.problem.prior.covariance)
    is_open = variances > 1e-12 * max(float(variances.max()), 0.0)
    whitening = axes[:, is_open] / np.sqrt(variances[is_open])
    centred = (posterior.theta - posterior.mean_parameters()) @ whitening
    covariance = centred.T @ (posterior.weights[:, None] * centred) / (1.0 - unevenness(posterior))
    return np.asarray(np.sqrt(np.clip(np.linalg.eigvalsh(covariance), 0.0, None)))


def unevenness(posterior: Posterior) -> float:
    """Return the sum of squared weights: one over the number of samples if they are equal; 0 if they are exact.

    A covariance of samples is too small by this share, since their own mean is taken off.
    """
    is_exact = posterior.problem.prior.is_discrete or posterior.diagnostics.error_bound is not None
    return 0.0 if is_exact else min(float((posterior.weights**2).sum()), 0.5)


def reason_not_learned(
    parameter: int, posterior: Posterior, found: Identifiability, knowledge: ParameterKnowledge
) -> str:
    """Say why a parameter is nearly as unsure as before."""
    mdp, model = posterior.problem.mdp, posterior.problem.reward_model
    share = found.invisible_share
    if share is not None and share[parameter] > WHOLLY:
        return "no expert's choice depends on it: it can never be learned from demonstrations"
    if not posterior.counts.any():
        return "there is no answer yet"
    rows = sparse.csc_array(model.features)[:, [parameter]].nonzero()[0]
    places = np.unique(rows if model.is_state_only else rows // model.num_actions)  # where it is paid
    if places.size == 0:
        return f"it pays nowhere: no state has the feature {knowledge.names[parameter]}"
    seen = np.flatnonzero(posterior.counts.sum(axis=1))
    if not reachable(mdp, seen)[places].any():
        return "where it is paid cannot be reached from any state that an answer came from"
    return "what the expert did so far would be much the same for most of its likely values"
