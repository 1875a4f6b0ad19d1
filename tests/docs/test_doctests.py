"""Every public name has an example in its docstring; `test_docstrings.py` runs them."""

import importlib
import inspect
from itertools import pairwise

import pytest

import journeyman
from journeyman import ActiveLearner, FiniteMDP, Posterior, Study
from journeyman.acquisition import Scores
from journeyman.apprentice import Certificate
from journeyman.registry import Registry

MUCH_USED = {
    ActiveLearner: ("ask", "ask_batch", "tell", "attach", "undo", "correct", "posterior", "scores", "apprentice"),
    FiniteMDP: ("from_dense", "from_edges", "from_function", "from_matrices", "reachable", "unrolled"),
    Posterior: ("mean_reward", "reward_std", "credible_intervals", "optimal_action_probabilities", "predictive_policy"),
    Study: ("create", "open", "tell"),
}


def has_example(doc, name):
    """Return whether a docstring uses a name on a line of code, and shows what comes out."""
    lines = [line.strip() for line in (doc or "").splitlines()]
    code = [line for line in lines if line.startswith((">>> ", "... "))]
    shown = [line for before, line in pairwise(lines) if before in code and line not in code]
    return any(name in line for line in code) and any(shown)


@pytest.mark.parametrize("name", journeyman.__all__)
def test_every_public_name_has_an_example(name):
    thing = getattr(journeyman, name)
    if isinstance(thing, Registry):  # a dict has no docstring of its own: its module says how to list it
        doc = importlib.import_module(journeyman._MODULE_OF[name]).__doc__
    else:
        doc = inspect.getdoc(thing)
    wanted = (
        "make_world" if name == "World" else "infer(" if name == "Posterior" else "ask(" if name == "Query" else name
    )
    assert has_example(doc, wanted), f"{name} needs a section Examples in its docstring"


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner, names in MUCH_USED.items() for name in names], ids=str
)
def test_methods_that_are_much_used_have_an_example(owner, name):
    assert has_example(inspect.getdoc(getattr(owner, name)), f"{name}(")


@pytest.mark.parametrize(("thing", "maker"), [(Certificate, "certify("), (Scores, "score(")])
def test_results_have_an_example(thing, maker):
    assert has_example(inspect.getdoc(thing), maker)


@pytest.mark.parametrize("doc", ["", "Solve.", ">>> solve(mdp)", ">>> other(mdp)\n3", "solve\n3"])
def test_what_is_no_example_is_noticed(doc):
    assert not has_example(doc, "solve")
