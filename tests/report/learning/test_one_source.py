"""What a page says twice, it says the same: numbers, units, names; and what it says of many things, it says once."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from report.drawing.drawn_graphs import labyrinth
from report.html_checks import Page, checked_page
from report.learners import FEW, grid_summary

from journeyman.acquisition import ACQUISITIONS
from journeyman.apprentice.certificate_text import number_sentences
from journeyman.demonstrations import Demonstration
from journeyman.learner import ActiveLearner
from journeyman.problem import Problem
from journeyman.report.html import STYLE
from journeyman.report.learning import learning_report
from journeyman.report.learning.page import learning_record
from journeyman.report.learning.section_knowing import hardly_learned, limits_section, parameter_table
from journeyman.report.learning.section_trusting import tiles
from journeyman.report.learning.sentences import demonstrations_words, open_groups, open_parameters
from journeyman.report.learning.summary import summarise_learning
from journeyman.rewards import Normal, PerState


@cache
def maze_summary():
    """A labyrinth of 31 nodes by label, a trajectory of 20 actions and one answer; regret_pac finds nothing to gain."""
    mdp = labyrinth(4, state_labels=["home", *(f"node {state}" for state in range(1, 31))])
    problem = Problem(mdp, PerState(mdp), Normal(31), 2.0)
    learner = ActiveLearner(
        problem, acquisition="regret_pac", acquisition_options={"stall": 1.0}, inference_options=FEW, max_samples=400,
        seed=0, num_threads=1,
    )  # fmt: skip
    steps, state = [], 0
    for step in range(20):
        steps.append((state, step % 2 if 2 * state + 2 < 31 else 2))
        state = int(mdp.next_states(*steps[-1])[0][0])
    learner.attach([Demonstration(0, tuple(steps), ended="truncated")])
    learner.tell(learner.ask(), "right")
    return summarise_learning(learner, "maze")


@cache
def maze_page():
    return checked_page(learning_report(maze_summary())).text


@pytest.mark.parametrize("make_summary", [grid_summary, maze_summary])
def test_tiles_and_certificate_say_the_same_numbers(make_summary):
    """Defect 9: tiles said 69 % and 0.42, the certificate below them 66.1 % and 0.394."""
    summary = make_summary()
    chance, bound = re.search(
        r"about (\S+ %), and at most (\S+ %)", " ".join(number_sentences(summary.verdict))
    ).groups()
    regret = re.search(r"Regret from the initial states: (.+?) on average", " ".join(number_sentences(summary.verdict)))
    shown = Page(tiles(summary)).text
    assert f"{chance} chance of a regret" in shown
    assert f"at most {bound} (limit" in shown
    assert f"{regret.group(1)} expected regret from the initial states" in shown


def test_the_confirmed_certificate_is_the_source_where_there_is_one():
    summary = grid_summary()
    confirmed = replace(summary.certificate, p_hat=0.0123, upper_bound=0.0456, mean_regret=0.0789)
    page = checked_page(learning_report(replace(summary, confirmation=confirmed))).text
    assert page.count("1.23 %") == 2 and page.count("4.56 %") == 2  # in the tiles and in the certificate


def test_the_unit_of_a_score_is_that_of_the_function_that_decided():
    """Defect 5: "highest score 0.005671 of reward" where regret_pac had handed over to pac_eig, which is in nats."""
    summary = maze_summary()
    assert ACQUISITIONS.find("regret_pac").unit == "reward"
    assert summary.scores.unit == "nats" and summary.scores.details["used"] == "pac_eig"
    assert "nats" in summary.asked[0].why and "of reward" not in summary.asked[0].why
    assert "of reward, " not in maze_page()


def test_the_header_counts_actions_beside_demonstrations():
    """Report friction: the header said "4 demonstrations", not 3,150 actions."""
    assert "learned from 2 demonstrations with 21 actions: a reward with 31 unknown parameters" in maze_page()
    assert "demonstrations, 21 actions in all" in maze_page()
    assert learning_record(maze_summary())["num_decisions"] == 21
    assert demonstrations_words(grid_summary()) == "3 demonstrations of one action each"


def test_a_reason_is_said_once_for_all_parameters_that_have_it():
    """Report friction: "hardly learned" repeated one sentence on 96 rows."""
    summary = maze_summary()
    rows = open_parameters(summary)
    assert len(rows) > 5
    text = Page(limits_section(summary)).text
    for reason, members in open_groups(summary).items():
        assert text.count(reason) == 1
        assert sum(why == reason for _, _, why in rows) == len(members)
        for name, _ in members:
            assert name in text
    assert f"{len(rows)} of 31 parameters are hardly learned" in text
    many = {"no answer yet": [(f"reward of {i}", 1.0) for i in range(96)], "it pays nowhere": [("tax", 0.95)]}
    page = Page(hardly_learned(many, 127))
    assert "96 parameters: no answer yet" in page.text and "tax (95 % left): it pays nowhere." in page.text
    assert [tag for tag, _ in page.tags].count("details") == 2  # the group, and what goes beyond some rows of it


def test_states_and_parameters_go_by_their_labels():
    summary = maze_summary()
    page = maze_page()
    assert "reward of home" in page and "reward of node 30" in page
    assert not re.search(r"reward of \d", page)
    record = learning_record(summary)
    assert record["certainty"][0]["action_name"] in ("left", "right", "back", "stay")
    assert {entry["name"] for entry in record["parameters"]} == {
        f"reward of {summary.problem.mdp.state_name(state)}" for state in range(31)
    }


def test_long_tables_show_the_best_known_first():
    summary = maze_summary()
    best = summary.parameters.names[int(np.argmin(summary.parameters.remaining))]
    table = Page(parameter_table(summary, None)).text
    assert table.startswith("Parameters of the reward, best known first.")
    assert "of what is at stake its interval " + best in table


def test_figures_follow_the_dark_setting_and_print_stays_light():
    """Report friction: figures stayed white in dark mode."""
    dark = STYLE[STYLE.index("@media screen and (prefers-color-scheme: dark)") : STYLE.index("* { box-sizing")]
    assert "figure img { filter: invert" in dark
    assert STYLE.count("prefers-color-scheme") == 1  # and for the screen only: paper is light
    paper = STYLE[STYLE.index("@media print") :]
    for words in ("color-scheme: light", "break-inside: avoid", "details-content", "text-decoration: underline"):
        assert words in paper
