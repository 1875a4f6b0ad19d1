import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from journeyman.cli.app import app
from journeyman.cli.warmup import PARTS

USE = """
from journeyman.cli.warmup import warmup
warmup()
from journeyman import ActiveLearner, make_world, simulate
from journeyman.compiling import COMPILATION
before = COMPILATION.num_compiled
world = make_world("jail", 4)
simulate(ActiveLearner(world.problem, inference_options={"num_particles": 200}, seed=0), world.expert, 3)
assert COMPILATION.num_compiled == before, COMPILATION.num_compiled - before
"""


@pytest.mark.slow
def test_each_part_is_named_and_compiled_once():
    runner = CliRunner()
    assert runner.invoke(app, ["warmup"]).exit_code == 0
    again = runner.invoke(app, ["warmup"])
    assert again.exit_code == 0
    assert sorted(again.stdout.splitlines()) == sorted(f"{part}: compiled already" for part in PARTS)


def test_nothing_is_left_for_a_learner_to_compile():
    subprocess.run([sys.executable, "-c", USE], check=True, timeout=300)


def test_without_a_folder_to_write_to_kernels_are_compiled_in_every_process(tmp_path):
    program = "from journeyman.compiling import CACHE; from journeyman.mdp import kernels; print(CACHE)"
    places = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator", "NUMBA_CACHE_DIR": ""}  # that is: none
    result = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | places, capture_output=True, text=True, check=True
    )
    assert result.stdout == "False\n"
