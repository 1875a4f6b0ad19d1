"""What a budget buys: answers until a certificate first holds, against the time that certificates take.

A learner with all defaults asks on 10x10 with independent terminals, epsilon and delta 0.1. After every answer samples
are drawn in looks, each twice as large as the last one, until the claim is decided or there are 16,000 draws. What a
smaller budget would have given follows from the same looks: questions do not depend on certificates. With a budget of 0
nothing is drawn: half of the particles choose the policy, the other half certify it, as in 0.1.0, but by today's
effective sizes. Confirmations are left out.

Without options this prints what the committed table `bench/budget.jsonl` says; `--run` computes what is missing in it,
and docs/gallery/make.py draws it. "ratio" is the mean number of answers without a budget / with 16,000 draws.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from _measure import show

# isort: split
import numpy as np

from journeyman.apprentice import certify
from journeyman.apprentice.certificate import Candidate, checked_claim, measured
from journeyman.apprentice.effective_size import lower_bound, sample_set
from journeyman.apprentice.looks import look_confidence
from journeyman.learner import ActiveLearner
from journeyman.learner.simulate import answered_steps
from journeyman.learner.stopping import growing_posteriors
from journeyman.storage.run_tables import continue_table, read_table
from journeyman.threads import default_num_threads
from journeyman.worlds import make_world

TABLE = Path(__file__).with_suffix(".jsonl")
FORMAT = "journeyman-bench-budget-1"
EPSILON, DELTA, LIMIT, NUM_SEEDS = 0.1, 0.1, 60, 8
BUDGETS = (0, 1000, 2000, 4000, 8000, 16_000)


def look_at(learner: ActiveLearner, number: int) -> list[tuple[int, float, bool]]:
    """Return (draws, processor seconds so far, whether it holds) of each look at what a learner knows now."""
    claim, begin = checked_claim(EPSILON, DELTA, learner.settings.confidence), time.process_time()
    candidate = Candidate(learner.apprentice(), "expected_return", "initial")
    belief, looks = learner._state.belief, []
    on_particles = measured(sample_set(learner.posterior()), candidate, claim)
    assert belief is not None and on_particles.size is not None
    if lower_bound(on_particles.chance, on_particles.size, claim.confidence) > DELTA:
        return []
    growing = growing_posteriors(belief, learner.settings, tuple(learner.ledger.answers.values()), number, 1)
    for look, posterior in enumerate(growing or (), start=1):
        spent = claim._replace(confidence=look_confidence(claim.confidence, look))
        found = measured(sample_set(posterior), candidate, spent)
        holds = found.bound <= DELTA and not posterior.warnings
        looks.append((posterior.num_samples, round(time.process_time() - begin, 3), holds))
        if found.is_decided(spent) or posterior.num_samples >= max(BUDGETS):
            break
    return looks


def run_instance(seed: int) -> dict[str, Any]:
    """Ask until certificates hold with every budget; return the answers and seconds that each of them takes."""
    world = make_world("random-10x10", seed, terminals="independent")
    learner = ActiveLearner(world.problem, epsilon=EPSILON, delta=DELTA, seed=seed, num_threads=1)
    answers: dict[int, int] = {}
    seconds = dict.fromkeys(BUDGETS, 0.0)
    for step, _ in enumerate(answered_steps(learner, world.expert, steps=LIMIT), start=1):
        begin = time.process_time()
        if 0 not in answers and certify(learner.posterior(), EPSILON, DELTA).holds:
            answers[0] = step
        seconds[0] += time.process_time() - begin
        waiting = [budget for budget in BUDGETS[1:] if budget not in answers]
        looks = look_at(learner, step) if waiting else []
        for budget in waiting if looks else []:
            _, spent, holds = [look for look in looks if look[0] <= budget][-1]
            seconds[budget] += spent
            if holds:
                answers[budget] = step
        if len(answers) == len(BUDGETS):
            break
    return {
        "seed": seed,
        "answers": [answers.get(budget, LIMIT) for budget in BUDGETS],
        "seconds": [round(seconds[budget], 2) for budget in BUDGETS],
    }


def figure() -> Any:
    """Draw answers against seconds: each instance of the table, and their mean."""
    from journeyman.report.drawing.cells import new_figure
    from journeyman.report.drawing.palette import BLUE

    rows = read_table(TABLE, FORMAT)
    answers, seconds = (np.array([row[name] for row in rows], dtype=float) for name in ("answers", "seconds"))
    drawn = new_figure(6.4, 4.2)
    axes = drawn.subplots()
    for x, y in zip(seconds, answers, strict=True):
        axes.plot(x, y, color="0.8", linewidth=1, zorder=1)
    x, y = seconds.mean(axis=0), answers.mean(axis=0)
    axes.plot(x, y, color=BLUE, marker="o", linewidth=2, zorder=3, label=f"mean of {len(rows)} instances, by draws")
    for i, (budget, at, value) in enumerate(zip(BUDGETS, x, y, strict=True)):
        words = "nothing drawn" if budget == 0 else f"{budget // 1000}k"
        place = (-4, 8 if i % 2 == 0 else -16)
        axes.annotate(words, (at, value), xytext=place, textcoords="offset points", fontsize=9, zorder=4)
    axes.set(xlabel="processor seconds of all certificates of a run", ylabel="answers until a certificate holds")
    axes.set(title="What a budget buys (10x10, epsilon = delta = 0.1)", ylim=(0, None), xlim=(0, None))
    axes.legend(frameon=False)
    return drawn


def main() -> None:
    """Print what the table says, after adding to it if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", action="store_true", help="compute what is missing in the table first")
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS, help="instances to run")
    parser.add_argument("--workers", type=int, default=default_num_threads(), help="runs at a time")
    options = parser.parse_args()
    if options.run:
        settings = {"epsilon": EPSILON, "delta": DELTA, "limit": LIMIT, "budgets": list(BUDGETS)}
        cells = [(seed,) for seed in range(options.seeds)]
        continue_table(TABLE, FORMAT, settings, ("seed",), cells, run_instance, num_workers=options.workers)
    rows = read_table(TABLE, FORMAT)
    if not rows:
        raise SystemExit(f"{TABLE.name} has no runs yet. Compute some with --run.")
    answers, seconds = (np.array([row[name] for row in rows], dtype=float) for name in ("answers", "seconds"))
    table = [
        (f"{budget:,}", f"{answers[:, i].mean():.1f}", f"{seconds[:, i].mean():.1f}")
        for i, budget in enumerate(BUDGETS)
    ]
    show(f"First certificate on 10x10, {len(rows)} instances", ["draws at most", "answers", "seconds"], table)
    ratios = answers[:, 0].mean() / answers.mean(axis=0)
    result = {
        "bench": "budget",
        "ratio": float(ratios[-1]),
        "budgets": list(BUDGETS),
        "mean_answers": answers.mean(axis=0).tolist(),
        "mean_seconds": seconds.mean(axis=0).tolist(),
        "num_instances": len(rows),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
