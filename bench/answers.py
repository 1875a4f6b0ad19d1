"""What an expert's time costs: answers to a confirmed certificate, by the rule of 0.1.0 and by today's.

All rules ask the same expert, with the same noise, on the same instances; only how they ask and stop differs:

- "0.1.0" asks by `regret_pac` (trajectories: `pac_eig`), and certifies on the particles that it has, half of which
  choose the policy.
- "today" is the learner as it is, with all defaults.
- "certificate alone" asks as 0.1.0 does, and draws samples until the claim is decided, as today: what computing saves,
  without the better questions.
- "least risky" is today's with the apprentice that fails least often, instead of the one of largest expected return.

Epsilon and delta are 0.1. A run that has no confirmed certificate after 150 answers counts as 150.

Without options this prints what the committed table `bench/answers.jsonl` says. `--run` computes what is missing in it,
on all cores, and can be stopped and continued at any time (hours in all; `--worlds`, `--rules` and `--seeds` for a
part).

"ratio" is the mean number of answers of 0.1.0 / of today, on all instances of 10x10, with independent terminals and by
the published generator ("ratio_independent" and "ratio_published" are those of each), with 95 % intervals from
resampling instances in pairs. "certified_8x8" is the share of runs on 8x8, with independent terminals, that are
certified within 150 answers.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from _measure import show

# isort: split
import numpy as np

from journeyman.calibration import exact_interval
from journeyman.learner import ActiveLearner, simulate
from journeyman.storage.run_tables import continue_table, read_table
from journeyman.threads import default_num_threads
from journeyman.worlds import make_world

TABLE = Path(__file__).with_suffix(".jsonl")
FORMAT = "journeyman-bench-answers-1"
EPSILON, DELTA, LIMIT, NUM_SEEDS = 0.1, 0.1, 150, 16
INDEPENDENT = {"terminals": "independent"}
WORLDS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "10x10": ("random-10x10", INDEPENDENT, {}),
    "8x8": ("random-8x8", INDEPENDENT, {}),
    "jail": ("jail", {}, {}),
    "8x8, trajectories of 5": ("random-8x8", INDEPENDENT, {"kind": "trajectory", "length": 5}),
    "10x10, published": ("random-10x10", {}, {}),
    "8x8, published": ("random-8x8", {}, {}),
}
TENS = ("10x10", "10x10, published")
OLD, NEW, DECIDED, LEAST_RISKY = "0.1.0", "today", "certificate alone", "least risky"
RULES = (OLD, NEW, DECIDED, LEAST_RISKY)
OLD_QUESTIONS = {"state": "regret_pac", "trajectory": "pac_eig"}


def rule_options(rule: str, kind: str) -> dict[str, Any]:
    """Return how a learner by one of the rules differs from the usual one."""
    asking = {"acquisition": OLD_QUESTIONS[kind]}
    return {
        OLD: asking | {"max_samples": 0, "inference_options": {"lag": 0}},
        NEW: {},
        DECIDED: asking,
        LEAST_RISKY: {"apprentice": "least_risky"},
    }[rule]


def run_cell(world_name: str, rule: str, seed: int) -> dict[str, Any]:
    """Let a learner ask until its certificate is confirmed, and say what that took and whether it was right."""
    name, options, asking = WORLDS[world_name]
    world = make_world(name, seed, **options)
    begin = time.process_time()
    settings = asking | rule_options(rule, asking.get("kind", "state")) | {"is_checked": False}  # the model is right
    learner = ActiveLearner(world.problem, epsilon=EPSILON, delta=DELTA, seed=seed, num_threads=1, **settings)
    result = simulate(learner, world.expert, LIMIT, progress=False)
    return {
        "world": world_name,
        "rule": rule,
        "seed": seed,
        "answers": result.num_steps,
        "is_certified": bool(result.is_finished),
        "regret": round(world.regret(learner.apprentice()), 6),
        "chance": round(result.certificate.p_hat, 6),
        "bound": round(result.certificate.upper_bound, 6),
        "samples": result.certificate.num_samples,
        "cpu_seconds": round(time.process_time() - begin, 1),
    }


def paired(rows: list[dict[str, Any]], worlds: tuple[str, ...], rules: tuple[str, str]) -> dict[str, Any] | None:
    """Return what the table says of worlds together, for the instances that both of two rules have been run on."""
    by_rule = {
        rule: {(row["world"], row["seed"]): row for row in rows if row["world"] in worlds and row["rule"] == rule}
        for rule in rules
    }
    first, second = rules
    seeds = sorted(set(by_rule[first]) & set(by_rule[second]))
    if not seeds:
        return None
    answers = {rule: np.array([by_rule[rule][seed]["answers"] for seed in seeds], dtype=float) for rule in rules}
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(seeds), size=(4000, len(seeds)))
    ratios = answers[first][drawn].mean(axis=1) / answers[second][drawn].mean(axis=1)
    summary: dict[str, Any] = {
        "num_seeds": len(seeds),
        "ratio": float(answers[first].mean() / answers[second].mean()),
        "ratio_interval": [float(np.quantile(ratios, level)) for level in (0.025, 0.975)],
    }
    for rule in rules:
        certified = [by_rule[rule][seed] for seed in seeds if by_rule[rule][seed]["is_certified"]]
        summary[rule] = {
            "mean_answers": float(answers[rule].mean()),
            "certified": len(certified) / len(seeds),
            "certified_interval": list(exact_interval(len(certified), len(seeds))),
            "num_wrong": sum(row["regret"] >= EPSILON for row in certified),
            "num_certified": len(certified),
            "cpu_seconds": float(np.mean([by_rule[rule][seed]["cpu_seconds"] for seed in seeds])),
        }
    return summary


def show_pairs(rows: list[dict[str, Any]], rules: tuple[str, str]) -> dict[str, Any]:
    """Print and return what the table says of two rules, by world."""
    found = {world: summary for world in WORLDS if (summary := paired(rows, (world,), rules)) is not None}
    table = [
        (
            world,
            str(summary["num_seeds"]),
            *(f"{summary[rule]['mean_answers']:.1f}" for rule in rules),
            "{:.2f} ({:.2f} to {:.2f})".format(summary["ratio"], *summary["ratio_interval"]),
            *(f"{summary[rule]['certified']:.0%}" for rule in rules),
            *(f"{summary[rule]['num_wrong']} of {summary[rule]['num_certified']}" for rule in rules),
        )
        for world, summary in found.items()
    ]
    first, second = rules
    columns = ["world", "runs", first, second, "ratio", "certified", second, "wrong", second]
    if table:
        show(f"Answers to a confirmed certificate, at most {LIMIT}: {first}, {second}", columns, table)
    return found


def main() -> None:
    """Print what the table says, after adding to it if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", action="store_true", help="compute what is missing in the table first")
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS), help="which to run")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=[OLD, NEW], help="which to run")
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS, help="instances of each to run")
    parser.add_argument("--workers", type=int, default=default_num_threads(), help="runs at a time")
    options = parser.parse_args()
    if options.run:
        cells = [
            (world, rule, seed) for seed in range(options.seeds) for world in options.worlds for rule in options.rules
        ]
        settings = {"epsilon": EPSILON, "delta": DELTA, "limit": LIMIT}
        continue_table(TABLE, FORMAT, settings, ("world", "rule", "seed"), cells, run_cell, num_workers=options.workers)
    rows = read_table(TABLE, FORMAT)
    found = show_pairs(rows, (OLD, NEW))
    for pair in ((OLD, DECIDED), (DECIDED, NEW), (NEW, LEAST_RISKY)):
        show_pairs(rows, pair)
    eight, tens = found.get("8x8"), {"ratio": TENS, "ratio_independent": TENS[:1], "ratio_published": TENS[1:]}
    ratios: dict[str, Any] = {}
    for key, worlds in tens.items():
        both = paired(rows, worlds, (OLD, NEW))
        ratios[key] = both and both["ratio"]
        ratios[f"{key}_interval"] = both and both["ratio_interval"]
    result = {
        "bench": "answers",
        **ratios,
        "certified_8x8": eight[NEW]["certified"] if eight else None,
        "certified_8x8_interval": eight[NEW]["certified_interval"] if eight else None,
        "worlds": found,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
