"""A process that compiles kernels and one that loads them from the cache ask the same, to the last bit."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
from journeyman import ActiveLearner, make_world
from journeyman.experts import Question

world = make_world("random-grid", 0, size=3, terminals="independent")
learner = ActiveLearner(world.problem, inference_options={"num_particles": 100}, seed=5, num_threads=1)
for visit in range(6):
    query = learner.ask()
    learner.tell(query, world.expert.demonstrate(Question(query.state, visit)))
    print(query.state, query.score.hex(), float(learner.posterior().theta.sum()).hex())
"""


@pytest.mark.slow
def test_compiled_and_cached_code_agree(tmp_path):
    """Helpers with fastmath must be inlined: else any of several compiled copies is used, which round differently."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert runs[0].stdout.count("\n") == 6
    assert runs[0].stdout == runs[1].stdout
