"""Active learning, start to end, with each acquisition function: how fast does the apprentice become good?

On each instance of a world every function meets the same simulated expert (noise keyed by state and visit) and the same
SMC settings. After each answer the apprentice is `expected_return`; reported are its true regret and the posterior
chance of a regret above epsilon. Prints a table; the last line is JSON.
"""

import argparse
from collections import Counter

from _measure import console, environment, finish, show

# isort: split
import numpy as np

from journeyman.acquisition import score
from journeyman.apprentice import expected_return, regrets
from journeyman.inference import smc
from journeyman.mdp import evaluate_policy
from journeyman.worlds import make_world

VARIANTS = {
    "pac_eig (default)": ("pac_eig", {}),
    "optimal_action_value": ("optimal_action_value", {}),
    "expected_regret": ("expected_regret", {}),
    "regret_pac": ("regret_pac", {}),
    "reward_eig": ("reward_eig", {}),
    "active_var": ("active_var", {}),
    "pac_eig local, (0, 1), no occupancy": ("pac_eig", {"edges": (0, 1), "occupancy": False}),
    "pac_eig joint, (1/2, 1), occupancy": ("pac_eig", {"scope": "joint"}),
    "random": ("random", {}),
    "pac_eig joint, (0, 1), no occupancy": ("pac_eig", {"scope": "joint", "edges": (0, 1), "occupancy": False}),
    "pac_eig local, (1/2, 1), no occupancy": ("pac_eig", {"occupancy": False}),
    "action_entropy": ("action_entropy", {}),
}


def run(world_name, seed, variant, num_steps, num_particles, epsilon):
    """Return the true regret and the posterior chance of a regret above epsilon, after each step, and the queries."""
    name, options = VARIANTS[variant]
    world = make_world(world_name, seed)
    mdp, rng, visits = world.problem.mdp, np.random.default_rng(seed), Counter()
    best = mdp.initial @ world.expert.values
    particles = smc.start(world.problem, seed=seed, num_threads=1, num_particles=num_particles)
    regret, chance, queries = np.empty(num_steps), np.empty(num_steps), []
    for step in range(num_steps):
        posterior = smc.posterior_of(particles)
        state = score(posterior, name, epsilon=epsilon, num_threads=1, **options).best_state(rng)
        answer = world.expert.demonstrate(state, seed=seed, visit=visits[state])
        visits[state] += 1
        queries.append(state)
        particles = smc.update(particles, answer, num_threads=1)
        posterior = smc.posterior_of(particles)
        policy = expected_return(posterior)
        regret[step] = best - mdp.initial @ evaluate_policy(mdp, policy, world.reward)
        chance[step] = posterior.weights @ (regrets(posterior, policy) >= epsilon)
    return regret, chance, queries


def settled(chance, level=0.1):
    """Return the step from which the chance stays at most `level`, infinity if it does not."""
    above = np.flatnonzero(chance > level)
    return float(above[-1] + 2 if above.size else 1) if not above.size or above[-1] < len(chance) - 1 else np.inf


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--world", default="random-10x10")
    parser.add_argument("--seeds", type=int, default=4, help="number of instances")
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--particles", type=int, default=500)
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--only", nargs="*", help="variants whose name contains one of these")
    options = parser.parse_args()
    looks = [step for step in (10, 20, 30, 50, 80) if step <= options.steps]
    chosen = [v for v in VARIANTS if not options.only or any(part in v for part in options.only)]
    rows, records = [], {}
    for variant in chosen:
        runs = []
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            runs.append(run(options.world, seed, variant, options.steps, options.particles, options.epsilon))
        regret = np.mean([r for r, _, _ in runs], axis=0)
        chance = np.mean([c for _, c, _ in runs], axis=0)
        steps = float(np.median([settled(c) for _, c, _ in runs]))
        row = [variant]
        row.append(" / ".join(f"{regret[step - 1]:.2f}" for step in looks))
        row.append(" / ".join(f"{chance[step - 1]:.2f}" for step in looks))
        row.append(f"{steps:.0f}" if np.isfinite(steps) else "-")
        rows.append(row)
        records[variant] = {
            "regret": [round(float(x), 4) for x in regret[[step - 1 for step in looks]]],
            "chance": [round(float(x), 4) for x in chance[[step - 1 for step in looks]]],
            "settled": steps if np.isfinite(steps) else None,
            "queries": [q for _, _, q in runs],
        }
        console.print(" | ".join(row))
    show(
        f"{options.world}, {options.seeds} instances, {options.particles} particles, epsilon {options.epsilon}",
        [
            "function",
            f"true regret after {looks} answers".replace("[", "").replace("]", ""),
            f"chance of regret >= {options.epsilon}",
            "settled",
        ],
        rows,
        "settled: median step from which the chance stays at most 0.1",
    )
    finish({"looks": looks, "variants": records} | environment("numpy", "numba"))


if __name__ == "__main__":
    main()
