"""Random streams of a learner, one per purpose and event number.

What is drawn for one event does not depend on how many threads there are, on what was looked at in between, or on
whether the learner was stored and restored.
"""

import numpy as np

ASK, POSTERIOR, CONFIRMATION, FORECAST = 1, 2, 3, 4


def stream(seed: int, purpose: int, event_number: int) -> np.random.Generator:
    """Return the generator of one purpose at one event."""
    return np.random.default_rng(_sequence(seed, purpose, event_number))


def stream_seed(seed: int, purpose: int, event_number: int) -> int:
    """Return a seed for functions that take one, of one purpose at one event."""
    return int(_sequence(seed, purpose, event_number).generate_state(1)[0])


def _sequence(seed: int, purpose: int, event_number: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(purpose, event_number))
