"""PolicyWalk: Markov chains over reward parameters, on the exact gradient of the log posterior.

Chains live in unconstrained space, where every continuous prior is N(0, I), so that bounds need no care. Two samplers:

- "nuts": the No-U-Turn Sampler of nutpie. Its mass matrix comes from the variance of the draws, not of the gradients
  (nutpie's default), because policy switches make gradients jump.
- "hmc": our own compiled chains, which call nothing back for every gradient.

Per gradient, "hmc" gives 1.4 to 2.2 times the effective draws of "nuts", per second 3 to 5 times (docs/inference.md has
the table).
"""

import time
from collections.abc import Callable

from journeyman.checks import one_of
from journeyman.inference.chains import Chains, chain_settings, hmc_chains, posterior_of, thinned
from journeyman.inference.general import make_target, soft_refusal
from journeyman.inference.nuts import nuts_chains
from journeyman.inference.posterior import Posterior, expert_fields
from journeyman.inference.target import solved_at
from journeyman.problem import Problem
from journeyman.threads import resolve_num_threads
from journeyman.types import IntArray

SAMPLERS: dict[str, Callable[..., Chains]] = {"nuts": nuts_chains, "hmc": hmc_chains}


def refusal(problem: Problem) -> str | None:
    """Return why chains cannot do a problem, or None if they can."""
    if not problem.prior.is_discrete:
        return soft_refusal(problem, "policywalk")
    return (
        f"policywalk needs a continuous prior, got {type(problem.prior).__name__}: there is no gradient to follow. "
        "Use 'enumerate' or 'smc'."
    )


def infer_policywalk(
    problem: Problem,
    counts: IntArray,
    *,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool | None = None,
    sampler: str = "nuts",
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
    num_chains, num_warmup, num_draws, thin, target_accept
        Chains, draws per chain to tune on and to keep, how many draws each kept one stands for, and the mean acceptance
        to tune the step to; default 4, 300, 1000, 1 and 0.7.

    Returns
    -------
    A Posterior of equally weighted draws, chain after chain, with ESS, R-hat and divergences as diagnostics.
    """
    begin = time.perf_counter()
    settings = chain_settings(num_chains, num_warmup, num_draws, thin, target_accept)
    one_of(sampler, SAMPLERS, "sampler", "Leave it out for 'nuts'.")
    threads = resolve_num_threads(num_threads)
    target = make_target(problem, counts)
    chains = SAMPLERS[sampler](target, settings, seed=seed, num_threads=threads, progress=progress)
    chains = thinned(chains, settings.thin)
    positions = chains.positions.reshape(-1, target.dimension)
    # Not the values that chains tracked: rounding adds up in these, and ties are told apart at 1e-9.
    values = solved_at(target, positions, threads)[0]
    fields = expert_fields(problem, positions, values, threads)
    return posterior_of(chains, problem, counts, target.parameters(positions), fields, "policywalk", begin)
