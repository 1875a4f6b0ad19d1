"""Diagnostics: how good posterior samples are, and what to do where they are not."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from journeyman.extras import require
from journeyman.inference.surprise import Surprise
from journeyman.types import BoolArray, FloatArray

MIN_ESS_PER_CHAIN = 100  # below it R-hat and ESS themselves are unreliable (Vehtari et al. 2021)
MAX_R_HAT = 1.02  # 1.01 is passed by chance where it is the largest over 100 parameters
MIN_PARTICLE_ESS = 100
MIN_ANCESTORS = 50
MIN_ACCEPTANCE = 0.4  # of trajectories
MIN_PROPOSALS = 0.1  # of independent proposals, each of which is far from the last
MAX_MOVE_CORRELATION = 0.9


@dataclass(frozen=True)
class Diagnostics:
    """What a method knows about its own samples; None where it does not apply.

    Parameters
    ----------
    seconds
        Time of inference.
    num_gradients
        Gradients of the posterior density that it took.
    ess_bulk, ess_tail, r_hat, num_divergences
        Of chains: effective sample sizes in the bulk and in the tails (smallest over parameters), the largest R-hat,
        divergences.
    particle_ess
        Kish's effective sample size, from the weights: of the particles of SMC, or of the cells of a grid.
    acceptance
        Mean acceptance of chains, or of the last moves of SMC.
    move_correlation, num_rejuvenations
        Of SMC: mean correlation of the last moves, and how often particles were moved.
    distinct_ancestors, chain_length
        Of SMC: ancestors since the last full move, and particles per ancestor, which stand together, in order.
    error_bound
        Of enumeration: a bound on the error.
    objective, is_converged
        Of the variational method: its objective at the start and after every iteration, and whether the gradient of
        that has vanished.
    warnings
        What is doubtful, with advice.
    """

    seconds: float
    num_gradients: int = 0
    ess_bulk: float | None = None
    ess_tail: float | None = None
    r_hat: float | None = None
    num_divergences: int | None = None
    particle_ess: float | None = None
    acceptance: float | None = None
    move_correlation: float | None = None
    distinct_ancestors: int | None = None
    chain_length: int | None = None
    num_rejuvenations: int | None = None
    error_bound: float | None = None
    objective: tuple[float, ...] | None = field(default=None, repr=False)
    is_converged: bool | None = None
    warnings: tuple[str, ...] = ()


class ChainSummary(NamedTuple):
    """Smallest effective sample sizes and largest R-hat over parameters; R-hat is None for a single chain."""

    ess_bulk: float
    ess_tail: float
    r_hat: float | None


def summarise_chains(draws: FloatArray) -> ChainSummary:
    """Return the worst parameter's ESS and R-hat (ArviZ) of chains `[C, N, D]`.

    A parameter that never moves within some chain counts as one effective draw: ArviZ would call it perfect.
    """
    if draws.shape[1] < 4:  # too short for any estimate
        return ChainSummary(1.0, 1.0, None)
    if (np.ptp(draws, axis=1) == 0.0).any():
        return ChainSummary(1.0, 1.0, None if len(draws) < 2 else np.inf)
    arviz = require("arviz", "mcmc")
    bulk, tail = (arviz.ess({"theta": draws}, method=method)["theta"] for method in ("bulk", "tail"))
    r_hat = float(np.max(arviz.rhat({"theta": draws})["theta"])) if len(draws) > 1 else None
    return ChainSummary(float(np.min(bulk)), float(np.min(tail)), r_hat)


def chain_warnings(summary: ChainSummary, diverging: BoolArray) -> tuple[str, ...]:
    """Say what is doubtful about chains, with advice; `diverging` is `[C, N]`."""
    num_chains, num_draws = diverging.shape
    wanted = MIN_ESS_PER_CHAIN * num_chains
    warnings = []
    if min(summary.ess_bulk, summary.ess_tail) < wanted:
        factor = int(np.ceil(wanted / max(min(summary.ess_bulk, summary.ess_tail), 1.0)))
        warnings.append(
            f"the smallest effective sample size is {summary.ess_bulk:.0f} in the bulk and {summary.ess_tail:.0f} in "
            f"the tails, below {wanted}: means and quantiles are noisy. Use about {factor} times as many draws."
        )
    if summary.r_hat is None:
        warnings.append("R-hat is unknown, so nothing tells whether the chain has converged. Run two chains or more.")
    elif not summary.r_hat <= MAX_R_HAT:
        warnings.append(
            f"the largest R-hat is {summary.r_hat:.3f}, above {MAX_R_HAT}: the chains disagree. "
            "Use a longer warm-up and more draws, or 'smc'."
        )
    if diverging.any():
        warnings.append(
            f"{int(diverging.sum())} of {num_chains * num_draws} draws diverged: parts of the posterior may be "
            "missing. Use a larger target_accept."
        )
    return tuple(warnings)


def least_particle_ess(num_particles: int) -> float:
    """Return how many of these particles must be effective for means over them."""
    return min(MIN_PARTICLE_ESS, num_particles / 2)


def smc_warnings(particle_ess: float, num_particles: int, moves: Any, settings: Any) -> tuple[str, ...]:
    """Say what is doubtful about particles, with advice; `moves` and `settings` are those of `smc`."""
    warnings = []
    if particle_ess < least_particle_ess(num_particles):
        warnings.append(
            f"only {particle_ess:.0f} of {num_particles} particles are effective: means are noisy. Use more particles."
        )
    if not moves.num_rejuvenations:
        return tuple(warnings)
    if moves.is_proposing:
        if moves.acceptance < MIN_PROPOSALS:
            warnings.append(
                f"only {moves.acceptance:.0%} of the last proposals were accepted: particles are too much alike. "
                "Use more particles."
            )
    elif moves.acceptance < MIN_ACCEPTANCE:
        warnings.append(
            f"only {moves.acceptance:.0%} of the last moves were accepted: the step was too long. Use more particles."
        )
    if moves.start_correlation > settings.start_correlation:
        warnings.append(
            f"moves left a correlation of {moves.start_correlation:.2f} with where they started, above "
            f"{settings.start_correlation}: particles are too much alike. Raise max_burn_in or max_leapfrog."
        )
    if moves.correlation > MAX_MOVE_CORRELATION:
        warnings.append(
            f"successive particles of a chain correlate by {moves.correlation:.2f}, above {MAX_MOVE_CORRELATION}: "
            "there are fewer effective particles than it seems. Raise max_leapfrog."
        )
    if moves.distinct_ancestors < min(MIN_ANCESTORS, num_particles // 16):
        warnings.append(
            f"all particles come from {moves.distinct_ancestors} ancestors: means are noisy. Use more particles."
        )
    return tuple(warnings)


def surprise_warnings(surprise: Surprise) -> tuple[str, ...]:
    """Say that something else explains the answers far better than everything that was found, if it does."""
    if not surprise.is_large:
        return ()
    return (
        f"models without a goal explain the answers far better than every reward that was found ({surprise}): either "
        "the expert does not fit the model (beta is too high, or they have another goal), or a part of the posterior "
        "is missing. Try a smaller beta, check the answers and the prior, or use more particles.",
    )
