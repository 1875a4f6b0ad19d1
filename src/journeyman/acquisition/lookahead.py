"""One step ahead: by how much an answer would better the apprentice.

The apprentice of largest expected return earns V*(rho; E[r]), the optimal value of the posterior-mean reward. After an
answer x it earns V*(rho; E[r | x]). What the optimal policies would earn, E[V*(rho; r)], does not depend on the query,
so the expected regret falls by

    sum over x of P(x) V*(rho; E[r | x]) - V*(rho; E[r]).

Rewards are linear in theta, so E[r | x] is the reward of a reweighted mean of theta: one warm-started solve per answer.
The present policy pi earns the same on average, sum over x of P(x) V^pi(rho; E[r | x]) = V*(rho; E[r]): the gain is
taken as the average of V*(rho; E[r | x]) - V^pi(rho; E[r | x]), a sum of terms that are never negative, and exactly 0
where no answer changes the policy: a difference within the rounding of what pi meets counts as none.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from journeyman.acquisition.information import (
    NUM_TREES,
    grow_from,
    kernel_policies,
    own_weights,
    state_chunks,
    stated_error,
    tree_uniforms,
)
from journeyman.acquisition.pac import rate_pac_eig
from journeyman.acquisition.scores import Rating, ScoringContext, each_sample, packed
from journeyman.checks import real_number
from journeyman.errors import InputError
from journeyman.inference.posterior import CHUNK_ENTRIES, Posterior
from journeyman.mdp import occupancy, solve_batch
from journeyman.threads import run_chunks
from journeyman.types import FloatArray, IntArray

ROUNDING = 64 * 2.0**-52  # relative error of a return, per step that counts
STALL = 0.02  # of the expected regret: a smaller best gain means that no single answer helps


class Present(NamedTuple):
    """The apprentice before the answer: its policy `[S]`, occupancy `[S]` and expected regret."""

    policy: IntArray
    occupancy: FloatArray
    expected_regret: float


def present_apprentice(posterior: Posterior) -> Present:
    """Return the apprentice of largest expected return."""
    mdp = posterior.problem.mdp
    solution = posterior.mean_solution
    gained = float(posterior.weights @ (posterior.values @ mdp.initial) - mdp.initial @ solution.values)
    return Present(solution.policy, occupancy(mdp, solution.policy), max(gained, 0.0))


def rate_expected_regret(posterior: Posterior, context: ScoringContext) -> Rating:
    """Rate by how much an answer lowers the expected regret of the apprentice, in units of reward.

    Exact for state queries; trajectories are sampled.
    """
    present = present_apprentice(posterior)
    details = {"expected_regret": present.expected_regret}
    if context.kind == "state":
        return Rating(_gains_of_actions(posterior, context, present), details=details)
    gains = _gains_of_trees(posterior, context, present)
    is_asked = ~posterior.problem.mdp.terminal[context.states]
    missed = np.where(is_asked, present.expected_regret, 0.0)  # what all answers together may gain at most
    return Rating(gains.mean(axis=1), stated_error(gains, missed, context.num_histories), details=details)


def _gains_of_actions(posterior: Posterior, context: ScoringContext, present: Present) -> FloatArray:
    """Return the expected gain `[N]` of one expert action in each state."""
    values = np.empty(len(context.states))
    num_actions = posterior.problem.mdp.num_actions
    for at, states in state_chunks(posterior, context.states):
        chances = posterior.expert_policies(states).reshape(posterior.num_samples, -1)
        masses = posterior.weights @ chances
        sums = (chances * posterior.weights[:, None]).T @ posterior.theta
        gains = gains_of_means(posterior, context, present, sums, masses)
        values[at] = (masses * gains).reshape(-1, num_actions).sum(axis=1)
    return values


def _gains_of_trees(posterior: Posterior, context: ScoringContext, present: Present) -> FloatArray:
    """Return independent estimates `[N, R]` of the expected gain of a trajectory from each state."""
    policies, partition = kernel_policies(posterior), each_sample(posterior.num_samples)
    root, num_trees = own_weights(posterior)[0], min(NUM_TREES, context.num_histories)
    gains, alone = np.empty((len(context.states), num_trees)), replace(context, num_threads=1)

    def rate(part: range) -> None:
        for index in part:
            start = int(context.states[index])
            trees = [
                grow_from(posterior, policies, partition, root, start, uniforms, keeps_ends=True)
                for uniforms in tree_uniforms(context, start, num_trees)
            ]
            means = np.concatenate([tree.weights for tree in trees]) @ posterior.theta
            chances = np.concatenate([tree.chances for tree in trees])
            each = chances * gains_of_means(posterior, alone, present, means, np.ones(len(means)))
            gains[index] = np.add.reduceat(each, np.cumsum([0, *(len(tree.chances) for tree in trees[:-1])]))

    run_chunks(rate, len(context.states), context.num_threads, chunk_size=4)
    return gains


def rate_optimal_action_value(posterior: Posterior, context: ScoringContext) -> Rating:
    """Rate the value of learning which set of actions is optimal in a state, in units of reward.

    sum over sets B of P[B] V*(rho; E[r | B]) - V*(rho; E[r]): not what one noisy answer gives, but what asking there
    until it is clear would give. Tied actions belong to one set; 0 in terminal cells.
    """
    present = present_apprentice(posterior)
    values = np.empty(len(context.states))
    for at, states in state_chunks(posterior, context.states):
        optimal = posterior.optimal_actions(states)
        labels = np.stack([packed(optimal[:, i], 2) for i in range(len(states))])
        num_sets = labels.max(axis=1) + 1
        offsets = np.concatenate([[0], np.cumsum(num_sets)])
        members = np.zeros((offsets[-1], posterior.num_samples))
        members[labels + offsets[:-1, None], np.arange(posterior.num_samples)] = posterior.weights
        masses = members.sum(axis=1)
        gains = gains_of_means(posterior, context, present, members @ posterior.theta, masses)
        values[at] = np.add.reduceat(masses * gains, offsets[:-1])
    return Rating(values, details={"expected_regret": present.expected_regret})


def rate_regret_pac(posterior: Posterior, context: ScoringContext, *, stall: float = STALL) -> Rating:
    """Rate by `expected_regret`; by `pac_eig` while the best gain is below `stall` times the expected regret.

    A lookahead of one step stalls where no single answer can change the policy although several together would; then
    information decides. `details["used"]` says which did.
    """
    if not 0.0 <= real_number(stall, "stall") <= 1.0:
        raise InputError(f"stall must lie in 0..1, got {stall}. It is a share of the expected regret.")
    rating = rate_expected_regret(posterior, context)
    if rating.values.max() >= stall * rating.details["expected_regret"] and rating.values.max() > 0.0:
        return Rating(rating.values, rating.standard_error, {**rating.details, "used": "expected_regret"})
    other = rate_pac_eig(posterior, context)
    details = {**other.details, **rating.details, "used": "pac_eig"}
    return Rating(other.values, other.standard_error, details, other.warnings, other.again_fn)


def gains_of_means(
    posterior: Posterior, context: ScoringContext, present: Present, sums: FloatArray, masses: FloatArray
) -> FloatArray:
    """Return V*(rho; r_k) - V^pi(rho; r_k) `[K]` for rewards r_k of mean parameters sums / masses and the present pi.

    sums `[K, D]` are weighted sums of theta, masses `[K]` the weights in them; where there is no mass the gain is 0.
    """
    mdp, model = posterior.problem.mdp, posterior.problem.reward_model
    gains = np.zeros(len(masses))
    kept = np.flatnonzero(masses > 0.0)
    size = max(1, CHUNK_ENTRIES // (mdp.num_states * mdp.num_actions))
    for part in np.split(kept, range(size, len(kept), size)):
        if not part.size:
            continue
        rewards = model.reward(sums[part] / masses[part, None])
        solution = solve_batch(mdp, rewards, initial_policy=present.policy, num_threads=context.num_threads)
        own = rewards if rewards.ndim == 2 else rewards[:, np.arange(mdp.num_states), present.policy]
        gain = solution.values @ mdp.initial - own @ present.occupancy
        sizes = np.abs(solution.values) @ mdp.initial + np.abs(own) @ present.occupancy
        gains[part] = np.where(gain > ROUNDING / (1.0 - mdp.discount) * sizes, gain, 0.0)
    return gains
