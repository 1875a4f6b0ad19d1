"""How many more demonstrations it may take until a certificate holds, by simulating the rest of the learning.

Each run draws a reward from the posterior, lets an expert with that reward answer, updates the belief by the answers,
and counts them until the policy is certified. The reward that a run takes for true is left out of its belief where the
belief is made of the same samples.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from journeyman.apprentice.effective import effective_size_of, upper_bound
from journeyman.apprentice.failures import checked_scope, failures_of
from journeyman.apprentice.policies import checked_epsilon, expected_return
from journeyman.apprentice.regret import regret_contributions
from journeyman.apprentice.sample_sets import sample_set
from journeyman.apprentice.verdict import checked_share
from journeyman.checks import whole_number
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.inference import smc
from journeyman.inference.particles import Particles
from journeyman.inference.posterior import Posterior, checked_posterior
from journeyman.inference.progress import progress_bar
from journeyman.rewards import Discrete
from journeyman.types import FloatArray

ChooseState = Callable[[Posterior], int]
Update = Callable[[int, int], Posterior]
METHODS = ("auto", "reweight", "smc")
MIN_RUNS = 20


@dataclass(frozen=True)
class Forecast:
    """Demonstrations that simulated runs needed; None in `runs` where one gave no answer.

    median, lower, upper: quartiles over the runs, None if unknown: where the run in question gave no answer. reason:
    why runs gave none.
    """

    median: int | None
    lower: int | None
    upper: int | None
    runs: tuple[int | None, ...]
    reason: str = ""

    def text(self) -> str:
        """Return the forecast in words."""
        known = [run for run in self.runs if run is not None]
        if self.median is None:
            return (
                f"How many more demonstrations it takes is unknown: {len(self.runs) - len(known)} of {len(self.runs)} "
                f"simulated runs gave no answer ({self.reason})."
            )
        upper = "unknown" if self.upper is None else self.upper
        noun = "demonstration" if self.median == 1 else "demonstrations"
        return (
            f"About {self.median} more {noun} (half of {len(self.runs)} simulated runs needed between {self.lower} "
            f"and {upper})."
        )


def demonstrations_needed(
    posterior: Posterior,
    epsilon: float,
    delta: float,
    *,
    confidence: float = 0.95,
    scope: str = "initial",
    choose_fn: ChooseState | None = None,
    num_runs: int = MIN_RUNS,
    max_demonstrations: int = 100,
    method: str = "auto",
    num_particles: int = 500,
    seed: int = 0,
    progress: bool = False,
) -> Forecast:
    """Return how many more single-state answers a certificate takes: the median over simulated runs, or unknown.

    Parameters
    ----------
    epsilon, delta, confidence, scope
        Of the certificate, as in `certify`. The policy is `expected_return` after each answer.
    choose_fn
        Takes a posterior and returns the state to ask about next; default `most_costly_state`.
    num_runs
        At least 20.
    max_demonstrations
        A run that needs more gives no answer.
    method
        "reweight": fast, but with continuous priors the samples run out after a few answers, and the run gives no
        answer. "smc": particles are moved on after each answer, which takes seconds to minutes. "auto": "reweight" for
        Discrete priors, where it is exact, else "smc".
    num_particles
        For "smc".
    seed
        The same seed gives the same forecast.

    Returns
    -------
    A Forecast. Runs are as optimistic as the model: a real expert who fits it less well takes longer.
    """
    epsilon, delta = checked_epsilon(epsilon), checked_share(delta, "delta", "It is the chance of failure you accept.")
    confidence = checked_share(confidence, "confidence", "0.95 is usual.")
    checked_scope(scope)
    whole_number(seed, "seed", 0)
    whole_number(num_runs, "num_runs", MIN_RUNS, "Fewer say little about the median.")
    whole_number(max_demonstrations, "max_demonstrations", 1)
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}. Leave it out for 'auto'.")
    if not checked_posterior(posterior).problem.queryable.any():
        raise InputError("there must be a state that may be asked about, got none. Make some of them queryable.")
    choose_fn = choose_fn or most_costly_state
    is_discrete = isinstance(posterior.problem.prior, Discrete)
    is_moved = method == "smc" or (method == "auto" and not is_discrete)
    particles = None
    if is_moved and not is_discrete:
        start = smc.start(posterior.problem, seed=seed, num_particles=num_particles)
        particles = smc.advance(start, posterior.counts.astype(np.float64))

    def is_certified(belief: Posterior) -> bool | None:
        return _is_certified(belief, epsilon, delta, confidence, scope)

    runs: list[int | None] = []
    reasons: list[str] = []
    with progress_bar("Simulating runs", is_shown=progress) as report:
        for run in range(num_runs):
            rng = np.random.default_rng([seed, run])
            truth = int(rng.choice(posterior.num_samples, p=posterior.weights))
            if particles is not None:
                belief, update = _moving(replace(particles, seed=int(rng.integers(2**31))))
            else:
                belief, update = _reweighting(posterior, truth, is_left_out=not is_discrete)
            needed = _simulated_run(rng, posterior, truth, belief, update, choose_fn, is_certified, max_demonstrations)
            runs.append(needed if isinstance(needed, int) else None)
            reasons += [needed] if isinstance(needed, str) else []
            report((run + 1) / num_runs)
    return summarised(runs, reasons)


def _simulated_run(
    rng: np.random.Generator,
    posterior: Posterior,
    truth: int,
    belief: Posterior,
    update: Update,
    choose_fn: ChooseState,
    is_certified: Callable[[Posterior], bool | None],
    max_demonstrations: int,
) -> int | str:
    """Return how many answers a run needed, or why it gave no answer."""
    for count in range(max_demonstrations + 1):
        verdict = is_certified(belief)
        if verdict is None:
            return "too few samples fit the answers" if count else "too few samples to begin with"
        if verdict:
            return count
        if count < max_demonstrations:
            state = int(choose_fn(belief))
            policy = expert_policy_at(posterior, truth, state)
            belief = update(state, int(rng.choice(policy.size, p=policy)))
    return f"more than {max_demonstrations} were needed"


def summarised(runs: list[int | None], reasons: list[str]) -> Forecast:
    """Return the quartiles of runs; those without an answer count as later than all others."""
    counts = sorted(np.inf if run is None else float(run) for run in runs)
    lower, median, upper = (counts[round(level * (len(counts) - 1))] for level in (0.25, 0.5, 0.75))
    common = max(sorted(set(reasons)), key=reasons.count) if reasons else ""
    median_run, lower_run, upper_run = (None if np.isinf(x) else int(x) for x in (median, lower, upper))
    return Forecast(median_run, lower_run, upper_run, tuple(runs), common)


def expert_policy_at(posterior: Posterior, sample: int, state: int) -> FloatArray:
    """Return the expert's action probabilities `[A]` in a state under one sample."""
    one = slice(sample, sample + 1)
    single = replace(
        posterior, theta=posterior.theta[one], weights=np.ones(1), values=posterior.values[one], chains=None
    )
    return np.asarray(single.expert_policies([state])[0, 0])


def _moving(particles: Particles) -> tuple[Posterior, Update]:
    """Return the belief of particles, and a function that adds an answer to it."""
    current = [particles]

    def update(state: int, action: int) -> Posterior:
        current[0] = smc.update(current[0], Demonstration.annotation(state, action))
        return smc.posterior_of(current[0])

    return smc.posterior_of(particles), update


def _reweighting(posterior: Posterior, truth: int, *, is_left_out: bool) -> tuple[Posterior, Update]:
    """Return the belief of all samples but perhaps one, and a function that adds an answer to it."""
    weights = posterior.weights.copy()
    if is_left_out and weights[truth] < 1.0:
        weights[truth] = 0.0
    current = [replace(posterior, weights=weights / weights.sum())]

    def update(state: int, action: int) -> Posterior:
        belief = current[0]
        counts = belief.counts.copy()
        counts[state, action] += 1
        changed = belief.weights * belief.expert_policies([state])[:, 0, action]
        if changed.sum() > 0.0:
            current[0] = replace(belief, counts=counts, weights=changed / changed.sum())
        return current[0]

    return current[0], update


def _is_certified(belief: Posterior, epsilon: float, delta: float, confidence: float, scope: str) -> bool | None:
    """Return whether `expected_return` would be certified, or None if too few samples are left to tell."""
    samples = sample_set(belief)
    is_failing = failures_of(belief, expected_return(belief), epsilon, scope).is_failing
    chance = float(belief.mean(is_failing))
    if samples.kind == "atoms":
        return chance <= delta
    size = effective_size_of(samples, is_failing, confidence).value
    if upper_bound(0.0, size, confidence) > delta:
        return None
    return upper_bound(chance, size, confidence) <= delta


def most_costly_state(posterior: Posterior) -> int:
    """Return the queryable state that adds most to the expected regret, divided by 1 + the answers it has had.

    A simple rule: an answer there may change what costs most, and no state is asked for ever.
    """
    policy = expected_return(posterior)
    added = posterior.mean(regret_contributions(posterior, policy))
    asked = 1.0 + posterior.counts.sum(axis=1)
    # states that add nothing come last, the least asked first
    score = np.where(added > 0.0, added / asked, -asked)
    return int(np.argmax(np.where(posterior.problem.queryable, score, -np.inf)))
