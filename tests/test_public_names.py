import ast
import importlib
import importlib.metadata
from pathlib import Path

import pytest

import journeyman

PUBLIC_NAMES = [
    "ACQUISITIONS",
    "ActiveLearner",
    "Boltzmann",
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
    "SimulatedExpert",
    "Study",
    "Uniform",
    "WORLDS",
    "World",
    "certify",
    "certify_over_dynamics",
    "discretise",
    "estimate_dynamics",
    "evaluate_policy",
    "infer",
    "kernel_rewards",
    "make_world",
    "occupancy",
    "score",
    "simulate",
    "solve",
    "solve_batch",
]


def test_public_names_are_exactly_these():
    assert sorted(journeyman.__all__) == PUBLIC_NAMES
    assert sorted(dir(journeyman)) == sorted([*PUBLIC_NAMES, "__version__"])


def test_a_type_checker_sees_the_same_names():
    tree = ast.parse(Path(journeyman.__file__).read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: node.module for node in imports for alias in node.names if alias.asname}
    assert seen == journeyman._MODULE_OF


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
