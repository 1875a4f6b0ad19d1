"""Asking for the certificate: by how much an answer would lower the chance of too much regret.

A certificate is about p = P[regret >= epsilon] of the policy that is handed out. After an answer x another policy may
be the best one, and p becomes

    p(x) = min over candidate policies pi of P[regret of pi >= epsilon | x].

The score of a question is sqrt(p) - sum over x of P(x) sqrt(p(x)). The root is concave, so that two things count: an
answer after which another policy fails less often, and an answer that tells whether the present one fails. The score is
never negative (Jensen's inequality, and each minimum is at most the chance of the policy that is best now).

One answer of a noisy expert seldom changes a policy, although several would. So a state query is rated as if its answer
were worth several equal ones: with k of them the expert's chances are taken to the power k, and normalised. For a
Boltzmann expert that is one who is k times as rational.

Candidates are the policies that are optimal for the mean reward after single answers. The regret of each under every
sample is the sum over states of its occupancy times immediate regret: one product of matrices for all of them. Given
possible answers to other queries, or for another length, the same candidates are looked at, at the same level.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import softmax

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
from journeyman.acquisition.scores import Rating, ScoringContext, each_sample
from journeyman.apprentice.policies import most_likely_optimal
from journeyman.apprentice.regret import regret_unit
from journeyman.checks import whole_number
from journeyman.inference.posterior import Posterior
from journeyman.mdp import solve_batch
from journeyman.mdp.policies import occupancies
from journeyman.threads import run_chunks
from journeyman.types import FloatArray, IntArray

ANSWERS = 3
MIN_MASS = 0.02  # chance of an answer below which it is not worth a candidate of its own
MAX_CANDIDATES = 512
NO_GAIN = 1e-9  # what may be rounding
MAX_DOUBLINGS = 20


def rate_failure_chance(posterior: Posterior, context: ScoringContext, *, answers: int = ANSWERS) -> Rating:
    """Rate by how much an answer lowers the root of the chance that the regret is epsilon or more.

    The regret is that from the initial distribution. While no answer lowers the chance of it, mostly because all
    policies fail under all samples, twice epsilon is looked at, and so on; where some policy never fails, half of it
    (`details["level"]`: what was looked at, in units of epsilon). If that does not help either, `pac_eig` decides.
    State queries are exact for the given samples; trajectories are sampled.

    Parameters
    ----------
    answers
        How many equal answers a state query is rated as; a trajectory is rated as what it is.
    """
    whole_number(answers, "answers", 1, "3 is usual, 1 looks one answer ahead.")
    policies = candidate_policies(posterior, context, answers)
    regret = candidate_regrets(posterior, policies) / regret_unit(posterior, context.epsilon)
    for level in _levels(context, regret):
        is_failing = (regret >= level * context.epsilon).astype(np.float64)
        rating = failure_again(posterior, is_failing, answers, context, own_weights(posterior), np.ones(1))
        if rating.values.any():
            details = {"level": level, "num_candidates": len(regret)}
            return replace(rating, details=details, again_fn=partial(failure_again, posterior, is_failing, answers))
    other = rate_pac_eig(posterior, context)
    return replace(other, details={**other.details, "used": "pac_eig"})


def failure_again(
    posterior: Posterior,
    is_failing: FloatArray,
    answers: int,
    context: ScoringContext,
    weights: FloatArray,
    chances: FloatArray,
) -> Rating:
    """Rate by how much an answer lowers the root of the smallest chance of failure, given histories.

    is_failing `[U, M]` says whether a candidate policy fails under a sample, as 0 or 1.
    """
    before = np.sqrt([(is_failing @ given).min() for given in weights])
    if context.kind == "state":
        values = chances @ before - _roots(posterior, context, is_failing, answers, weights, chances)
        return Rating(np.where(values > NO_GAIN, values, 0.0))
    estimates = before - _roots_of_trees(posterior, context, is_failing, weights)
    values = np.average(estimates, axis=1, weights=np.broadcast_to(chances, estimates.shape[1]))
    missed = np.where(posterior.problem.mdp.terminal[context.states], 0.0, before[0])
    error = stated_error(estimates, missed, context.num_histories) if len(weights) == 1 else None
    return Rating(np.where(values > NO_GAIN, values, 0.0), error)


def _levels(context: ScoringContext, regret: FloatArray) -> Iterator[float]:
    """Yield which regret to look at, in units of epsilon, in the order in which to try them.

    Higher ones while some policy fails, if each fails under some sample; lower ones until each does, if one never does.
    """
    yield 1.0
    can_fail = (regret >= context.epsilon).any(axis=1).all()
    smallest, largest = regret[regret > 0.0].min(initial=np.inf), regret.max()
    for power in range(1, MAX_DOUBLINGS + 1):
        level = 2.0**power if can_fail else 2.0**-power
        if level * context.epsilon > largest if can_fail else 2.0 * level * context.epsilon <= smallest:
            return
        yield level


def candidate_policies(posterior: Posterior, context: ScoringContext, answers: int) -> IntArray:
    """Return distinct policies `[U, S]`: best on average after answers that are not too improbable, and both of now."""
    problem, present = posterior.problem, posterior.mean_solution.policy
    masses, sums = [], []
    for _, states in state_chunks(posterior, context.states):
        weighted = posterior.weights[:, None] * answer_chances(posterior, states, answers)
        masses.append(weighted.sum(axis=0))
        sums.append(weighted.T @ posterior.theta)
    mass, total = np.concatenate(masses), np.concatenate(sums)
    evenness = np.minimum(mass, 1.0 - mass)
    kept = np.argsort(-evenness, kind="stable")[:MAX_CANDIDATES]
    kept = kept[mass[kept] >= MIN_MASS]
    found = [present[None], most_likely_optimal(posterior)[None]]
    if kept.size:
        rewards = problem.reward_model.reward(total[kept] / mass[kept, None])
        found.append(solve_batch(problem.mdp, rewards, initial_policy=present, num_threads=context.num_threads).policy)
    return np.unique(np.concatenate(found), axis=0)


def answer_chances(posterior: Posterior, states: IntArray, answers: int) -> FloatArray:
    """Return the chance `[M, len(states) * A]` of each answer under each sample, as if it were worth `answers`."""
    log_policy = posterior.log_policies(states)
    return np.asarray(softmax(answers * log_policy, axis=2).reshape(posterior.num_samples, -1))


def candidate_regrets(posterior: Posterior, policies: IntArray) -> FloatArray:
    """Return the regret `[U, M]` of policies `[U, S]` from the initial distribution, under every sample."""
    mdp = posterior.problem.mdp
    visits, regret = occupancies(mdp, policies), np.zeros((len(policies), posterior.num_samples))
    for states, q in posterior.q_chunks():
        gaps = posterior.gaps(states, q)
        gaps = np.where(np.isfinite(gaps), gaps, 0.0).reshape(posterior.num_samples, -1)
        done = np.zeros((len(policies), len(states), mdp.num_actions))
        np.put_along_axis(done, policies[:, states, None], visits[:, states, None], axis=2)
        regret += done.reshape(len(policies), -1) @ gaps.T
    return regret


def _roots(
    posterior: Posterior,
    context: ScoringContext,
    is_failing: FloatArray,
    answers: int,
    weights: FloatArray,
    chances: FloatArray,
) -> FloatArray:
    """Return sum over x of P(x) sqrt(p(x)) for one action in each state `[N]`, averaged over histories."""
    num_actions, roots = posterior.problem.mdp.num_actions, np.zeros(len(context.states))
    for at, states in state_chunks(posterior, context.states):
        likelihood = answer_chances(posterior, states, answers)
        for given, chance in zip(weights, chances, strict=True):
            weighted = (given[:, None] * likelihood).T
            masses = weighted.sum(axis=1)
            least = np.clip((weighted @ is_failing.T).min(axis=1), 0.0, masses)
            roots[at] += chance * np.sqrt(masses * least).reshape(-1, num_actions).sum(axis=1)
    return roots


def _roots_of_trees(
    posterior: Posterior, context: ScoringContext, is_failing: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return independent estimates `[N, R]` of it for trajectories; with several histories, estimate r is given r."""
    policies, partition = kernel_policies(posterior), each_sample(posterior.num_samples)
    num_trees = min(NUM_TREES, context.num_histories) if len(weights) == 1 else len(weights)
    roots = np.empty((len(context.states), num_trees))

    def rate(part: range) -> None:
        for index in part:
            start = int(context.states[index])
            trees = [
                grow_from(
                    posterior, policies, partition, weights[tree % len(weights)], start, uniforms, keeps_ends=True
                )
                for tree, uniforms in enumerate(tree_uniforms(context, start, num_trees))
            ]
            least = (np.concatenate([tree.weights for tree in trees]) @ is_failing.T).min(axis=1)
            each = np.concatenate([tree.chances for tree in trees]) * np.sqrt(np.maximum(least, 0.0))
            roots[index] = np.add.reduceat(each, np.cumsum([0, *(len(tree.chances) for tree in trees[:-1])]))

    run_chunks(rate, len(context.states), context.num_threads, chunk_size=4)
    return roots
