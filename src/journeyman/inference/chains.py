"""What samplers of chains take and give: settings, draws, diagnostics."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from journeyman.checks import share, whole_number
from journeyman.errors import InferenceError, InputError
from journeyman.inference.diagnostics import Diagnostics, chain_warnings, summarise_chains
from journeyman.types import AnyArray, FloatArray


class ChainSettings(NamedTuple):
    """num_chains C; num_warmup and num_draws N per chain, before thinning; target_accept: acceptance to tune to."""

    num_chains: int
    num_warmup: int
    num_draws: int
    thin: int
    target_accept: float


DEFAULTS = ChainSettings(num_chains=4, num_warmup=300, num_draws=1000, thin=1, target_accept=0.7)


class Chains(NamedTuple):
    """Draws of unconstrained space `[C, N, D]`, and what is known about each `[C, N]` by ArviZ's names.

    num_recoveries counts points where the log density or its gradient was not a number; they count as divergences.
    """

    positions: FloatArray
    stats: dict[str, AnyArray]
    num_gradients: int
    num_recoveries: int = 0


def no_start(reason: str) -> InferenceError:
    """Return the error for chains that cannot begin."""
    return InferenceError(
        f"chains must start where the log posterior and its gradient are finite, got {reason} at draws of the prior. "
        "Use a prior of smaller scale, a smaller beta, or rewards that are scaled down."
    )


def chain_settings(*changes: Any, defaults: ChainSettings = DEFAULTS) -> ChainSettings:
    """Return the settings, all checked; `changes` in their order, None for the default."""
    given = {name: value for name, value in zip(ChainSettings._fields, changes, strict=False) if value is not None}
    settings = defaults._replace(**given)
    target_accept = share(settings.target_accept, "target_accept", f"The default is {defaults.target_accept}.")
    checked = ChainSettings(
        whole_number(settings.num_chains, "num_chains", 1),
        whole_number(settings.num_warmup, "num_warmup", 10, "Chains need some draws to find their step."),
        whole_number(settings.num_draws, "num_draws", 1),
        whole_number(settings.thin, "thin", 1, "1 keeps every draw."),
        target_accept,
    )
    if checked.thin > checked.num_draws:
        raise InputError(
            f"thin must be at most num_draws ({checked.num_draws}), got {checked.thin}. Nothing would be left."
        )
    return checked


def longer_chains(options: Mapping[str, Any], factor: int) -> dict[str, Any]:
    """Return the options of chains with `factor` times as many draws."""
    return {**options, "num_draws": factor * int(options.get("num_draws") or DEFAULTS.num_draws)}


def thinned(chains: Chains, thin: int) -> Chains:
    """Keep every `thin`-th draw."""
    kept = slice(thin - 1, None, thin)
    stats = {name: values[:, kept] for name, values in chains.stats.items()}
    return chains._replace(positions=chains.positions[:, kept], stats=stats)


def diagnose(chains: Chains, theta: FloatArray, seconds: float) -> Diagnostics:
    """Return the diagnostics of draws `[C, N, D]`."""
    summary = summarise_chains(theta)
    diverging = np.asarray(chains.stats["diverging"], dtype=bool)
    warnings = chain_warnings(summary, diverging)
    if chains.num_recoveries:
        warnings = (
            *warnings,
            f"the log posterior or its gradient was not a number at {chains.num_recoveries} points; these trajectories "
            "were rejected. Use a prior of smaller scale, or rewards that are scaled down.",
        )
    return Diagnostics(
        seconds=seconds,
        num_gradients=chains.num_gradients,
        ess_bulk=summary.ess_bulk,
        ess_tail=summary.ess_tail,
        r_hat=summary.r_hat,
        num_divergences=int(diverging.sum()),
        acceptance=float(np.mean(chains.stats["acceptance_rate"])),
        warnings=warnings,
    )
