"""Diagnostics: how good posterior samples are, and what to do where they are not."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Diagnostics:
    """What a method knows about its own samples; None where it does not apply.

    Chains: effective sample sizes (smallest over parameters) in the bulk and in the tails, largest R-hat, divergences.
    SMC: particle ESS (Kish, from the weights), mean acceptance and mean correlation of the last moves, distinct
    ancestors since the last full move, number of rejuvenations. Exact methods: a bound on the error, if there is one.
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
    num_rejuvenations: int | None = None
    error_bound: float | None = None
    warnings: tuple[str, ...] = ()
def smc_warnings(particle_ess, num_particles, moves, settings):
    return ()
