"""What samplers of chains take and give."""

from typing import NamedTuple

from journeyman.errors import InferenceError
from journeyman.types import AnyArray, FloatArray


class ChainSettings(NamedTuple):
    """num_chains C; num_warmup and num_draws N per chain, before thinning; target_accept: acceptance to tune to."""

    num_chains: int
    num_warmup: int
    num_draws: int
    thin: int
    target_accept: float


class Chains(NamedTuple):
    """Draws of unconstrained space `[C, N, D]`, and what is known about each `[C, N]` by ArviZ's names.

    num_recoveries counts points where the log density or its gradient was not a number; they count as divergences.
    """

    positions: FloatArray
    stats: dict[str, AnyArray]
    num_gradients: int
    num_recoveries: int = 0


def no_start(reason: str) -> InferenceError:
    """Return the error for chains that cannot begin."""
    return InferenceError(
        f"chains must start where the log posterior and its gradient are finite, got {reason} at draws of the prior. "
        "Use a prior of smaller scale, a smaller beta, or rewards that are scaled down."
    )
