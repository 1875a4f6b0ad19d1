"""PolicyWalk: Markov chains over reward parameters, on the exact gradient of the log posterior.

Chains live in unconstrained space, where every continuous prior is N(0, I), so that bounds need no care. Two samplers:

- "nuts": the No-U-Turn Sampler of nutpie. Its mass matrix comes from the variance of the draws, not of the gradients
  (nutpie's default), because policy switches make gradients jump.
- "hmc": our own compiled chains, which call nothing back for every gradient.

Measured with 50 answers, 4 chains of the default settings, seeds 0 and 1: effective draws (bulk) of the worst parameter
per 1e5 gradients after warm-up, and per second of one core with warm-up.

| world | nuts | hmc |
|---|---|---|
| random-8x8 | 171, 148; 54/s, 48/s | 278, 330; 237/s (five runs) |
| random-10x10 | 94, 112; 28/s, 37/s | 139, 154; 100/s, 114/s |

How the settings of nuts were chosen, by one run of 4 chains each, on 8x8 and 10x10, per 1e5 gradients: gradient-based
scales 78 and 40, against 153 and 114 at the same acceptance of 0.8; acceptance 0.65: 208 and 97, 0.72: 157 and 101,
0.87: 106 and 65. The default of 0.7 lies within what these cannot tell apart.
"""

import difflib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from journeyman.errors import InputError
from journeyman.inference.chains import Chains, ChainSettings
from journeyman.inference.diagnostics import Diagnostics, chain_warnings, summarise_chains
from journeyman.inference.hmc import hmc_chains
from journeyman.inference.nuts import nuts_chains
from journeyman.inference.posterior import Posterior
from journeyman.inference.target import Target
from journeyman.mdp import solve_batch
from journeyman.problem import Problem
from journeyman.rewards import MultivariateNormal, Normal, Uniform
from journeyman.threads import resolve_num_threads
from journeyman.types import FloatArray, IntArray, real_number, whole_number

SAMPLERS: dict[str, Callable[..., Chains]] = {"nuts": nuts_chains, "hmc": hmc_chains}
DEFAULTS = ChainSettings(num_chains=4, num_warmup=300, num_draws=1000, thin=1, target_accept=0.7)
PUBLISHED = ChainSettings(num_chains=1, num_warmup=100, num_draws=200, thin=2, target_accept=0.8)
PRESETS = {
    "published-jail": PUBLISHED,
    "published-8x8": PUBLISHED._replace(num_draws=500),
    "published-10x10": PUBLISHED._replace(num_draws=1000),
}


def refusal(problem: Problem) -> str | None:
    """Return why chains cannot do a problem, or None if they can."""
    if isinstance(problem.prior, Normal | Uniform | MultivariateNormal):
        return None
    return (
        f"policywalk needs a Normal, Uniform or MultivariateNormal prior, got {type(problem.prior).__name__}: "
        "there is no gradient to follow. Use 'enumerate' or 'smc'."
    )


def infer_policywalk(
    problem: Problem,
    counts: IntArray,
    *,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool = False,
    sampler: str = "nuts",
    preset: str | None = None,
    num_chains: int | None = None,
    num_warmup: int | None = None,
    num_draws: int | None = None,
    thin: int | None = None,
    target_accept: float | None = None,
) -> Posterior:
    """Sample the posterior with Markov chains.

    Parameters
    ----------
    counts
        `[S, A]` demonstrated actions.
    num_threads
        Chains that run at the same time; the result does not depend on it.
    sampler
        "nuts" or "hmc".
    preset
        The published settings of a world, "published-jail", "published-8x8" or "published-10x10": one chain of 100
        warm-up draws and 200, 500 or 1000 draws, of which every second is kept.
    num_chains, num_warmup, num_draws, thin, target_accept
        Chains, draws per chain to tune on and to keep, every how many-th of these is kept, and the mean acceptance to
        tune the step to; default 4, 300, 1000, 1 and 0.7, or as in the preset.

    Returns
    -------
    A Posterior of equally weighted draws, chain after chain, with ESS, R-hat and divergences as diagnostics.
    """
    begin = time.perf_counter()
    given = {
        "num_chains": num_chains,
        "num_warmup": num_warmup,
        "num_draws": num_draws,
        "thin": thin,
        "target_accept": target_accept,
    }
    settings = chain_settings(preset, {name: value for name, value in given.items() if value is not None})
    if sampler not in SAMPLERS:
        raise InputError(f"sampler must be one of {', '.join(SAMPLERS)}, got {sampler!r}. Leave it out for 'nuts'.")
    threads = resolve_num_threads(num_threads)
    target = Target(problem, counts)
    chains = SAMPLERS[sampler](target, settings, seed=seed, num_threads=threads, progress=progress)
    chains = thinned(chains, settings.thin)
    theta = target.parameters(chains.positions)
    num_kept = theta.shape[1]
    draws = theta.reshape(-1, target.dimension)
    # Not the values that chains tracked: rounding adds up in these, and ties are told apart at 1e-9.
    solution = solve_batch(problem.mdp, problem.reward_model.reward(draws), num_threads=threads)
    return Posterior(
        problem=problem,
        counts=counts,
        theta=draws,
        weights=np.full(len(draws), 1.0 / len(draws)),
        values=solution.values,
        method="policywalk",
        diagnostics=diagnose(chains, theta, time.perf_counter() - begin),
        chains=(settings.num_chains, num_kept),
        sample_stats=chains.stats,
    )


def chain_settings(preset: str | None, changes: dict[str, Any]) -> ChainSettings:
    """Return the settings of a preset, or the defaults, with changes; all checked."""
    if preset is not None and preset not in PRESETS:
        close = difflib.get_close_matches(str(preset), PRESETS, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else "Leave it out for the defaults."
        raise InputError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}. {hint}")
    settings = (DEFAULTS if preset is None else PRESETS[preset])._replace(**changes)
    target_accept = real_number(settings.target_accept, "target_accept")
    if not 0.0 < target_accept < 1.0:
        raise InputError(
            f"target_accept must lie strictly between 0 and 1, got {target_accept}. "
            f"The default is {DEFAULTS.target_accept}."
        )
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
