import importlib
import importlib.metadata

import pytest

import journeyman

PUBLIC_NAMES = [
    "ACQUISITIONS",
    "ActiveLearner",
    "BoltzmannExpert",
    "Demonstration",
    "Discrete",
    "FiniteMDP",
    "Grid",
    "INFERENCE",
    "JourneymanError",
    "LinearFeatures",
    "MultivariateNormal",
    "Normal",
    "PerState",
    "PerStateAction",
    "Posterior",
    "Problem",
    "Query",
    "Study",
    "Uniform",
    "WORLDS",
    "World",
    "certify",
    "evaluate_policy",
    "infer",
    "make_world",
    "occupancy",
    "score",
    "simulate",
    "solve",
    "solve_batch",
]


def test_public_names_are_exactly_these():
    assert sorted(journeyman.__all__) == PUBLIC_NAMES
    assert set(PUBLIC_NAMES) <= set(dir(journeyman))


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_each_public_name_is_that_of_its_module(name):
    module = importlib.import_module(journeyman._MODULE_OF[name])
    assert getattr(journeyman, name) is getattr(module, name)


def test_every_lazy_name_is_public():
    assert sorted(journeyman._MODULE_OF) == PUBLIC_NAMES


def test_version():
    assert journeyman.__version__ == importlib.metadata.version("journeyman")


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'journeyman' has no attribute 'nonsense'"):
        journeyman.nonsense  # noqa: B018
