"""The programme behind docs/trust.md: it resumes, counts right, tells the learner what it should, and finds a liar."""

import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest

from journeyman import ActiveLearner
from journeyman.apprentice.regret import failures_of
from journeyman.demonstrations import Demonstration
from journeyman.errors import InferenceError
from journeyman.inference import infer
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures, Normal
from journeyman.storage.run_tables import continue_table, read_table
from journeyman.worlds import World
from journeyman.worlds.world import world_rng

FOLDER = Path(__file__).parents[2] / "docs" / "trust" / "calibration"
PAGE = FOLDER.parents[1] / "trust.md"


def load(name):
    """Import a module of the programme as its scripts do, and leave no name behind that others use too."""
    sys.path.insert(0, str(FOLDER))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(FOLDER))


NAMES = ("programme", "tables", "run", "second_judge")
programme, tables, run, second_judge = (load(name) for name in NAMES)
for name in NAMES:
    del sys.modules[name]
ROWS = read_table(run.TABLE, run.FORMAT)
JUDGED = read_table(second_judge.TABLE, second_judge.FORMAT)


def two_states(seed, slip):
    """Two states in turn, in each an unknown reward or none; 50 atoms, so that the posterior is exact and quick."""
    mdp = FiniteMDP.from_function(
        lambda s, a: [(1.0 - slip, 1 - s), (slip, s)] if a == 0 else [(0.3, 1 - s), (0.7, s)],
        num_states=2,
        num_actions=2,
        discount=0.8,
    )
    features = np.zeros((2, 2, 2))
    features[[0, 1], 0, [0, 1]] = 1.0
    problem = Problem(mdp, LinearFeatures(features, mdp), Discrete(np.random.default_rng(0).normal(size=(50, 2))), 8.0)
    return World("two-states", seed, problem, problem.prior.sample(world_rng("two-states", seed), 1)[0])


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(programme.FAMILIES, "two states", programme.Family(two_states, 8.0))


def cells(count):
    return [("two states", 0.1, "known", programme.NOTHING, number) for number in range(count)]


def without_time(rows):
    return [{name: value for name, value in row.items() if name != "cpu_seconds"} for row in rows]


def test_it_stops_and_resumes_to_the_same_rows(tmp_path, tiny):
    def run_cells(path, run_fn):
        continue_table(
            path, run.FORMAT, run.SETTINGS, programme.COLUMNS, cells(5), run_fn, num_workers=1, report_fn=said.append
        )

    def stopping(*cell):
        if cell[-1] == 3:
            raise KeyboardInterrupt
        return programme.run_problem(*cell)

    said = []
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    run_cells(whole, programme.run_problem)
    with pytest.raises(KeyboardInterrupt):
        run_cells(parts, stopping)
    assert [row["number"] for row in read_table(parts, run.FORMAT)] == [0, 1, 2]
    with parts.open("a") as file:
        file.write('{"family": "two st')  # killed while it wrote
    run_cells(parts, programme.run_problem)
    assert "2 of 5 runs are missing" in said
    assert without_time(read_table(parts, run.FORMAT)) == without_time(read_table(whole, run.FORMAT))


def test_a_refusal_is_a_failure_and_no_certificate(tiny):
    class Refusing(ActiveLearner):
        def certificate(self, **options):
            raise InferenceError("sampling failed")

    refused = programme.run_problem(*cells(1)[0], learner_fn=Refusing)
    assert (refused["is_certified"], refused["error"]) == (False, "sampling failed")
    found = tables.summarise([refused, row(0.0, first=0.0)])
    assert (found.runs, found.failed, found.wrong.total, found.first_wrong.total) == (2, 1, 1, 1)


def test_a_distorted_certificate_is_found_and_an_honest_one_is_not(tiny):
    """The liar says 0.1 and means 0.6."""

    def liar(problem, **options):
        return ActiveLearner(problem, **options | {"delta": 0.6})

    lies = [programme.run_problem(*cell, learner_fn=liar) for cell in cells(20)]
    honest = [programme.run_problem(*cell) for cell in cells(8)]
    found = tables.summarise(lies)
    assert found.is_above and found.is_first_above
    assert found.record()["is_above"] is True
    assert not tables.summarise(honest).is_above
    assert [row["is_certified"] for row in honest] == [True] * 8


def row(regret, *, first=None, is_certified=True, is_doubtful=False, **others):
    return {
        "family": "4x4", "delta": 0.1, "beta": "known", "wrong": programme.NOTHING, "number": 0, "answers": 10,
        "is_certified": is_certified, "regret": regret, "chance": 0.06, "bound": 0.09,
        "first_answers": None if first is None else 5, "first_regret": first, "first_chance": 0.05,
        "is_doubtful": is_doubtful, "log_evidence": 0.0, "cpu_seconds": 2.0, **others,
    }  # fmt: skip


def test_counts_on_rows_made_by_hand():
    """A regret of exactly epsilon is wrong; what was not certified is not counted; doubt takes a wrong one out."""
    rows = [
        row(0.0, first=0.0),
        row(0.1, first=0.3),
        row(0.5, first=0.0, is_doubtful=True),
        row(0.9, is_certified=False),
        row(0.7, is_certified=False, first=0.2, answers=30),
    ]
    found = tables.summarise(rows)
    assert (found.runs, found.delta, found.answers) == (5, 0.1, 14.0)
    assert (found.wrong.hits, found.wrong.total) == (2, 3)
    assert (found.first_wrong.hits, found.first_wrong.total) == (2, 4)
    assert (found.doubted.hits, found.doubted.total) == (1, 5)
    assert (found.silent.hits, found.silent.total) == (1, 3)
    assert found.chance == pytest.approx(0.06)


@pytest.mark.parametrize(("hits", "total"), [(0, 30), (1, 7), (13, 150), (40, 40)])
def test_intervals_are_exact(hits, total):
    found = tables.Share.of([True] * hits + [False] * (total - hits))
    exact = binomtest(hits, total).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high))


def test_the_chance_of_so_many_is_exact():
    assert tables.chance_of(13, [0.07] * 150) == pytest.approx(binom.sf(12, 150, 0.07))
    assert tables.chance_of(2, [0.5, 0.1]) == pytest.approx(0.05)
    assert tables.chance_of(0, [0.3]) == pytest.approx(1.0)


def test_nothing_certified_says_nothing():
    found = tables.summarise([row(0.5, is_certified=False)])
    assert (found.wrong.low, found.wrong.high, found.wrong.share, found.chance) == (0.0, 1.0, None, None)
    assert not found.is_above


def test_only_what_lies_above_delta_is_called_so():
    """20 of 120 are 16.7 %, from 10.5 %: above 0.1. 18 are 15 %, from 9.1 %: they may be chance."""
    for hits, is_above in ((20, True), (18, False)):
        rows = [row(0.5, first=0.0)] * hits + [row(0.0, first=0.0)] * (120 - hits)
        found = tables.by_configuration(rows)
        assert found["4x4", 0.1, "known", programme.NOTHING].is_above is is_above
        words = " ".join(tables.verdict_lines(found, tables.totals(rows)))
        assert ("above delta on 4x4 at 0.1, beta known" in words) is is_above
        assert f"{hits} of 120 confirmed" in words
        assert "on 0 of 1 configurations" in words and "on 1 of 1 configurations" in words  # none is wrong at first


def test_stages_give_each_configuration_a_first_answer_early():
    chosen = list(programme.CONFIGURATIONS.values())
    found = run.cells_of(chosen)
    assert len(found) == len(set(found)) == sum(item.wanted for item in chosen)
    early = found[: sum(round(run.STAGES[0] * item.wanted) for item in chosen)]
    assert {cell[:4] for cell in early} == set(programme.CONFIGURATIONS)


def test_there_are_enough_problems_and_no_two_alike():
    right = [item for item in programme.CONFIGURATIONS.values() if item.wrong == programme.NOTHING]
    assert sum(item.wanted for item in right) >= 1000
    assert {(item.delta, item.beta) for item in right if item.family == "8x8"} == {
        (delta, beta) for delta in (0.1, 0.05) for beta in ("known", "unknown")
    }
    seeds = [(item.family, item.seed(number)) for item in right for number in range(item.wanted)]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("family", programme.FAMILIES)
@pytest.mark.parametrize("beta", ["known", "unknown"])
def test_where_nothing_is_wrong_the_learner_is_told_the_truth(family, beta):
    item = programme.Configuration(family, 0.1, beta, programme.NOTHING, 0)
    world, told = programme.truth_and_told(item, 7)
    assert told.expert == world.problem.expert
    assert world.is_prior_exact
    np.testing.assert_array_equal(told.mdp.rows.probabilities, world.problem.mdp.rows.probabilities)
    np.testing.assert_array_equal(told.prior.sample(np.random.default_rng(0), 2), _draws(world.problem))
    assert (world.expert_parameters.size == 1) == (beta == "unknown")


@pytest.mark.parametrize("wrong", [name for name in programme.WRONGS if name != programme.NOTHING])
def test_one_thing_is_wrong_and_the_truth_is_the_same(wrong):
    settings = programme.WRONGS[wrong]
    right = programme.truth_and_told(programme.Configuration("4x4", 0.1, "known", programme.NOTHING, 0), 7)
    world, told = programme.truth_and_told(programme.Configuration("4x4", 0.1, "known", wrong, 0), 7)
    np.testing.assert_array_equal(world.true_parameters, right[0].true_parameters)
    np.testing.assert_array_equal(world.problem.mdp.terminal, right[0].problem.mdp.terminal)
    np.testing.assert_allclose(_draws(told), settings.prior_factor * _draws(right[1]))
    assert told.beta == 2.0 * settings.beta_factor
    assert (world.problem.expert.beta, world.problem.expert.lapse) == (2.0, settings.lapse)
    true, assumed = (_chance_to_stay(mdp) for mdp in (world.problem.mdp, told.mdp))
    assert (true, assumed) == pytest.approx((1 - 0.8 * settings.true_slip, 1 - 0.8 * settings.told_slip))
    assert settings != programme.Wrong()


def _draws(problem):
    return problem.prior.sample(np.random.default_rng(0), 2)


def _chance_to_stay(mdp):
    """Return the chance to stay of an inner cell whose action is to stay: all but four of five slips."""
    state = next(s for s in (5, 6, 9, 10) if not mdp.terminal[s])
    next_states, chances = mdp.next_states(state, 0)
    return float(chances[next_states == state].sum())


def test_a_graph_has_ends_that_can_be_reached_and_two_ways_or_more():
    for seed in range(20):
        mdp = programme.graph(seed, 0.1).problem.mdp
        assert mdp.terminal.sum() == programme.NUM_ENDS
        assert (mdp.available[~mdp.terminal].sum(axis=1) >= 2).all()


def test_figures_can_be_drawn_and_the_page_is_rewritten_in_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- promise: made by run.py -->\nold\n<!-- end of promise -->\nbetween\n"
        "<!-- degradation: made by run.py -->\n<!-- end of degradation -->\nafter\n"
    )
    rows = [row(0.5, first=0.0), row(0.0, first=0.0), row(0.2, wrong="20 % lapses", is_doubtful=True)]
    for _ in range(2):
        tables.write_all(rows, tmp_path, page)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "\nbetween\n" in text and "old" not in text
    assert text.count("| 4x4 | 0.1 | known |") == 1 and "| 20 % lapses |" in text
    assert json.loads((tmp_path / "summary.json").read_text())["totals"][0]["wrong"]["hits"] == 1
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("promise.png", "wrong-models.png"))


def test_committed_runs_are_those_of_the_programme():
    keys = [tuple(row[name] for name in programme.COLUMNS) for row in ROWS]
    assert len(set(keys)) == len(keys) > 0
    assert set(keys) <= set(run.cells_of(programme.CONFIGURATIONS.values()))


def test_page_and_summary_say_what_the_committed_runs_say():
    single, wrongs, totals = tables.by_configuration(ROWS), tables.by_wrong(ROWS), tables.totals(ROWS)
    text = PAGE.read_text("utf-8")
    assert "\n".join(tables.promise_lines(single, totals)) in text
    assert "\n".join(tables.wrong_lines(wrongs, single)) in text
    record = json.loads((FOLDER / "summary.json").read_text("utf-8"))
    assert len(record["totals"]) == len(totals)
    for stored, one in zip(record["totals"], totals.values(), strict=True):
        found = pd.json_normalize([stored, one.record()])
        # quantiles of the beta distribution are found by iteration, whose end is not that of another SciPy's
        pd.testing.assert_series_equal(found.iloc[0], found.iloc[1], check_names=False, rtol=1e-9, atol=0.0)
    assert len(record["configurations"]) == len(single)


def test_certificates_keep_their_promise():
    """As far as the committed runs go: nowhere is the share of wrong ones above delta beyond chance."""
    for key, one in tables.by_configuration(ROWS).items():
        if key[3] == programme.NOTHING:
            assert not one.is_above, key


def test_the_second_judge_finds_the_exact_chance(monkeypatch):
    monkeypatch.setattr(second_judge, "MAX_SUMMED", 0)
    mdp = two_states(0, 0.1).problem.mdp
    features = np.zeros((2, 2, 2))
    features[[0, 1], 0, [0, 1]] = 1.0
    problem = Problem(mdp, LinearFeatures(features, mdp), Normal(2, 0.0, 1.0), 3.0)
    answers = [Demonstration.annotation(s, a) for s, a in ((0, 0), (1, 1), (1, 0), (0, 0))]
    exact = infer(problem, answers, "enumerate", num_points=2**14)
    for policy in ([0, 0], [0, 1], [1, 0]):
        chance = exact.mean(failures_of(exact, policy, programme.EPSILON, "initial").is_failing)
        found = second_judge.judged_again(problem, answers, np.array(policy), seed=1)
        assert found["judged"] == pytest.approx(chance, abs=5.0 * found["error"] + 0.005)
        assert 0.0 < found["error"] < 0.02 and found["r_hat"] < 1.01


def test_the_second_judge_agrees_that_the_promise_is_kept():
    """The mean chance to fail is within delta for every configuration, and the page says what the table says."""
    assert len(JUDGED) > 0
    assert "\n".join(second_judge.lines_of(JUDGED)) in PAGE.read_text("utf-8")
    found = {}
    for row in JUDGED:
        if row["is_certified"]:
            found.setdefault(tuple(row[name] for name in programme.COLUMNS[:-1]), []).append(row["judged"])
    for key, chances in found.items():
        assert np.mean(chances) <= key[1], key
