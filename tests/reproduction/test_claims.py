"""The generator of docs/reproduction: verdicts by stated rules, numbers that can be traced, pages that are whole."""

import re
import string
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiment.statistics.made_tables import by_hand, made_table

from reproduction.pages import (
    advice,
    advice_page,
    belief_check,
    certificate_check,
    claim,
    claims_appendix,
    claims_calibration,
    claims_cost,
    comparing,
    figures,
    forms,
    machine,
    numbers,
    reasons,
    replay_check,
    sources,
    steps,
)
from reproduction.pages.claims_calibration import calibration_claim
from reproduction.pages.claims_cost import core_hours, cost_claim
from reproduction.pages.claims_forms import FORMS, forms_claim
from reproduction.pages.claims_goals import effective_states, objectives_claim, stalling_claim
from reproduction.pages.claims_jail import jail_claim, jail_state
from reproduction.pages.claims_page import anchor, claims_page, named_numbers, quantity_table, verdict_table
from reproduction.pages.claims_theory import bounds_claim, failure_modes_claim
from reproduction.pages.claims_two_starts import LIMITS, two_starts_claim
from reproduction.pages.claims_uniform import annotations_claim, trajectories_claim
from reproduction.pages.inference_check import compared_frame, inference_section
from reproduction.pages.readme_page import readme_page
from reproduction.timing_table import this_machine

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "docs" / "reproduction"
HOLDS, FAILS, UNDECIDED, NO_DATA = claim.Outcome
PAPER = ("random", "action entropy", "policy entropy", "ActiveVaR", "Reward-EIG", "PAC-EIG", "nuPAC-EIG")
NUM_STATES = {"jail": 36, "random-10x10": 100, "random-8x8": 64}


def experiment(name, methods, num_seeds=6, num_steps=150, inference="smc"):
    """Return made-up results in the shape of one of the paper's experiments."""
    world = "random-8x8" if name.startswith("random-8x8") else name
    query = {"jail": "trajectory-20", "random-8x8-trajectories": "trajectory-5"}.get(name, "state")
    table = made_table(
        world=world,
        world_name=world,
        world_options="{}",
        query=query,
        inference=inference,
        methods=methods,
        num_seeds=num_seeds,
        num_steps=num_steps,
        num_states=NUM_STATES[world],
        has_evidence=inference == "smc",
    )
    return sources.with_normalised_regret(table.assign(cpu_seconds=0.5))


def only(name, table, **others):
    return sources.Sources({name: table}, others.get("chains", {}), others.get("calibration", []))


def outcomes(found):
    return [part.outcome for part in found.parts]


# The verdict.


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ([HOLDS, HOLDS], "reproduced"),
        ([HOLDS, FAILS], "partly reproduced"),
        ([HOLDS, UNDECIDED], "partly reproduced"),
        ([FAILS, UNDECIDED], "not reproduced"),
        ([HOLDS, NO_DATA], "open"),
    ],
)
def test_verdict_follows_from_the_outcomes(given, verdict):
    parts = tuple(claim.Part("", "", "", outcome) for outcome in given)
    assert claim.Claim(1, "", "", parts).verdict == verdict


def test_what_we_made_up_is_consistent_at_most():
    for given, words in (([HOLDS], "consistent"), ([HOLDS, FAILS], "partly consistent"), ([NO_DATA], "open")):
        parts = tuple(claim.Part("", "", "", outcome) for outcome in given)
        assert claim.Claim(11, "", "", parts, is_circular=True).verdict == words


def test_the_verdict_names_the_form_that_was_run_and_judges_the_printed_one_apart():
    part, other = (claim.Part("", "", "", outcome) for outcome in (HOLDS, FAILS))
    printed = claim.Printed("the joint form", (other,), "6 seeds")
    found = claim.Claim(2, "", "", (part,), form="the local form", printed=printed)
    assert found.verdict == "reproduced"
    assert found.verdict_words == (
        "**reproduced** with the local form; **not reproduced** with the joint form: 6 seeds"
    )
    table = verdict_table([found]).frame
    assert table["verdict"].tolist() == ["reproduced", "not reproduced"]


def test_seeds_in_words():
    assert claim.Claim(1, "", "", (), seeds={"a": 16}).is_complete
    found = claim.Claim(1, "", "", (), seeds={"a": 16, "b": 3})
    assert not found.is_complete
    assert found.seeds_words == "a 16, b 3 of 16"


# Comparisons. Ten instances; the mean difference of a method is `shift`, its standard deviation about `noise`.


def shifted(shift, noise, num_seeds=10):
    signs = np.resize([1.0, -1.0], num_seeds)
    cells = {}
    for seed, sign in enumerate(signs):
        for method, level in (("random", 8.0), ("Reward-EIG", 4.0), ("other", 4.0 + shift + noise * sign)):
            cells[method, seed] = [level] * 4
    return by_hand("entropy_evidence", cells)


def test_margin_is_a_quarter_of_the_gain_over_what_should_be_beaten():
    table = shifted(0, 0)
    assert comparing.margin_of(table, comparing.ENTROPY) == pytest.approx(1.0)
    more = table[table["method"] == "random"].assign(method="action entropy", entropy_evidence=16.0)
    both = pd.concat([table, more], ignore_index=True)
    assert comparing.margin_of(both, comparing.ENTROPY) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("shift", "noise", "better", "similar", "behind"),
    [
        (-2.0, 0.5, HOLDS, FAILS, HOLDS),  # t interval of half-width 2.26 * 0.53 / sqrt(10) = 0.38
        (2.0, 0.5, FAILS, FAILS, FAILS),
        (0.0, 0.5, UNDECIDED, HOLDS, HOLDS),
        (0.0, 3.0, UNDECIDED, UNDECIDED, UNDECIDED),  # half-width 2.26
        (0.5, 0.5, FAILS, HOLDS, HOLDS),
        (-1.0, 0.5, HOLDS, UNDECIDED, HOLDS),
    ],
)
def test_better_alike_and_not_behind(shift, noise, better, similar, behind):
    table = shifted(shift, noise)
    assert comparing.better_than("", table, comparing.ENTROPY, "other", ["Reward-EIG"]).outcome is better
    assert comparing.alike("", table, comparing.ENTROPY, "other", "Reward-EIG").outcome is similar
    assert comparing.not_behind("", table, comparing.ENTROPY, "other", "Reward-EIG").outcome is behind


def test_equivalence_against_known_answers():
    """Four values with mean 1 and standard error 1: t is 2 and -4 for a margin of 3, with 3 degrees of freedom."""
    values = np.array([1.0, 1.0, 1.0, 1.0]) + np.sqrt(3.0) * np.array([1.0, -1.0, 1.0, -1.0])
    # P[T_3 > t] = 1/2 - (atan(x) + x / (1 + x^2)) / pi with x = t / sqrt(3).
    x = 2.0 / np.sqrt(3.0)
    assert comparing.equivalence_p(values, 3.0) == pytest.approx(0.5 - (np.arctan(x) + x / (1 + x**2)) / np.pi)
    assert comparing.equivalence_p(values, 1.0) == pytest.approx(0.5)
    assert comparing.equivalence_p(-values, 3.0) == pytest.approx(comparing.equivalence_p(values, 3.0))
    assert comparing.equivalence_p(np.array([0.2, 0.2]), 0.3) == 0.0
    assert np.isnan(comparing.equivalence_p(values[:1], 3.0))


def test_two_seeds_do_not_make_an_equivalence():
    """Both differ by nothing on average, and two seeds by a tenth of it each: far from shown."""
    assert comparing.equivalence_p(np.array([0.04, -0.04]), 0.05) > 0.1


def test_few_instances_decide_nothing():
    table = shifted(-2.0, 0.1, num_seeds=5)
    assert comparing.better_than("", table, comparing.ENTROPY, "other", ["Reward-EIG"]).outcome is NO_DATA
    assert comparing.better_than("", None, comparing.ENTROPY, "other", ["Reward-EIG"]).outcome is NO_DATA


# Steps.


def test_goals_by_hand():
    table = by_hand("true_regret", {("a", 0): [5, 0, 0, 0], ("a", 1): [5, 0, 3, 0]})
    row = steps.goal_rows(table, ["a"], 1, {"zero": ("true_regret", 0.0)}).iloc[0]
    assert (row["for_good"], row["at_least_once"], row["n"]) == (1, 2, 2)
    assert (row["median_step"], row["latest_step"]) == (2, 3)


def test_limits_allow_for_single_precision():
    tenth = np.float32(0.1)
    assert float(tenth) > 0.1  # why it is needed
    assert steps.at_most(pd.Series([tenth], dtype="float32").astype(float), 0.1).all()
    assert not steps.at_most(pd.Series([0.1001]), 0.1).any()
    assert steps.at_most(pd.Series([0.0, 1e-9]), 0.0).tolist() == [True, False]


def test_change_between_steps():
    table = by_hand("x", {("a", 0): [5, 1, 2], ("a", 1): [7, 1, 4]})
    assert steps.change(table, "x", "a", 0, 2).tolist() == [-3, -3]
    assert steps.mean_row(steps.at_step(table, "x", "a", 9))["n"] == 0


def test_effective_number_of_states():
    table = by_hand("state", {("a", 0): [pd.NA, 9, 1, 2, 1, 2], ("a", 1): [pd.NA, 9, 1, 1, 1, 1]})
    table["state"] = table["state"].astype("Int64")
    np.testing.assert_allclose(effective_states(table, "a", after=1), [2.0, 1.0])


# Claims.


def made_jail():
    """Results that bear out all of claim 1: regret is gone after two steps, but for action entropy."""
    table = experiment("jail", ("random", "action entropy", "Reward-EIG", "PAC-EIG"))
    is_stuck = table["method"] == "action entropy"
    is_eig = table["method"].isin(["Reward-EIG", "PAC-EIG"])
    entropy = np.where(is_stuck, 14.0, np.where(is_eig, 14.0 - 0.05 * table["step"], 14.0 - 0.02 * table["step"]))
    regret = np.where(is_stuck, 7.0, np.where(table["step"] >= 2, 0.0, 3.0))
    states = table["state"].mask(is_stuck & (table["step"] >= 1), jail_state())
    return table.assign(entropy_evidence=entropy, true_regret=regret, state=states)


def test_jail_claim_on_results_that_bear_it_out():
    found = jail_claim(only("jail", made_jail()))
    assert found.verdict == "reproduced"
    assert found.quantities["jail_share"] == 1.0
    assert len(found.parts) == 7


@pytest.mark.parametrize(
    ("column", "method", "step", "value", "part"),
    [
        ("state", "action entropy", 7, 3, 0),
        ("entropy_evidence", "action entropy", 150, 13.0, 1),
        ("true_regret", "Reward-EIG", 11, 0.5, 2),
        ("true_regret", "PAC-EIG", 40, 0.5, 3),
        ("true_regret", "Reward-EIG", 140, 0.5, 4),
        ("true_regret", "PAC-EIG", 150, 0.5, 5),
    ],
)
def test_one_number_is_enough_to_fail_a_part_of_the_jail_claim(column, method, step, value, part):
    table = made_jail()
    table.loc[(table["method"] == method) & (table["step"] == step) & (table["seed"] == 2), column] = value
    found = jail_claim(only("jail", table))
    assert found.parts[part].outcome is FAILS
    assert found.verdict == "partly reproduced"


def sure(table):
    """Return results in which nuPAC-EIG believes that the chance of regret is 0.05 at all times."""
    return table.assign(failure_chance=table["failure_chance"].mask(table["method"] == "nuPAC-EIG", 0.05))


def test_two_starts_claim_needs_every_instance_without_regret():
    table = sure(experiment("random-10x10", PAPER))
    found = two_starts_claim(only("random-10x10", table))
    assert outcomes(found)[:6] == [HOLDS] * 6
    assert found.printed is None
    at = (table["method"] == "nuPAC-EIG") & (table["step"] == 50) & (table["seed"] == 1)
    found = two_starts_claim(only("random-10x10", table.assign(true_regret=table["true_regret"].mask(at, 0.2))))
    assert outcomes(found)[:4] == [FAILS, FAILS, HOLDS, HOLDS]
    assert "5 of 6" in found.parts[0].measured
    counts = found.tables[1].frame.set_index(["method", "step"]).loc[("nuPAC-EIG", 50)]
    assert [counts[f"at_most_{limit:g}"] for limit in LIMITS] == [5, 5, 5, 5, 6]


def test_a_policy_that_is_sure_on_average_need_not_stay_so_everywhere():
    table = sure(experiment("random-10x10", PAPER))
    at = (table["method"] == "nuPAC-EIG") & (table["step"] == 100) & (table["seed"] == 1)
    table = table.assign(failure_chance=table["failure_chance"].mask(at, 0.2))
    parts = two_starts_claim(only("random-10x10", table)).parts
    assert (parts[2].outcome, parts[3].outcome) == (HOLDS, FAILS)
    assert parts[3].measured.startswith("5 of 6; at step 50 itself 6 of 6")


def test_printed_forms_are_judged_on_what_there_is():
    shown = (*PAPER, forms.PRINTED, forms.PRINTED_NU)
    short = experiment("random-10x10", shown, num_steps=50)
    whole = experiment("random-10x10", PAPER)
    others = short[short["method"].isin([forms.PRINTED, forms.PRINTED_NU])]
    given = only("random-10x10", pd.concat([whole, others.assign(cell=others["cell"] + "-short")], ignore_index=True))
    found = two_starts_claim(given)
    assert found.printed.extent == "random-10x10 6 seeds of 50 answers"
    assert len(found.printed.parts) == len(found.parts)
    assert "nuPAC-EIG joint (0, 1) has zero true regret" in found.printed.parts[0].statement
    assert set(found.tables[-1].frame["step"]) == {50, 150}


def test_stalling_claim_sees_a_plateau():
    table = experiment("random-8x8", PAPER)
    rest = stalling_claim(only("random-8x8", table))
    assert rest.parts[0].outcome is FAILS
    is_late = (table["method"] == "action entropy") & (table["step"] > 50)
    stuck = table.assign(
        entropy_evidence=table["entropy_evidence"].mask(is_late, 13.0),
        state=table["state"].mask(is_late, 5),
        normalised_regret=table["normalised_regret"].mask(is_late | (is_late.shift(-1, fill_value=False)), 0.5),
    )
    at_break = (stuck["method"] == "action entropy") & (stuck["step"] == 50)
    stuck = stuck.assign(entropy_evidence=stuck["entropy_evidence"].mask(at_break, 13.0))
    assert outcomes(stalling_claim(only("random-8x8", stuck))) == [HOLDS, HOLDS, HOLDS]


def test_cost_claim_counts_the_choices_that_take_too_long():
    table = experiment("random-8x8", PAPER)
    assert cost_claim(only("random-8x8", table)).verdict == "reproduced"
    slow = table["method"] == "PAC-EIG"
    table = table.assign(acquisition_seconds=table["acquisition_seconds"].mask(slow, 0.4))
    assert outcomes(cost_claim(only("random-8x8", table))) == [FAILS, FAILS, HOLDS]
    hours = core_hours(only("random-8x8", table))
    assert hours["core_hours"].sum() == pytest.approx(7 * 6 * 151 * 0.5 / 3600)


def calibration_record(method, role, p, share, world="8x8"):
    coverage = [{"chance": 0.95, "share": share, "low": share - 0.01, "high": share + 0.01}]
    names = {"world": world, "method": method, "role": role, "num_replications": 500, "is_calibrated": p >= 0.01}
    return names | {"p_value": p, "parameter_coverage": coverage}


def test_calibration_claim():
    records = [calibration_record("variational", "baseline", 0.0, 0.84), calibration_record("smc", "method", 0.4, 0.95)]
    given = sources.Sources({}, {}, records, variational=learned(0.5))
    assert calibration_claim(given).verdict == "reproduced"
    assert calibration_claim(sources.Sources({}, {}, records)).verdict == "open"
    records[1] = calibration_record("smc", "method", 0.001, 0.95)
    assert calibration_claim(given).verdict == "partly reproduced"
    assert calibration_claim(sources.Sources({}, {}, [])).verdict == "open"


def learned(chance, num_seeds=6):
    """Return runs in which regret is above 0.1 at every other step, and variational inference gives it a chance."""
    parts = [
        experiment("random-8x8", ("random", "Reward-EIG"), num_seeds, 20, name).assign(
            inference=name, failure_chance=believed
        )
        for name, believed in (("smc", 0.5), ("variational, 0.5", chance - 0.3), ("variational, 0.1", 0.9))
    ]
    table = pd.concat([part.assign(cell=part["cell"] + part["inference"]) for part in parts], ignore_index=True)
    worse = np.where((table["inference"] == "variational, 0.5") & (table["method"] == "Reward-EIG"), 2.0, 1.0)
    return table.assign(true_regret=np.where(table["step"] % 2 == 0, worse + 0.01 * table["seed"], 0.0))


def test_belief_inside_active_learning_is_compared_with_that_of_smc():
    found = claims_calibration.errors_of_belief(learned(0.5), "variational, 0.5")
    np.testing.assert_allclose(found["is_above"], 0.5)
    np.testing.assert_allclose(found["distance"], 0.3)
    np.testing.assert_allclose(claims_calibration.gain_over_random(learned(0.5), "variational, 0.5"), 0.5)
    np.testing.assert_allclose(claims_calibration.gain_over_random(learned(0.5), "smc"), 0.0)
    records = [calibration_record("variational", "baseline", 0.0, 0.84), calibration_record("smc", "method", 0.4, 0.95)]
    few = sources.Sources({}, {}, records, variational=learned(0.5, num_seeds=3))
    assert calibration_claim(few).parts[3].outcome is NO_DATA
    same = sources.Sources({}, {}, records, variational=learned(0.8))
    assert calibration_claim(same).parts[3].outcome is UNDECIDED
    assert calibration_claim(same).parts[4].outcome is HOLDS


def test_forms_claim_finds_the_form_and_the_overlap():
    shown = [*(form.method for form in FORMS), "Reward-EIG", "ActiveVaR", "random"]
    table = experiment("random-10x10", dict.fromkeys([*shown, *PAPER]))
    asked = table[table["method"] == "Reward-EIG"].set_index(["seed", "step"])["state"]
    same = table["method"] == "PAC-EIG joint"
    copied = [asked[key] for key in zip(table["seed"], table["step"], strict=True)]
    states = table["state"].where(~same, pd.Series(copied, index=table.index, dtype="Int64"))
    found = forms_claim(only("random-10x10", table.assign(state=states)))
    assert found.quantities["forms_PAC-EIG joint_shared_30"] == 1.0
    assert found.quantities["forms_nuPAC-EIG_shared_30"] < 0.7
    assert found.tables[0].frame["method"].tolist() == shown


def test_missing_methods_leave_a_claim_open():
    table = experiment("random-10x10", ("random", "Reward-EIG"))
    given = only("random-10x10", table)
    for make in (jail_claim, two_starts_claim, annotations_claim, trajectories_claim, objectives_claim, forms_claim):
        assert make(given).verdict == "open"
    assert stalling_claim(given).verdict == "open"


def test_cells_that_are_too_short_do_not_count():
    given = only("random-10x10", experiment("random-10x10", PAPER, num_steps=20))
    assert given.complete("random-10x10", PAPER) is None


def test_an_instance_counts_where_all_methods_have_met_it():
    table = experiment("random-10x10", PAPER)
    table = table[(table["method"] != "ActiveVaR") | (table["seed"] < 4)]
    found = only("random-10x10", table).complete("random-10x10", PAPER)
    assert sources.num_instances(found) == 4


# Inference and belief.


def test_inference_is_compared_on_the_same_pairs():
    smc = experiment("jail", ("random", "Reward-EIG"), num_seeds=3)
    chains = experiment("jail", ("random", "Reward-EIG"), num_seeds=2, inference="chains")
    frame = compared_frame(smc, chains.assign(failure_chance=chains["failure_chance"] + 0.25))
    chance = frame[frame["measure"] == "P[regret > 0.1]"]
    assert set(chance["num_pairs"]) == {4}
    # Made-up runs of both are the same numbers, so that the difference is what was added.
    np.testing.assert_allclose(chance["difference"], -0.25)
    text, tables = inference_section(only("jail", smc))
    assert tables == ()
    assert "chains" in text


def test_belief_beside_truth():
    table = experiment("jail", ("random", "action entropy", "Reward-EIG", "PAC-EIG"))
    table = table.assign(failure_chance=0.25, true_regret=np.where(table["seed"] < 3, 1.0, 0.05))
    _, (found,) = belief_check.belief_section(only("jail", table))
    assert set(found.frame["share"]) == {0.5}
    np.testing.assert_allclose(found.frame["mean"], 0.25)


def test_certificates_are_counted_and_those_that_are_false():
    table = experiment("random-8x8", ("random", "Reward-EIG", "nuPAC-EIG"), num_steps=50)
    table = table.assign(certificate_holds=table["seed"] > 1, true_regret=np.where(table["seed"] == 2, 1.0, 0.0))
    given = sources.Sources({}, {}, [], table)
    _, (found,) = belief_check.belief_section(given)
    last = found.frame.iloc[-1]
    assert (last["num_runs"], last["num_certified"], last["num_false"]) == (18, 12, 3)


def test_first_certificates_are_judged_where_they_first_hold():
    table = experiment("jail", ("random", "action entropy", "Reward-EIG", "PAC-EIG"))
    holds = (table["step"] >= 7) & (table["seed"] > 0) & (table["method"] != "random")
    regret = np.where((table["step"] == 7) & (table["seed"] == 3), 0.5, 0.0)
    given = only("jail", table.assign(certificate_holds=holds, true_regret=regret))
    rows = certificate_check.first_frame(given).set_index("method")
    assert rows.loc["random", "num_certified"] == 0
    together = rows.loc["all together"]
    assert (together["num_certified"], together["num_wrong"], together["wrong_seeds"]) == (15, 3, "3")
    assert rows.loc["PAC-EIG", "low"] == pytest.approx(1.0 - 0.975 ** (1 / 5))  # Clopper and Pearson, 1 of 5
    text, tables = certificate_check.certificate_section(given)
    assert "3 of 15 are wrong, on 1 of 5 seeds" in text
    assert [table.name for table in tables] == ["first-certificates"]


def test_both_rules_of_certificates_are_compared_on_the_same_instances():
    def row(rule, seed, answers, regret=0.0):
        return {"world": "jail", "rule": rule, "seed": seed, "answers": answers, "is_certified": answers < 150,
                "regret": regret}  # fmt: skip

    rows = [
        row("0.1.0", 0, 20),
        row("0.1.0", 1, 150),
        row("today", 0, 10, 0.1),
        row("today", 1, 40),
        row("today", 2, 9),
    ]
    found = certificate_check.rule_frame(sources.Sources({}, {}, [], answers=rows)).iloc[0]
    assert (found["n"], found["saved_mean"]) == (2, 60.0)
    assert (found["0.1.0_certified"], found["0.1.0_wrong"]) == (1, 0)
    assert (found["today_certified"], found["today_wrong"]) == (2, 1)


# The appendices.


def test_nearest_neighbours_are_judged_by_what_methods_gain():
    table = experiment("random-10x10", PAPER)
    gain = claims_appendix.error_frame(only("random-10x10", table), "random-10x10")["gain"].iloc[1]
    far, near = (
        table.assign(entropy_knn=table["entropy_evidence"] + error, entropy_gaussian=table["entropy_evidence"] + 0.01)
        for error in (2.0 * gain, 0.5 * gain)
    )
    parts = [claims_appendix.entropy_claim(only("random-10x10", given)).parts for given in (far, near)]
    assert [part[0].outcome for part in parts] == [HOLDS, FAILS]
    assert parts[0][3].outcome is HOLDS
    assert parts[0][1].outcome is NO_DATA  # there is no table of the jail


def test_finer_buckets_tell_no_less():
    (found,) = claims_appendix.finer_scores(1)
    assert 1.0 <= found.ratio < 1.5
    assert found.best_finer >= found.best_pac - 1e-9
    assert claims_appendix.finer_claim([found] * 5).verdict == "open"
    assert claims_appendix.finer_claim([found._replace(mean_finer=1.05 * found.mean_pac)] * 6).verdict == "reproduced"
    less = [found._replace(mean_finer=0.9 * found.mean_pac)] * 6
    assert outcomes(claims_appendix.finer_claim(less)) == [FAILS, HOLDS]


# Advice.


def levels(values, num_seeds=8, noise=0.0):
    """Return results with one level of P[regret > 0.1] per method, and noise that differs between instances."""
    cells = {
        (method, seed): [level + noise * ((seed * (place + 1)) % 3 - 1)] * 151
        for seed in range(num_seeds)
        for place, (method, level) in enumerate(values.items())
    }
    return by_hand("failure_chance", cells)


def test_the_best_function_is_the_one_with_the_lowest_mean_rank():
    table = levels({"random": 0.9, "Reward-EIG": 0.5, "nuPAC-EIG": 0.2})
    found = advice.choice("random-8x8", table, comparing.FAILURE, advice.OVERALL)
    assert found.best == "nuPAC-EIG"
    assert found.ranks == {"nuPAC-EIG": 1.0, "Reward-EIG": 2.0, "random": 3.0}
    assert found.is_clear
    assert advice_page.best_text(found) == "**nuPAC-EIG**"


def test_equal_functions_are_not_told_apart():
    table = levels({"random": 0.9, "Reward-EIG": 0.2, "nuPAC-EIG": 0.2})
    found = advice.choice("random-8x8", table, comparing.FAILURE, 30)
    assert not found.is_clear
    assert len(found.rivals) == 1
    text = advice_page.recommendation({comparing.FAILURE: found}, (comparing.FAILURE,))
    assert "not told apart from" in text
    assert advice_page.best_text(found).endswith("(1)")


def test_no_recommendation_from_few_instances():
    found = advice.choice("x", levels({"random": 0.9, "nuPAC-EIG": 0.2}, num_seeds=5), comparing.FAILURE, 30)
    assert advice_page.best_text(found) == "too few"
    text = advice_page.recommendation({comparing.FAILURE: found}, (comparing.FAILURE,))
    assert "not enough" in text


def test_own_functions_are_judged_against_the_published_one():
    found = comparing.differences(
        levels({"regret_pac": 0.1, "nuPAC-EIG": 0.2}), comparing.FAILURE, ["regret_pac"], "nuPAC-EIG"
    )
    both = [*found, found[0]._replace(measure=comparing.REGRET.words, low=-1.0, high=1.0)]
    words = advice_page.own_words("regret_pac", both)
    assert "is not told apart from it in true regret, but beats it" in words


# Numbers and pages.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (0.03119, "0.0312"), (4.567, "4.57"), (213.4, "213"), (16.0, "16"), (1.5e13, "1.5e+13"),
        (-0.25, "-0.250"), (3e-5, "3.0e-05"), (np.nan, "-"), (np.inf, "infinite"), (0.0004, "0.0004"),
    ],
)  # fmt: skip
def test_numbers_in_short(value, text):
    assert numbers.short(value) == text


def test_a_table_shows_what_its_file_holds(tmp_path):
    frame = pd.DataFrame({"method": ["a|b", "c"], "mean": [0.5, 2.0], "low": [0.25, 1.0], "high": [0.75, 3.0]})
    shown = {"method": "method", "mean (95 %)": numbers.interval_cell("mean", "low", "high")}
    table = numbers.NumberTable("name", "Caption", frame, shown)
    assert r"| a\|b | 0.500 (0.250 to 0.750) |" in table.markdown()
    assert "(numbers/name.csv)" in table.markdown()
    pd.testing.assert_frame_equal(pd.read_csv(table.write(tmp_path)), frame)


def test_steps_in_which_the_process_stood_still_do_not_count_as_slow():
    table = experiment("jail", ("random", "action entropy", "Reward-EIG", "PAC-EIG"))
    stopped = table.assign(acquisition_seconds=table["acquisition_seconds"].where(table.index != table.index[5], 3e3))
    assert claims_cost.num_standing(only("jail", table)) == 0
    assert claims_cost.num_standing(only("jail", stopped)) == 1
    means = claims_cost.step_costs(only("jail", stopped))["acquisition_mean"]
    assert means.max() < 1.0


def test_reasons_say_what_is_not_known():
    numbers_of_7 = {"cost_over": 3.0, "cost_over_trajectories": 2.0, "cost_over_annotations": 1.0}
    assert reasons.reason(7, numbers_of_7) == reasons.REASONS[7].format(**numbers_of_7)
    assert reasons.reason(7, {"cost_over": 3.0}) is None
    assert reasons.reason(99, {}) is None


def made_replay():
    """Return replays of two runs on 10x10: one whose posterior is wrong until it is asked again, one that is right."""
    rows = []
    for cell, regret, chance in (("a", 0.6, 0.01), ("b", 0.05, 0.03)):
        for variant in [*replay_check.VARIANTS, *(["put right", "left out"] if cell == "a" else [])]:
            again = variant == "asked again" and cell == "a"
            rows.append(
                {
                    "experiment": "random-10x10",
                    "cell": cell,
                    "seed": ord(cell),
                    "method": "nuPAC-EIG",
                    "variant": variant,
                    "true_regret": 0.05 if again else regret,
                    "failure_chance": 0.5 if again else 0.4 if variant == "put right" else chance,
                    "num_asked": 1.0,
                    "num_wrong": 1.0,
                    "wrong_chance": 0.004,
                    "worst_state": 90.0,
                    "worst_gap": 1.1,
                }
            )
    return pd.DataFrame(rows)


def test_replays_compare_belief_and_truth_and_name_what_went_wrong():
    frame = replay_check.variant_frame(made_replay()).set_index("variant")
    assert frame.loc["from scratch", "share"] == 0.5
    assert frame.loc["from scratch", "mean"] == pytest.approx(0.5 - 0.02)
    assert frame.loc["asked again", "mean"] == pytest.approx(-0.265)
    assert frame.loc["asked again", "change_mean"] == pytest.approx(-0.745)
    assert frame.loc["chains", "change_mean"] == 0.0
    mistakes = replay_check.mistake_frame(made_replay())
    assert list(mistakes["cell"]) == ["a"]
    assert list(mistakes["failure_chance_asked_again"]) == [0.5]
    assert list(mistakes["failure_chance_put_right"]) == [0.4]
    given = sources.Sources({}, {}, [], replay=made_replay())
    assert replay_check.replay_quantities(given)["mistakes random-10x10"] == 1
    assert "is not the inference" in replay_check.conclusion(frame.reset_index(), "random-10x10")
    assert replay_check.conclusion(frame.reset_index()) == ""


@pytest.fixture(scope="module")
def claims():
    """All claims but that of Figure 1, from made-up results of everything."""
    paper = ("random", "action entropy", "Reward-EIG", "PAC-EIG")
    others = [form.method for form in FORMS if form.method not in PAPER]
    tables = {
        "jail": experiment("jail", (*paper, "nuPAC-EIG")),
        "random-10x10": experiment("random-10x10", (*PAPER, *advice.OURS, *others)),
        "random-8x8": experiment("random-8x8", (*PAPER, "regret_pac")),
        "random-8x8-trajectories": experiment("random-8x8-trajectories", paper),
    }
    records = [calibration_record("variational", "baseline", 0.0, 0.84), calibration_record("smc", "method", 0.4, 0.95)]
    given = sources.Sources(tables, {}, records, replay=made_replay(), variational=learned(0.5))
    made = [
        jail_claim, two_starts_claim, annotations_claim, trajectories_claim, objectives_claim, stalling_claim,
        cost_claim, calibration_claim, forms_claim, bounds_claim, claims_appendix.entropy_claim,
    ]  # fmt: skip
    return given, [*(make(given) for make in made), failure_modes_claim()]


def test_every_number_of_a_reason_is_one_that_a_claim_names(claims):
    known = set(quantity_table(named_numbers(*claims)).frame["name"])
    assert "belief random-8x8 50 excess" in known
    for text in reasons.REASONS.values():
        named = {field for _, field, _, _ in string.Formatter().parse(text) if field}
        assert named <= known | {f"start_{name}" for name in ("corner", "fenced", "n", "rivals")}


def test_every_table_of_the_page_has_a_file_and_every_link_a_heading(claims, tmp_path):
    given, found = claims
    sections = {"Belief and truth": belief_check.belief_section(given), "Blame": replay_check.replay_section(given)}
    page = claims_page(found, sections, named_numbers(given, found))
    files = {table.file for item in found for table in item.tables}
    linked = set(re.findall(r"\((numbers/[^)]+\.csv)\)", page))
    others = ("verdicts", "quantities", "belief-and-truth", "replay", "replay-mistakes")
    assert linked == files | {f"numbers/{name}.csv" for name in others}
    for item in found:
        assert f"(#{anchor(item)})" in page
        assert item.seeds == {} or not item.is_complete
    assert sources.RESUME in page
    assert anchor(found[0]) == "1-jail-trajectories"


def test_all_claims_are_judged_when_everything_is_there(claims):
    verdicts = {item.number: item.verdict for item in claims[1]}
    assert set(verdicts) == {*range(1, 11), 12, 13}
    assert "open" not in verdicts.values()


def test_advice_and_index_are_whole_pages(claims):
    given, found = claims
    some = sources.Sources({name: given.tables[name] for name in ("jail", "random-8x8")}, {}, [])
    page, tables = advice_page.advice_page(some, advice.all_choices(some))
    assert page.count("To learn the policy") == page.count("To learn the reward") == 2
    assert {"advice-budgets", "advice-evidence", "advice-costs"} <= {table.name for table in tables}
    index, _ = readme_page(given, found, {"picture": "What to see."}, this_machine())
    assert "figures/picture.png" in index
    assert sources.RESUME in index


def test_every_figure_has_a_name_of_its_own_and_a_caption(claims, tmp_path):
    drawn = list(figures.pictures(claims[0]))
    names = [picture.name for picture in drawn]
    assert len(set(names)) == len(names)
    assert {
        f"{name}-{kind}" for name in claims[0].tables for kind in ("results", "queries", "certificate", "pairs")
    } <= {*names}
    assert all(picture.caption.startswith("**") for picture in drawn)
    paper = ("random", "action entropy", "Reward-EIG", "PAC-EIG")
    short = experiment("jail", paper, num_seeds=2, num_steps=50, inference="chains")
    both = sources.Sources({"jail": claims[0].tables["jail"]}, {"jail": short}, [])
    (compared,) = (picture for picture in figures.pictures(both) if picture.name == "jail-inference")
    assert "n = 2" in compared.caption
    figures.save(compared.draw(), tmp_path / "inference.png")
    first = next(picture for picture in drawn if picture.name == "jail-results")
    figures.save(first.draw(), tmp_path / "jail.png")
    assert 5_000 < (tmp_path / "jail.png").stat().st_size < 200_000


def test_the_machine_is_written_down_once(tmp_path):
    found = machine.machine_of(tmp_path)
    assert found == this_machine()
    path = tmp_path / "machine.json"
    path.write_text(path.read_text("utf-8").replace(found.system, "another system"), "utf-8")
    assert machine.machine_of(tmp_path).system == "another system"


@pytest.mark.skipif(not (FOLDER / "claims.md").exists(), reason="the pages are not made yet")
@pytest.mark.parametrize("name", ["claims.md", "which-function.md", "README.md"])
def test_committed_pages_point_at_files_that_exist(name):
    text = (FOLDER / name).read_text("utf-8")
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    missing = [target for target in targets if target and not (FOLDER / target).exists()]
    assert not missing
    assert all(path.stat().st_size < 200_000 for path in (FOLDER / "figures").glob("*.png"))
