"""What the SMC sampler remembers: settings, particles, and what it has learned about moving them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from journeyman.checks import share, whole_number
from journeyman.errors import InputError
from journeyman.inference.general import GeneralTarget
from journeyman.inference.target import Target
from journeyman.inference.weights import log_mean_exp, normalised
from journeyman.problem import Problem
from journeyman.types import AnyArray, FloatArray

MIN_PARTICLES = 100


@dataclass(frozen=True)
class SMCSettings:
    """How particles are kept.

    Parameters
    ----------
    num_particles
        N.
    chain_length
        Moves kept per ancestor: N / chain_length ancestors are drawn at each rejuvenation.
    ess_threshold
        Rejuvenate when the effective sample size of the weights is below this part of N.
    stage_ess
        Part of N that each stage keeps when a surprising answer is tempered.
    acceptance
        What the step is tuned to.
    start_correlation
        Moves before the kept ones go on until parameters correlate at most so much with their values at resampling.
    move_correlation
        Trajectories are lengthened while single moves leave a larger correlation, and shortened below half of it.
    max_leapfrog, max_burn_in
        Limits to these two; where they bind the posterior carries a warning.
    """

    num_particles: int = 1000
    chain_length: int = 8
    ess_threshold: float = 0.5
    stage_ess: float = 0.5
    acceptance: float = 0.75
    start_correlation: float = 0.3
    move_correlation: float = 0.5
    max_leapfrog: int = 200
    max_burn_in: int = 12

    def __post_init__(self) -> None:
        """Check ranges."""
        whole_number(self.num_particles, "num_particles", MIN_PARTICLES, "Fewer cannot tell how well they move.")
        whole_number(self.chain_length, "chain_length", 1)
        whole_number(self.max_leapfrog, "max_leapfrog", 1)
        whole_number(self.max_burn_in, "max_burn_in", 1)
        if self.num_chains < 12:
            raise InputError(
                "num_particles must be at least 12 times chain_length, "
                f"got {self.num_particles} and {self.chain_length}. Use more particles or shorter chains."
            )
        for name in ("ess_threshold", "stage_ess", "acceptance", "start_correlation", "move_correlation"):
            share(getattr(self, name), name, f"The default is {getattr(SMCSettings, name)}.")

    @property
    def num_chains(self) -> int:
        """Number of ancestors per rejuvenation."""
        return -(-self.num_particles // self.chain_length)


class Moves(NamedTuple):
    """What rejuvenation has learned about moving, kept for the next one, and how the last one went."""

    step: float
    num_leapfrog: float
    acceptance: float = 1.0
    correlation: float = 0.0
    start_correlation: float = 0.0
    num_divergences: int = 0
    distinct_ancestors: int = 0
    num_rejuvenations: int = 0
    num_gradients: int = 0


@dataclass(frozen=True, eq=False)
class Particles:
    """State of the sampler: frozen, each update gives a new one.

    positions `[N, D]` are draws given `moved_counts`; log_weights `[N]` (not normalised) take them to `counts`. For a
    Discrete prior (target None) the positions are the atoms, and their log weights include the prior.
    """

    target: Target | GeneralTarget | None
    problem: Problem
    settings: SMCSettings
    seed: int
    num_stages: int
    positions: FloatArray
    values: FloatArray
    policies: AnyArray
    moved_counts: FloatArray
    counts: FloatArray
    log_weights: FloatArray
    moved_log_evidence: float
    moves: Moves
    seconds: float = 0.0

    @property
    def log_evidence(self) -> float:
        """Estimate of log p(D)."""
        return self.moved_log_evidence + log_mean_exp(self.log_weights)

    @property
    def weights(self) -> FloatArray:
        """Normalised weights `[N]`."""
        return normalised(self.log_weights)


def concatenated(arrays: tuple[AnyArray, ...], size: int) -> list[AnyArray]:
    """Return chains `[M, P, ...]` as particles `[size, ...]`."""
    return [np.ascontiguousarray(array.reshape(-1, array.shape[-1])[:size]) for array in arrays]
