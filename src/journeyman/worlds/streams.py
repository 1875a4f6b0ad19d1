"""Random streams of worlds: each name and seed has its own, so that worlds never share draws."""

import zlib

import numpy as np

from journeyman.errors import InputError


def world_rng(name: str, seed: int) -> np.random.Generator:
    """Return the generator of world `name` for `seed`."""
    if seed < 0:
        raise InputError(f"seed must be at least 0, got {seed}.")
    return np.random.default_rng([zlib.crc32(name.encode()), seed])
