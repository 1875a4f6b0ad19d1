"""A refusal by nuts must leave an interpreter that can exit."""

import subprocess
import sys

CODE = """
import numpy as np
from journeyman import Demonstration, FiniteMDP, JourneymanError, Normal, PerState, Problem, infer
transitions = np.random.default_rng(1).dirichlet(np.ones(5), (5, 3))
mdp = FiniteMDP.from_dense(transitions, layout="SAS", discount=0.9)
problem = Problem(mdp, PerState(mdp), Normal(5, 0, 1e200), 2.0)
try:
    infer(problem, [Demonstration.annotation(0, k) for k in range(3)], "policywalk")
except JourneymanError as error:
    print(error)
"""


def test_a_prior_that_is_too_wide_is_refused_before_threads_start():
    result = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert "Use a prior of smaller scale" in result.stdout
