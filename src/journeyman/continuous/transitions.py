"""Transitions of decisions on the points of a lattice, as packed sparse rows; refused before they would not fit."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from journeyman.continuous.decisions import Decisions
from journeyman.continuous.steps import Moved
from journeyman.errors import InputError
from journeyman.mdp.lattice import Lattice
from journeyman.progress import Report
from journeyman.resources import check_memory
from journeyman.types import FloatArray, IntArray

BYTES_PER_EDGE = 60  # of one (state, action, next state), at the peak of building
NUM_CHECKED = 32  # states at which the world is asked again


class Transitions(NamedTuple):
    """Packed rows, with one entry more than there are rows in `indptr`; and how many steps were held at the bounds."""

    indptr: IntArray
    next_states: Any
    probabilities: FloatArray
    num_clipped: int


def transitions(decisions: Decisions, places: FloatArray, report: Report | None = None) -> Transitions:
    """Return the rows of every action at places `[n, d]`: mixtures of the points of the lattice."""
    num_places, num_actions, lattice = len(places), decisions.num_actions, decisions.lattice
    probed, matrices, num_clipped = _probed(decisions, places), [], 0
    for action in range(num_actions):
        parts = [sparse.csr_array((num_places, lattice.num_points))]
        for leg in decisions.legs(places, action):
            num_clipped += leg.num_clipped
            if leg.step + 1 == decisions.repeat:
                going = ~leg.is_done
                indices, weights = lattice.weights(leg.after[going])
                sources = np.repeat(leg.rows[going], lattice.num_corners)
                shape = (num_places, lattice.num_points)
                entries = (weights.ravel() / (decisions.num_samples or 1), (sources, indices.ravel()))
                parts.append(sparse.csr_array(sparse.coo_array(entries, shape=shape)))
            if report is not None:
                done = (leg.sample + (leg.step + 1) / decisions.repeat) / (decisions.num_samples or 1)
                report((action + done) / num_actions)
        matrix = parts[0]
        for part in parts[1:]:
            matrix = matrix + part
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        matrix.sort_indices()
        matrices.append(matrix)
    for states, action, seed, moved in probed:
        decisions.steps.check_same(states, moved, action, seed)
    return _interleaved(matrices, num_places, num_clipped)


def _interleaved(matrices: list[Any], num_places: int, num_clipped: int) -> Transitions:
    """Return the rows of one matrix per action, with those of a state beside each other."""
    counts = np.stack([np.diff(matrix.indptr) for matrix in matrices], axis=1)  # [n, A]
    indptr = np.concatenate([[0], np.cumsum(counts.ravel())]).astype(np.int64)
    next_states, probabilities = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
    begins = indptr[:-1].reshape(num_places, len(matrices))
    for action, matrix in enumerate(matrices):
        to = np.repeat(begins[:, action] - matrix.indptr[:-1], counts[:, action]) + np.arange(matrix.nnz)
        next_states[to], probabilities[to] = matrix.indices, matrix.data
        matrices[action] = None
    return Transitions(indptr, next_states, probabilities, num_clipped)


def _probed(decisions: Decisions, places: FloatArray) -> list[tuple[FloatArray, int, list[int], Moved]]:
    """Return what the world says at some places: states, action, seed of the noise and answer; to be asked again."""
    some = np.unique(np.linspace(0, len(places) - 1, NUM_CHECKED).astype(int))
    asked = []
    for action in range(decisions.num_actions):
        seed = [decisions.seed, action, 0]
        rng = np.random.default_rng(seed) if decisions.num_samples is not None else None
        asked.append((places[some], action, seed, decisions.steps(places[some], action, rng)))
    return asked


def check_fits(lattice: Lattice, num_actions: int, num_samples: int | None) -> None:
    """Refuse a lattice whose transitions would not fit into the memory that is free, before anything is allocated."""
    per_row = min(lattice.num_corners * (num_samples or 1), lattice.num_points)
    shape = " x ".join(map(str, lattice.sizes.tolist()))
    fewer = "" if lattice.scheme == "simplex" or lattice.num_dimensions == 1 else ", scheme='simplex'"
    check_memory(
        float(lattice.num_points) * num_actions * per_row * BYTES_PER_EDGE,
        f"transitions of {shape} points, {num_actions} actions and {per_row} next states each",
        f"Use fewer points or actions{fewer}.",
    )
    if lattice.num_points >= 2**31:
        raise InputError(
            f"states must be fewer than 2^31, got {shape} points, which are {lattice.num_points:,}. Use fewer points."
        )
