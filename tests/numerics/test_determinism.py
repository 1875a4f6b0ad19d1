"""The same seed gives the same bits: in every process, with any number of threads, and after a study was closed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numerics.test_extremes import ATOMS, DISCOUNTS, problem_of

from journeyman.mdp import solve_batch

WORKER = Path(__file__).with_name("determinism_worker.py")


def found_in_process(salt, num_threads):
    environment = {**os.environ, "PYTHONHASHSEED": str(salt)}
    command = [sys.executable, str(WORKER), str(salt), str(num_threads)]
    done = subprocess.run(command, capture_output=True, env=environment, check=False, timeout=600)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads(done.stdout.decode().splitlines()[-1])


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
