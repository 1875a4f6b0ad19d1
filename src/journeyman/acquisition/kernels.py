"""Compiled loops over samples. Arrays and scalars only; each has a plain-NumPy twin in the tests.

Letters: S states, A actions, M samples, N walks. P `[S, A, M]` holds P_i(a | s), H `[S, M]` the entropies of these
policies, w `[M]` weights. Samples are sorted into classes, labelled from 0; with `is_identity` each is its own class.
"""

import numpy as np
from numba import njit

from journeyman.compiling import CACHE

# Arithmetic is exact to the letter (no fastmath): what a compiler may reorder depends on what was compiled before, and
# a learner promises the same queries in every process, also in one that loads compiled code from the cache.
kernel = njit(cache=CACHE, nogil=True, fastmath=False, no_cfunc_wrapper=True)
helper = njit(cache=CACHE, nogil=True, fastmath=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
NEGLIGIBLE = 1e-300  # mass whose entropy does not count; the reciprocal of much less is infinite


@helper
def assign(target, source):
    """Set target `[n]` to source. Written out: for target[:] = source numba compiles an error message, for seconds."""
    for i in range(target.size):
        target[i] = source[i]


@helper
def entropy_of(masses, total):
    """Return total times the entropy of masses / total, for masses that sum to `total`."""
    value = 0.0
    for a in range(masses.size):
        if masses[a] > 0.0:
            value -= masses[a] * np.log(masses[a] / total)
    return value


@helper
def predict(P, w, mean):
    """Fill mean `[A]` with the average policy of one state, P `[A, M]`, for weights that sum to one."""
    for a in range(P.shape[0]):
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0  # four sums at once: each need not wait for the last
        num_whole = w.size - w.size % 4
        for m in range(0, num_whole, 4):
            first += w[m] * P[a, m]
            second += w[m + 1] * P[a, m + 1]
            third += w[m + 2] * P[a, m + 2]
            fourth += w[m + 3] * P[a, m + 3]
        for m in range(num_whole, w.size):
            first += w[m] * P[a, m]
        mean[a] = (first + second) + (third + fourth)


@kernel
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
            if total > NEGLIGIBLE:
                remaining += entropy_of(sums[c], total)
    return max(entropy_of(mean, 1.0) - remaining, 0.0)


@kernel
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


@kernel
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


@kernel
def draw_next(s, a, indptr, next_states, probabilities, num_actions, uniform):
    """Return the next state of doing a in s, or -1 if the episode ends; rounding in a sum never ends one."""
    row = s * num_actions + a
    total = 0.0
    for k in range(indptr[row], indptr[row + 1]):
        total += probabilities[k]
        if total > uniform:
            return next_states[k]
    return next_states[indptr[row + 1] - 1] if total > 1.0 - 1e-12 else -1


@helper
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


@kernel
def walk(
    P, labels, is_identity, root, indptr, next_states, probabilities, terminal, start, length, uniforms, is_factorised,
    out,
):  # fmt: skip
    """Walk N times from `start` for at most `length` actions, each time following one drawn sample i.

    Fills out `[N]` with the sums over steps of log p(a | class of i, walk so far) - log p(a | walk so far);
    `is_factorised` leaves out what the walk so far tells. root `[M]` are weights; walk n uses row n of uniforms
    `[N, 1 + 2 length]`; labels `[S, M]`, or `[1, M]` for all states.
    """
    num_actions = P.shape[1]
    mean, w = np.empty(num_actions), np.empty(root.size)
    for n in range(uniforms.shape[0]):
        assign(w, root)
        i = draw(w, uniforms[n, 0])
        s = start
        out[n] = 0.0
        for t in range(length):
            if s < 0 or terminal[s]:
                break
            row = s if labels.shape[0] > 1 else 0
            predict(P[s], w, mean)
            a = draw(P[s, :, i], uniforms[n, 1 + 2 * t])
            out[n] += np.log(class_prediction(P[s], w, labels[row], is_identity, i, a) / mean[a])
            if not is_factorised:
                reweight(P[s, a], w, mean[a], w)
            s = draw_next(s, a, indptr, next_states, probabilities, num_actions, uniforms[n, 2 + 2 * t])


@helper
def reweight(likelihood, w, total, out):
    """Fill out `[M]` with the weights after an answer: w times its likelihood, over its chance `total`."""
    for m in range(w.size):
        out[m] = w[m] * likelihood[m] / total


@helper
def branch(P, w, mean, s, count, uniform, is_last, indptr, next_states, probabilities, counts, states, weights, first):
    """Share `count` walks in state s among its actions and next states, systematically; return the end of the branches.

    Branch k (from `first` on) gets counts[k] walks, its chance times `count` rounded up or down, weights[k], and
    states[k], which is -1 where walks end; with `is_last` all end.
    """
    num_actions = P.shape[0]
    passed, cumulative, k = 0, 0.0, first
    for a in range(num_actions):
        if mean[a] <= 0.0:
            continue
        row, begin = s * num_actions + a, k
        rest = 1.0
        last = indptr[row] if is_last else indptr[row + 1]
        for j in range(indptr[row], last + 1):  # one more than there are next states: the walk ends
            chance = probabilities[j] if j < last else max(rest, 0.0)
            if j == last and not is_last and rest < 1e-12:
                break  # rounding in a sum must not end a walk
            rest -= chance
            cumulative += mean[a] * chance
            upto = min(int(np.ceil(cumulative * count - uniform)), count)
            if upto > passed:
                counts[k] = upto - passed
                states[k] = next_states[j] if j < last else -1
                if k == begin:
                    reweight(P[a], w, mean[a], weights[k])
                else:
                    assign(weights[k], weights[begin])
                passed = upto
                k += 1
    if k > first:
        counts[k - 1] += count - passed  # lost to rounding
    return k


@kernel
def grow(
    P, H, labels, num_labels, is_identity, root, indptr, next_states, probabilities, terminal, start, length, uniforms,
    end_weights, end_counts,
):  # fmt: skip
    """Grow a tree of N walks from `start`, at most `length` actions deep; return their average information and ends.

    Walks that did and met the same are one node, which is looked at once: its `expected_information` counts for all of
    its walks, which are then shared among what may come next (`branch`). uniforms `[length, N]`, one per node. If
    end_weights `[N, M]` has rows, the weights where walks end go there, and how many do to end_counts `[N]`.
    """
    num_walks, keeps_ends = uniforms.shape[1], end_weights.shape[0] > 0
    mean, sums = np.empty(P.shape[1]), np.empty((num_labels.max(), P.shape[1]))
    weights, following = np.empty((num_walks, root.size)), np.empty((num_walks, root.size))
    states, next_nodes = np.empty(num_walks, np.int64), np.empty(num_walks, np.int64)
    counts, next_counts = np.empty(num_walks, np.int64), np.empty(num_walks, np.int64)
    assign(weights[0], root)
    states[0], counts[0] = start, num_walks
    num_nodes, num_ends, total = 1, 0, 0.0
    for t in range(length + 1):
        grown = 0
        for k in range(num_nodes):
            s = states[k]
            if t == length or s < 0 or terminal[s]:
                if keeps_ends:
                    assign(end_weights[num_ends], weights[k])
                    end_counts[num_ends] = counts[k]
                    num_ends += 1
                continue
            row = s if labels.shape[0] > 1 else 0
            part = sums[: num_labels[row]]
            total += counts[k] * expected_information(P[s], H[s], weights[k], labels[row], is_identity, mean, part)
            if keeps_ends or t < length - 1:
                grown = branch(
                    P[s], weights[k], mean, s, counts[k], uniforms[t, k], t == length - 1, indptr, next_states,
                    probabilities, next_counts, next_nodes, following, grown,
                )  # fmt: skip
        weights, following = following, weights
        states, next_nodes = next_nodes, states
        counts, next_counts = next_counts, counts
        num_nodes = grown
    return total / num_walks, num_ends
