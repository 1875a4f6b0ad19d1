"""The likelihood of demonstrated actions, straight from its formula.

log p(D | theta) = sum over s, a of n(s, a) log pi(a | s),   pi(. | s) given Q(s, .) by the expert's model
"""

import numpy as np

from journeyman.problem import Problem
from journeyman.types import AnyArray, FloatArray


def log_likelihoods(problem: Problem, counts: AnyArray, rewards: FloatArray, values: FloatArray) -> FloatArray:
    """Return the log likelihood `[M]` of counts `[S, A]` under rewards `[M, S]` or `[M, S, A]` with values `[M, S]`.

    Goes through states with data one by one: memory stays at `[M, A]`. Minus infinity only where a chance underflows.
    """
    mdp = problem.mdp
    total = np.zeros(len(values))
    for s in np.flatnonzero(counts.sum(axis=1) > 0).tolist():
        q = np.full((len(values), mdp.num_actions), -np.inf)
        for a in np.flatnonzero(mdp.available[s]).tolist():
            next_states, probabilities = mdp.next_states(s, a)
            reward = rewards[:, s] if rewards.ndim == 2 else rewards[:, s, a]
            q[:, a] = reward + mdp.discount * (values[:, next_states] @ probabilities)
        used = counts[s] > 0
        total += problem.expert.log_policy(q)[:, used] @ counts[s, used]
    return total
