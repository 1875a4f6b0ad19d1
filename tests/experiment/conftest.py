import pytest
from experiment.processes import Starter


@pytest.fixture(scope="session")
def starter():
    """Starts other processes that run sweeps."""
    starter = Starter()
    yield starter
    starter.close()
