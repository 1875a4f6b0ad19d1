"""Learn what a driver and a juggler want, on grids; act in the continuous worlds of Gymnasium.

For MountainCar and the pendulum: discretise the environment, let a simulated expert answer until the certificate holds,
estimate the error of the grid, and let the apprentice act in the environment itself, beside the expert.

    python examples/continuous/run.py              # about two minutes; writes continuous.png
    python examples/continuous/run.py --quick      # coarse grids, a few seconds
    python examples/continuous/run.py --normal     # the Normal prior itself, not 300 draws from it: some minutes
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gymnasium
import numpy as np

from journeyman import (
    ActiveLearner,
    Demonstration,
    Discrete,
    Normal,
    Problem,
    certify,
    discretise,
    evaluate_policy,
    infer,
    solve,
)
from journeyman.continuous import (
    MOUNTAIN_CAR_BOUNDS,
    PENDULUM_BOUNDS,
    Discretisation,
    grid_error,
    mountain_car_step,
    pendulum_step,
)
from journeyman.report.drawing.cells import new_figure
from journeyman.report.drawing.maps import save_figure

DELTA = 0.1
MAX_ANSWERS = 60
NUM_STARTS = 60


@dataclass(frozen=True)
class Task:
    """A world, what is unknown about its reward, and the truth, which only the expert knows."""

    name: str
    environment: str
    step_fn: Callable
    actions: list  # as the environment takes them
    options: dict  # of discretise
    prior: Normal
    truth: tuple[float, ...]
    beta: float
    epsilon: float
    num_steps: int


def car_features(states, action):
    """Pushing, and being on the left hill, whose inhabitants want quiet."""
    left = np.exp(-(((states[:, 0] + 1.0) / 0.15) ** 2))
    return np.stack([np.full(len(states), -abs(action - 1.0)), -left], axis=1)


def turn_features(states, torque):
    """Speed and effort, as in Gymnasium's own reward."""
    return np.stack([-(states[:, 1] ** 2), np.full(len(states), -(np.asarray(torque).item() ** 2))], axis=1)


def turn_angle(states):
    """Cost of the angle: the part of the reward that is known, and sets its scale."""
    return -(((states[:, 0] + np.pi) % (2.0 * np.pi) - np.pi) ** 2)


def tasks(points, seed=0):
    """Return the two tasks on grids of so many points along each dimension."""
    rng = np.random.default_rng(seed)
    car = Task(
        "mountain car",
        "MountainCar-v0",
        mountain_car_step,
        [0, 1, 2],
        {
            "bounds": MOUNTAIN_CAR_BOUNDS,
            "points": points,
            "actions": 3,
            "discount": 0.99,
            "repeat": 8,
            "initial_states": np.stack([rng.uniform(-0.6, -0.4, NUM_STARTS), np.zeros(NUM_STARTS)], axis=1),
            "features_fn": car_features,
            "offset_fn": lambda states: -np.ones(len(states)),
            "feature_names": ("pushing", "left hill"),
            "names": ("position", "velocity"),
            "action_labels": ("left", "coast", "right"),
        },
        Normal(2, mean=[0.5, 1.0], std=[0.3, 0.7]),
        truth=(0.4, 1.5),
        beta=1.0,
        epsilon=2.0,
        num_steps=1000,
    )
    turn = Task(
        "pendulum",
        "Pendulum-v1",
        pendulum_step,
        [np.array([torque], dtype=np.float32) for torque in (-2.0, 0.0, 2.0)],
        {
            "bounds": PENDULUM_BOUNDS,
            "points": points,
            "discount": 0.95,
            "repeat": 2,
            "boundary": ("wrap", "clip"),
            "actions": [-2.0, 0.0, 2.0],
            "initial_states": rng.uniform([-np.pi, -1.0], [np.pi, 1.0], (NUM_STARTS, 2)),
            "features_fn": turn_features,
            "offset_fn": turn_angle,
            "feature_names": ("speed", "effort"),
            "names": ("angle", "speed"),
            "action_labels": ("left", "none", "right"),
        },
        Normal(2, mean=[0.2, 0.3], std=[0.15, 0.3]),
        truth=(0.1, 0.001),  # Gymnasium's
        beta=1.0,
        epsilon=3.0,
        num_steps=250,
    )
    return car, turn


class ContinuousExpert:
    """Somebody who lives in the continuous world: a finer grid tells its values, at any state."""

    def __init__(self, world: Discretisation, theta, beta, seed=0):
        self.world, self.theta, self.beta = world, np.asarray(theta), beta
        self.values = solve(world.mdp, world.reward_model.reward(self.theta)).values
        self.rng = np.random.default_rng(seed)

    def act(self, states):
        """Do the best."""
        return self.world.action_values(states, self.values, self.theta).argmax(axis=1)

    def draw(self, state):
        """Choose as people do: mistakes are the rarer, the more they cost."""
        q = self.beta * self.world.action_values(state, self.values, self.theta)[0]
        return int(self.rng.choice(len(q), p=np.exp(q - np.logaddexp.reduce(q))))

    def answer(self, place, query):
        """Answer a question about a state of the grid."""
        return Demonstration.annotation(query.state, self.draw(place), query_id=query.id)

    def record(self, start, num_decisions):
        """Act for a while, with mistakes; return the decisions."""
        state, steps = np.asarray(start), []
        for _ in range(num_decisions):
            steps.append((state, self.draw(state)))
            moved = self.world.decisions.moved(state[None], steps[-1][1])
            if moved.is_done[0]:
                break
            state = moved.states[0]
        return steps


def gymnasium_episodes(task: Task, grid: Discretisation, act):
    """Act in Gymnasium itself, from each initial state; return discounted returns under the true reward, and paths."""
    starts, repeat = grid.initial_states, grid.decisions.repeat
    environments = [gymnasium.make(task.environment).unwrapped for _ in starts]
    for env, start in zip(environments, starts, strict=True):
        env.reset(seed=0)
        env.state = start.copy()
    totals, paths, is_going = np.zeros(len(starts)), [[start] for start in starts], np.ones(len(starts), dtype=bool)
    chosen = np.zeros(len(starts), dtype=int)
    for t in range(task.num_steps):
        states = np.array([env.state for env in environments], dtype=float)
        if t % repeat == 0:
            chosen[is_going] = act(states[is_going])
        for i in np.flatnonzero(is_going):
            action = task.actions[chosen[i]]
            _, reward, is_done, _, _ = environments[i].step(action)
            if task.environment == "MountainCar-v0":  # its own reward is the known part; the rest is ours
                reward += (car_features(states[i : i + 1], action) @ task.truth)[0]
            totals[i] += grid.decisions.discount**t * float(reward)
            paths[i].append(np.array(environments[i].state, dtype=float))
            is_going[i] = not is_done
        if not is_going.any():
            break
    return totals, [np.array(path) for path in paths]


def learn(task: Task, num_rewards: int, say, *, is_normal=False, seed=0):
    """Learn to a certificate, and compare; return what the figure shows."""
    begin = time.process_time()
    grid = discretise(task.step_fn, **task.options, progress=False)
    theirs = discretise(gymnasium.make(task.environment), **task.options, progress=False)
    difference = np.abs((grid.mdp.transition_matrix - theirs.mdp.transition_matrix).data).max(initial=0.0)
    rewards = task.prior.sample(np.random.default_rng(1), num_rewards)
    planning = grid_error(grid, rewards[:16], progress=False)
    grid = planning.stated_by(grid)
    prior, inference = (task.prior, "smc") if is_normal else (Discrete(rewards), "enumerate")
    problem = Problem(grid.mdp, grid.reward_model, prior, task.beta, queryable=grid.mdp.reachable())
    expert = ContinuousExpert(grid.finer(progress=False), task.truth, task.beta, seed)
    learner = ActiveLearner(problem, epsilon=task.epsilon, delta=DELTA, inference=inference, seed=seed, num_threads=1)
    asked, learned = [], time.process_time()
    while not learner.is_finished() and len(asked) < MAX_ANSWERS:
        query = learner.ask()
        learner.tell(query, expert.answer(grid.states[query.state], query))
        asked.append(grid.states[query.state])
    learned = time.process_time() - learned
    posterior = learner.posterior()
    act = grid.policy_fn(posterior)
    found = grid_error(grid, posterior, act=act, progress=False)
    if is_normal:  # the learner drew more samples for it than its posterior has; it states the error before learning
        certificate = learner.confirmation() or learner.certificate()
    else:
        certificate = certify(found.stated_by(posterior), task.epsilon, DELTA, policy=learner.apprentice())
    true = grid.reward_model.reward(np.array(task.truth))
    best = solve(grid.mdp, true).values @ grid.mdp.initial
    acts = {"apprentice": act, "expert": expert.act}
    episodes = {who: gymnasium_episodes(task, grid, fn) for who, fn in acts.items()}
    returns = {who: totals for who, (totals, _) in episodes.items()}
    loss = returns["expert"] - returns["apprentice"]

    def with_error(numbers):
        return f"{numbers.mean():8.2f} +- {numbers.std(ddof=1) / np.sqrt(len(numbers)):.2f}"

    say(f"\n== {task.name} ({task.environment}), {grid!r}")
    say(f"chances of the environment's MDP and of ours differ by at most {difference:.1g}")
    say(f"answers until the certificate {certificate.status}: {len(asked)}, in {learned:.0f} s of processor time")
    reached = evaluate_policy(grid.mdp, learner.apprentice(), true) @ grid.mdp.initial
    say(f"{'true regret on the grid':45s}{best - reached:8.2f}")
    say(f"{'return of the best policy on the grid':45s}{best:8.2f}")
    for who in returns:
        say(f"{f'return in Gymnasium, {who}':45s}{with_error(returns[who])}   ({NUM_STARTS} episodes)")
    say(f"{'loss in Gymnasium, against the expert':45s}{with_error(loss)}   (epsilon {task.epsilon:g})")
    coarse, fine = found.regrets.mean(axis=1)
    say(f"{'mean regret on the grid, and twice as fine':45s}{coarse:8.2f}{fine:8.2f}")
    for when, error in (("prior", planning), ("posterior", found)):
        words = f"error of regrets and returns, 95 %, {when}"
        say(f"{words:45s}{error.error:8.2f}{error.return_error:8.2f}")
    same = np.mean(act(grid.states) == learner.apprentice())
    say(f"{'grid points where it does what is certified':45s}{same:8.1%}")
    say(certificate.text())
    compare_mappings(task, grid, expert, rewards, say)
    say(f"({time.process_time() - begin:.0f} s of processor time)")
    return (
        grid,
        solve(grid.mdp, posterior.mean_reward()).values,
        act,
        np.array(asked).reshape(-1, 2),
        episodes["apprentice"][1][:6],
    )


def compare_mappings(task: Task, grid: Discretisation, expert: ContinuousExpert, rewards, say):
    """Compare what recorded trajectories tell, mapped exactly and to the nearest point."""
    recorded = [expert.record(start, 8) for start in grid.initial_states[:5]]
    say(f"5 recorded trajectories of up to 8 decisions; truth {task.truth}:")
    exact = None
    for mapping in ("exact", "nearest"):
        known, demonstrations = grid.demonstrations(recorded, mapping=mapping)
        posterior = infer(
            Problem(known.mdp, known.reward_model, Discrete(rewards), task.beta), demonstrations, "enumerate"
        )
        exact = posterior.weights if exact is None else exact
        mean, std = posterior.mean_parameters(), posterior.parameter_std()
        parts = ", ".join(f"{m:.3f} +- {s:.3f}" for m, s in zip(mean, std, strict=True))
        far = 0.5 * np.abs(posterior.weights - exact).sum()
        say(f"  {mapping:8s} {parts}   total variation from exact {far:.3f}")


def draw(found, path: Path):
    """Draw value, questions and paths of the apprentice over the states of each world; and what it does where."""
    figure = new_figure(11.0, 8.0)
    for row, (task, (grid, values, act, asked, paths)) in zip(figure.subplots(len(found), 2), found, strict=True):
        low, high = grid.lattice.low, grid.lattice.high
        box = (low[0], high[0], low[1], high[1])
        axes = [np.linspace(a, b, 161) for a, b in zip(low, high, strict=True)]
        places = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
        picture = grid.interpolate(values, places).reshape(161, 161).T
        image = row[0].imshow(picture, origin="lower", extent=box, aspect="auto", cmap="viridis")
        figure.colorbar(image, ax=row[0], label="value of the mean reward")
        for steps in paths:
            shown = grid.lattice.wrapped(steps)
            jumps = np.abs(np.diff(shown[:, 0])) > 0.5 * (high[0] - low[0])
            shown = np.insert(shown, np.flatnonzero(jumps) + 1, np.nan, axis=0)
            row[0].plot(shown[:, 0], shown[:, 1], color="white", linewidth=0.9, alpha=0.8)
        row[0].plot(asked[:, 0], asked[:, 1], "o", color="tab:red", markersize=4, label="questions")
        row[0].set_title(f"{task.name}: value, questions and paths of the apprentice")
        chosen = act(places).reshape(161, 161).T
        colours = row[1].imshow(chosen, origin="lower", extent=box, aspect="auto", cmap="RdYlBu", vmin=-0.5, vmax=2.5)
        bar = figure.colorbar(colours, ax=row[1], ticks=range(3), boundaries=np.arange(4) - 0.5)
        bar.set_ticklabels(grid.mdp.action_labels)
        row[1].set_title("what the apprentice does")
        for ax in row:
            ax.set(xlabel=task.options["names"][0], ylabel=task.options["names"][1])
        row[0].legend(loc="upper right", fontsize=8)
    save_figure(figure, path)


def main(arguments=None):
    """Run both tasks; print a table and the certificates, and draw a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="coarse grids and few rewards: to see that it runs")
    parser.add_argument("--normal", action="store_true", help="the Normal prior itself, not draws from it")
    parser.add_argument("--seed", type=int, default=0, help="of the expert's mistakes and of the learner")
    parser.add_argument("--out", type=Path, default=Path("continuous.png"), help="where the figure goes")
    options = parser.parse_args(arguments)
    points, num_rewards = (13, 30) if options.quick else (41, 300)
    chosen = {"is_normal": options.normal, "seed": options.seed}
    found = [(task, learn(task, num_rewards, lambda text: print(text, flush=True), **chosen)) for task in tasks(points)]
    draw(found, options.out)
    print(f"\nFigure: {options.out}")


if __name__ == "__main__":
    main()
