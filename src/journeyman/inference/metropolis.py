"""Moves of many chains at once: proposed by some density that resembles the posterior, accepted by exact values.

A chain at z takes a proposal z' of a density q, or of moves that leave q invariant, with chance

    min(1, p(z') q(z) / (p(z) q(z'))),

so that the posterior p is invariant, whatever q is. A bad q costs acceptance, nothing else. What q is, `proposals` and
`surrogate` say; the proposals of all chains are solved side by side.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from journeyman.inference.target import solved_at
from journeyman.types import AnyArray, FloatArray


class Proposal(NamedTuple):
    """Where M chains may move: positions `[M, D]`, values near theirs `[M, S]`, and log q `[M]` there."""

    positions: FloatArray
    near: FloatArray
    log_proposal: FloatArray


class Proposed(NamedTuple):
    """Chains after P moves each, all their states `[M, P, ...]`, chances of acceptance `[M, P]`, and solves."""

    chains: Any
    kept: tuple[FloatArray, FloatArray, AnyArray]
    acceptance: FloatArray
    num_solves: int


def log_density_of(target: Any, positions: FloatArray, values: FloatArray) -> FloatArray:
    """Return the log posterior density `[M]` at points whose values are known, up to a constant."""
    found = target.log_likelihood(positions, values) - 0.5 * target.precision * (positions**2).sum(axis=1)
    return np.where(np.isnan(found), -np.inf, found)


def move(
    rng: np.random.Generator,
    chains: Any,
    propose_fn: Callable[[np.random.Generator, Any], Proposal],
    num_moves: int,
    thinning: int = 1,
) -> Proposed:
    """Move every chain `num_moves` times; all that is random is drawn here, whatever the number of threads.

    `chains` have a target, num_threads, and where they stand: positions, values, policies, log_density and log_proposal
    there. Of `thinning` moves the last is kept.
    """
    num_chains = len(chains.positions)
    arrays = (chains.positions, chains.values, chains.policies)
    kept = tuple(np.empty((num_chains, num_moves, array.shape[1]), dtype=array.dtype) for array in arrays)
    acceptance = np.empty((num_chains, num_moves))
    for count in range(num_moves * thinning):
        proposal = propose_fn(rng, chains)
        uniforms = rng.random(num_chains)
        values, policies = solved_at(chains.target, proposal.positions, chains.num_threads, proposal.near)
        log_density = log_density_of(chains.target, proposal.positions, values)
        with np.errstate(invalid="ignore"):
            ratio = log_density - chains.log_density + chains.log_proposal - proposal.log_proposal
        chances = np.exp(np.minimum(0.0, np.where(np.isnan(ratio), -np.inf, ratio)))
        taken = uniforms < chances
        new = (proposal.positions, values, policies, log_density, proposal.log_proposal)
        names = ("positions", "values", "policies", "log_density", "log_proposal")
        chains = chains._replace(
            **{name: _where(taken, array, getattr(chains, name)) for name, array in zip(names, new, strict=True)}
        )
        acceptance[:, count // thinning] = chances
        for array, state in zip(kept, (chains.positions, chains.values, chains.policies), strict=True):
            array[:, count // thinning] = state
    return Proposed(chains, kept, acceptance, num_chains * num_moves * thinning)  # type: ignore[arg-type]


def _where(taken: AnyArray, new: AnyArray, old: AnyArray) -> AnyArray:
    """Return `new` where a proposal was taken, `[M, ...]`, and `old` elsewhere, in the type of `old`."""
    out = old.copy()
    out[taken] = new[taken]
    return out
