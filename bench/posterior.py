"""Effective samples per second of `policywalk`, against NumPyro NUTS over a JAX value-iteration model.

Both sample the same posteriors, of the paper's 8x8 and 10x10 grids after 50 annotations, on the same core, in turn: a
chain of theirs, a run of ours, and so on. NumPyro runs in a process of its own. "ratio" is against the program that one
would write: value iteration as a compiled loop of dense products, differentiated by JAX. What more elaborate programs
would reach (implicit gradients, successor lists, policy iteration: see _numpyro_baseline.py) is shown as well, scaled
by their time per gradient, and "ratio_fastest_form" (worst parameter, with its range; "_median" for the median one) is
against the best of them that is value iteration; `--form fastest` measures that one outright. Seconds are of processor
time, which others on the machine disturb least; they count warm-up and draws and, for ours, diagnostics. Compilation is
apart. "Draws alone" leaves the warm-up out, for ours by its part of the gradients.

ESS is ArviZ's bulk ESS over all chains: of one run for ours, of all chains for NumPyro. Intervals (95 %) come from the
spread of independent runs for ours, and a jackknife over chains for NumPyro. The minimum over many parameters is too
small where chains are short: with --quick, NumPyro's on 10x10 by several times, which flatters ours.

The second part is the time per gradient inside a compiled trajectory, for both engines, as the number of states grows.
"""

import argparse
import importlib
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple

from _measure import CAN_PIN, CORES, duration, environment, finish, pinned, show, take_turns

# isort: split
import arviz
import numpy as np
from numba import njit
from scipy.stats import t as student_t

from journeyman.demonstrations import Demonstration
from journeyman.inference import infer, kernels
from journeyman.inference.posterior import Posterior
from journeyman.inference.target import MAX_DENSE_STATES, Target
from journeyman.problem import Problem
from journeyman.worlds import World, make_world

MAX_DIFFERENCE = 1e-6  # of log densities
NUM_ANNOTATIONS = 50
PLAIN_FORM = "unrolled, matrix"
SAMPLERS = ("hmc", "nuts")
SIDES = (4, 6, 8, 10, 13, 16, 20, 24, 28, 32, 36, 40, 64, 100, 316)
QUICK_SIDES = (4, 8, 16, 24, 32, 40, 100, 316)
MAX_DENSE_SIDE = 40
trajectory = njit(nogil=True, fastmath=kernels.FAST)(kernels.hmc_trajectory.py_func)

Call = Callable[..., Any]  # name of a function of _numpyro_baseline, and its arguments


class Case(NamedTuple):
    """A problem with its data."""

    name: str
    problem: Problem
    demonstrations: tuple[Demonstration, ...]
    counts: np.ndarray


class Settings(NamedTuple):
    """How much is sampled: so many chains of theirs and runs of ours, and how long each is."""

    their_chains: int
    their_warmup: int
    their_draws: int
    our_runs: dict[str, int]  # of each sampler
    our_chains: int  # in each run
    our_warmup: int
    our_draws: int


class Sample(NamedTuple):
    """Draws `[C, N, D]`, and what they took: processor seconds, of these for draws alone, on the clock, gradients."""

    draws: np.ndarray
    seconds: float
    seconds_draws: float
    wall: float
    num_gradients: int


class Rate(NamedTuple):
    """Log effective samples per second, minimum and median over parameters `[2]`, with standard errors `[2]`."""

    log: np.ndarray
    error: np.ndarray
    num_free: int


def annotated(world: World, num_annotations: int) -> Case:
    """Return a world's problem with annotations at random states."""
    states = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), num_annotations)
    demonstrations = world.expert.answers(states)
    return Case(world.name, world.problem, demonstrations, world.problem.counts(demonstrations))


def run_ours(case: Case, sampler: str, settings: Settings, seed: int) -> tuple[Posterior, Sample]:
    """Sample once; all that `infer` does is counted."""
    start, cpu_start = time.perf_counter(), time.process_time()
    posterior = infer(
        case.problem,
        case.demonstrations,
        method="policywalk",
        sampler=sampler,
        num_chains=settings.our_chains,
        num_warmup=settings.our_warmup,
        num_draws=settings.our_draws,
        seed=seed,
        num_threads=1,
    )
    wall, seconds = time.perf_counter() - start, time.process_time() - cpu_start
    num_gradients = posterior.diagnostics.num_gradients
    part = min(1.0, posterior.sample_stats["n_steps"].sum() / num_gradients)
    draws = posterior.theta.reshape(*posterior.chains, -1)
    return posterior, Sample(draws, seconds, seconds * part, wall, num_gradients)


@contextmanager
def other_process() -> Iterator[Call]:
    """Give a function that calls one of _numpyro_baseline's in another process, on the core that we use."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=stay_on_core, initargs=(CORES[-1],)) as pool:
        yield lambda name, *arguments: pool.submit(call_baseline, name, *arguments).result()


def stay_on_core(core: int) -> None:
    """Keep this process on one core."""
    if CAN_PIN:
        os.sched_setaffinity(0, [core])


def call_baseline(name: str, *arguments: Any) -> Any:
    """Call a function of _numpyro_baseline; only the process that does so imports JAX."""
    return getattr(importlib.import_module("_numpyro_baseline"), name)(*arguments)


class Baseline:
    """NumPyro on one case, in the form asked for, compiled."""

    def __init__(self, call: Call, case: Case, settings: Settings, form: str) -> None:
        self.call, self.case = call, case
        self.fastest, self.forms = call("choose_form", case.problem, case.counts)
        self.form = self.fastest if form == "fastest" else form
        if self.form not in self.forms:
            sys.exit(f"form must be one of: {'; '.join(self.forms)}. Got {form!r}.")
        sizes = (settings.their_warmup, settings.their_draws)
        self.seconds_compile = call("prepare", case.name, case.problem, *sizes, self.form)

    def chain(self, number: int) -> Sample:
        """Run one chain."""
        chain = self.call("next_chain", self.case.name, self.case.counts, 0, number)
        return Sample(
            chain.draws[None],
            chain.cpu_warmup + chain.cpu_draws,
            chain.cpu_draws,
            chain.seconds_warmup + chain.seconds_draws,
            chain.num_gradients_warmup + chain.num_gradients_draws,
        )

    def density_difference(self) -> float:
        """Return the largest difference to our log densities, at draws of the prior."""
        problem, counts = self.case.problem, self.case.counts
        theta = problem.prior.sample(np.random.default_rng(1), 5)
        theirs, _ = self.call("evaluate", problem, counts, self.form, theta)
        target, std = Target(problem, counts), np.broadcast_to(problem.prior.std, theta.shape[1:])
        ours = [target.log_density_and_gradient((r - problem.prior.mean) / std)[0] for r in theta]
        return float(np.abs(theirs - (np.array(ours) - np.log(std).sum())).max())


def ess(draws: np.ndarray) -> np.ndarray:
    """Return the bulk ESS of each parameter `[D]`."""
    return np.asarray(arviz.ess({"theta": draws}, method="bulk")["theta"])


def smallest_and_median(numbers: np.ndarray) -> np.ndarray:
    return np.array([numbers.min(), np.median(numbers)])


def together(samples: list[Sample]) -> Sample:
    """Return several samples as one."""
    numbers = zip(*(sample[1:] for sample in samples), strict=True)
    return Sample(np.concatenate([sample.draws for sample in samples]), *map(sum, numbers))


def log_rate(sample: Sample, draws_alone: bool = False) -> np.ndarray:
    seconds = sample.seconds_draws if draws_alone else sample.seconds
    return np.log(smallest_and_median(ess(sample.draws)) / seconds)


def rate_of_chains(samples: list[Sample], draws_alone: bool = False) -> Rate:
    """Return the rate of chains taken together, with a jackknife over them."""
    num = len(samples)
    parts = [together(samples[:i] + samples[i + 1 :]) for i in range(num)]
    left_out = np.array([log_rate(part, draws_alone) for part in parts])
    return Rate(log_rate(together(samples), draws_alone), np.sqrt((num - 1) * left_out.var(axis=0)), num - 1)


def rate_of_runs(samples: list[Sample], draws_alone: bool = False) -> Rate:
    """Return the mean rate of independent runs, with its standard error."""
    logs = np.array([log_rate(sample, draws_alone) for sample in samples])
    return Rate(logs.mean(axis=0), logs.std(axis=0, ddof=1) / np.sqrt(len(logs)), len(logs) - 1)


def ratios(ours: Rate, theirs: Rate) -> np.ndarray:
    """Return the ratio of rates and both ends of its interval, for the minimum and the median: `[2, 3]`."""
    difference = ours.log - theirs.log
    variances = np.stack([ours.error**2, theirs.error**2])
    free = np.array([[ours.num_free], [theirs.num_free]])
    num_free = variances.sum(axis=0) ** 2 / (variances**2 / free).sum(axis=0)  # Welch and Satterthwaite
    width = student_t.ppf(0.975, num_free) * np.sqrt(variances.sum(axis=0))
    return np.exp(np.stack([difference, difference - width, difference + width], axis=1))


def mean_difference(ours: list[Sample], theirs: list[Sample]) -> float:
    """Return the largest difference of posterior means in standard errors; about 3 is expected for 100 parameters."""
    both = [together(samples).draws for samples in (ours, theirs)]
    variances = [draws.var(axis=(0, 1)) / ess(draws) for draws in both]
    return float((np.abs(both[0].mean(axis=(0, 1)) - both[1].mean(axis=(0, 1))) / np.sqrt(sum(variances))).max())


def compare(case: Case, settings: Settings, call: Call | None, form: str) -> dict[str, Any]:
    """Run chains of theirs and runs of ours in turn, and show what comes out."""
    tiny = settings._replace(our_chains=1, our_warmup=10, our_draws=10)
    first_call = {sampler: run_ours(case, sampler, tiny, 0)[1].wall for sampler in SAMPLERS}
    baseline = Baseline(call, case, settings, form) if call else None
    ours: dict[str, list[Sample]] = {sampler: [] for sampler in SAMPLERS}
    theirs: list[Sample] = []
    for turn in range(max(settings.their_chains if baseline else 0, *settings.our_runs.values())):
        if baseline and turn < settings.their_chains:
            theirs.append(baseline.chain(turn))
        for sampler in SAMPLERS:
            if turn < settings.our_runs[sampler]:
                posterior, sample = run_ours(case, sampler, settings, 1 + turn)
                ours[sampler].append(sample)
                if sampler == "hmc":
                    reference = posterior
    rates = {sampler: rate_of_runs(samples) for sampler, samples in ours.items()}
    best = max(SAMPLERS, key=lambda sampler: rates[sampler].log[0])
    rows = [sampling_row(f"ours, {name}", samples, rate_of_runs) for name, samples in ours.items()]
    result: dict[str, Any] = {
        "best": best,
        "us_per_gradient": 1e6 * in_trajectory(case, reference),
        "ess_per_second": {name: np.exp(rate.log).tolist() for name, rate in rates.items()},
        "seconds_first_call": first_call,
    }
    caption = (
        f"Ours: {settings.our_chains} chains x ({settings.our_warmup} + {settings.our_draws}) in a run; "
        f"in a compiled trajectory a gradient takes {result['us_per_gradient']:.1f} us; "
        f"first call {duration(max(first_call.values()))}."
    )
    if baseline:
        rows.append(sampling_row("NumPyro NUTS", theirs, rate_of_chains))
        result |= against(baseline, ours[best], theirs)
        caption += (
            f"\nNumPyro: chains of {settings.their_warmup} + {settings.their_draws}, {baseline.form}; compiled in "
            f"{duration(baseline.seconds_compile)}. Log densities differ by at most {result['max_difference']:.1e}, "
            f"means of ours, {best}, and theirs by {result['mean_difference']:.1f} standard errors."
        )
    show(f"{case.name}: beta {case.problem.beta:g}, {NUM_ANNOTATIONS} annotations", COLUMNS, rows, caption)
    if baseline:
        show_ratios(result)
    return result


COLUMNS = ("one core", "runs", "gradients", "us each", "ESS min / median", "per second", "draws alone", "cores had")


def sampling_row(name: str, samples: list[Sample], rate: Callable[..., Rate]) -> tuple[object, ...]:
    """Return the row of one sampler; the ESS is of what its rate is taken over."""
    whole = together(samples)
    sizes = smallest_and_median(ess(samples[0].draws if rate is rate_of_runs else whole.draws))
    numbers = [sizes, np.exp(rate(samples).log), np.exp(rate(samples, True).log)]
    each = 1e6 * whole.seconds / whole.num_gradients
    shown = ("{:.3g} / {:.3g}".format(*pair) for pair in numbers)
    return name, len(samples), whole.num_gradients, f"{each:.1f}", *shown, f"{whole.seconds / whole.wall:.2f}"


def against(baseline: Baseline, ours: list[Sample], theirs: list[Sample]) -> dict[str, Any]:
    """Return the ratios of ours to theirs, and whether both sample the same."""
    on_clock = [[sample._replace(seconds=sample.wall) for sample in samples] for samples in (ours, theirs)]
    whole = together(theirs)
    each = whole.seconds / whole.num_gradients
    forms = baseline.forms
    longer = {form: 1.0 + (forms[form] - forms[baseline.form]) / each for form in forms}  # the rest of NUTS is the same
    main = ratios(rate_of_runs(ours), rate_of_chains(theirs))
    return {
        "ratio": main,
        "draws_alone": ratios(rate_of_runs(ours, True), rate_of_chains(theirs, True)),
        "on_clock": ratios(rate_of_runs(on_clock[0]), rate_of_chains(on_clock[1])),
        "by_form": {form: (longer[form] * main[:, 0]).tolist() for form in forms},
        "fastest_form": longer[baseline.fastest] * main,
        "form": baseline.form,
        "fastest": baseline.fastest,
        "us_per_gradient_numpyro": 1e6 * each,
        "us_per_gradient_jax": {form: 1e6 * seconds for form, seconds in forms.items()},
        "ess_per_second_numpyro": np.exp(log_rate(whole)).tolist(),
        "seconds_compile_numpyro": baseline.seconds_compile,
        "max_difference": baseline.density_difference(),
        "mean_difference": mean_difference(ours, theirs),
    }


def show_ratios(result: dict[str, Any]) -> None:
    """Print how many times more effective samples per second ours gives."""
    names = {
        "ratio": "warm-up and draws  *",
        "draws_alone": "draws alone",
        "on_clock": "warm-up and draws, on the clock",
    }
    rows = [
        (name, *("{:.3g} ({:.3g}..{:.3g})".format(*numbers) for numbers in result[key]), "")
        for key, name in names.items()
    ]
    for form, numbers in result["by_form"].items():
        name = f"as * if theirs were: {form}"
        rows.append((name, *(f"{number:.3g}" for number in numbers), f"{result['us_per_gradient_jax'][form]:.0f}"))
    columns = ("", "minimum", "median", "JAX: us per gradient alone")
    show(f"Times more ESS per second: ours, {result['best']}", columns, rows, "* the ratio reported")


# Time per gradient


class Walker:
    """Hamiltonian moves with a fixed step; a call makes one, of so many leapfrog steps."""

    def __init__(self, target: Target, z: np.ndarray, scales: np.ndarray, step: float, num_steps: int) -> None:
        self.target, self.scales, self.step, self.num_steps = target, scales, step, num_steps
        self.rng = np.random.default_rng(0)
        self.work = target.new_work()
        self.acceptance: list[float] = []
        self.place(z)

    def place(self, z: np.ndarray) -> None:
        """Go to z."""
        self.z, self.gradient = z.copy(), np.empty(z.size)
        self.log_density = self.target.gradient_fn(
            self.target.model, self.target.data, self.work, self.z, self.gradient
        )

    def __call__(self) -> None:
        momentum = self.rng.standard_normal(self.z.size)
        z, gradient = np.empty(self.z.size), np.empty(self.z.size)
        end, energy_change = trajectory(
            self.target.gradient_fn,
            self.target.model,
            self.target.data,
            self.work,
            self.z,
            self.log_density,
            self.gradient,
            momentum,
            self.scales,
            np.zeros(self.z.size),
            self.step,
            self.num_steps,
            z,
            gradient,
        )
        self.acceptance.append(float(np.exp(min(0.0, -energy_change))))
        if self.rng.random() < self.acceptance[-1]:
            self.z, self.gradient, self.log_density = z, gradient, end


def in_trajectory(case: Case, posterior: Posterior) -> float:
    """Return processor seconds per gradient from draws of the posterior, with the step and scales of its chains."""
    prior = case.problem.prior
    step = float(np.median(posterior.sample_stats["step_size"]))
    positions = (posterior.theta - prior.mean) / prior.std
    walker = Walker(Target(case.problem, case.counts), positions[0], positions.std(axis=0), step, 100)
    seconds = []
    for z in positions[:: len(positions) // 50]:
        walker.place(z)
        start = time.process_time()
        walker()
        seconds.append((time.process_time() - start) / walker.num_steps)
    return float(np.median(seconds))


def measure_growth(sides: tuple[int, ...], num_repeats: int) -> list[dict[str, Any]]:
    """Time gradients on square grids of growing size, for both engines in turn.

    Terminal cells are independent of the rewards, so that the truth is itself a draw of the posterior: a typical point
    that costs nothing.
    """
    growth = []
    for side in sides:
        world = make_world("random-grid", 0, size=side, terminals="independent")
        num_states = side * side
        case = annotated(world, max(NUM_ANNOTATIONS, num_states // 10))
        z = (world.true_parameters - case.problem.prior.mean) / case.problem.prior.std
        step = 0.02 * min(1.0, 64 / num_states) ** 0.25  # as chains on small grids have it; a law of large dimension
        walkers, num_calls = {}, {}
        for engine in ("dense", "sparse") if side <= MAX_DENSE_SIDE else ("sparse",):
            walkers[engine] = Walker(Target(case.problem, case.counts, engine=engine), z, np.ones(z.size), step, 50)
            if num_states > 2000:
                walkers[engine].num_steps = 5
            walkers[engine]()
            start = time.process_time()
            walkers[engine]()
            num_calls[engine] = int(np.clip(0.2 / (time.process_time() - start), 1, 100))
        times = take_turns(walkers, num_repeats, num_calls)
        seconds = {name: float(np.median(times[name].cpu)) / walker.num_steps for name, walker in walkers.items()}
        acceptance = float(np.mean(walkers["sparse"].acceptance))
        growth.append(
            {"states": num_states, "annotations": len(case.demonstrations), "acceptance": acceptance, **seconds}
        )
    return growth


def crossover(growth: list[dict[str, Any]]) -> float | None:
    """Return the number of states from which on the sparse engine is faster, between two sizes by a power law."""
    both = [g for g in growth if "dense" in g]
    for g, h in zip(both[::-1][1:], both[::-1], strict=False):
        low, high = (np.log(each["dense"] / each["sparse"]) for each in (g, h))
        if low <= 0.0 < high:
            part = -low / (high - low)
            return float(g["states"] ** (1.0 - part) * h["states"] ** part)
    return None


def show_growth(growth: list[dict[str, Any]]) -> None:
    """Print the table of times per gradient."""
    rows = []
    for g in growth:
        dense = g.get("dense")
        cells = (duration(dense), f"{dense / g['sparse']:.2g}") if dense else ("-", "-")
        per_state = f"{1e9 * g['sparse'] / g['states']:.0f}"
        times = (cells[0], duration(g["sparse"]), cells[1], per_state)
        rows.append((g["states"], g["annotations"], *times, f"{g['acceptance']:.2f}"))
    where = crossover(growth)
    caption = f'"auto" takes the sparse engine above {MAX_DENSE_STATES} states; the engines meet at '
    caption += f"about {where:.0f}." if where else "no size measured here."
    columns = ("states", "annotations", "dense", "sparse", "dense / sparse", "sparse: ns per state", "acceptance")
    show("Time per gradient inside a compiled trajectory", columns, rows, caption)


QUICK = {
    "random-8x8": Settings(3, 100, 250, {"hmc": 3, "nuts": 2}, 4, 300, 500),
    "random-10x10": Settings(2, 100, 100, {"hmc": 3, "nuts": 2}, 4, 300, 500),
}
FULL = {
    "random-8x8": Settings(5, 100, 500, {"hmc": 5, "nuts": 2}, 4, 300, 1000),
    "random-10x10": Settings(3, 100, 250, {"hmc": 3, "nuts": 2}, 4, 300, 500),
}


def main() -> None:
    """Run all parts; the exit code is 1 where the log densities disagree."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer draws, fewer sizes")
    parser.add_argument("--skip-numpyro", action="store_true", help="ours alone: no ratios")
    parser.add_argument("--skip-growth", action="store_true", help="no times per gradient as the world grows")
    parser.add_argument("--world", choices=tuple(FULL), action="append", help="only this world; may be repeated")
    parser.add_argument(
        "--form", default=PLAIN_FORM, help="form of NumPyro's model, or 'fastest'; default: %(default)s"
    )
    options = parser.parse_args()
    if not options.skip_numpyro and find_spec("numpyro") is None:
        sys.exit("bench/posterior.py needs NumPyro. `make bench` installs it; or say --skip-numpyro.")
    cases = {name: annotated(make_world(name), NUM_ANNOTATIONS) for name in options.world or FULL}
    settings = QUICK if options.quick else FULL
    with pinned(1):
        if options.skip_numpyro:
            results = {name: compare(case, settings[name], None, options.form) for name, case in cases.items()}
        else:
            with other_process() as call:
                results = {name: compare(case, settings[name], call, options.form) for name, case in cases.items()}
        sides = () if options.skip_growth else QUICK_SIDES if options.quick else SIDES
        growth = measure_growth(sides, 3 if options.quick else 5)
    if growth:
        show_growth(growth)
    sparse = {g["states"]: g["sparse"] for g in growth}
    small, large = (results.get(name, {}) for name in FULL)
    unknown = np.full((2, 3), None)
    ratio, fastest = small.get("ratio", unknown), small.get("fastest_form", unknown)
    max_difference = max(result.get("max_difference", 0.0) for result in results.values())
    packages = ("numpy", "numba", "nutpie", "arviz", *(() if options.skip_numpyro else ("jax", "numpyro")))
    finish(
        {
            "benchmark": "posterior",
            "ratio": ratio[0, 0],
            "ratio_range": ratio[0, 1:].tolist(),
            "ratio_median": ratio[1, 0],
            "ratio_fastest_form": fastest[0, 0],
            "ratio_fastest_form_range": fastest[0, 1:].tolist(),
            "ratio_fastest_form_median": fastest[1, 0],
            "ratio_fastest_form_median_range": fastest[1, 1:].tolist(),
            "ratio_by_form": small.get("by_form"),
            "us_per_gradient_8x8": small.get("us_per_gradient"),
            "us_per_gradient_10x10": large.get("us_per_gradient"),
            "sparse_growth": sparse[316 * 316] / sparse[100 * 100] if sparse else None,
            "crossover": crossover(growth),
            "max_dense_states": MAX_DENSE_STATES,
            "is_quick": options.quick,
            "problems": {name: listed(result) for name, result in results.items()},
            "growth": growth,
            "environment": environment(*packages),
        }
    )
    if not max_difference <= MAX_DIFFERENCE:
        sys.exit(f"log densities differ by {max_difference:.1e}, more than {MAX_DIFFERENCE:.0e}")


def listed(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with lists for arrays."""
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in result.items()}


if __name__ == "__main__":
    main()
