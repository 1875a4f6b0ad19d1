"""Compiled loops over sparse rows. Arrays and scalars only; each has a plain-NumPy twin in the tests.

Letters: S states, A actions, M rewards. Row s * A + a holds p(. | s, a). Rewards are `[M, S, R]` with R = A, or
R = 1 for a reward that is the same for all actions of a state. Values are V, the policy is pi.
"""

import numpy as np
from numba import njit

from journeyman.compiling import CACHE
from journeyman.mdp.lanes import in_all_lanes, lane_distance, lanes_at, larger_lanes, plus_product, put_lanes

# Sums may be reordered (this is what lets them use vector instructions); NaN and infinity keep their meaning. A sum
# must not share its loop with anything that is stored, lest it depend on where arrays lie: see `inference.kernels`.
FAST = {"reassoc", "contract", "nsz", "arcp"}
# Helpers are only inlined into kernels: what would make them callable from Python and C takes long to compile, as do
# counts of references, which they need not have, and checks for divisions by zero.
SMALL = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False, "error_model": "numpy"}
helper = njit(cache=CACHE, nogil=True, fastmath=FAST, forceinline=True, **SMALL)
kernel = njit(cache=CACHE, nogil=True, fastmath=FAST, no_cfunc_wrapper=True)
SLACK = 1e-13  # relative rounding that no change of a policy is made for
TIE = 32 * 2.0**-52  # relative error of Q per step, within which actions count as equally good
LARGEST_TIE = 1e-9
MAX_SOFT_STEPS = 200  # of Newton's method for soft values: mostly 3 to 8
SOFT_TOLERANCE = 1e-12  # residual of soft values, relative to the largest
CAREFUL_ITERATIONS = 50  # of a policy, after which rounding is taken to be that of the largest value: it might go on


@helper
def backup(s, a, indptr, next_states, probabilities, num_actions, discount, reward, V):
    """Return Q(s, a) = r(s, a) + discount * sum of p(s' | s, a) V(s')."""
    row = s * num_actions + a
    expected = 0.0
    for k in range(indptr[row], indptr[row + 1]):
        expected += probabilities[k] * V[next_states[k]]
    r = reward[s, a] if reward.shape[1] > 1 else reward[s, 0]
    return r + discount * expected


@kernel
def q_values(indptr, next_states, probabilities, available, discount, rewards, values, out):
    """Fill `out [M, S, A]` with Q; minus infinity where an action does not exist."""
    num_states, num_actions = available.shape
    for m in range(values.shape[0]):
        for s in range(num_states):
            for a in range(num_actions):
                if available[s, a]:
                    out[m, s, a] = backup(
                        s, a, indptr, next_states, probabilities, num_actions, discount, rewards[m], values[m]
                    )
                else:
                    out[m, s, a] = -np.inf


@helper
def row_sum(row, indptr, next_states, weights, V):
    """Return the sum of weights * V over the entries of a row."""
    total = 0.0
    for k in range(indptr[row], indptr[row + 1]):
        total += weights[k] * V[next_states[k]]
    return total


@helper
def term_size(s, a, common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, reward, V):
    """Return the sum of the sizes of all terms of Q(s, a), which its rounding error is proportional to."""
    total = abs(reward[s, a] if reward.shape[1] > 1 else reward[s, 0])
    for k in range(common_indptr[s], common_indptr[s + 1]):
        total += abs(common_weights[k] * V[common_next[k]])
    row = s * ((extra_indptr.size - 1) // (common_indptr.size - 1)) + a
    for k in range(extra_indptr[row], extra_indptr[row + 1]):
        total += abs(extra_weights[k] * V[extra_next[k]])
    return total


@helper
def largest_size(V):
    """Return max |V|."""
    largest = 0.0
    for s in range(V.size):
        largest = max(largest, abs(V[s]))
    return largest


@helper
def improve(
    common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, available, reward, V, pi, Q,
    floor,
):  # fmt: skip
    """Fill Q `[S, A]`, and change pi where another action is better by more than rounding.

    Rows are discounted and split as in `shared_rows`. Rounding is that of the two actions which are compared, and at
    least floor * max |Q|. Returns (number of changes, max over s of |max_a Q(s, a) - V(s)|, max |Q|).
    """
    num_states, num_actions = available.shape
    residual = 0.0
    largest = 0.0
    for s in range(num_states):
        best = -np.inf
        shared = row_sum(s, common_indptr, common_next, common_weights, V)
        for a in range(num_actions):
            if available[s, a]:
                r = reward[s, a] if reward.shape[1] > 1 else reward[s, 0]
                q = r + (shared + row_sum(s * num_actions + a, extra_indptr, extra_next, extra_weights, V))
                Q[s, a] = q
                best = max(best, q)
                largest = max(largest, abs(q))
        residual = max(residual, abs(best - V[s]))
    num_changes = 0
    for s in range(num_states):
        best_action = pi[s]
        for a in range(num_actions):
            if available[s, a] and Q[s, a] > Q[s, best_action]:
                best_action = a
        if Q[s, best_action] > Q[s, pi[s]] + floor * largest:
            size = 0.0
            for a in (best_action, pi[s]):
                size = max(size, term_size(
                    s, a, common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, reward, V
                ))  # fmt: skip
            if Q[s, best_action] > Q[s, pi[s]] + SLACK * size:
                pi[s] = best_action
                num_changes += 1
    return num_changes, residual, largest


@helper
def choose_lowest_optimal(
    common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, available, reward, V, Q,
    horizon, pi,
):  # fmt: skip
    """Set pi to the lowest action whose Q cannot be told from the best one's, given the numerical error in its state.

    That error is TIE times the size of all terms of the best Q(s, a), and the residual of V(s), both over `horizon`
    steps, but never above LARGEST_TIE, lest values that are far from optimal make actions look alike.
    """
    for s in range(pi.size):
        best, best_action = -np.inf, 0
        for a in range(available.shape[1]):
            if available[s, a] and Q[s, a] > best:
                best, best_action = Q[s, a], a
        size = abs(V[s]) + term_size(
            s, best_action, common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, reward,
            V,
        )  # fmt: skip
        tie = min(horizon * (4.0 * abs(best - V[s]) + TIE * size), LARGEST_TIE * size)
        for a in range(available.shape[1]):
            if available[s, a] and Q[s, a] >= best - tie:
                pi[s] = a
                break


@helper
def sweep_one(
    common_indptr,
    common_next,
    common_weights,
    extra_indptr,
    extra_next,
    extra_weights,
    gain,
    available,
    reward,
    V,
    is_backward,
):
    """One Gauss-Seidel sweep of value iteration in place, on rows without self-loops; returns the largest change of V.

    With a chance p of staying in s, the best value of s given its neighbours is max over a of
    (r + discount * sum over s' != s of p(s') V(s')) / (1 - discount * p), and `gain` `[S, A]` is 1 / (1 - discount p).
    Staying for ever then costs one step instead of many.
    """  # fmt: skip
    num_states, num_actions = available.shape
    change = 0.0
    for i in range(num_states):
        s = num_states - 1 - i if is_backward else i
        best = -np.inf
        shared = row_sum(s, common_indptr, common_next, common_weights, V)
        for a in range(num_actions):
            if available[s, a]:
                r = reward[s, a] if reward.shape[1] > 1 else reward[s, 0]
                q = r + (shared + row_sum(s * num_actions + a, extra_indptr, extra_next, extra_weights, V))
                best = max(best, q * gain[s, a])
        change = max(change, abs(best - V[s]))
        V[s] = best
    return change


@helper
def sweep_lanes(
    common_indptr,
    common_next,
    common_weights,
    extra_indptr,
    extra_next,
    extra_weights,
    gain,
    available,
    reward,
    V,
    is_backward,
    shared,
    q,
    best,
    change,
):
    """`sweep_one` for L rewards at once: reward `[S, R, L]`, V `[S, L]`; shared, q, best `[L]` are scratch.

    The rows are read once for all lanes, and the inner loops become vector instructions.
    """  # fmt: skip
    num_states, num_actions = available.shape
    num_lanes = V.shape[1]
    change[:] = 0.0
    for i in range(num_states):
        s = num_states - 1 - i if is_backward else i
        for lane in range(num_lanes):
            best[lane] = -np.inf
            shared[lane] = 0.0
        for k in range(common_indptr[s], common_indptr[s + 1]):
            weight, n = common_weights[k], common_next[k]
            for lane in range(num_lanes):
                shared[lane] += weight * V[n, lane]
        for a in range(num_actions):
            if available[s, a]:
                row = s * num_actions + a
                r = a if reward.shape[1] > 1 else 0
                for lane in range(num_lanes):
                    q[lane] = reward[s, r, lane] + shared[lane]
                for k in range(extra_indptr[row], extra_indptr[row + 1]):
                    weight, n = extra_weights[k], extra_next[k]
                    for lane in range(num_lanes):
                        q[lane] += weight * V[n, lane]
                factor = gain[s, a]
                for lane in range(num_lanes):
                    best[lane] = max(best[lane], factor * q[lane])
        for lane in range(num_lanes):
            change[lane] = max(change[lane], abs(best[lane] - V[s, lane]))
            V[s, lane] = best[lane]


@kernel
def value_iteration(
    common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, gain, available, rewards,
    values, num_lanes, tolerance, max_sweeps, iterations,
):  # fmt: skip
    """Sweep each reward until V changes by at most `tolerance * (1 + max |V|)`; then |T V - V| <= discount * change.

    Rewards are taken in groups of `num_lanes`; groups of fewer than four go one by one. Sweeps alternate their
    direction, so that news crosses the state space both ways.
    """
    num_rewards, num_states, width = rewards.shape
    for start in range(0, num_rewards, num_lanes):
        size = min(num_lanes, num_rewards - start)
        if size < 4:
            for m in range(start, start + size):
                sweeps = 0
                while sweeps < max_sweeps:
                    step = sweep_one(
                        common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, gain,
                        available, rewards[m], values[m], sweeps % 2 == 1,
                    )  # fmt: skip
                    sweeps += 1
                    if step <= tolerance or step <= tolerance * (1.0 + largest_size(values[m])):
                        break
                iterations[m] = sweeps
            continue
        reward = np.empty((num_states, width, size))
        V = np.empty((num_states, size))
        for lane in range(size):
            for s in range(num_states):
                V[s, lane] = values[start + lane, s]
                for r in range(width):
                    reward[s, r, lane] = rewards[start + lane, s, r]
        shared, q = np.empty(size), np.empty(size)
        best, change = np.empty(size), np.empty(size)
        sweeps = 0
        is_settled = False
        while sweeps < max_sweeps and not is_settled:
            sweep_lanes(
                common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, gain, available,
                reward, V, sweeps % 2 == 1, shared, q, best, change,
            )  # fmt: skip
            sweeps += 1
            is_settled = largest_size(change) <= tolerance  # cheap; scaled by the values only when they matter
            if not is_settled and sweeps % 4 == 0:
                is_settled = True
                for lane in range(size):
                    if change[lane] > tolerance:
                        is_settled &= change[lane] <= tolerance * (1.0 + largest_size(V[:, lane]))
        for lane in range(size):
            iterations[start + lane] = sweeps
            for s in range(num_states):
                values[start + lane, s] = V[s, lane]


@kernel
def sweep_single(
    common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, gain, available, reward, V,
    num_sweeps, is_backward, block, change, largest,
):  # fmt: skip
    """Sweep `sweep_one` over 32 rewards at once in single precision: reward `[S * R, 32]`, V `[S, 32]`.

    The first sweep is backward or not, and they alternate. States are taken in blocks of `block`, each there and back
    before the next: what is read from memory is used twice. `change` and `largest` `[1, 32]` become how much V changed
    in the last sweep, on the way there, and max |V| after it. Weights and gain are in single precision, too.
    """
    num_states, num_actions = available.shape
    width = reward.shape[0] // num_states
    nothing, lowest = in_all_lanes(0.0), in_all_lanes(-3e38)
    for sweep in range(num_sweeps):
        most, size = nothing, nothing
        goes_back = is_backward != (sweep % 2 == 1)
        for step in range(2 * num_states):
            first = step // (2 * block) * block
            block_size = min(block, num_states - first)
            inside = step - 2 * first
            is_return = inside >= block_size
            inside = 2 * block_size - 1 - inside if is_return else inside
            s = first + inside
            s = num_states - 1 - s if goes_back else s
            shared = nothing
            for k in range(common_indptr[s], common_indptr[s + 1]):
                shared = plus_product(shared, common_weights[k], lanes_at(V, common_next[k]))
            if width == 1:
                shared = plus_product(shared, 1.0, lanes_at(reward, s))
            best = lowest
            for a in range(num_actions):
                if available[s, a]:
                    row = s * num_actions + a
                    q = shared
                    if width > 1:
                        q = plus_product(q, 1.0, lanes_at(reward, row))
                    for k in range(extra_indptr[row], extra_indptr[row + 1]):
                        q = plus_product(q, extra_weights[k], lanes_at(V, extra_next[k]))
                    best = larger_lanes(best, plus_product(nothing, gain[s, a], q))
            if is_return:
                size = larger_lanes(size, lane_distance(best, nothing))
            else:
                most = larger_lanes(most, lane_distance(best, lanes_at(V, s)))
            put_lanes(V, s, best)
        put_lanes(change, 0, most)
        put_lanes(largest, 0, size)


@kernel
def read_off(
    common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, available, rewards, values,
    policies, horizon, residuals, largest,
):  # fmt: skip
    """Set the policies `[M, S]` from the values, with the Bellman residuals and max |Q| `[M]`."""
    Q = np.empty(available.shape)
    for m in range(rewards.shape[0]):
        _, residuals[m], largest[m] = improve(
            common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, available,
            rewards[m], values[m], policies[m], Q, 0.0,
        )  # fmt: skip
        choose_lowest_optimal(
            common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, available, rewards[m],
            values[m], Q, horizon, policies[m],
        )  # fmt: skip


@helper
def policy_sweep(indptr, next_states, weights, reward, V, is_backward):
    """One Gauss-Seidel sweep of V = r + weights V in place; returns the largest change of V."""
    change = 0.0
    for i in range(V.size):
        s = V.size - 1 - i if is_backward else i
        value = reward[s]
        for k in range(indptr[s], indptr[s + 1]):
            value += weights[k] * V[next_states[k]]
        change = max(change, abs(value - V[s]))
        V[s] = value
    return change


@helper
def solve_banded(indptr, next_states, probabilities, num_actions, discount, reward, pi, lower, upper, band, V):
    """Solve (I - discount P_pi) V = r_pi by elimination inside the band.

    `band [S, lower + 1 + upper]` is scratch; column lower + j - i of row i holds entry (i, j). No pivoting is needed:
    the matrix is strictly diagonally dominant by rows, and elimination keeps it so.
    """
    num_states = pi.size
    for i in range(num_states):
        for j in range(lower + 1 + upper):
            band[i, j] = 0.0
        band[i, lower] = 1.0
        row = i * num_actions + pi[i]
        for k in range(indptr[row], indptr[row + 1]):
            band[i, lower + next_states[k] - i] -= discount * probabilities[k]
        V[i] = reward[i, pi[i]] if reward.shape[1] > 1 else reward[i, 0]
    for p in range(num_states):
        pivot = 1.0 / band[p, lower]
        last = min(upper, num_states - 1 - p)
        for i in range(p + 1, min(p + lower, num_states - 1) + 1):
            shift = lower + p - i
            factor = band[i, shift]
            if factor != 0.0:
                factor *= pivot
                for j in range(1, last + 1):
                    band[i, shift + j] -= factor * band[p, lower + j]
                V[i] -= factor * V[p]
    for i in range(num_states - 1, -1, -1):
        value = V[i]
        for j in range(1, min(upper, num_states - 1 - i) + 1):
            value -= band[i, lower + j] * V[i + j]
        V[i] = value / band[i, lower]


@kernel
def policy_iteration(
    indptr, next_states, probabilities, discount, common_indptr, common_next, common_weights, extra_indptr, extra_next,
    extra_weights, available, rewards, values, policies, horizon, has_policy, lower, upper, max_iterations, residuals,
    largest, iterations,
):  # fmt: skip
    """Solve each reward by policy iteration with exact evaluation, from its policy or, without one, its values."""
    num_states = available.shape[0]
    band = np.empty((num_states, lower + 1 + upper))
    Q = np.empty(available.shape)
    for m in range(rewards.shape[0]):
        V, pi, reward = values[m], policies[m], rewards[m]
        num_changes, count, is_evaluated = 1, 0, has_policy
        while not is_evaluated or (num_changes > 0 and count < max_iterations):
            if is_evaluated:
                solve_banded(
                    indptr, next_states, probabilities, available.shape[1], discount, reward, pi, lower, upper, band, V
                )
                count += 1
            num_changes, residuals[m], largest[m] = improve(
                common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, available, reward,
                V, pi, Q, 0.0 if count < CAREFUL_ITERATIONS else SLACK,
            )  # fmt: skip
            if not is_evaluated:  # pi was read off the values: now it is evaluated
                num_changes, is_evaluated = 1, True
        iterations[m] = count
        choose_lowest_optimal(
            common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, available, reward, V,
            Q, horizon, pi,
        )  # fmt: skip


@kernel
def evaluate_by_sweeps(indptr, next_states, probabilities, rewards, values, tolerance, max_sweeps, residuals):
    """Solve V = r + P V for each reward `[M, S]` by alternating sweeps; the rows already carry the discount."""
    for m in range(rewards.shape[0]):
        V = values[m]
        for sweep in range(max_sweeps):
            change = policy_sweep(indptr, next_states, probabilities, rewards[m], V, sweep % 2 == 1)
            scale = 1.0
            for s in range(V.size):
                scale = max(scale, 1.0 + abs(V[s]))
            if change <= tolerance * scale:
                break
        residual = 0.0
        for s in range(V.size):
            value = rewards[m, s]
            for k in range(indptr[s], indptr[s + 1]):
                value += probabilities[k] * V[next_states[k]]
            residual = max(residual, abs(value - V[s]))
        residuals[m] = residual


@helper
def soft_backup(s, indptr, next_states, probabilities, available, terminal, discount, reward, beta, V, policy):
    """Return log(sum of exp(beta Q(s, a))) / beta, and set policy[s] to the softmax; where episodes end, the best Q."""
    num_actions = available.shape[1]
    best, best_action = -np.inf, 0
    for a in range(num_actions):
        if available[s, a]:
            q = backup(s, a, indptr, next_states, probabilities, num_actions, discount, reward, V)
            policy[s, a] = q
            if q > best:
                best, best_action = q, a
    if terminal[s]:
        for a in range(num_actions):
            policy[s, a] = 1.0 if a == best_action else 0.0
        return best
    total = 0.0
    for a in range(num_actions):
        policy[s, a] = np.exp(beta * (policy[s, a] - best)) if available[s, a] else 0.0
        total += policy[s, a]
    for a in range(num_actions):
        policy[s, a] /= total
    return best + np.log(total) / beta


@helper
def eliminate(indptr, next_states, probabilities, discount, policy, elimination):
    """Factorise I - discount P_policy = L U in the order of an `Elimination`, whose values these become.

    Row by row, without pivots: it is diagonally dominant. L has ones on its diagonal; `pivots` are one over that of U.
    """
    num_states, num_actions = policy.shape
    row, order, position = elimination.row, elimination.order, elimination.position
    for i in range(num_states):
        s = order[i]
        row[i] = 1.0
        for m in range(elimination.lower_indptr[i], elimination.lower_indptr[i + 1]):
            row[elimination.lower_columns[m]] = 0.0
        for m in range(elimination.upper_indptr[i], elimination.upper_indptr[i + 1]):
            row[elimination.upper_columns[m]] = 0.0
        for a in range(num_actions):
            chance = discount * policy[s, a]
            if chance > 0.0:
                for k in range(indptr[s * num_actions + a], indptr[s * num_actions + a + 1]):
                    row[position[next_states[k]]] -= chance * probabilities[k]
        for m in range(elimination.lower_indptr[i], elimination.lower_indptr[i + 1]):
            k = elimination.lower_columns[m]
            factor = row[k] * elimination.pivots[k]
            elimination.lower_values[m] = factor
            if factor != 0.0:
                for n in range(elimination.upper_indptr[k], elimination.upper_indptr[k + 1]):
                    row[elimination.upper_columns[n]] -= factor * elimination.upper_values[n]
        for m in range(elimination.upper_indptr[i], elimination.upper_indptr[i + 1]):
            elimination.upper_values[m] = row[elimination.upper_columns[m]]
        elimination.pivots[i] = 1.0 / row[i]


@helper
def solve_eliminated(elimination, b, x):
    """Set x `[S]` with L U x = b; both are in the order of the states."""
    row, num_states = elimination.row, elimination.order.size
    for i in range(num_states):
        total = b[elimination.order[i]]
        for m in range(elimination.lower_indptr[i], elimination.lower_indptr[i + 1]):
            total -= elimination.lower_values[m] * row[elimination.lower_columns[m]]
        row[i] = total
    for j in range(num_states):
        i = num_states - 1 - j
        total = row[i]
        for m in range(elimination.upper_indptr[i], elimination.upper_indptr[i + 1]):
            total -= elimination.upper_values[m] * row[elimination.upper_columns[m]]
        row[i] = total * elimination.pivots[i]
        x[elimination.order[i]] = row[i]


@helper
def solve_eliminated_transposed(elimination, b, x):
    """Set x `[S]` with (L U)^T x = b."""
    row, num_states = elimination.row, elimination.order.size
    for i in range(num_states):
        row[i] = b[elimination.order[i]]
    for i in range(num_states):
        row[i] *= elimination.pivots[i]
        for m in range(elimination.upper_indptr[i], elimination.upper_indptr[i + 1]):
            row[elimination.upper_columns[m]] -= elimination.upper_values[m] * row[i]
    for j in range(num_states):
        i = num_states - 1 - j
        for m in range(elimination.lower_indptr[i], elimination.lower_indptr[i + 1]):
            row[elimination.lower_columns[m]] -= elimination.lower_values[m] * row[i]
        x[elimination.order[i]] = row[i]


@helper
def soft_values(
    indptr, next_states, probabilities, available, terminal, discount, reward, beta, V, policy, residual, elimination
):
    """Solve V(s) = log(sum of exp(beta Q(s, a))) / beta by Newton's method from V `[S]`; return whether it converged.

    A step of it solves a linear equation with the softmax policy `[S, A]`, which is what is left in `policy`;
    `residual` `[S]` is scratch, and gets the last steps.
    """
    num_states = V.size
    for _ in range(MAX_SOFT_STEPS):
        worst, largest = 0.0, 0.0
        for s in range(num_states):
            value = soft_backup(
                s, indptr, next_states, probabilities, available, terminal, discount, reward, beta, V, policy
            )
            residual[s] = value - V[s]
            worst = max(worst, abs(residual[s]))
            largest = max(largest, abs(value))
        if not worst > SOFT_TOLERANCE * largest:
            return worst == worst
        eliminate(indptr, next_states, probabilities, discount, policy, elimination)
        solve_eliminated(elimination, residual, residual)
        for s in range(num_states):
            V[s] += residual[s]
    return False


@kernel
def solve_soft(
    indptr, next_states, probabilities, available, terminal, discount, rewards, betas, values, elimination, converged
):
    """Make `values` `[M, S]` the soft values of rewards `[M, S, R]` with `betas` `[M]`, from what they are."""
    policy, residual = np.empty(available.shape), np.empty(available.shape[0])
    for m in range(values.shape[0]):
        converged[m] = soft_values(
            indptr, next_states, probabilities, available, terminal, discount, rewards[m], betas[m], values[m], policy,
            residual, elimination,
        )  # fmt: skip


@kernel
def look_through(
    common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, available, reward, V, rounding,
    reward_error, probabilities, visits, out,
):  # fmt: skip
    """Go through all states once, for bounds on the error of V and for the regret of a policy.

    Parameters
    ----------
    reward, V
        `[S, R]`, and `[S]` values that should be optimal for it.
    rounding, reward_error
        Rounding of a sum relative to the sizes of its terms, and that of rewards.
    probabilities, visits
        `[S, A]` of the policy, and its discounted visits `[S]`; none are looked at where there are no visits.
    out
        `[4]`: the largest residual with rounding; the sum over states of visits times immediate regret; that of visits
        times the errors of these; the largest immediate regret of a state that is visited.
    """
    num_states, num_actions = available.shape
    widest, total, error, largest = 0.0, 0.0, 0.0, 0.0
    for s in range(num_states):
        shared, shared_size = 0.0, 0.0
        for k in range(common_indptr[s], common_indptr[s + 1]):
            term = common_weights[k] * V[common_next[k]]
            shared += term
            shared_size += abs(term)
        best, size, own = -np.inf, 0.0, 0.0
        for a in range(num_actions):
            if available[s, a]:
                row = s * num_actions + a
                r = reward[s, a] if reward.shape[1] > 1 else reward[s, 0]
                q, q_size = r + shared, abs(r) + shared_size
                for k in range(extra_indptr[row], extra_indptr[row + 1]):
                    term = extra_weights[k] * V[extra_next[k]]
                    q += term
                    q_size += abs(term)
                best, size = max(best, q), max(size, q_size)
                own += probabilities[s, a] * q
        step = rounding * (size + abs(V[s])) + reward_error
        local = abs(best - V[s]) + step
        widest = max(widest, local)
        if visits[s] > 0.0:
            regret = max(best - own, 0.0)
            total += visits[s] * regret
            error += visits[s] * (local + step)
            largest = max(largest, regret)
    out[0], out[1], out[2], out[3] = widest, total, error, largest


@kernel
def add_chances(
    common_indptr, common_next, common_weights, extra_indptr, extra_next, extra_weights, available, rewards, values,
    weights, margins, first, chances, losses,
):  # fmt: skip
    """Add up, over samples, the chance of each action to be optimal, and the mean of what it loses, `[N, A]` each.

    Of N states from `first` on: rewards `[M, N, R]`, values `[M, S]`. An action counts as optimal where it loses at
    most `margins` `[M]`; what does not exist has no chance and loses nothing.
    """
    num_actions, q = available.shape[1], np.empty(available.shape[1])
    for m in range(values.shape[0]):
        V, weight = values[m], weights[m]
        for i in range(chances.shape[0]):
            s = first + i
            shared, best = 0.0, -np.inf
            for k in range(common_indptr[s], common_indptr[s + 1]):
                shared += common_weights[k] * V[common_next[k]]
            for a in range(num_actions):
                if available[s, a]:
                    row = s * num_actions + a
                    r = rewards[m, i, a] if rewards.shape[2] > 1 else rewards[m, i, 0]
                    q[a] = shared + r + row_sum(row, extra_indptr, extra_next, extra_weights, V)
                    best = max(best, q[a])
            for a in range(num_actions):
                if available[s, a]:
                    loss = best - q[a]
                    if loss <= margins[m]:
                        chances[i, a] += weight
                    else:
                        losses[i, a] += weight * loss
