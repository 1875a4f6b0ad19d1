"""Answers to a certificate on 20x20, where rewards are smooth: a kernel prior against independent rewards.

The truth is drawn from the whole squared exponential kernel over positions (length scale 4, sd 1; `kernel_covariance`),
so that what low rank leaves out is part of it. Both learners ask the same expert (beta 4), with the same noise, on the
same instances, with all defaults but the number of particles:

- "kernel" has the kernel prior, of which `kernel_rewards` keeps 0.99 of the variance;
- "independent" has a reward of its own for each state, with the same mean and sd. For smooth truths this is a wrong
  prior: its certificates promise nothing here, so true regrets are shown beside them.

Epsilon is a tenth of what is at stake, delta 0.1. A run that has no confirmed certificate after the limit of answers,
or after `--seconds` of processor time, counts with the answers it has got ("> "). Regrets are in units of what is at
stake in truth: return of the best policy less that of one who acts at random.

Without options this prints what the committed table `bench/smooth_answers.jsonl` says. `--run` computes what is missing
in it, and can be stopped and continued at any time. "ratio" is the mean number of answers, independent / kernel, over
instances on which both were certified, or the independent side was stopped after more answers than the other needed: a
lower bound then ("is_bound"). "chance" is the probability, by a side's own belief, that the regret is epsilon or more.
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

from _measure import show

# isort: split
import numpy as np

from journeyman import (
    ActiveLearner,
    Demonstration,
    Normal,
    PerState,
    Problem,
    SimulatedExpert,
    certify,
    evaluate_policy,
    infer,
    kernel_rewards,
)
from journeyman.learner import simulate
from journeyman.rewards import kernel_covariance
from journeyman.storage.run_tables import continue_table, read_table
from journeyman.worlds.gridworld import gridworld

TABLE = Path(__file__).with_suffix(".jsonl")
FORMAT = "journeyman-bench-smooth-answers-1"
SIDE, BETA, STD, LENGTH_SCALE = 20, 4.0, 1.0, 4.0
EPSILON, DELTA = "10%", 0.1
NUM_PARTICLES = {"kernel": 400, "independent": 200}
LIMITS = {"kernel": 100, "independent": 100}
MAX_SECONDS = 600.0  # of processor time, by default: a run that has taken so long makes no further step
STEP = 5  # answers between looks at the clock
MARKS = (10, 20, 40)  # answers after which the true regret is looked at


def instance(seed: int) -> tuple[Any, np.ndarray]:
    """Return dynamics and a true reward from the whole kernel."""
    mdp = gridworld(SIDE, SIDE, discount=0.9)
    values, vectors = np.linalg.eigh(kernel_covariance(mdp, length_scale=LENGTH_SCALE, std=STD))
    normals = np.random.default_rng([20, seed]).standard_normal(mdp.num_states)
    return mdp, vectors @ (np.sqrt(np.maximum(values, 0.0)) * normals)


def problem_of(rule: str, mdp: Any) -> Problem:
    """Return the problem with one of the two priors."""
    if rule == "kernel":
        return Problem(mdp, *kernel_rewards(mdp, length_scale=LENGTH_SCALE, std=STD), BETA)
    return Problem(mdp, PerState(mdp), Normal(mdp.num_states, 0.0, STD), BETA)


def compare_same(num_answers: int) -> None:
    """Print what both priors make of the same answers at random cells of the first instance, 200 particles each."""
    mdp, truth = instance(0)
    expert = SimulatedExpert(mdp, truth, BETA, seed=0)
    rng = np.random.default_rng(5)
    asked = rng.choice(mdp.num_states, num_answers, replace=False)
    answers = [Demonstration.annotation(int(s), int(rng.choice(5, p=expert.policy[s]))) for s in asked]
    at_random = mdp.available / mdp.available.sum(axis=1, keepdims=True)
    best = float(mdp.initial @ expert.values)
    stake = best - float(mdp.initial @ evaluate_policy(mdp, at_random, truth))
    for rule in LIMITS:
        begin = time.process_time()
        posterior = infer(problem_of(rule, mdp), answers, seed=0, num_threads=1, num_particles=200)
        certificate = certify(posterior, epsilon=0.1 * stake, delta=DELTA)
        regret = (best - float(mdp.initial @ evaluate_policy(mdp, certificate.policy, truth))) / stake
        row = {"rule": rule, "answers": num_answers, "chance": certificate.p_hat, "regret": regret}
        print(json.dumps(row | {"cpu_seconds": time.process_time() - begin}), flush=True)


def run_cell(rule: str, seed: int, *, max_seconds: float = MAX_SECONDS) -> dict[str, Any]:
    """Let a learner ask until its certificate is confirmed, and say what that took and how good it is in truth."""
    mdp, truth = instance(seed)
    problem = problem_of(rule, mdp)
    expert = SimulatedExpert(mdp, truth, BETA, seed=seed)
    at_random = mdp.available / mdp.available.sum(axis=1, keepdims=True)
    best = float(mdp.initial @ expert.values)
    stake = best - float(mdp.initial @ evaluate_policy(mdp, at_random, truth))

    def regret(learner: ActiveLearner) -> float:
        return round((best - float(mdp.initial @ evaluate_policy(mdp, learner.apprentice(), truth))) / stake, 4)

    begin = time.process_time()
    learner = ActiveLearner(
        problem, epsilon=EPSILON, delta=DELTA, seed=seed, num_threads=1, is_checked=False,
        inference_options={"num_particles": NUM_PARTICLES[rule]},
    )  # fmt: skip
    regrets, answered = {}, 0
    while answered < LIMITS[rule]:
        result = simulate(learner, expert, STEP, progress=False)
        answered += result.num_steps
        if answered in MARKS:
            regrets[str(answered)] = regret(learner)
        if result.is_finished or time.process_time() - begin > max_seconds:
            break
    return {
        "rule": rule,
        "seed": seed,
        "answers": answered,
        "is_certified": bool(result.is_finished),
        "regret": regret(learner),
        "regrets": regrets,
        "chance": round(result.certificate.p_hat, 4),
        "parameters": problem.reward_model.num_parameters,
        "cpu_seconds": round(time.process_time() - begin, 1),
    }


def main() -> None:
    """Print what the table says, after adding to it if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", action="store_true", help="compute what is missing in the table first")
    parser.add_argument("--rules", nargs="+", choices=tuple(LIMITS), default=list(LIMITS), help="which to run")
    parser.add_argument("--seeds", type=int, default=4, help="instances to run")
    parser.add_argument("--seconds", type=float, default=MAX_SECONDS, help="of processor time that a run may take")
    parser.add_argument("--same", type=int, help="only compare the priors on so many answers at random cells")
    options = parser.parse_args()
    if options.same:
        compare_same(options.same)
        return
    if options.run:
        cells = [(rule, seed) for seed in range(options.seeds) for rule in options.rules]
        settings = {
            "side": SIDE,
            "epsilon": EPSILON,
            "delta": DELTA,
            "particles": NUM_PARTICLES,
            "limits": LIMITS,
        }
        run_fn = partial(run_cell, max_seconds=options.seconds)
        continue_table(TABLE, FORMAT, settings, ("rule", "seed"), cells, run_fn, num_workers=1)
    rows = read_table(TABLE, FORMAT)
    table, found = [], {}
    for rule in LIMITS:
        own = [row for row in rows if row["rule"] == rule]
        if not own:
            continue
        certified = [row for row in own if row["is_certified"]]
        wrong = sum(row["regret"] >= 0.1 for row in certified)
        marks = [[row["regrets"][str(mark)] for row in own if str(mark) in row["regrets"]] for mark in MARKS]
        answers = float(np.mean([row["answers"] for row in own]))
        mark_of = "" if len(certified) == len(own) else "> "  # what was stopped would have taken more
        found[rule] = {"runs": len(own), "mean_answers": answers, "certified": len(certified), "wrong": wrong}
        table.append(
            (
                rule, len(own), f"{mark_of}{answers:.1f}", f"{len(certified)} of {len(own)}",
                f"{wrong} of {len(certified)}",
                *(f"{np.mean(mark):.1%} ({len(mark)})" if mark else "" for mark in marks),
                f"{np.mean([row['regret'] for row in own]):.1%}",
                f"{np.mean([row['chance'] for row in own]):.2f}",
                f"{np.mean([row['cpu_seconds'] for row in own]):.0f} s",
            )
        )  # fmt: skip
    columns = [
        "prior",
        "runs",
        "answers",
        "certified",
        "wrong",
        *(f"regret at {m}" for m in MARKS),
        "at end",
        "chance",
        "time",
    ]
    show("20x20, smooth truths: true regrets in units of what is at stake (runs that got there)", columns, table)
    by_rule = {rule: {row["seed"]: row for row in rows if row["rule"] == rule} for rule in LIMITS}
    kernel, independent = (by_rule[rule] for rule in ("kernel", "independent"))
    both = [
        s
        for s in sorted(set(kernel) & set(independent))
        if kernel[s]["is_certified"]
        and (independent[s]["is_certified"] or independent[s]["answers"] > kernel[s]["answers"])
    ]
    ratio = (
        float(sum(independent[s]["answers"] for s in both) / sum(kernel[s]["answers"] for s in both)) if both else None
    )
    is_bound = any(not independent[s]["is_certified"] for s in both)
    result = {"bench": "smooth_answers", "ratio": ratio, "is_bound": is_bound, "num_instances": len(both)}
    print(json.dumps(result | {"rules": found}))


if __name__ == "__main__":
    main()
