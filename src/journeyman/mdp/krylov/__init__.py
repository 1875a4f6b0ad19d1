"""Solving large problems: sweeps that improve the policy, and Krylov iterations that evaluate it.

Value iteration alone needs a number of sweeps that grows with 1 / (1 - discount), and evaluating a policy by sweeps
does, too. Here each round improves policy and values by two Gauss-Seidel sweeps, and then corrects V by d with

    (I - discount P_pi) d = r_pi + discount P_pi V - V,

which GMRES (Saad and Schultz 1986) solves roughly: inexact policy iteration. States are ordered by their value, the
best first. Most transitions of a good policy lead to better states, so that in this order almost all of the matrix lies
below the diagonal, and its lower part, which is solved exactly, is a good preconditioner. What is left are small groups
of states that the policy does not leave, whose slow decay is one cluster of eigenvalues that GMRES removes in a few
steps, whatever the discount. The correction is computed in single precision, what it corrects in double precision: so
the result is as exact as that of sweeps, and half as much memory is read.

The transposed equation, for the adjoint, is solved with the transposed preconditioner in the same order.
"""

from journeyman.mdp.krylov.kernels import (
    HEAD,
    MAX_ROUNDS,
    SplitRows,
    flow_of,
    forget,
    new_memory,
    settle,
    solve_adjoint,
    solve_transposed,
    solve_values,
)

__all__ = [
    "HEAD",
    "MAX_ROUNDS",
    "SplitRows",
    "flow_of",
    "forget",
    "new_memory",
    "settle",
    "solve_adjoint",
    "solve_transposed",
    "solve_values",
]
