"""Gymnasium's environments learned to a certificate: answers, seconds, and what the certified policy truly loses.

A simulated expert, Boltzmann-rational for the environment's own reward, answers single-state questions of an
`ActiveLearner` in its default settings until the certificate holds and is confirmed. Where each state has a reward of
its own, the truth is drawn from the prior: Gymnasium's, 0 in all states but one, is no draw of it. The learner knows
the dynamics and the form of the reward. "answers" is their range over seeds, "seconds" processor seconds of one thread
from the first question to the confirmed certificate (median and largest), "longest step" the longest that one answer
and the next question took, and "true regret" the largest of any certified policy, to compare with epsilon. "played" is
the mean discounted return of the certified policy in Gymnasium itself less its predicted value, in standard errors: of
all seeds the one that is furthest from 0.

"false" counts certificates whose policy loses epsilon or more, beside how many the certificates themselves expect: the
sum of their estimated chances of failure.

"within" is the smallest epsilon / true regret of all that were certified (a regret of 0 counts as 1e-9). Below 1
a certificate was false, as a share delta of them may be.
"""

import argparse
import time

from _measure import console, environment, finish

# isort: split
import gymnasium
import numpy as np
from rich.table import Table

from journeyman.gym import gymnasium_world, play
from journeyman.learner import ActiveLearner, simulate
from journeyman.mdp import evaluate_policy

MAX_STEPS = 300
NUM_EPISODES = 2000


def newest(name: str) -> str:
    versions = [spec.version for spec in gymnasium.registry.values() if spec.name == name]
    return f"{name}-v{max(versions)}"


# name: environment, its options, options of the world, epsilon
CASES = {
    "FrozenLake 4x4, per state": (
        "FrozenLake-v1",
        {},
        {"reward": "per_state", "truth": "prior", "beta": 10.0, "discount": 0.95},
        0.1,
    ),
    "FrozenLake 8x8, 3 features": (
        "FrozenLake-v1",
        {"map_name": "8x8"},
        {"beta": 50.0, "discount": 0.99},
        0.05,
    ),
    "FrozenLake 8x8, per state": (
        "FrozenLake-v1",
        {"map_name": "8x8"},
        {"reward": "per_state", "truth": "prior", "beta": 10.0, "discount": 0.95},
        0.2,
    ),
    "CliffWalking, 3 features": (newest("CliffWalking"), {}, {"beta": 2.0, "discount": 0.95}, 0.5),
    "Taxi, 7 features": (newest("Taxi"), {}, {"beta": 2.0, "discount": 0.95}, 0.1),
}


def learned(name: str, seed: int, max_steps: int = MAX_STEPS) -> dict[str, float | bool]:
    env_id, env_options, options, epsilon = CASES[name]
    env = gymnasium.make(env_id, **env_options)
    world = gymnasium_world(env, seed, **options)
    learner = ActiveLearner(world.problem, epsilon=epsilon, delta=0.1, seed=seed, num_threads=1)
    waits = []
    begin = last = time.process_time()

    def note(_: object) -> None:
        nonlocal last
        now = time.process_time()
        waits.append(now - last)
        last = now

    result = simulate(learner, world.expert, max_steps, progress=False, on_step=note)
    seconds = time.process_time() - begin
    policy = learner.apprentice()
    mdp = world.problem.mdp
    # Played without the time limit, which the problem does not have, until what is left is worth next to nothing.
    horizon = int(np.log(1e-4) / np.log(mdp.discount))
    played = play(env.unwrapped, policy, NUM_EPISODES, discount=mdp.discount, seed=seed, max_steps=horizon)
    predicted = float(mdp.initial @ evaluate_policy(mdp, policy, own_reward(env)))
    # An environment and policy without chance give the same return each time: then they must agree to rounding.
    error = max(played.standard_error, 1e-6)
    return {
        "answers": result.num_steps,
        "seconds": seconds,
        "longest_wait": max(waits, default=0.0),
        "is_certified": bool(result.is_finished),
        "regret": world.regret(policy),
        "chance": result.certificate.p_hat,
        "played": (played.mean - predicted) / error,
    }


def own_reward(env: gymnasium.Env) -> np.ndarray:
    from journeyman.gym import read_tables

    return read_tables(env).expected_reward


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="Part of a name.")
    arguments = parser.parse_args()
    table = Table(title="Learned to a certificate, delta 0.1")
    for heading in (
        "environment",
        "certified",
        "answers",
        "seconds",
        "longest step",
        "true regret / epsilon",
        "false (expected)",
        "played",
    ):
        table.add_column(heading, justify="left" if heading == "environment" else "right")
    found, within, certified = {}, float("inf"), 0
    names = [name for name in CASES if arguments.only in name]
    for name in names:
        learned(name, arguments.seeds, max_steps=1)  # not counted: it may have to compile
        runs = [learned(name, seed) for seed in range(arguments.seeds)]
        epsilon = CASES[name][3]
        done = [run for run in runs if run["is_certified"]]
        worst = max((run["regret"] for run in done), default=0.0)
        within, certified = min(within, epsilon / max(worst, 1e-9)), certified + len(done)
        answers, seconds = (sorted(run[key] for run in runs) for key in ("answers", "seconds"))
        shown = f"{answers[0]}..{answers[-1]}" if answers[0] < answers[-1] else f"{answers[0]}"
        table.add_row(
            name,
            f"{len(done)} of {len(runs)}",
            shown,
            f"{np.median(seconds):.3g} (max {seconds[-1]:.3g})",
            f"{max(run['longest_wait'] for run in runs):.2g}",
            f"{worst:.2g} / {epsilon:g}",
            f"{sum(run['regret'] >= epsilon for run in done)} ({sum(run['chance'] for run in done):.1f})",
            f"{max((run['played'] for run in runs), key=abs):+.1f}",
        )
        found[name] = {"epsilon": epsilon, "runs": runs}
        console.print(f"{name}: {runs}")
    console.print(table)
    finish({"environment": environment(), "cases": found, "certified": certified, "within": within})


if __name__ == "__main__":
    main()
