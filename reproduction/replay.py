"""Why is a belief wrong? Go back to runs of the tables at one step, and change one thing at a time.

    python -m reproduction.replay      # what is missing in replay.parquet, with the tables that there are

The questions that a method asked are taken from the tables; the expert's answers follow from them. Variants:

    from scratch     the same answers, particles from scratch: what the others are compared with
    chains           the same policy judged by Markov chains on the same answers: is the inference to blame?
    known terminals  a prior that knows how terminal cells are chosen: is the published generator to blame?
    asked again      the same questions, the expert's noise drawn anew: is it bad luck with the answers?
    run again        the whole run, with that other noise: its questions follow from its own answers (only nuPAC-EIG)
    put right        where the posterior is sure and wrong: all answers in the state that matters name the best action
    left out         there: without these answers
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.random import default_rng
from pandas import DataFrame, concat, read_parquet
from rich.progress import track

from journeyman import ActiveLearner, Normal, Problem, World, evaluate_policy, infer, occupancy, simulate
from journeyman.apprentice.policies import expected_return
from journeyman.apprentice.regret import failures_of
from journeyman.demonstrations import Demonstration
from journeyman.experiment.cell import Cell
from journeyman.experiment.results import read_table, to_frame
from journeyman.experts import Question
from journeyman.inference import Posterior
from journeyman.storage.files import whole_file
from journeyman.types import IntArray
from reproduction.experiments import sweep_of

TABLES = Path(__file__).parent / "tables"
OUT = Path(__file__).parent / "replay.parquet"
STEP, EPSILON = 50, 0.1
METHODS = {"random-10x10": ("nuPAC-EIG",), "random-8x8": ("Reward-EIG", "nuPAC-EIG")}
NUM_PARTICLES, NUM_DRAWS = 1000, 1500
NUM_SIMULATIONS = 4000
FROM_SCRATCH, RUN_AGAIN, ALONE = "from scratch", "run again", "nuPAC-EIG"
CORRECTIONS = ("put right", "left out")  # of runs that are sure and wrong


def main() -> None:
    """Replay what is missing, and keep it."""
    done = read_parquet(OUT) if OUT.exists() else DataFrame(columns=["cell", "variant"])
    runs = [(name, cell, states) for name in METHODS for cell, states in recorded(name)]
    for variant in VARIANTS:
        known = set(done[done["variant"] == variant]["cell"])
        wanted = [run for run in runs if run[1].id not in known and is_wanted(variant, run[1], done)]
        for name, cell, states in track(wanted, variant):
            keys = {"cell": cell.id, "seed": cell.seed, "method": cell.acquisition.label, "step": STEP}
            row = DataFrame([{"experiment": name, **keys, "variant": variant, **VARIANTS[variant](cell, states)}])
            done = row if done.empty else concat([done, row], ignore_index=True)
            with whole_file(OUT, "replays") as temporary:
                done.to_parquet(temporary, index=False)


def is_wanted(variant: str, cell: Cell, done: DataFrame) -> bool:
    """Whether a variant of a run is of interest."""
    if variant in CORRECTIONS:
        found = done[(done["cell"] == cell.id) & (done["variant"] == FROM_SCRATCH)].iloc[0]
        return bool(found["true_regret"] > EPSILON and found["failure_chance"] <= EPSILON)
    return variant != RUN_AGAIN or cell.acquisition.label == ALONE


def recorded(name: str) -> Iterator[tuple[Cell, list[int]]]:
    """Yield the cells of an experiment that the tables hold, with the states that were asked up to the step."""
    table = to_frame(read_table(TABLES / f"{name}.parquet"))
    asked = table[(table["step"] >= 1) & (table["step"] <= STEP)].sort_values("step")
    for cell in sweep_of(name, "paper").cells():
        states = asked[asked["cell"] == cell.id]["state"].astype(int).tolist()
        if cell.acquisition.label in METHODS[name] and len(states) == STEP:
            yield cell, states


def from_scratch(cell: Cell, states: list[int]) -> dict[str, float]:
    """Return the belief after the answers of the run."""
    world = cell.make_world()
    return believed(world, world.problem, answers(world, states, cell.expert_seed))


def by_chains(cell: Cell, states: list[int]) -> dict[str, float]:
    """Return what Markov chains believe about the policy of the particles."""
    world = cell.make_world()
    given = answers(world, states, cell.expert_seed)
    policy = expected_return(particles(world.problem, given))
    chains = infer(world.problem, given, "policywalk", sampler="hmc", num_chains=2, num_draws=NUM_DRAWS, num_threads=1)
    return judged(world, chains, policy)


def with_terminals_known(cell: Cell, states: list[int]) -> dict[str, float]:
    """Return the belief after the answers of the run, with a prior that knows how terminal cells are chosen."""
    world = cell.make_world()
    return believed(world, with_known_terminals(world.problem), answers(world, states, cell.expert_seed))


def asked_again(cell: Cell, states: list[int]) -> dict[str, float]:
    """Return the belief after other answers to the same questions."""
    world = cell.make_world()
    return believed(world, world.problem, answers(world, states, cell.expert_seed + 1))


def run_again(cell: Cell, states: list[int]) -> dict[str, float]:
    """Return the belief after a whole run with these other answers."""
    world = cell.make_world()
    learner = ActiveLearner.from_settings(world.problem, cell.settings(), num_threads=1)
    expert = world.make_expert(cell.expert_seed + 1)
    simulate(learner, expert, len(states), stop_when_finished=False, progress=False)
    policy = expected_return(learner.posterior())
    return judged(world, learner.posterior(), policy) | worst_choice(world, policy, list(learner.demonstrations))


def put_right(cell: Cell, states: list[int]) -> dict[str, float]:
    """Return the belief if the expert had made no mistake in the state of the costliest choice."""
    world = cell.make_world()
    state, given = costliest_state(cell, states)
    best = int(world.expert.q[state].argmax())
    right = [replace(item, steps=((state, best),)) if item.start_state == state else item for item in given]
    return believed(world, world.problem, right)


def left_out(cell: Cell, states: list[int]) -> dict[str, float]:
    """Return the belief without the answers in the state of the costliest choice."""
    world = cell.make_world()
    state, given = costliest_state(cell, states)
    return believed(world, world.problem, [item for item in given if item.start_state != state])


def costliest_state(cell: Cell, states: list[int]) -> tuple[int, list[Demonstration]]:
    """Return the state of the costliest choice after the answers of the run, and these answers."""
    world = cell.make_world()
    given = answers(world, states, cell.expert_seed)
    policy = expected_return(particles(world.problem, given))
    return int(worst_choice(world, policy, given)["worst_state"]), given


VARIANTS: dict[str, Callable[[Cell, list[int]], dict[str, float]]] = {
    FROM_SCRATCH: from_scratch,
    "chains": by_chains,
    "known terminals": with_terminals_known,
    "asked again": asked_again,
    RUN_AGAIN: run_again,
    "put right": put_right,
    "left out": left_out,
}


def believed(world: World, problem: Problem, given: list[Demonstration]) -> dict[str, float]:
    """Return what is believed after some answers, what is true, and the costliest choice."""
    posterior = particles(problem, given)
    policy = expected_return(posterior)
    return judged(world, posterior, policy) | worst_choice(world, policy, given)


def particles(problem: Problem, given: list[Demonstration]) -> Posterior:
    """Return the posterior by sequential Monte Carlo."""
    return infer(problem, given, "smc", num_particles=NUM_PARTICLES, num_threads=1)


def answers(world: World, states: list[int], seed: int) -> list[Demonstration]:
    """Return the expert's answers to questions in these states: the n-th in a state has its own noise."""
    return [answer(world, state, seed, states[:index].count(state), index) for index, state in enumerate(states)]


def answer(world: World, state: int, seed: int, visit: int, query_id: int) -> Demonstration:
    """Return the expert's n-th answer in a state."""
    return world.make_expert(seed).demonstrate(Question(state, visit, id=query_id))


def judged(world: World, posterior: Posterior, policy: IntArray) -> dict[str, float]:
    """Return what a posterior believes about a policy, and its true regret."""
    found = failures_of(posterior, policy, EPSILON, "initial")
    mdp = world.problem.mdp
    loss = mdp.initial @ (world.expert.values - evaluate_policy(mdp, policy, world.reward))
    return {
        "failure_chance": float(posterior.mean(found.is_failing)),
        "expected_regret": float(posterior.mean(found.regret)),
        "true_regret": float(loss),
    }


def worst_choice(world: World, policy: IntArray, given: list[Demonstration]) -> dict[str, float]:
    """Return the choice of a policy that costs most, and what the expert answered there.

    num_asked: answers in that state; num_wrong: those that name the policy's action, or one that is alike;
    wrong_chance: of such an answer.
    """
    q, values = world.expert.q, world.expert.values
    ordinary = ~world.problem.mdp.terminal
    states = np.flatnonzero(ordinary)
    gaps = values[states] - q[states, policy[states]]
    costs = occupancy(world.problem.mdp, policy)[states] * gaps
    state = int(states[costs.argmax()])
    alike = np.isclose(q[state], q[state, policy[state]], rtol=0.0, atol=1e-9)
    shown = [step[1] for item in given if item.start_state == state for step in item.steps]
    chances = np.exp(world.problem.beta * (q[state] - values[state]))
    return {
        "worst_state": state,
        "worst_gap": float(gaps[costs.argmax()]),
        "worst_cost": float(costs.max()),
        "num_asked": len(shown),
        "num_wrong": int(sum(alike[action] for action in shown)),
        "wrong_chance": float(chances[alike].sum() / chances.sum()),
    }


def with_known_terminals(problem: Problem) -> Problem:
    """Return a problem whose prior knows about how high terminal cells are: independent normals of the right moments.

    The generator makes the tenth with the highest rewards terminal, and some others by chance.
    """
    terminal = problem.mdp.terminal
    size, num_goals = terminal.size, terminal.size // 10
    ranked = np.sort(default_rng(0).standard_normal((NUM_SIMULATIONS, size)), axis=1)
    low, top = ranked[:, :-num_goals], ranked[:, -num_goals:]
    share = num_goals / terminal.sum()
    mean = share * top.mean() + (1.0 - share) * low.mean()
    square = share * (top**2).mean() + (1.0 - share) * (low**2).mean()
    assert isinstance(problem.prior, Normal)  # as in all grids of the generator
    std = np.asarray(problem.prior.std)
    means = np.where(terminal, mean, low.mean()) * std
    stds = np.where(terminal, np.sqrt(square - mean**2), low.std()) * std
    return replace(problem, prior=Normal(size, means, stds))


if __name__ == "__main__":
    main()
