"""ValueWalk (Bajgar et al. 2024): Markov chains over optimal values instead of rewards, for tabular rewards.

The likelihood is a smooth function of values, and a reward follows from its values without solving anything. What it
costs is a change of variables: the density of values has the factor |det(I - discount P_pi)|, which jumps where the
optimal policy switches. See `kernels` for how trajectories meet these jumps.
"""

import time
from dataclasses import replace
from functools import partial

from journeyman.checks import one_of
from journeyman.errors import InputError
from journeyman.experts import Boltzmann
from journeyman.inference.chains import DEFAULTS, chain_settings, posterior_of, run_chains, thinned
from journeyman.inference.posterior import Posterior
from journeyman.inference.target import Target
from journeyman.inference.valuewalk.kernels import IGNORE
from journeyman.inference.valuewalk.space import JUMPS, ValueWalk, rewards_of_values, space_of
from journeyman.problem import Problem
from journeyman.rewards.agreement import BUILT_IN
from journeyman.threads import resolve_num_threads
from journeyman.types import IntArray

VALUE_DEFAULTS = DEFAULTS._replace(target_accept=0.8)  # below it, trajectories diverge where the policy is a rare one
MAX_PARAMETERS = 2000  # dense matrices of this size are kept
NOT_THE_POSTERIOR = (
    "these are not draws from the posterior: the Jacobian of the change from rewards to values was left out. "
    "Use jacobian=True."
)


def refusal(problem: Problem) -> str | None:
    """Return why value space cannot do a problem, or None if it can."""
    model = problem.reward_model
    if type(problem.prior) not in BUILT_IN:
        return (
            f"valuewalk needs a Normal, Uniform or MultivariateNormal prior, got {type(problem.prior).__name__}: "
            "values have no known density under another. Use 'smc', which takes every prior."
        )
    if type(problem.expert) is not Boltzmann:
        return f"valuewalk needs a Boltzmann expert, got {type(problem.expert).__name__}. Use 'smc' or 'policywalk'."
    if not problem.expert.is_plain:
        return (
            "valuewalk needs a Boltzmann expert with a known beta, no lapse and optimal values, got one of whom "
            f"{problem.expert.extras()}. Use 'smc' or 'policywalk'."
        )
    if model.kind not in ("per_state", "per_state_action"):
        return (
            "valuewalk needs one unknown reward per state, or per state and action, without known parts, got a reward "
            f"of {model.num_parameters} features: not every table of values belongs to such a reward. "
            "Use 'policywalk' or 'smc'."
        )
    if model.num_parameters > MAX_PARAMETERS:
        return (
            f"valuewalk needs at most {MAX_PARAMETERS} parameters, got {model.num_parameters}: it keeps dense matrices "
            "of that size. Use 'smc' or 'policywalk'."
        )
    return None


def infer_valuewalk(
    problem: Problem,
    counts: IntArray,
    *,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool | None = None,
    jumps: str = "refract",
    jacobian: bool = True,
    num_chains: int | None = None,
    num_warmup: int | None = None,
    num_draws: int | None = None,
    thin: int | None = None,
    target_accept: float | None = None,
) -> Posterior:
    """Sample the posterior with Hamiltonian chains in value space.

    Parameters
    ----------
    counts
        `[S, A]` demonstrated actions.
    num_threads
        Chains that run at the same time; the result does not depend on it.
    jumps
        What trajectories do where the determinant jumps. "refract": they pay for it with their momentum; "accept": it
        counts when the end is accepted or rejected, which is as exact and slower.
    jacobian
        Whether the change of variables counts. Without it, as in published code, it is **not the posterior**: for
        comparison only, and `warnings` says so.
    num_chains, num_warmup, num_draws, thin, target_accept
        As in `policywalk`, but for a target_accept of 0.8.

    Returns
    -------
    A Posterior of equally weighted draws, chain after chain, with ESS, R-hat and divergences as diagnostics.
    """
    begin = time.perf_counter()
    settings = chain_settings(num_chains, num_warmup, num_draws, thin, target_accept, defaults=VALUE_DEFAULTS)
    one_of(jumps, JUMPS, "jumps", "Leave it out for 'refract'.")
    if not isinstance(jacobian, bool):
        raise InputError(f"jacobian must be True or False, got {jacobian!r}. Leave it out for True.")
    threads = resolve_num_threads(num_threads)
    target = Target(problem, counts, engine="dense")
    space = space_of(problem, target.model, JUMPS[jumps] if jacobian else IGNORE)
    chains = run_chains(partial(ValueWalk, target, space), settings, seed=seed, num_threads=threads, progress=progress)
    chains = thinned(chains, settings.thin)
    x = chains.positions.reshape(-1, target.dimension) @ space.mixing.T
    theta, values = rewards_of_values(problem, x)
    posterior = posterior_of(chains, problem, counts, theta, {"values": values}, "valuewalk", begin)
    if jacobian:
        return posterior
    diagnostics = replace(posterior.diagnostics, warnings=(*posterior.warnings, NOT_THE_POSTERIOR))
    return replace(posterior, diagnostics=diagnostics)
