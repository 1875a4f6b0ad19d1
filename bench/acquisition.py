"""Acquisition functions: milliseconds to score every state, and information of trajectories against a nested estimator.

M = 1000 samples on the 10x10 world after 20 annotations, one thread. Each function scores all states, for `state` and
for `trajectory` queries of length 5. For `reward_eig` of trajectories, the chain-rule estimator is compared with what a
user would otherwise write, the nested estimator in vectorised NumPy: time at equal standard error is time times
variance, and "ratio" (in the last line, JSON) is theirs / ours. Then growth with the samples M and the states S.

Processor time is what counts: on one thread it is the same as the clock's, but for others on the machine.
"""

import argparse

from _measure import console, environment, finish, pinned, show, spread, take_turns

# isort: split
import numpy as np
from scipy.special import logsumexp

from journeyman.acquisition import ACQUISITIONS, score
from journeyman.inference import infer
from journeyman.worlds import make_world

LENGTH, NUM_HISTORIES, NUM_NESTED, NUM_RUNS = 5, 64, 256, 6
LIMIT = 0.1  # seconds, for expected_regret and optimal_action_value
GROWING = ("reward_eig", "pac_eig", "expected_regret", "optimal_action_value")


def nested_numpy(posterior, length, num_histories, seed):
    """Return the nested estimate of reward_eig `[N]` for trajectories from each queryable state, and its variance.

    (1 / H) sum over walks of log p(tau | its own sample) - log sum_j w_j p(tau | j); all walks of all states at once,
    except that likelihoods `[walks, M]` are kept for as many walks as 200 MB hold.
    """
    mdp, rng = posterior.problem.mdp, np.random.default_rng(seed)
    policies = posterior.expert_policies()
    log_policies = np.ascontiguousarray(np.log(policies).transpose(1, 2, 0))  # [S, A, M]
    next_cumulative = np.cumsum(mdp.dense_transitions(), axis=2)
    policy_cumulative = np.cumsum(policies, axis=2)
    log_weights = np.log(posterior.weights)
    states = np.flatnonzero(posterior.problem.queryable)
    starts = np.repeat(states, num_histories)
    results = np.empty(len(starts))
    for chunk in np.array_split(np.arange(len(starts)), max(1, len(starts) * posterior.num_samples // 25_000_000)):
        own = rng.choice(posterior.num_samples, len(chunk), p=posterior.weights)
        state = starts[chunk].copy()
        active = ~mdp.terminal[state]
        log_likelihood = np.zeros((len(chunk), posterior.num_samples))
        for _ in range(length):
            at = np.flatnonzero(active)
            if not at.size:
                break
            draw = rng.random(at.size)[:, None]
            action = (policy_cumulative[own[at], state[at]] < draw).sum(axis=1).clip(max=mdp.num_actions - 1)
            log_likelihood[at] += log_policies[state[at], action]
            draw = rng.random(at.size)[:, None]
            following = (next_cumulative[state[at], action] < draw).sum(axis=1)
            ended = following >= mdp.num_states
            state[at] = np.where(ended, state[at], following.clip(max=mdp.num_states - 1))
            active[at] = ~ended & ~mdp.terminal[state[at]]
        marginal = logsumexp(log_likelihood + log_weights, axis=1)
        results[chunk] = log_likelihood[np.arange(len(chunk)), own] - marginal
    walks = results.reshape(len(states), num_histories)
    return walks.mean(axis=1), walks.var(axis=1, ddof=1) / num_histories


def milliseconds(tasks, num_repeats):
    """Return the spread of processor milliseconds of each task, after one call to compile and fill caches."""
    for task in tasks.values():
        task()
    return {name: spread(1e3 * times.cpu) for name, times in take_turns(tasks, num_repeats).items()}


def scoring(posterior, name, **options):
    """Return a task that scores all states on one thread."""
    return lambda: score(posterior, name, num_threads=1, num_histories=NUM_HISTORIES, **options)


def every_function(posterior, num_repeats):
    """Time all functions on both kinds of query."""
    tasks = {}
    for name, acquisition in ACQUISITIONS.items():
        for kind in acquisition.kinds:
            options = {"kind": kind, "length": LENGTH if kind == "trajectory" else None}
            tasks[name, kind] = scoring(posterior, name, **options)
    times = milliseconds(tasks, num_repeats)
    rows = [[name, times[name, "state"], times.get((name, "trajectory"), "-")] for name in ACQUISITIONS]
    title = f"Milliseconds for all states, M = {posterior.num_samples}, S = {posterior.problem.mdp.num_states}"
    show(title, ["function", "state", f"trajectory of {LENGTH}"], rows, "median (range); one thread")
    return {f"{name} {kind}": time.median for (name, kind), time in times.items()}


def against_nested(posterior, num_repeats):
    """Compare the chain rule with the nested estimator in NumPy at equal standard error."""
    query = {"kind": "trajectory", "length": LENGTH, "num_histories": NUM_HISTORIES, "num_threads": 1}
    runs = [score(posterior, "reward_eig", seed=seed, **query) for seed in range(NUM_RUNS)]
    queryable = np.isfinite(runs[0].values)
    ours = np.mean([run.values[queryable] for run in runs], axis=0)
    our_variance = np.mean([run.standard_error[queryable] ** 2 for run in runs], axis=0)
    nested = [nested_numpy(posterior, LENGTH, NUM_NESTED, seed) for seed in range(NUM_RUNS)]
    theirs, their_variance = np.mean([m for m, _ in nested], axis=0), np.mean([v for _, v in nested], axis=0)
    z = (theirs - ours) / np.sqrt((their_variance + our_variance) / NUM_RUNS)
    seen = np.var([run.values[queryable] for run in runs], axis=0, ddof=1).mean()
    console.print(
        f"Both estimate the same: they differ by {np.sqrt(np.mean(z**2)):.2f} (rms) and at most {np.abs(z).max():.1f} "
        f"standard errors. Over {NUM_RUNS} seeds ours spreads by {np.sqrt(seen):.4f}, and states "
        f"{np.sqrt(our_variance.mean()):.4f}."
    )
    tasks = {
        "ours": scoring(posterior, "reward_eig", kind="trajectory", length=LENGTH),
        "nested": lambda: nested_numpy(posterior, LENGTH, NUM_NESTED, 0),
    }
    tasks["nested"]()
    times = take_turns(tasks, num_repeats)
    variance_ratio = float(their_variance.mean() / our_variance.mean())
    ratio = spread(times["nested"].cpu / times["ours"].cpu * variance_ratio)
    rows = [
        [name, f"{1e3 * np.median(times[key].cpu):.0f}", walks, f"{np.sqrt(variance.mean()):.4f}"]
        for name, key, walks, variance in (
            ("chain rule", "ours", NUM_HISTORIES, our_variance),
            ("nested, NumPy", "nested", NUM_NESTED, their_variance),
        )
    ]
    caption = f"at equal standard error the nested estimator takes {ratio} times as long"
    show("reward_eig of trajectories", ["estimator", "ms", "walks per state", "standard error"], rows, caption)
    return ratio


def growth(posterior, num_repeats):
    """Show how times grow with M and S."""
    rng = np.random.default_rng(0)
    cases = {f"M = {size}, S = 100": posterior.resample(rng, size) for size in (500, 1000, 2000, 4000)}
    for side in (5, 20):
        problem = make_world("random-grid", 0, size=side, beta=4.0, num_initial=2).problem
        cases[f"M = 1000, S = {side * side}"] = infer(problem, (), "smc", num_particles=1000)
    rows, record = [], {}
    for label, case in cases.items():
        tasks = {name: scoring(case, name) for name in GROWING}
        tasks["reward_eig, trajectory"] = scoring(case, "reward_eig", kind="trajectory", length=LENGTH)
        times = milliseconds(tasks, num_repeats)
        rows.append([label, *(f"{time.median:.1f}" for time in times.values())])
        record[label] = {name: round(time.median, 2) for name, time in times.items()}
    show("Growth: milliseconds for all states", ["", *GROWING, "reward_eig, trajectory"], rows)
    return record


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="3 repeats, no growth")
    options = parser.parse_args()
    num_repeats = 3 if options.quick else 7
    world = make_world("random-10x10", 0)
    states = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), 20)
    posterior = infer(world.problem, world.expert.answers(states), "smc", num_particles=1000)
    with pinned(1):
        times = every_function(posterior, num_repeats)
        ratio = against_nested(posterior, num_repeats)
        grown = None if options.quick else growth(posterior, num_repeats)
    limited = {name: times[f"{name} state"] for name in ("expected_regret", "optimal_action_value")}
    finish(
        {"ratio": ratio.median, "ratio_range": [ratio.low, ratio.high], "milliseconds": times}
        | {"is_below_100_ms": {name: time < 1e3 * LIMIT for name, time in limited.items()}, "growth": grown}
        | environment("numpy", "scipy", "numba")
    )


if __name__ == "__main__":
    main()
