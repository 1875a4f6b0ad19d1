"""What docs/extending.md shows is what happens: things from outside the package work without a fork."""

import pytest
from docs.blocks import run_page

from journeyman.acquisition import ACQUISITIONS
from journeyman.experts import EXPERTS
from journeyman.inference import INFERENCE
from journeyman.learner import ActiveLearner
from journeyman.problem_files import load_problem, problem_from_record, problem_to_record
from journeyman.rewards import PRIORS
from journeyman.worlds import WORLDS, make_world

NAMES = {"laplace": PRIORS, "lapsing": EXPERTS, "importance": INFERENCE, "doubt": ACQUISITIONS, "corridor": WORLDS}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Run the page as one program; return its names, which stay registered."""
    names, _ = run_page("docs/extending.md", tmp_path_factory.mktemp("page"), forgets=False)
    yield names
    for name, registry in NAMES.items():
        registry.unregister(name)


def test_a_learner_takes_all_of_them(page):
    learner = ActiveLearner(page["problem"], inference="importance", acquisition="doubt", seed=0)
    query = learner.ask()
    learner.tell(query, page["expert"].demonstrate(query.state))
    assert learner.apprentice().shape == (9,)
    assert any("lapses" in text for text in learner.certificate().assumptions)
    world = make_world("corridor", 3)
    assert ActiveLearner(world.problem, acquisition="doubt").ask().state in range(5)


def test_problems_are_stored_and_restored(page):
    problem = page["problem"]
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
    assert problem.expert == page["Lapsing"](3.0, 0.2)
