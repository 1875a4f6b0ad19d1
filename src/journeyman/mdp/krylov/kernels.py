"""Compiled rounds of sweeps and Krylov iterations; what they do and why is said in `mdp.krylov`."""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from journeyman.compiling import CACHE

FAST = {"reassoc", "contract", "nsz", "arcp"}
SMALL = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False, "error_model": "numpy"}
helper = njit(cache=CACHE, nogil=True, fastmath=FAST, forceinline=True, **SMALL)
# What is called from several places is compiled once instead, not inlined into each.
part = njit(cache=CACHE, nogil=True, fastmath=FAST, **SMALL)
# Views of arrays leave these only: the others count no references, and would give a view back once too often.
HOLDING = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
holder = njit(cache=CACHE, nogil=True, fastmath=FAST, **HOLDING)
kernel = njit(cache=CACHE, nogil=True, fastmath=FAST, no_cfunc_wrapper=True)
MAX_STEPS = 20  # of GMRES in a round
REDUCTION = 0.03  # of the residual in a round, after which a round of improvement pays more
ADJOINT_REDUCTION = 1e-4  # near what single precision can do
SLOW_STEPS = 8  # steps of a round from which on the states are put in order again
MAX_PAIRS = 32  # of sweeps in a round
MAX_CORRECTED = 300  # rounds after which sweeps go on alone: they converge always
MAX_ROUNDS = 5000
ROUNDED = 8 * 2.0**-52  # residual of a state, relative to its V, that is taken for rounding
BLOCK = 1024  # states whose products are summed in single precision
TINY = np.float32(1e-30)  # of a vector of length 1; less becomes 0, since numbers near 1e-38 are slow
ONE, ZERO = np.float32(1.0), np.float32(0.0)
RADIX_BITS, RADIX = 11, 2048
HEAD = 8  # numbers that a memory begins with


class SplitRows(NamedTuple):
    """Discounted rows of an MDP as `ordering.shared_rows` splits them, and which actions exist."""

    common_indptr: Any  # [S + 1] what the actions of a state share
    common_next: Any
    common_weights: Any
    extra_indptr: Any  # [S * A + 1] what each action adds
    extra_next: Any
    extra_weights: Any
    first_next: Any  # [A * S] the first entry of what action a adds in state s, at a S + s; weight 0 if there is none
    first_weights: Any
    has_longer: Any  # whether any row of `extra` has more than that
    gain: Any  # [S, A] 1 / (1 - discounted chance of staying)
    available: Any  # [S, A]


class Flow(NamedTuple):
    """The matrix of a policy in the order of values, and what GMRES needs; all of it views of one memory.

    head: whether states are in order, pairs of sweeps in a round, rounds so far, smallest change so far. Row i belongs
    to state order[i]; its entries at begin[i]:middle[i] lead to columns below i, those at middle[i]:end[i] above.
    """

    head: Any
    residual: Any  # [S] by state
    small: Any  # Hessenberg matrix [MAX_STEPS, MAX_STEPS + 1] by columns, sines, cosines, right side
    capacity: Any  # [S] entries that the row of a state has at most
    order: Any  # [S]
    place: Any  # [S] inverse of order
    built: Any  # [S] the action whose row a state has in the matrix, -1 for none
    begin: Any  # [S]
    middle: Any  # [S]
    end: Any  # [S]
    counts: Any  # [RADIX]
    columns: Any  # [N]
    weights: Any  # [N] without self-loops, which are solved for
    basis: Any  # [MAX_STEPS + 1, S]
    solution: Any  # [S]


NUM_SMALL = (MAX_STEPS + 1) * MAX_STEPS + 3 * (MAX_STEPS + 1)
NUM_COLUMNS = 7 + MAX_STEPS + 2  # arrays with a number of 4 bytes for each state


def new_memory(common_indptr: Any, extra_indptr: Any) -> Any:
    """Return the memory of one thread that solves such rows, to be kept from one solve to the next.

    About 130 bytes per state and 8 per entry of the matrix of a policy.
    """
    num_states = common_indptr.size - 1
    capacity = np.diff(common_indptr) + np.diff(extra_indptr).reshape(num_states, -1).max(axis=1)
    num_halves = NUM_COLUMNS * num_states + RADIX + 2 * int(capacity.sum())
    start = HEAD + num_states + NUM_SMALL
    memory = np.zeros(start + (num_halves + 1) // 2)
    memory[start:].view(np.int32)[:num_states] = capacity
    return memory


@holder
def flow_of(memory, num_states):
    """Take a memory apart."""
    start = HEAD + num_states + NUM_SMALL
    whole, real = memory[start:].view(np.int32), memory[start:].view(np.float32)
    a = 7 * num_states
    b = a + RADIX
    size = (whole.size - NUM_COLUMNS * num_states - RADIX) // 2
    c = b + 2 * size
    d = c + (MAX_STEPS + 1) * num_states
    return Flow(
        memory[:HEAD],
        memory[HEAD : HEAD + num_states],
        memory[HEAD + num_states : start],
        whole[:num_states],
        whole[num_states : 2 * num_states],
        whole[2 * num_states : 3 * num_states],
        whole[3 * num_states : 4 * num_states],
        whole[4 * num_states : 5 * num_states],
        whole[5 * num_states : 6 * num_states],
        whole[6 * num_states : a],
        whole[a:b],
        whole[b : b + size],
        real[b + size : c],
        real[c:d].reshape((MAX_STEPS + 1, num_states)),
        real[d : d + num_states],
    )


@helper
def forget(memory):
    """Let a memory know nothing of what was solved before, so that results do not depend on it."""
    for i in range(HEAD):
        memory[i] = 0.0


@helper
def common_value(rows, s, V):
    """Return the part of discount * sum of p(s' | s, a) V(s') that all actions of s share."""
    total = 0.0
    for k in range(rows.common_indptr[s], rows.common_indptr[s + 1]):
        total += rows.common_weights[k] * V[np.uintp(rows.common_next[k])]
    return total


@helper
def extra_value(rows, s, a, V):
    """Return the part that action a adds: mostly one entry, found without looking up where rows begin."""
    num_states, num_actions = rows.available.shape
    first = a * num_states + s
    total = rows.first_weights[first] * V[np.uintp(rows.first_next[first])]
    if rows.has_longer:
        row = s * num_actions + a
        for k in range(rows.extra_indptr[row] + 1, rows.extra_indptr[row + 1]):
            total += rows.extra_weights[k] * V[np.uintp(rows.extra_next[k])]
    return total


@part
def improving_sweep(rows, reward, V, pi, is_backward):
    """One Gauss-Seidel sweep of value iteration in place, which makes pi greedy.

    Self-loops are solved for: given its neighbours, the value of doing a in s is V(s) + (q - V(s)) / (1 - loop), with q
    the usual backup. Without that, hundreds of rounds are needed where a dozen are enough. The action of pi comes
    first: mostly no other is better, and processors guess that. `reward` is `[S]` or `[S * A]`. Rounding of
    q - V is left alone, since that division would enlarge it. Returns (largest change, max |V|).
    """
    num_states, num_actions = rows.available.shape
    is_state_only = reward.size == num_states
    change, largest = 0.0, 0.0
    for i in range(num_states):
        s = num_states - 1 - i if is_backward else i
        own, best_action = V[s], pi[s]
        shared = common_value(rows, s, V) - own
        if is_state_only:
            shared += reward[s]
        left = shared + extra_value(rows, s, best_action, V)
        if not is_state_only:
            left += reward[s * num_actions + best_action]
        gained = left * rows.gain[s, best_action]
        for a in range(num_actions):
            if rows.available[s, a]:
                other = shared + extra_value(rows, s, a, V)
                if not is_state_only:
                    other += reward[s * num_actions + a]
                if other * rows.gain[s, a] > gained:
                    left, gained, best_action = other, other * rows.gain[s, a], a
        if not abs(left) <= ROUNDED * abs(own):  # so that a NaN spreads
            change = max(change, abs(gained))
            V[s] = own + gained
        largest = max(largest, abs(V[s]))
        pi[s] = best_action
    return change, largest


@part
def sort_by_value(flow, V):
    """Put the states in order, the one with the largest value first: a radix sort of max V - V in single precision."""
    num_states = V.size
    top = -np.inf
    for s in range(num_states):
        top = max(top, V[s])
    keys, other = flow.basis[0], flow.basis[1]
    for s in range(num_states):
        keys[s] = top - V[s]
        flow.place[s] = s
    source, target = keys.view(np.int32), other.view(np.int32)
    states, moved = flow.place, flow.order
    for digit in range(3):
        shift = RADIX_BITS * digit
        for d in range(RADIX):
            flow.counts[d] = 0
        for i in range(num_states):
            flow.counts[(source[i] >> shift) & (RADIX - 1)] += 1
        total = 0
        for d in range(RADIX):
            size = flow.counts[d]
            flow.counts[d] = total
            total += size
        for i in range(num_states):
            d = (source[i] >> shift) & (RADIX - 1)
            at = flow.counts[d]
            flow.counts[d] = at + 1
            target[at] = source[i]
            moved[at] = states[i]
        source, target = target, source
        states, moved = moved, states
    n = 0
    for i in range(num_states):  # three digits: the last were written to flow.order
        s = flow.order[i]
        flow.place[s], flow.built[s], flow.begin[i] = i, -1, n
        n += flow.capacity[s]
    flow.head[0] = 1.0


@part
def build(flow, rows, pi):
    """Set the rows of the matrix of pi that are not there yet, without self-loops, each divided by 1 - loop.

    In the order of states, not of values, so that memory is read as it lies and a row is written at once.
    """
    num_states, num_actions = rows.available.shape
    for s in range(num_states):
        if flow.built[s] == pi[s]:
            continue
        i, row, gain = flow.place[s], s * num_actions + pi[s], rows.gain[s, pi[s]]
        n = flow.begin[i]
        for is_upper in (False, True):
            for k in range(rows.common_indptr[s], rows.common_indptr[s + 1]):
                j = flow.place[rows.common_next[k]]
                if j != i and (j > i) == is_upper:
                    flow.columns[n], flow.weights[n] = j, gain * rows.common_weights[k]
                    n += 1
            for k in range(rows.extra_indptr[row], rows.extra_indptr[row + 1]):
                j = flow.place[rows.extra_next[k]]
                if j != i and (j > i) == is_upper:
                    flow.columns[n], flow.weights[n] = j, gain * rows.extra_weights[k]
                    n += 1
            if not is_upper:
                flow.middle[i] = n
        flow.end[i] = n
        flow.built[s] = pi[s]


@part
def set_residual(flow, rows, reward, V, pi):
    """Set basis[0] to what V leaves of its equation under pi, as a vector of length 1; returns its true length.

    That is (r_pi + discount P_pi V - V) / (1 - loop).
    """
    num_states, num_actions = rows.available.shape
    is_state_only = reward.size == num_states
    squares = 0.0
    for s in range(num_states):
        row = s * num_actions + pi[s]
        value = common_value(rows, s, V) + extra_value(rows, s, pi[s], V) - V[s]
        value = (value + reward[s if is_state_only else row]) * rows.gain[s, pi[s]]
        flow.residual[s] = value
        squares += value * value
    return scale_residual(flow, math.sqrt(squares))


@helper
def scale_residual(flow, length):
    """Set basis[0] to flow.residual in the order of values, divided by its length, which is returned."""
    if length > 0.0:
        first = flow.basis[0]
        for i in range(first.size):
            first[i] = flow.residual[flow.order[i]] / length
    return length


@helper
def solve_lower(flow, b, x):
    """Set x with (I - L) x = b, L the entries below the diagonal."""
    for i in range(x.size):
        value = b[i]
        for k in range(flow.begin[i], flow.middle[i]):
            value += flow.weights[k] * x[flow.columns[k]]
        x[i] = value if abs(value) > TINY else ZERO


@helper
def solve_lower_transposed(flow, b, x):
    """Set x with (I - L)^T x = b."""
    for i in range(x.size):
        x[i] = b[i]
    for j in range(x.size):
        i = x.size - 1 - j
        value = x[i]
        if abs(value) > TINY:
            for k in range(flow.begin[i], flow.middle[i]):
                x[flow.columns[k]] += flow.weights[k] * value
        else:
            x[i] = ZERO


@helper
def subtract_upper(flow, v, x, out):
    """Set out = v - U x, U the entries above the diagonal."""
    for i in range(x.size):
        value = v[i]
        for k in range(flow.middle[i], flow.end[i]):
            value -= flow.weights[k] * x[flow.columns[k]]
        out[i] = value


@helper
def subtract_upper_transposed(flow, v, x, out):
    """Set out = v - U^T x."""
    for i in range(x.size):
        out[i] = v[i]
    for i in range(x.size):
        value = x[i]
        if value != ZERO:
            for k in range(flow.middle[i], flow.end[i]):
                out[flow.columns[k]] -= flow.weights[k] * value


@helper
def orthogonalise(basis, j, column):
    """Make basis[j + 1] orthogonal to the vectors before it, of length 1; `column` gets the products and the length."""
    size = basis.shape[1]
    new = basis[j + 1]
    for i in range(j + 2):
        column[i] = 0.0
    for first in range(0, size, BLOCK):
        last = min(first + BLOCK, size)
        for i in range(j + 1):
            old, total = basis[i], ZERO
            for s in range(first, last):
                total += old[s] * new[s]
            column[i] += total
    for first in range(0, size, BLOCK):
        last = min(first + BLOCK, size)
        for i in range(j + 1):
            old, factor = basis[i], np.float32(column[i])
            for s in range(first, last):
                new[s] -= factor * old[s]
        total = ZERO
        for s in range(first, last):
            total += new[s] * new[s]
        column[j + 1] += total
    length = math.sqrt(column[j + 1])
    column[j + 1] = length
    if length > 0.0:
        factor = np.float32(1.0 / length)
        for s in range(size):
            new[s] *= factor


@part
def gmres(flow, is_transposed, reduction, stop):
    """Solve A x = b roughly, A = I - L - U or its transpose, b = basis[0] of length 1; x is left in flow.solution.

    Preconditioned from the right by I - L: A (I - L)^-1 = I - U (I - L)^-1, so that a step reads the matrix once.
    Returns (number of steps, length of what is left of b).
    """
    basis, x = flow.basis, flow.solution
    wide = MAX_STEPS + 1
    hessenberg = flow.small[: wide * MAX_STEPS].reshape((MAX_STEPS, wide))  # by columns
    sines, cosines = flow.small[wide * MAX_STEPS : wide * wide], flow.small[wide * wide : wide * (wide + 1)]
    right = flow.small[wide * (wide + 1) : wide * (wide + 2)]
    right[0] = 1.0
    num_steps = 0
    for j in range(MAX_STEPS):
        if stop[-1] != 0:
            break
        if is_transposed:
            solve_lower_transposed(flow, basis[j], x)
            subtract_upper_transposed(flow, basis[j], x, basis[j + 1])
        else:
            solve_lower(flow, basis[j], x)
            subtract_upper(flow, basis[j], x, basis[j + 1])
        column = hessenberg[j]
        orthogonalise(basis, j, column)
        for i in range(j):
            rotated = cosines[i] * column[i] + sines[i] * column[i + 1]
            column[i + 1] = cosines[i] * column[i + 1] - sines[i] * column[i]
            column[i] = rotated
        length = math.hypot(column[j], column[j + 1])
        if not length > 0.0:
            break  # A is regular: this is a NaN
        cosines[j], sines[j] = column[j] / length, column[j + 1] / length
        is_exact = column[j + 1] == 0.0
        column[j] = length
        right[j + 1] = -sines[j] * right[j]
        right[j] *= cosines[j]
        num_steps = j + 1
        if abs(right[j + 1]) <= reduction or is_exact:
            break
    for j in range(num_steps):
        i = num_steps - 1 - j
        total = right[i]
        for k in range(i + 1, num_steps):
            total -= hessenberg[k, i] * sines[k]  # from here on `sines` are the coefficients
        sines[i] = total / hessenberg[i, i]
    left = abs(right[num_steps])
    combined = basis[num_steps]
    for first in range(0, x.size, BLOCK):
        last = min(first + BLOCK, x.size)
        for s in range(first, last):
            combined[s] = ZERO
        for i in range(num_steps):
            factor, vector = np.float32(sines[i]), basis[i]
            for s in range(first, last):
                combined[s] += factor * vector[s]
    if is_transposed:
        solve_lower_transposed(flow, combined, x)
    else:
        solve_lower(flow, combined, x)
    return num_steps, left


@helper
def note_steps(flow, num_steps, left):
    """Have the states put in order again after a slow round."""
    if num_steps >= SLOW_STEPS or left > REDUCTION:
        flow.head[0] = 0.0


@holder
def solve_values(rows, reward, V, pi, memory, tolerance, base, max_rounds, stop):
    """Make V optimal for a reward, `[S]` or `[S * A]`, from what it is, and pi greedy; returns whether that is done.

    Done is a sweep that changes V by at most tolerance * (base + max |V|). After `max_rounds` the caller may call
    again; `memory` knows the order of states, how many rounds there were (head[2]) and how well they went.
    """
    flow = flow_of(memory, V.size)
    head = flow.head
    for _ in range(max_rounds):
        head[2] += 1.0
        head[1] = max(head[1], 1.0)
        for i in range(2 * int(head[1])):
            if stop[-1] != 0:
                return False
            change, largest = improving_sweep(rows, reward, V, pi, i % 2 == 1)
            if change <= tolerance * (base + largest):
                return True
        if not change < np.inf:
            return True  # not a number: nothing would change that
        if head[3] == 0.0 or change < 0.5 * head[3]:
            head[1], head[3] = 1.0, change
        else:
            head[1] = min(2.0 * head[1], MAX_PAIRS)
        if head[2] > MAX_CORRECTED:
            continue
        if head[0] == 0.0:
            sort_by_value(flow, V)
        build(flow, rows, pi)
        length = set_residual(flow, rows, reward, V, pi)
        if not length > 0.0:
            continue
        num_steps, left = gmres(flow, False, REDUCTION, stop)
        for i in range(V.size):
            V[flow.order[i]] += length * flow.solution[i]
        note_steps(flow, num_steps, left)
    return False


@holder
def solve_transposed(rows, V, pi, g, y, memory, tolerance, max_rounds, stop):
    """Set y with (I - discount P_pi)^T y = g, from what it is, until what is left of g sums to tolerance * sum of |g|.

    V are the values that pi is greedy for, `memory` that of their solution. Returns whether it came so far.
    """
    num_states, num_actions = rows.available.shape
    flow = flow_of(memory, num_states)
    left = flow.residual
    size = 0.0
    for s in range(num_states):
        size += abs(g[s])
    if flow.head[0] == 0.0:
        sort_by_value(flow, V)
    build(flow, rows, pi)
    for _ in range(max_rounds):
        for s in range(num_states):
            left[s] = g[s] - y[s]
        for s in range(num_states):
            amount = y[s]
            if amount != 0.0:
                for k in range(rows.common_indptr[s], rows.common_indptr[s + 1]):
                    left[rows.common_next[k]] += rows.common_weights[k] * amount
                row = s * num_actions + pi[s]
                for k in range(rows.extra_indptr[row], rows.extra_indptr[row + 1]):
                    left[rows.extra_next[k]] += rows.extra_weights[k] * amount
        total, squares = 0.0, 0.0
        for s in range(num_states):
            total += abs(left[s]) * rows.gain[s, pi[s]]
            squares += left[s] * left[s]
        if total <= tolerance * size:
            return True
        if stop[-1] != 0 or not total < np.inf:
            return False
        length = scale_residual(flow, math.sqrt(squares))
        gmres(flow, True, ADJOINT_REDUCTION, stop)
        for i in range(num_states):
            s = flow.order[i]
            y[s] += length * flow.solution[i] * rows.gain[s, pi[s]]
    return False


@kernel
def settle(rows, reward, V, pi, memory, tolerance, max_rounds, stop):
    """Make V optimal for a reward `[S * R]` as `solve_values` does, and return whether that is done."""
    return solve_values(rows, reward, V, pi, memory, tolerance, 1.0, max_rounds, stop)


@kernel
def solve_adjoint(rows, V, pi, g, y, memory, tolerance, stop):
    """Set y with (I - discount P_pi)^T y = g as `solve_transposed` does, and return whether it came so far."""
    return solve_transposed(rows, V, pi, g, y, memory, tolerance, MAX_ROUNDS, stop)
