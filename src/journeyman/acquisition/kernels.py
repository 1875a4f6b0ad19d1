"""Compiled loops over samples. Arrays and scalars only; each has a plain-NumPy twin in the tests.

Letters: S states, A actions, M samples, N walks. P `[S, A, M]` holds P_i(a | s), H `[S, M]` the entropies of these
policies, w `[M]` weights. Samples are sorted into classes, labelled from 0; with `is_identity` each is its own class.
"""

import numpy as np
from numba import njit

# Sums may be reordered (this is what lets them use vector instructions); NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}
CHAIN, NESTED, FACTORISED = 0, 1, 2


@njit(cache=True, nogil=True, fastmath=FAST)
def entropy_of(masses, total):
    """Return total times the entropy of masses / total, for masses that sum to `total`."""
    value = 0.0
    for a in range(masses.size):
        if masses[a] > 0.0:
            value -= masses[a] * np.log(masses[a] / total)
    return value


@njit(cache=True, nogil=True, fastmath=FAST)
def predict(P, w, mean):
    """Fill mean `[A]` with the average policy of one state, P `[A, M]`, for weights that sum to one."""
    for a in range(P.shape[0]):
        total = 0.0
        for m in range(w.size):
            total += w[m] * P[a, m]
        mean[a] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def expected_information(P, H, w, labels, is_identity, mean, sums):
    """Return what one action in a state tells about the class, in nats: H(mean) - sum over classes of W_c H(mean_c).

    P `[A, M]`, H `[M]` and labels `[M]` are those of the state. Fills mean `[A]`; sums `[C, A]` is scratch.
    """
    predict(P, w, mean)
    remaining = 0.0
    if is_identity:
        for m in range(w.size):
            remaining += w[m] * H[m]
    else:
        sums[:] = 0.0
        for m in range(w.size):
            for a in range(mean.size):
                sums[labels[m], a] += w[m] * P[a, m]
        for c in range(sums.shape[0]):
            total = 0.0
            for a in range(mean.size):
                total += sums[c, a]
            if total > 0.0:
                remaining += entropy_of(sums[c], total)
    return max(entropy_of(mean, 1.0) - remaining, 0.0)


@njit(cache=True, nogil=True, fastmath=FAST)
def state_information(P, H, weights, chances, labels, num_labels, is_identity, out):
    """Fill out `[S]`: `expected_information` of each state, averaged over histories.

    weights `[K, M]` given each history, chances `[K]` of them; labels `[S, M]`, or `[1, M]` for all states.
    """
    mean = np.empty(P.shape[1])
    for s in range(P.shape[0]):
        row = s if labels.shape[0] > 1 else 0
        sums = np.empty((num_labels[row], mean.size))
        out[s] = 0.0
        for k in range(weights.shape[0]):
            out[s] += chances[k] * expected_information(P[s], H[s], weights[k], labels[row], is_identity, mean, sums)


@njit(cache=True, nogil=True, fastmath=FAST)
def draw(masses, uniform):
    """Return the index at which the cumulative sum of `masses` passes `uniform` times their total; never a zero one."""
    goal = uniform * masses.sum()
    total = 0.0
    last = 0
    for i in range(masses.size):
        if masses[i] > 0.0:
            total += masses[i]
            last = i
            if total > goal:
                return i
    return last


@njit(cache=True, nogil=True, fastmath=FAST)
def draw_next(s, a, indptr, next_states, probabilities, num_actions, uniform):
    """Return the next state of doing a in s, or -1 if the episode ends; rounding in a sum never ends one."""
    row = s * num_actions + a
    total = 0.0
    for k in range(indptr[row], indptr[row + 1]):
        total += probabilities[k]
        if total > uniform:
            return next_states[k]
    return next_states[indptr[row + 1] - 1] if total > 1.0 - 1e-12 else -1


@njit(cache=True, nogil=True, fastmath=FAST)
def class_prediction(P, w, labels, is_identity, i, a):
    """Return the chance of action a given the class of sample i."""
    if is_identity:
        return P[a, i]
    total, mass = 0.0, 0.0
    for m in range(w.size):
        if labels[m] == labels[i]:
            total += w[m] * P[a, m]
            mass += w[m]
    return total / mass


@njit(cache=True, nogil=True, fastmath=FAST)
def walk(
    P, H, labels, num_labels, is_identity, weights, indptr, next_states, probabilities, terminal, start, length,
    uniforms, estimator, out, final_weights,
):  # fmt: skip
    """Walk N times from `start` for at most `length` actions; fill out `[N]` with estimates of the information.

    CHAIN adds up `expected_information` given the walk so far, with actions drawn from the average policy. NESTED
    follows one drawn sample i and adds up log p(a | class of i, walk so far) - log p(a | walk so far). FACTORISED does
    so without letting the walk change the weights. Walk n starts with row n mod K of weights `[K, M]` and uses row n of
    uniforms `[N, 1 + 2 length]`; what its weights become goes to row n of `final_weights`, if that has rows.
    """
    num_actions = P.shape[1]
    mean = np.empty(num_actions)
    sums = np.empty((num_labels.max(), num_actions))
    w = np.empty(weights.shape[1])
    for n in range(uniforms.shape[0]):
        w[:] = weights[n % weights.shape[0]]
        i = 0
        if estimator != CHAIN:
            i = draw(w, uniforms[n, 0])
        s = start
        out[n] = 0.0
        for t in range(length):
            if s < 0 or terminal[s]:
                break
            row = s if labels.shape[0] > 1 else 0
            if estimator == CHAIN:
                part = sums[: num_labels[row]]
                out[n] += expected_information(P[s], H[s], w, labels[row], is_identity, mean, part)
                if t == length - 1 and final_weights.shape[0] == 0:
                    break
                a = draw(mean, uniforms[n, 1 + 2 * t])
            else:
                predict(P[s], w, mean)
                a = draw(P[s, :, i], uniforms[n, 1 + 2 * t])
                out[n] += np.log(class_prediction(P[s], w, labels[row], is_identity, i, a) / mean[a])
            if estimator != FACTORISED:
                for m in range(w.size):
                    w[m] *= P[s, a, m] / mean[a]
            s = draw_next(s, a, indptr, next_states, probabilities, num_actions, uniforms[n, 2 + 2 * t])
        if final_weights.shape[0] > 0:
            final_weights[n] = w
