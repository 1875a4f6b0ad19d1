"""What each sample of a posterior says the expert does: the one place where criticism asks for it.

Where annotators have parameters of their own, what one does in a state says little about what another does there. So
answers are told apart by *place*, number g * S + s for state s and annotator g; else a place is a state.
"""

import numpy as np

from journeyman.inference.posterior import Posterior
from journeyman.inference.surprise import LARGEST_LOG
from journeyman.problem import Problem
from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray


def log_policies(posterior: Posterior, places: IntArray) -> FloatArray:
    """Return log pi(a | s) `[M, K, A]` of every sample in K places.

    Large and negative, but a number, where an action has no chance or does not exist.
    """
    mdp, annotators = posterior.problem.mdp, posterior.problem.expert_space.annotators
    if not annotators:
        return np.maximum(posterior.log_policies(places), -LARGEST_LOG)
    found = np.empty((posterior.num_samples, len(places), mdp.num_actions))
    groups, states = np.divmod(places, mdp.num_states)
    for group in np.unique(groups).tolist():
        found[:, groups == group] = posterior.log_policies(states[groups == group], annotators[group])
    return np.maximum(found, -LARGEST_LOG)


def available_in(problem: Problem, places: IntArray) -> BoolArray:
    """Return which actions exist `[K, A]` in places."""
    return np.asarray(problem.mdp.available[np.asarray(places) % problem.mdp.num_states])


def place_name(problem: Problem, place: int) -> str:
    """Return the name of a place: of its state, and of the annotator where these differ."""
    group, state = divmod(place, problem.mdp.num_states)
    annotators = problem.expert_space.annotators
    return f"{problem.mdp.state_name(state)} ({annotators[group]})" if annotators else problem.mdp.state_name(state)


def counts_by_place(counts: AnyArray) -> AnyArray:
    """Return counts `[S, A]` or `[G, S, A]` as `[G * S, A]`; a view."""
    return counts.reshape(-1, counts.shape[-1])
