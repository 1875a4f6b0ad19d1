"""The wheel in an environment of its own, without the repository: first alone, then with each extra by itself.

One environment serves all: compiled code stays, and the packages of one extra go before those of the next come. `make
package` runs this. Packages come from wherever uv gets them.
"""

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urljoin

import pytest
from cli.tiny_sweep import TINY
from package.tested_versions import PROJECT, ROOT

pytestmark = pytest.mark.slow

EXTRAS = [name for name in PROJECT["project"]["optional-dependencies"] if name != "all"]
UV = Path(sys.executable).with_name("uv")
QUICK = "--inference-set num_particles=100"
# Lines that need nothing but the core, run in turn in one folder.
CORE = f"""
--version
--help
worlds
worlds show jail --seed 3
init
check problem.toml
bound --states 8 --actions 5 --beta 2 --discount 0.9 --epsilon 0.1 --delta 0.1
schema
schema check
doctor --quick
warmup --help
reproduce --help
studio --help
sweep init
sweep status tiny.toml
study new my.study --problem problem.toml {QUICK}
study ask my.study --threads 1
study tell my.study 0 stay
study attach my.study house:right path:right --final pond
study status my.study --threads 1
study report my.study --threads 1
study export my.study a.csv
study forecast --help
infer random-grid --world-set size=2 {QUICK} --demonstrations 2 --threads 1
scores random-grid --world-set size=2 {QUICK} --demonstrations 2 --threads 1
run --world random-grid --world-set size=2 {QUICK} --steps 1 --out r --threads 1
calibrate --world lopes-two-state --replications 2 --demonstrations 2
compare problem.toml a.csv {QUICK} --folds 2 --threads 1
demo
""".strip().splitlines()
# Lines that need an extra, by its name.
NEEDY = {
    "plot": "study plot my.study --what policy --threads 1",
    "tables": "sweep run tiny.toml --workers 1",
    "mcmc": "infer random-grid --world-set size=2 --inference policywalk --inference-set num_draws=50 "
    "--demonstrations 2 --threads 1",
    "gym": "worlds show gym:FrozenLake-v1",
    "minari": "study export my.study journeyman/mine-v0 --format minari --repeat-last",
}

ASK_CLUSTER = """
from journeyman.storage.dask_cluster import dask_cluster
with dask_cluster("tcp://127.0.0.1:9"):
    pass
"""
REACH_CLUSTER = """
import logging
from distributed import LocalCluster
from journeyman.storage.dask_cluster import dask_cluster
options = {"host": "127.0.0.1", "protocol": "tcp://", "dashboard_address": "127.0.0.1:0", "processes": False}
with LocalCluster(n_workers=1, threads_per_worker=1, silence_logs=logging.CRITICAL, **options) as cluster:
    with dask_cluster(cluster.scheduler_address) as workers:
        print(workers.num_slots, "slot")
"""


class Installed:
    """An environment with the wheel, and a folder to run its commands in."""

    def __init__(self, place):
        self.folder, self.python = place / "work", place / "env" / "bin" / "python"
        self.folder.mkdir()
        self.variables = {
            key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "JOURNEYMAN", "VIRTUAL"))
        }
        self.variables |= {"MINARI_DATASETS_PATH": str(place / "minari"), "MPLBACKEND": "agg", "COLUMNS": "120"}
        self._uv("build", "--out-dir", place / "dist", ROOT)
        (self.wheel,) = (place / "dist").glob("*.whl")
        self._uv("venv", "--python", sys.executable, place / "env")
        self.install()
        self.core = self.packages()

    def _uv(self, *arguments):
        done = subprocess.run([UV, *arguments], capture_output=True, text=True, timeout=900, cwd=self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def install(self, extra=None):
        wanted = "journeyman" if extra is None else f"journeyman[{extra}]"
        self._uv("pip", "install", "--python", self.python, f"{wanted} @ {self.wheel.as_uri()}")

    def packages(self):
        listed = json.loads(self._uv("pip", "list", "--python", self.python, "--format", "json"))
        return {package["name"] for package in listed}

    def remove_extras(self):
        extra = sorted(self.packages() - self.core)
        if extra:
            self._uv("pip", "uninstall", "--python", self.python, *extra)

    def start(self, *arguments):
        command = [self.python, *arguments]
        out = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.folder, env=self.variables, text=True, stdout=out, stderr=out)

    def run_python(self, *lines):
        """Run lines of Python: exit code and all that they say."""
        return self._end(self.start("-c", *lines))

    def run(self, line):
        """Run a line of the command line, which never ends with a traceback: exit code and all that it says."""
        code, said = self._end(self.start("-m", "journeyman", *line.split()))
        assert "Traceback" not in said, f"journeyman {line}\n{said}"
        return code, said

    def _end(self, process):
        try:
            out, err = process.communicate(timeout=900)
        finally:
            process.kill()
        return process.returncode, out + err


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    found = Installed(tmp_path_factory.mktemp("installed"))
    (found.folder / "tiny.toml").write_text(TINY, "utf-8")
    return found


@pytest.fixture
def alone(installed):
    """The environment with the core only, also afterwards."""
    yield installed
    installed.remove_extras()


def test_every_command_runs_with_the_core_alone(alone):
    """One test, since later lines use what earlier ones made."""
    for line in CORE:
        code, said = alone.run(line)
        assert code == 0, f"journeyman {line}\n{said}"
    assert (alone.folder / "journeyman-demo" / "index.html").is_file()
    assert str(ROOT) not in alone.run("doctor --quick --json")[1]


@pytest.mark.parametrize("extra", NEEDY)
def test_a_command_asks_for_its_extra_and_runs_with_it(alone, extra):
    code, said = alone.run(NEEDY[extra])
    assert code == 1
    assert f"pip install 'journeyman[{extra}]'" in said
    alone.install(extra)
    code, said = alone.run(NEEDY[extra])
    assert code == 0, said


def test_the_studio_asks_for_its_extra_and_serves_its_page_with_it(alone):
    code, said = alone.run("studio my.study --no-browser")
    assert code == 1
    assert "pip install 'journeyman[studio]'" in said
    alone.install("studio")
    process = alone.start("-m", "journeyman", "studio", "my.study", "--no-browser", "--port", "0")
    try:
        address = next(line.strip() for line in process.stdout if line.startswith("http://"))
        # As a browser does: the page sets the cookie that its parts need.
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        page = browser.open(address, timeout=60).read().decode()
        parts = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
        assert {part.rpartition(".")[2] for part in parts} == {"css", "js", "svg"}
        for part in parts:
            assert browser.open(urljoin(address, part), timeout=60).status == 200
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_a_cluster_asks_for_its_extra_and_is_reached_with_it(alone):
    code, said = alone.run_python(ASK_CLUSTER)
    assert code == 1
    assert "pip install 'journeyman[cluster]'" in said
    alone.install("cluster")
    code, said = alone.run_python(REACH_CLUSTER)
    assert (code, said.strip()) == (0, "1 slot"), said


def test_every_extra_is_tried():
    assert set(EXTRAS) == {*NEEDY, "studio", "cluster"}
