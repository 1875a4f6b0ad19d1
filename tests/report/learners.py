"""Learners that tests of reports share, made once: on a grid with all that can happen, and without a grid."""

from functools import cache

import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.experts import Question
from journeyman.learner import ActiveLearner
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.report.learning.summary import summarise_learning
from journeyman.rewards import Normal, PerStateAction
from journeyman.worlds import make_world

FEW = {"num_particles": 200}
EVIL = '<script>alert("x")</script> & $co$'


def answer(learner, world, query):
    return learner.tell(query, world.make_expert(0).demonstrate(Question(query.state, query.id)))


@cache
def grid_learner():
    """A 3x3 grid: two answers, one taken back, one attached, one failed, one abandoned, two waiting together."""
    world = make_world("random-grid", 1, size=3)
    learner = ActiveLearner(world.problem, inference_options=FEW, seed=5, num_threads=1)
    for _ in range(3):
        answer(learner, world, learner.ask())
    learner.undo(1)
    learner.attach(Demonstration.annotation(learner.queries[0].state, 1))
    learner.fail(learner.ask())
    learner.abandon(learner.ask())
    learner.ask_batch(2)
    return learner


@cache
def grid_summary():
    return summarise_learning(grid_learner(), "grid")


@cache
def plain_learner():
    """Three states without a grid, with labels that would break a careless page; rewards of states and actions."""
    transitions = np.random.default_rng(0).dirichlet(np.ones(3), size=(3, 2))
    mdp = FiniteMDP.from_dense(
        transitions, layout="SAS", discount=0.8, state_labels=("den", EVIL, "nest"), action_labels=("<b>go</b>", "stay")
    )
    problem = Problem(mdp, PerStateAction(mdp), Normal(6), 2.0)
    learner = ActiveLearner(problem, inference_options=FEW, seed=0, num_threads=1)
    learner.tell(learner.ask(), 0)
    return learner


@cache
def plain_summary():
    return summarise_learning(plain_learner(), EVIL)
