"""What docs/extending.md shows is what happens: things from outside the package work without a fork."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from journeyman.acquisition import ACQUISITIONS
from journeyman.experts import EXPERTS
from journeyman.inference import INFERENCE
from journeyman.learner import ActiveLearner
from journeyman.problem_files import load_problem, problem_from_record, problem_to_record
from journeyman.rewards import PRIORS
from journeyman.worlds import WORLDS, make_world

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text("utf-8")
NAMES = {"laplace": PRIORS, "lapsing": EXPERTS, "importance": INFERENCE, "doubt": ACQUISITIONS, "corridor": WORLDS}


@pytest.fixture(scope="module")
def page():
    """Run the page as one program; return its names and what it printed."""
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
    namespace, output = {"__name__": "extending"}, io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, "docs/extending.md", "exec"), namespace)
    yield namespace, output.getvalue()
    for name, registry in NAMES.items():
        registry.unregister(name)


def test_the_page_prints_what_it_shows(page):
    assert page[1] == "".join(re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def test_a_learner_takes_all_of_them(page):
    learner = ActiveLearner(page[0]["problem"], inference="importance", acquisition="doubt", seed=0)
    query = learner.ask()
    learner.tell(query, page[0]["expert"].demonstrate(query.state))
    assert learner.apprentice().shape == (9,)
    assert any("lapses" in text for text in learner.certificate().assumptions)
    world = make_world("corridor", 3)
    assert ActiveLearner(world.problem, acquisition="doubt").ask().state in range(5)


def test_problems_are_stored_and_restored(page):
    problem = page[0]["problem"]
    again = problem_from_record(problem_to_record(problem))
    assert again.expert == problem.expert
    assert (type(again.prior), again.prior.scale) == (type(problem.prior), 1.0)


def test_problem_files_name_them(page, tmp_path):
    (tmp_path / "p.csv").write_text("state,action,next_state,probability\n0,0,1,1\n0,1,0,1\n1,0,0,1\n1,1,1,1\n")
    (tmp_path / "problem.toml").write_text(
        'discount = 0.9\n[transitions]\nfile = "p.csv"\n[reward]\nmodel = "per_state"\n'
        '[prior]\nkind = "laplace"\nscale = 2.0\n[expert]\nkind = "lapsing"\nbeta = 3.0\nlapse = 0.2\n'
    )
    problem = load_problem(tmp_path / "problem.toml")
    assert (problem.prior.num_parameters, problem.prior.scale) == (2, 2.0)
    assert problem.expert == page[0]["Lapsing"](3.0, 0.2)
