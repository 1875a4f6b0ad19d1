import pytest
from studio.running import QUICK, Person, running

from journeyman.study import Study
from journeyman.worlds import make_world


@pytest.fixture(autouse=True, scope="session")
def own_state(tmp_path_factory):
    """Tokens and locks of these tests lie in a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Bytes of a study of a 3x3 grid in which 12 questions wait: choosing them takes a second, once."""
    path = tmp_path_factory.mktemp("asked") / "grid.study"
    problem = make_world("random-grid", 1, size=3, terminals="independent").problem
    with Study.create(path, problem, **QUICK, acquisition="random") as study:
        study.ask_batch(12)
    return path.read_bytes()


@pytest.fixture
def grid(asked, tmp_path):
    """The path of a study of a 3x3 grid in which 12 questions wait."""
    path = tmp_path / "grid.study"
    path.write_bytes(asked)
    return path


@pytest.fixture
def served(grid):
    """That study, served without a worker."""
    with running(Study.open(grid), folder=grid.parent) as found:
        yield found


@pytest.fixture
def ada(served):
    return Person(served, "grid", "ada")


@pytest.fixture
def ben(served):
    return Person(served, "grid", "ben")


@pytest.fixture
def walk(tmp_path):
    """Somebody who is asked for runs of up to 4 steps on a grid with slips."""
    path = tmp_path / "walk.study"
    problem = make_world("random-grid", 2, size=3, terminals="independent", slip=0.5).problem
    with Study.create(path, problem, **QUICK, acquisition="random", kind="trajectory", length=4) as study:
        study.ask_batch(4)
    with running(Study.open(path)) as found:
        yield Person(found, "walk", "ada")
