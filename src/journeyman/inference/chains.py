"""Markov chains: their settings and diagnostics, and our own Hamiltonian chains, compiled from end to end.

Trajectories have a length of about 2 in units of the posterior's standard deviations, which warm-up learns; the step
is tuned by dual averaging. Lengths are jittered by half: trajectories of nearly equal lengths jump back and forth, so
that means look excellent while squares and tails hardly mix.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from journeyman.checks import share, whole_number
from journeyman.errors import InferenceError, InputError
from journeyman.inference import kernels
from journeyman.inference.diagnostics import Diagnostics, chain_warnings, summarise_chains
from journeyman.inference.general import GeneralTarget, trajectories
from journeyman.inference.posterior import Posterior
from journeyman.inference.target import LOG_2PI, Target
from journeyman.inference.weights import coarse, widest_direction
from journeyman.problem import Problem
from journeyman.progress import progress_bar
from journeyman.storage.spread import spread
from journeyman.threads import check_stop, run_chunks
from journeyman.types import AnyArray, FloatArray, IntArray

TRAJECTORY_LENGTH = 2.0  # in scaled units
FIRST_LENGTH = 1.0  # while scales are unknown
LENGTH_JITTER = 0.5
FIRST_STEP = 0.1
MAX_LEAPFROG = 1000
WARMUP_PARTS = (0.15, 0.25, 0.4, 0.2)  # scales are learned after each but the last
MIN_PART = 20  # draws below which a part of the warm-up teaches no scales
PRIOR_DRAWS = 5.0  # draws' worth of trust in equal scales
BLOCK = 100  # draws between signs of progress
STATS = ("lp", "acceptance_rate", "step_size", "n_steps", "energy", "diverging")  # columns of the kernel's stats

Report = Callable[[int], None]


class ChainSettings(NamedTuple):
    """Chains C; draws per chain to tune on, and after that; one in `thin` is kept; acceptance to tune the step to."""

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


def posterior_of(
    chains: Chains,
    problem: Problem,
    counts: IntArray,
    theta: FloatArray,
    fields: Mapping[str, Any],
    method: str,
    begin: float,
) -> Posterior:
    """Return equally weighted draws theta `[C * N, D]` with ESS, R-hat and divergences.

    `fields` are values `[C * N, S]` and what else a Posterior has of that length; `begin` is when the work began, by
    `time.perf_counter`.
    """
    shape = chains.positions.shape[:2]
    unknowns = [theta, *([fields["expert_parameters"]] if "expert_parameters" in fields else [])]
    summary = summarise_chains(np.concatenate(unknowns, axis=1).reshape(*shape, -1))
    diverging = np.asarray(chains.stats["diverging"], dtype=bool)
    warnings = chain_warnings(summary, diverging)
    if chains.num_recoveries:
        warnings = (
            *warnings,
            f"the log posterior or its gradient was not a number at {chains.num_recoveries} points; these trajectories "
            "were rejected. Use a prior of smaller scale, or rewards that are scaled down.",
        )
    diagnostics = Diagnostics(
        seconds=time.perf_counter() - begin,
        num_gradients=chains.num_gradients,
        ess_bulk=summary.ess_bulk,
        ess_tail=summary.ess_tail,
        r_hat=summary.r_hat,
        num_divergences=int(diverging.sum()),
        acceptance=float(np.mean(chains.stats["acceptance_rate"])),
        warnings=warnings,
    )
    return Posterior(
        problem=problem,
        counts=counts,
        theta=theta,
        weights=np.full(len(theta), 1.0 / len(theta)),
        **fields,
        method=method,
        diagnostics=diagnostics,
        chains=shape,
        sample_stats=chains.stats,
    )


class Part(NamedTuple):
    """Draws `[N, D]` and their statistics `[N, 6]`."""

    positions: FloatArray
    stats: FloatArray


class Plan(NamedTuple):
    """Trajectories to follow: momenta `[N, D]`, uniforms, lengths `[N]`; scales, stretch `[D]`; tuning of the step."""

    momenta: FloatArray
    uniforms: FloatArray
    lengths: FloatArray
    scales: FloatArray
    stretch: FloatArray
    tuning: FloatArray


class Walk(ABC):
    """A space to walk in, with the memory of one chain: unconstrained space, where the prior is N(0, I), if not said.

    num_gradients counts the gradients so far.
    """

    length = TRAJECTORY_LENGTH  # of trajectories, in scaled units
    num_gradients: int

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    def start(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return a first point `[D]`, drawn from the prior, and scales `[D]` to begin with."""
        return rng.standard_normal(self.dimension), np.ones(self.dimension)

    @abstractmethod
    def advance(self, position: FloatArray, plan: Plan, part: Part) -> None:
        """Move `position` along the trajectories of a plan, and fill `part` with where they end."""


class RewardWalk(Walk):
    """The walk of compiled code."""

    def __init__(self, target: Target) -> None:
        super().__init__(target.dimension)
        self.target, self.work = target, target.new_work()

    def advance(self, position: FloatArray, plan: Plan, part: Part) -> None:
        """Move in compiled code."""
        target = self.target
        kernels.hmc_chain(
            target.gradient_fn, target.model, target.data, self.work, position, *plan, MAX_LEAPFROG, *part
        )
        self.num_gradients = int(self.work.num_gradients[0])


class GeneralWalk(Walk):
    """The same, for priors and experts that compiled code does not know."""

    def __init__(self, target: GeneralTarget) -> None:
        super().__init__(target.dimension)
        self.target, self.num_gradients = target, 0

    def advance(self, position: FloatArray, plan: Plan, part: Part) -> None:
        """Move one trajectory after the other."""
        now = self.target.evaluate(position[None])
        for i, momentum in enumerate(plan.momenta):
            step = float(np.exp(plan.tuning[0]))
            num_steps = int(min(max(1.0, np.rint(plan.lengths[i] / step)), MAX_LEAPFROG))
            energy = 0.5 * float(momentum @ momentum) - float(now.log_density[0])
            end = trajectories(
                self.target, position[None], now, momentum[None], plan.scales, plan.stretch,
                np.array([step]), np.array([num_steps]),
            )  # fmt: skip
            self.num_gradients += end.num_gradients
            acceptance = float(end.chance[0])
            if plan.uniforms[i] < acceptance:
                position[:], now = end.z[0], end.evaluation
            part.positions[i] = position
            part.stats[i] = (now.log_density[0], acceptance, step, num_steps, energy, end.is_diverging[0])
            kernels.tune_step(plan.tuning, acceptance)


class Chain:
    """One chain with its own memory and randomness, keyed by (seed, number of the chain)."""

    def __init__(self, walk: Walk, seed: int, number: int, report: Report) -> None:
        self.walk, self.report = walk, report
        self.rng = np.random.default_rng([seed, number])
        self.position, self.scales = walk.start(self.rng)
        self.stretch = np.zeros(walk.dimension)
        self.step = FIRST_STEP

    def run(self, num_draws: int, length: float, target_accept: float = 0.0) -> Part:
        """Take so many draws more; with `target_accept` the step is tuned on the way."""
        lean = np.log(2.0 * self.step)  # the search for a step leans to long ones, which are cheap
        tuning = np.array([np.log(self.step), np.log(self.step), 0.0, 0.0, target_accept, lean])
        parts = []
        for start in range(0, num_draws, BLOCK):
            size = min(BLOCK, num_draws - start)
            part = Part(np.empty((size, self.walk.dimension)), np.empty((size, len(STATS))))
            momenta, uniforms = self.rng.standard_normal((size, self.walk.dimension)), self.rng.random(size)
            lengths = length * self.rng.uniform(1.0 - LENGTH_JITTER, 1.0 + LENGTH_JITTER, size)
            plan = Plan(momenta, uniforms, lengths, self.scales, self.stretch, tuning)
            self.walk.advance(self.position, plan, part)
            check_stop()
            parts.append(part)
            self.report(size)
        if target_accept > 0.0:
            self.step = float(np.exp(tuning[1]))
        return Part(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def warm_up(self, num_draws: int, target_accept: float) -> None:
        """Find the typical set, the scales of the parameters and the step."""
        bounds = np.rint(np.cumsum((0.0, *WARMUP_PARTS)) * num_draws).astype(int)
        for index, size in enumerate(np.diff(bounds)):
            if size == 0:
                continue
            part = self.run(int(size), self.walk.length if index else FIRST_LENGTH, target_accept)
            if size >= MIN_PART and index < len(WARMUP_PARTS) - 1:
                self.learn_scales(part.positions if index else part.positions[size // 2 :])

    def learn_scales(self, positions: FloatArray) -> None:
        """Take the standard deviations of draws, drawn a little towards their mean, as scales; stretch the widest.

        Draws of a round distribution seem wider than it is in their widest direction, by (1 + sqrt(D / N))^2 in
        variance (Marchenko and Pastur): what is above that counts.
        """
        variance = positions.var(axis=0)
        trust = len(positions) / (len(positions) + PRIOR_DRAWS)
        scales = coarse(np.sqrt(trust * variance + (1.0 - trust) * variance.mean()))
        if not (scales > 0.0).all():  # the chain has not moved yet
            return
        self.step = float(coarse(self.step * np.exp(np.mean(np.log(self.scales / scales)))))
        self.scales = scales
        num_draws, dimension = positions.shape
        direction, widest = widest_direction(positions, np.full(num_draws, 1.0 / num_draws), scales)
        surely = widest / (1.0 + np.sqrt(dimension / num_draws)) ** 2
        self.stretch = coarse(np.sqrt(max(np.sqrt(surely) - 1.0, 0.0)) * direction)


def hmc_chains(
    target: Target | GeneralTarget, settings: ChainSettings, *, seed: int, num_threads: int, progress: bool | None
) -> Chains:
    """Sample in the space of parameters; the same for a seed whatever the number of threads."""
    make_walk: Callable[[], Walk]
    make_walk = partial(GeneralWalk, target) if isinstance(target, GeneralTarget) else partial(RewardWalk, target)
    chains = run_chains(make_walk, settings, seed=seed, num_threads=num_threads, progress=progress)
    if isinstance(target, GeneralTarget):
        return chains
    stats = chains.stats | {"lp": chains.stats["lp"] - 0.5 * target.dimension * LOG_2PI}
    return chains._replace(stats=stats)


def run_chains(
    make_walk: Callable[[], Walk], settings: ChainSettings, *, seed: int, num_threads: int, progress: bool | None
) -> Chains:
    """Run chains, each on its own walk; "lp" is what the walk calls its log density."""
    num_chains = settings.num_chains
    parts: list[tuple[AnyArray, ...]] = [()] * num_chains

    def run_part(numbers: range) -> None:
        for number in numbers:
            parts[number] = _walked(make_walk, settings, seed, np.array([number]), report)

    with progress_bar("Hamiltonian chains", is_shown=progress) as show:
        found = spread(_walked, make_walk, [np.arange(num_chains)], settings, seed)
        if found is None:
            report = counter(show, num_chains * (settings.num_warmup + settings.num_draws))
            run_chunks(run_part, num_chains, num_threads, 1)
            found = tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    positions, table, counted = found
    if not np.isfinite(table[..., 0]).all():
        raise no_start("a log density that is not")
    stats = {name: table[..., column] for column, name in enumerate(STATS)}
    stats["n_steps"] = stats["n_steps"].astype(np.int64)
    stats["diverging"] = stats["diverging"] > 0
    return Chains(positions, stats, int(counted.sum()))


def _walked(
    make_walk: Callable[[], Walk],
    settings: ChainSettings,
    seed: int,
    numbers: IntArray,
    report: Report = lambda count: None,
) -> tuple[AnyArray, ...]:
    """Return draws `[n, N, D]`, their statistics `[n, N, 6]`, and the numbers of gradients `[n]`, of n chains."""
    parts, counted = [], []
    for number in numbers:
        chain = Chain(make_walk(), seed, int(number), report)
        chain.warm_up(settings.num_warmup, settings.target_accept)
        parts.append(chain.run(settings.num_draws, chain.walk.length))
        counted.append(chain.walk.num_gradients)
    positions, table = (np.stack(arrays) for arrays in zip(*parts, strict=True))
    return positions, table, np.array(counted, dtype=np.int64)


def counter(show: Callable[[float], None], total: int) -> Report:
    """Return a function that takes numbers of draws, from any thread, and shows what part of all is done."""
    lock, done = threading.Lock(), 0

    def report(count: int) -> None:
        nonlocal done
        with lock:
            done += count
            show(done / total)

    return report
