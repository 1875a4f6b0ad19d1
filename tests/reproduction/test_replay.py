"""Replays: the same answers as in the runs, and a prior with the moments of the generator."""

import numpy as np
import pytest

from journeyman import make_world
from journeyman.experiment.cell_run import Checkpoint, Job, advance, events_of
from journeyman.worlds.random_grid import random_grid
from reproduction import replay
from reproduction.experiments import sweep_of


def test_answers_are_those_of_the_run():
    cell = sweep_of("random-8x8", "smoke").cells()[0]
    rows = advance(Job(cell, 12, ()), Checkpoint()).rows
    world = cell.make_world()
    told = [event.payload["demonstration"] for event in events_of(cell, world, rows) if event.name == "tell"]
    states = [row["state"] for row in rows[1:]]
    given = replay.answers(world, states, cell.expert_seed)
    assert [item.to_record() for item in given] == told


def test_the_prior_knows_how_high_terminal_cells_are():
    """Its moments agree with those of rewards on grids of the published generator with as many terminal cells."""
    worlds = [random_grid(seed, size=8) for seed in range(400)]
    counts = np.array([world.problem.mdp.terminal.sum() for world in worlds])
    count = int(np.median(counts))
    same = [world for world, number in zip(worlds, counts, strict=True) if number == count]
    prior = replay.with_known_terminals(same[0].problem).prior
    terminal = same[0].problem.mdp.terminal
    for is_terminal in (True, False):
        rewards = np.concatenate([w.true_parameters[w.problem.mdp.terminal == is_terminal] for w in same])
        mean, std = prior.mean[terminal == is_terminal], prior.std[terminal == is_terminal]
        error = rewards.std() / np.sqrt(rewards.size)
        assert mean == pytest.approx(rewards.mean(), abs=5 * error)
        assert std == pytest.approx(rewards.std(), rel=5 / np.sqrt(2 * rewards.size))


def test_the_worst_choice_is_the_costliest_and_its_answers_are_counted():
    world = make_world("random-8x8", 0)
    policy = world.expert.q.argmax(axis=1)
    state = int(np.flatnonzero(~world.problem.mdp.terminal)[0])
    policy[state] = world.expert.q[state].argmin()
    given = replay.answers(world, [state, state, state + 1], 0)
    found = replay.worst_choice(world, policy, given)
    assert found["worst_state"] == state
    assert found["num_asked"] == 2
    assert found["worst_gap"] == pytest.approx(world.expert.values[state] - world.expert.q[state].min())
    loss = replay.judged(world, replay.particles(world.problem, given[:1]), policy)["true_regret"]
    assert found["worst_cost"] == pytest.approx(loss)  # one wrong choice: its occupancy times its gap, exactly
