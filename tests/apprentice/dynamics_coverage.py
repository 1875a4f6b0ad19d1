"""Certificates where the dynamics are estimated: how often is what they say not so?

Run as a script, with the number of runs and perhaps the first seed, it prints the table of docs/dynamics.md; "tiny"
before these says how often certificates of worlds whose dynamics and rewards are drawn from their priors are false:
    python tests/apprentice/dynamics_coverage.py 8
    python tests/apprentice/dynamics_coverage.py tiny 160 1000
"""

import sys
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from journeyman.apprentice import certify, expected_return
from journeyman.apprentice.certificate import unchecked
from journeyman.apprentice.over_dynamics import certify_policy_over_dynamics
from journeyman.experts import Boltzmann, SimulatedExpert
from journeyman.inference import infer
from journeyman.mdp import FiniteMDP, estimate_dynamics, evaluate_policy, solve
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState

LAKE = "SFFFFHFHFFFHHFFG"  # 4x4, slippery: a third each straight on, left and right of it
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))


class Sure(Boltzmann):
    """An expert whose rationality nobody doubts, so that certificates ask about no other."""

    def variants(self):
        return ()


class Run(NamedTuple):
    """One certificate: its status and p_hat, the true regret, and whether the certificate in the mean holds."""

    status: str
    p_hat: float
    regret: float
    holds_in_mean: bool
    seconds: float


def frozen_lake() -> np.ndarray:
    """Return the transitions `[16, 4, 16]` of FrozenLake 4x4; holes and goal have none."""
    transitions = np.zeros((16, 4, 16))
    for state in (s for s in range(16) if LAKE[s] in "SF"):
        row, column = divmod(state, 4)
        for action in range(4):
            for slip in (-1, 0, 1):
                down, right = MOVES[(action + slip) % 4]
                to = 4 * min(max(row + down, 0), 3) + min(max(column + right, 0), 3)
                transitions[state, action, to] += 1 / 3
    return transitions


class Walker:
    """An environment with reset and step, which starts in state 0."""

    def __init__(self, mdp: FiniteMDP) -> None:
        self.mdp, self.transitions = mdp, mdp.dense_transitions()

    def reset(self, *, seed=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.state = 0
        return 0, {}

    def step(self, action):
        chances = self.transitions[self.state, action]
        self.state = int(self.rng.choice(len(chances), p=chances))
        return self.state, 0.0, bool(self.mdp.terminal[self.state]), False, {}


def run_of(
    truth: FiniteMDP, dynamics, parameters, num_answers, epsilon, delta, seed, max_dynamics, num_particles=1000
) -> Run:
    """Learn from answers of an expert who knows the true dynamics, and certify over estimated ones."""
    mdp, size = dynamics.mdp, truth.num_states
    problem = Problem(mdp, PerState(mdp), Normal(size, 0.0, 1.0), 4.0)
    reward = problem.reward_model.reward(parameters)
    expert = SimulatedExpert(truth, reward, problem.expert, seed=seed)
    rng = np.random.default_rng([seed, 1])
    answers = expert.answers(rng.choice(np.flatnonzero(~truth.terminal), num_answers))
    posterior = infer(problem, answers, seed=seed, num_threads=1, num_particles=num_particles)
    in_mean = replace(posterior, problem=replace(problem, mdp=replace(mdp, origin=None)))
    holds_in_mean = certify(in_mean, epsilon, delta, check_fn=unchecked).holds
    begin = time.process_time()
    certificate = certify_policy_over_dynamics(
        replace(posterior, problem=replace(problem, expert=Sure(4.0))), answers, epsilon, delta,
        policy=expected_return(posterior), source="expected_return", confidence=0.95, scope="initial", method="smc",
        options={}, max_dynamics=max_dynamics, seed=seed, num_threads=1, check_fn=unchecked,
    )  # fmt: skip
    seconds = time.process_time() - begin
    lost = solve(truth, reward).values - evaluate_policy(truth, certificate.policy, reward)
    regret = float(truth.initial @ lost)
    return Run(certificate.status, certificate.p_hat, regret, holds_in_mean, seconds)


def tiny_run(seed: int, *, num_states=4, max_dynamics=64, delta=0.2, epsilon=0.5) -> Run:
    """A few states whose dynamics and rewards are drawn from their priors, and random walks of any length."""
    rng = np.random.default_rng([seed, 0])
    chances = rng.dirichlet(np.full(num_states, 0.5), size=(num_states, 2))
    truth = FiniteMDP.from_dense(chances, layout="SAS", discount=0.8)
    num_steps = int(10 * 2 ** rng.uniform(0.0, 6.0))
    dynamics = estimate_dynamics(
        lambda s, a, rng: rng.choice(num_states, p=chances[s, a]),
        num_states=num_states, num_actions=2, discount=0.8, num_steps=num_steps, prior=0.5, seed=seed,
    )  # fmt: skip
    parameters, num_answers = rng.normal(size=num_states), int(rng.integers(5, 40))
    return run_of(truth, dynamics, parameters, num_answers, epsilon, delta, seed, max_dynamics, num_particles=200)


def lake_run(seed: int, num_steps: int, *, num_answers=80, epsilon=1.0, delta=0.1, max_dynamics=128) -> Run:
    """FrozenLake with rewards drawn from their prior, its dynamics estimated from random walks."""
    truth = FiniteMDP.from_dense(frozen_lake(), layout="SAS", discount=0.95, initial=np.eye(16)[0])
    sizes = {"num_states": 16, "num_actions": 4, "discount": 0.95}
    dynamics = estimate_dynamics(Walker(truth), num_steps=num_steps, seed=seed, **sizes)
    parameters = np.random.default_rng([seed, 2]).normal(size=16)
    return run_of(truth, dynamics, parameters, num_answers, epsilon, delta, seed, max_dynamics)


def print_tiny(count: int, first: int) -> None:
    """Print what became of tiny worlds at delta 0.1."""
    runs = [tiny_run(seed, max_dynamics=128, delta=0.1) for seed in range(first, first + count)]
    held = [run for run in runs if run.status == "holds"]
    false, expected = sum(run.regret >= 0.5 for run in held), sum(run.p_hat for run in held)
    print(f"{len(runs)} runs: {len(held)} hold, {false} of them false, where they themselves expect {expected:.1f}")


def print_lakes(count: int, first: int) -> None:
    """Print what became of lakes, by the number of steps that their dynamics were estimated from."""
    found: dict[int, list[Run]] = {5000: [], 1000: [], 200: []}
    for number in range(first, first + count):
        for steps, runs in found.items():
            runs.append(lake_run(number, steps))
            print(steps, number, runs[-1], flush=True)
    for steps, runs in found.items():
        held = [run for run in runs if run.status == "holds"]
        in_mean = [run for run in runs if run.holds_in_mean]
        print(
            f"{steps} steps, {len(runs)} runs: over sampled dynamics {len(held)} hold, "
            f"{sum(run.regret >= 1.0 for run in held)} of them false; in the mean {len(in_mean)} hold, "
            f"{sum(run.regret >= 1.0 for run in in_mean)} of them false; "
            f"{np.mean([run.seconds for run in runs]):.1f} s each"
        )


if __name__ == "__main__":
    is_tiny = sys.argv[1] == "tiny"
    numbers = [int(argument) for argument in sys.argv[1 + is_tiny :]]
    (print_tiny if is_tiny else print_lakes)(numbers[0], numbers[1] if len(numbers) > 1 else 0)
