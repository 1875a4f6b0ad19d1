"""Posteriors over atoms, by exact fractions and 60 digits: what any size of beta, discount and reward must give."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

DIGITS = 60


def solved(matrix, right):
    """Solve a small system of fractions by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for at in range(size):
        pivot = next(row for row in range(at, size) if rows[row][at] != 0)
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [value / rows[at][at] for value in rows[at]]
        for row in range(size):
            if row != at and rows[row][at] != 0:
                factor = rows[row][at]
                rows[row] = [one - factor * other for one, other in zip(rows[row], rows[at], strict=True)]
    return [row[-1] for row in rows]


def action_values(transitions, discount, reward):
    """Return exact Q* `[S][A]` of floats, by Howard's policy iteration."""
    num_states, num_actions = len(transitions), len(transitions[0])
    chances = [[[Fraction(float(p)) for p in row] for row in rows] for rows in transitions]
    gamma, gains = Fraction(discount), [Fraction(float(value)) for value in reward]
    policy = [0] * num_states
    while True:
        matrix = [
            [Fraction(s == t) - gamma * chances[s][policy[s]][t] for t in range(num_states)] for s in range(num_states)
        ]
        values = solved(matrix, gains)
        found = [
            [
                gains[s] + gamma * sum(p * v for p, v in zip(chances[s][a], values, strict=True))
                for a in range(num_actions)
            ]
            for s in range(num_states)
        ]
        better = [max(range(num_actions), key=lambda a, row=row: row[a]) for row in found]
        better = [old if row[old] == row[new] else new for row, old, new in zip(found, policy, better, strict=True)]
        if better == policy:
            return found
        policy = better


def decimal(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


def posterior_weights(transitions, discount, beta, atoms, chances, counts):
    """Return the weights of the atoms after `counts [S, A]` of a Boltzmann expert, and the regret of each policy."""
    with localcontext() as context:
        context.prec = DIGITS
        context.Emin, context.Emax = -(10**15), 10**15
        logs = []
        for atom, chance in zip(atoms, chances, strict=True):
            total = Decimal(float(chance)).ln()
            for row, answers in zip(action_values(transitions, discount, atom), counts, strict=True):
                advantages = [Decimal(float(beta)) * decimal(q - max(row)) for q in row]
                spread = sum(value.exp() for value in advantages).ln()
                total += sum(int(n) * (value - spread) for n, value in zip(answers, advantages, strict=True))
            logs.append(total)
        parts = [(value - max(logs)).exp() for value in logs]
        return [float(part / sum(parts)) for part in parts]


def best_return(transitions, discount, reward, initial):
    """Return the exact rho-average of V*."""
    found = action_values(transitions, discount, reward)
    return sum(Fraction(float(p)) * max(row) for p, row in zip(initial, found, strict=True))


def policies(num_states, num_actions):
    return product(range(num_actions), repeat=num_states)
