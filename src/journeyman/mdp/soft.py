"""Soft (maximum-entropy) values: what states are worth to one who will act by a softmax of its own action values.

    V(s) = log(sum over available a of exp(beta Q(s, a))) / beta,   Q = r + discount P V

and V(s) = max_a Q(s, a) where an episode ends, since nothing is chosen there. Ziebart (2010), Haarnoja et al. (2017).
The larger beta is, the nearer they are to optimal values.
"""

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import float_array
from journeyman.errors import InputError
from journeyman.mdp import kernels
from journeyman.mdp.elimination import elimination_of
from journeyman.mdp.model import FiniteMDP
from journeyman.mdp.validation import checked_rewards
from journeyman.threads import resolve_num_threads, run_chunks
from journeyman.types import FloatArray


def solve_soft(
    mdp: FiniteMDP,
    rewards: ArrayLike,
    betas: ArrayLike,
    *,
    initial_values: ArrayLike | None = None,
    num_threads: int | None = None,
) -> FloatArray:
    """Return soft values `[M, S]` of rewards `[M, S]` or `[M, S, A]`, each with its beta `[M]`.

    Parameters
    ----------
    initial_values
        `[M, S]` to start from; default zeros.

    Raises
    ------
    InputError
        Where Newton's method does not settle: rewards or betas are beyond all bounds, or not numbers.
    """
    batch = np.ascontiguousarray(checked_rewards(rewards, mdp.num_states, mdp.num_actions))
    chosen = np.ascontiguousarray(np.broadcast_to(float_array(betas, "betas"), batch.shape[:1]))
    is_fine = (chosen > 0.0) & np.isfinite(chosen)
    if not is_fine.all():
        raise InputError(
            f"beta must be positive and finite for soft values, got {chosen[~is_fine][0]}. They grow without bounds "
            "towards 0."
        )
    shape = (len(batch), mdp.num_states)
    start = np.zeros(shape) if initial_values is None else float_array(initial_values, "initial_values")
    values = np.array(np.broadcast_to(start, shape))
    converged = np.empty(len(batch), dtype=bool)
    pattern = elimination_of(mdp)
    rows = (mdp.rows.indptr, mdp.rows.next_states, mdp.rows.probabilities)

    def solve_part(part: range) -> None:
        at = slice(part.start, part.stop)
        kernels.solve_soft(
            *rows, mdp.available, mdp.terminal, mdp.discount, batch[at], chosen[at], values[at], pattern.fresh(),
            converged[at],
        )  # fmt: skip

    run_chunks(solve_part, len(batch), resolve_num_threads(num_threads))
    if not converged.all():
        index = int(np.argmin(converged))
        raise InputError(
            f"soft values must settle, got none for reward {index} with beta {chosen[index]:g}. "
            "Use rewards of a smaller scale, or a discount further from 1."
        )
    return values
