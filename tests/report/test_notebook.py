"""What notebooks show: whole, harmless, small, and without work that nobody asked for."""

import sys
import time
from html import escape

import numpy as np
import pytest
from matplotlib.text import Text
from report.html_checks import Page
from report.learners import EVIL, grid_learner, plain_learner

from journeyman import (
    ActiveLearner,
    Boltzmann,
    Discrete,
    FiniteMDP,
    MultivariateNormal,
    Normal,
    PerState,
    Problem,
    Uniform,
    certify,
    infer,
    score,
    simulate,
    solve,
    solve_batch,
)
from journeyman.acquisition.scores import Scores
from journeyman.criticism import criticise
from journeyman.errors import InputError
from journeyman.experts import LogNormal
from journeyman.report import notebook, posterior_map
from journeyman.worlds import make_world


def shown(thing):
    """Return the parsed HTML of an object: well-formed, without scripts, handlers or anything from outside."""
    html = thing._repr_html_()
    page = Page(html)
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "iframe", "object", "embed"}
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("src", "data:image/").startswith("data:image/")
    assert "url(" not in html and "@import" not in html and "http" not in html
    assert len(html) < 400_000
    return page


@pytest.fixture
def no_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)

    class Absent:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == "matplotlib":
                raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")

    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])


def the_five():
    learner = grid_learner()
    posterior = learner.posterior()
    return learner.problem.mdp, posterior, learner.scores(), certify(posterior, 1.0, 0.1), learner


def test_each_shows_itself_with_a_map_or_a_verdict():
    mdp, posterior, scores, certificate, learner = (shown(thing) for thing in the_five())
    assert [len(page.images) for page in (mdp, posterior, scores, certificate, learner)] == [1, 1, 1, 0, 0]
    assert "states 9" in mdp.text and "discount 0.9" in mdp.text
    assert (
        "Posterior by smc" in posterior.text and "95 % interval" in posterior.text and "200 samples" in posterior.text
    )
    assert "Scores by" in scores.text
    assert "ActiveLearner" in learner.text and "7 questions asked, 2 waiting" in learner.text


def test_the_numbers_are_those_of_the_object():
    learner = grid_learner()
    posterior, scores = learner.posterior(), learner.scores()
    widest = int(posterior.parameter_std().argmax())
    text = shown(posterior).text
    assert (
        f"reward of {widest} {posterior.mean_parameters()[widest]:.3g} {posterior.parameter_std()[widest]:.2g}" in text
    )
    assert f"<tbody><tr><td>{scores.best_state()}</td>" in scores._repr_html_()
    certificate = certify(posterior, 1.0, 0.1)
    text = shown(certificate).text
    for number in (certificate.delta, certificate.p_hat, certificate.upper_bound):
        assert f"{100 * number:.3g} %" in text
    assert all(" ".join(words.split()) in text for words in certificate.assumptions)
    assert ("details", {}) in Page(certificate._repr_html_()).tags


def test_without_matplotlib_tables_say_it(no_matplotlib):
    for thing in the_five():
        page = shown(thing)
        assert not page.images
        assert {"table", "dl"} & {tag for tag, _ in page.tags}


def test_labels_cannot_break_out():
    learner = plain_learner()
    posterior = learner.posterior()
    for thing in (learner.problem.mdp, posterior, learner.scores(), certify(posterior, 1.0, 0.1), learner):
        assert EVIL not in thing._repr_html_()
        shown(thing)
    assert escape(EVIL) in learner.scores()._repr_html_()
    assert EVIL in shown(posterior).text


def test_showing_a_learner_computes_nothing(monkeypatch):
    learner = ActiveLearner(make_world("random-grid", 1, size=3).problem, num_threads=1)

    def refuse(*_, **__):
        raise AssertionError("work that nobody asked for")

    for name in ("posterior", "scores", "apprentice", "certificate", "confirmation", "history", "criticism"):
        monkeypatch.setattr(learner, name, refuse)
    text = shown(learner).text
    assert "No certificate of what is known now has been computed" in text and "ask() chooses it" in text
    assert learner.computed() == {}


def test_a_learner_shows_what_it_has_computed():
    world = make_world("random-grid", 1, size=3)
    options = {"inference_options": {"num_particles": 200}, "num_threads": 1, "is_checked": False}
    learner = ActiveLearner(world.problem, **options)
    query = learner.ask()
    learner.tell(query, 1)
    learner.certificate()
    learner.scores()
    assert {"certificate", "posterior", "scores", "history"} <= set(learner.computed())
    text = shown(learner).text
    assert "No certificate of what is known now" not in text and "scores best" in text
    learner.ask()
    assert "certificate" in learner.computed() and "scores" not in learner.computed()
    learner.tell(learner.pending[0], 0)
    assert "certificate" not in learner.computed()
    assert "No certificate of what is known now" in shown(learner).text


def test_a_large_world_is_shown_small_and_soon():
    world = make_world("random-grid", 0, size=100)
    begin = time.process_time()
    page = shown(world.problem.mdp)
    assert time.process_time() - begin < 2.0
    assert not page.images and "10000" in page.text


def test_many_parameters_are_cut(monkeypatch):
    monkeypatch.setattr(notebook, "MAX_ENTRIES", 100)
    page = shown(grid_learner().posterior())
    assert not page.images and "the 8 first of 9" in page.text


def test_an_unknown_expert_is_shown_too():
    mdp = FiniteMDP.from_dense(np.full((2, 2, 2), 0.5), layout="SAS", discount=0.5)
    problem = Problem(mdp, PerState(mdp), Normal(2), Boltzmann(LogNormal(1.0, 0.7)))
    text = shown(infer(problem, [], method="smc", num_particles=100)).text
    assert "Parameters of the expert" in text and "beta" in text


def test_scores_without_a_world_are_a_table():
    page = shown(Scores("random", "state", None, "", np.array([-np.inf, 1.0, 0.5])))
    assert not page.images and "The best 2 of 2 states" in page.text


def test_what_cannot_be_shown_is_named():
    with pytest.raises(InputError, match="can show no Boltzmann"):
        notebook.html_of(Boltzmann(1.0))


def simulation():
    world = make_world("random-grid", 1, size=3)
    options = {"inference_options": {"num_particles": 200}, "num_threads": 1, "is_checked": False}
    return simulate(ActiveLearner(world.problem, **options), world.expert, 1, stop_when_finished=False)


def the_rest():
    """Return other objects that are often the last thing in a cell, each with many numbers inside."""
    world = make_world("random-8x8", 1)
    mdp, learner = world.problem.mdp, grid_learner()
    yield from (world, world.problem, world.problem.reward_model, mdp.grid, simulation())
    yield from (
        solve(mdp, world.reward),
        solve_batch(mdp, np.stack([world.reward] * 2)),
        criticise(learner.posterior()),
    )
    yield from (Normal(64), Uniform(64), MultivariateNormal(np.zeros(64), np.eye(64)), Discrete(np.eye(64)))


def test_plain_text_stays_short():
    for thing in [*the_five(), *the_rest()]:
        assert len(repr(thing)) < 130 and "\n" not in repr(thing) and "array" not in repr(thing)


def test_plain_text_says_what_it_is():
    world = make_world("random-8x8", 1)
    problem = "Problem(64 states, 5 actions: 64 reward parameters, Normal prior, Boltzmann expert)"
    assert repr(world) == f"World('random-8x8', seed 1: {problem})"
    assert repr(solve(world.problem.mdp, world.reward)).startswith(
        "Solution(1 reward, 64 states: converged, values with"
    )
    assert repr(Normal(64, std=3.0)) == "Normal(64 parameters: normal, mean 0, sd 3)"
    assert repr(Discrete(np.eye(4))) == "Discrete(4 parameters: 4 equally likely atoms)"
    found = simulation()
    assert repr(found) == f"Simulation(1 answer, is_finished=None: {found.certificate!r})"


@pytest.mark.parametrize("size", [4, 8, 15])
@pytest.mark.parametrize("num_panels", [1, 2])
def test_text_in_small_pictures_can_be_read(size, num_panels):
    """Pixels of a page are 3/4 points, and notebooks show figures as large as they are."""
    problem = make_world("random-grid", 1, size=size).problem
    mean = np.linspace(-60.0, 60.0, size**2)
    figure = posterior_map(problem, mean, np.abs(mean), "", is_small=True)
    if num_panels == 1:
        figure = notebook.mdp_figure(problem.mdp)
    assert figure.get_figwidth() * 96.0 <= 800.0 and figure.get_figheight() * 96.0 <= 34 * 16.0
    texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert texts and min(text.get_fontsize() for text in texts) / 0.75 >= 9.0
    numbers = [text for ax in figure.axes for text in ax.texts if text.get_text()]
    assert bool(numbers) == (num_panels == 2 and size <= 8)  # left out where there is no room


def test_names_in_small_graphs_are_whole_or_left_out():
    labels = [f"room {i}" for i in range(12)]
    chain = FiniteMDP.from_function(
        lambda s, a: [(1.0, min(max(s + 2 * a - 1, 0), 11))], num_states=12, num_actions=2, discount=0.9,
        state_labels=labels,
    )  # fmt: skip
    (ax,) = notebook.mdp_figure(chain).axes
    assert [text.get_text().replace("\n", " ") for text in ax.texts] == labels
    assert min(text.get_fontsize() for text in ax.texts) >= 6.4


def test_scores_know_whose_states_they_rate():
    posterior = grid_learner().posterior()
    assert score(posterior, "random").mdp is posterior.problem.mdp
