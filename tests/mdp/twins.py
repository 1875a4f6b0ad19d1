"""Plain-NumPy twins of the compiled kernels and solvers: dense, slow, and written from the definitions.

Dense arrays: P `[S, A, S]` with zero rows for actions that do not exist, available `[S, A]`, reward `[S, A]`.
"""

import itertools

import numpy as np


def dense(mdp):
    """P of an MDP, entry by entry from its rows."""
    P = np.zeros((mdp.num_states, mdp.num_actions, mdp.num_states))
    rows = mdp.rows
    for s in range(mdp.num_states):
        for a in range(mdp.num_actions):
            row = s * mdp.num_actions + a
            for k in range(rows.indptr[row], rows.indptr[row + 1]):
                P[s, a, rows.next_states[k]] += rows.probabilities[k]
    return P


def state_action(reward, num_actions):
    """A reward `[S]`, `[S, 1]` or `[S, A]` as `[S, A]`."""
    reward = np.asarray(reward, dtype=float)
    reward = reward[:, None] if reward.ndim == 1 else reward
    return np.broadcast_to(reward, (reward.shape[0], num_actions))


def q_values(P, available, discount, reward, V):
    return np.where(available, state_action(reward, P.shape[1]) + discount * P @ V, -np.inf)


def lowest_optimal(Q):
    """The lowest action within 1e-9 (1 + max |Q|) of the best."""
    tie = 1e-9 * (1.0 + np.abs(Q[np.isfinite(Q)]).max())
    return np.argmax(Q + tie >= Q.max(axis=1, keepdims=True), axis=1)


def policy_value(P, discount, reward, policy):
    """V = r_pi + discount P_pi V by a dense solve; the policy is `[S]` actions or `[S, A]` probabilities."""
    num_states, num_actions = P.shape[:2]
    chances = np.eye(num_actions)[policy] if np.ndim(policy) == 1 else policy
    P_pi = np.einsum("sa,sat->st", chances, P)
    r_pi = (chances * state_action(reward, num_actions)).sum(axis=1)
    return np.linalg.solve(np.eye(num_states) - discount * P_pi, r_pi)


def occupancy(P, discount, initial, policy):
    """Sum over t of discount^t times the distribution at time t, term by term until terms vanish."""
    chances = np.eye(P.shape[1])[policy] if np.ndim(policy) == 1 else policy
    P_pi = np.einsum("sa,sat->st", chances, P)
    total, term = np.zeros(P.shape[0]), np.array(initial, dtype=float)
    while term.sum() > 1e-18:
        total += term
        term = discount * term @ P_pi
    return total


def best_of_all_policies(P, available, discount, reward):
    """V* as the largest value of every deterministic policy, one after the other."""
    choices = [np.flatnonzero(mask) for mask in available]
    values = [policy_value(P, discount, reward, np.array(policy)) for policy in itertools.product(*choices)]
    return np.max(values, axis=0)


def value_iteration(P, available, discount, reward, num_sweeps):
    """V after so many synchronous sweeps from zero."""
    V = np.zeros(P.shape[0])
    for _ in range(num_sweeps):
        V = q_values(P, available, discount, reward, V).max(axis=1)
    return V


def optimal_values(P, available, discount, reward):
    """Return (V, error) in extended precision with |V - V*| <= error.

    Policy iteration finds the policy; its values are refined with residuals in extended precision; the Bellman
    residual of the outcome, in extended precision too, bounds the error whatever came before.
    """
    num_states, num_actions = P.shape[:2]
    reward = state_action(reward, num_actions)
    policy = np.argmax(available, axis=1)
    for _ in range(1000):
        Q = q_values(P, available, discount, reward, policy_value(P, discount, reward, policy))
        better = np.argmax(Q, axis=1)
        here = np.arange(num_states)
        is_better = Q[here, better] > Q[here, policy] + 1e-12 * (1 + np.abs(Q[here, policy]))
        if not is_better.any():
            break
        policy = np.where(is_better, better, policy)
    P_long, reward_long, discount_long = P.astype(np.longdouble), reward.astype(np.longdouble), np.longdouble(discount)
    here = np.arange(num_states)
    B = np.eye(num_states) - discount * P[here, policy]
    V = np.linalg.solve(B, reward[here, policy]).astype(np.longdouble)
    for _ in range(5):
        rest = reward_long[here, policy] + discount_long * (P_long[here, policy] * V).sum(axis=1) - V
        V += np.linalg.solve(B, rest.astype(float))
    Q = np.where(available, reward_long + discount_long * (P_long * V).sum(axis=2), -np.inf)
    rounding = np.finfo(np.longdouble).eps * (num_states + 4) * np.abs(V).max(initial=0)
    error = (np.abs(Q.max(axis=1) - V).max() + rounding) / (1 - discount_long * min(1, P.sum(axis=2).max()))
    return V, error


def gauss_seidel_sweep(P, available, discount, reward, V, is_backward):
    """One sweep in place with self-loops solved for; returns the new V."""
    num_states, num_actions = P.shape[:2]
    reward = state_action(reward, num_actions)
    V = np.array(V, dtype=float)
    for s in range(num_states)[:: -1 if is_backward else 1]:
        candidates = []
        for a in np.flatnonzero(available[s]):
            others = sum(P[s, a, t] * V[t] for t in range(num_states) if t != s)
            candidates.append((reward[s, a] + discount * others) / (1 - discount * P[s, a, s]))
        V[s] = max(candidates)
    return V


def backward_induction(P, available, discount, reward, horizon):
    """Best values `[horizon, S]` with horizon - t steps left."""
    values, V = [], np.zeros(P.shape[0])
    for _ in range(horizon):
        V = q_values(P, available, discount, reward, V).max(axis=1)
        values.append(V)
    return np.array(values[::-1])


def reachable(P, starts, within):
    """States with a positive entry in some power of the adjacency matrix up to `within`."""
    num_states = P.shape[0]
    is_linked = (P > 0).any(axis=1)
    is_reached = np.zeros(num_states, dtype=bool)
    is_reached[starts] = True
    for _ in range(num_states if within is None else min(within, num_states)):
        is_reached = is_reached | (is_reached.astype(int) @ is_linked.astype(int) > 0)
    return is_reached
