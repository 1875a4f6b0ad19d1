"""The same seed gives the same bits: in every process, with any number of threads, and after a study was closed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numerics.test_extremes import ATOMS, DISCOUNTS, problem_of

from journeyman.inference.chains import Chain
from journeyman.mdp import solve_batch

WORKER = Path(__file__).with_name("determinism_worker.py")


def found_in_process(salt, num_threads):
    blas = {name: str(1 + salt // 2 % 2) for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    environment = {**os.environ, **blas, "PYTHONHASHSEED": str(salt)}
    command = [sys.executable, str(WORKER), str(salt), str(num_threads)]
    done = subprocess.run(command, capture_output=True, env=environment, check=False, timeout=600)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads(done.stdout.decode().splitlines()[-1])


def test_what_warm_up_learns_has_no_last_digits():
    """Sums of libraries may differ in the last bits, by threads or by where arrays lie: chains do not care."""
    rng = np.random.default_rng(0)
    positions = rng.normal(size=(60, 9)) @ np.diag(1.0 + np.arange(9.0)) + rng.normal(size=(60, 1))
    found = []
    for nudge in (0.0, 1e-15, -1e-15):
        chain = Chain.__new__(Chain)
        chain.step, chain.scales, chain.stretch = 0.1, np.ones(9), np.zeros(9)
        chain.learn_scales(positions * (1.0 + nudge))
        found.append((chain.step, chain.scales.tobytes(), chain.stretch.tobytes()))
    assert found[0] == found[1] == found[2]


def assert_same_in_all(processes):
    first, *others = (found_in_process(salt, num_threads) for salt, num_threads in processes)
    assert len(first) == 14
    assert first["study"] == first["learner"]
    for other in others:
        assert other == first


def test_bits_are_the_same_in_two_processes():
    assert_same_in_all([(1, 1), (2, 2)])


@pytest.mark.slow
def test_bits_are_the_same_in_twenty_processes():
    assert_same_in_all([(salt, 1 + salt % 3) for salt in range(20)])


@pytest.mark.parametrize("discount", DISCOUNTS[:3])
def test_engines_agree_within_what_they_state(discount):
    mdp = problem_of(discount=discount).mdp
    found = {name: solve_batch(mdp, ATOMS, method=name, num_threads=1) for name in ("direct", "sweeps", "krylov")}
    for name, solution in found.items():
        bound = (solution.error_bound + found["direct"].error_bound)[:, None]
        assert (np.abs(solution.values - found["direct"].values) <= bound).all(), name
