"""Random streams of worlds: each name and seed has its own, so that worlds never share draws."""

import zlib

import numpy as np

from journeyman.checks import whole_number


def world_rng(name: str, seed: int) -> np.random.Generator:
    """Return the generator of world `name` for `seed`."""
    return np.random.default_rng([zlib.crc32(name.encode()), whole_number(seed, "seed", 0)])
