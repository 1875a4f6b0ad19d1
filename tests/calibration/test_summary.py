"""The small version of the calibration programme: exact inference passes, a wrong beta is found."""

import json

import numpy as np
import pytest
from calibration.problems import choice_problem, normal_prior

from journeyman.calibration import (
    CalibrationSpec,
    Replication,
    load_run,
    run_calibration,
    summarise,
    summarise_run,
    summary_record,
)
from journeyman.errors import InputError

NAMES = ("log likelihood", "V*(rho)", "regret", "first", "second")
EXACT = {"problem": choice_problem(), "method": "enumerate", "num_demonstrations": 20}
NUM_REPLICATIONS = 200


@pytest.fixture(scope="module")
def exact():
    return summarise(run_calibration(CalibrationSpec(**EXACT), NUM_REPLICATIONS), NAMES, 99)


def test_exact_inference_is_calibrated(exact):
    assert exact.is_calibrated
    assert exact.p_value >= 0.01
    assert exact.num_replications == NUM_REPLICATIONS
    assert exact.num_failed == exact.num_warned == 0
    for part in exact.parameter_coverage:  # 4.5 standard errors
        assert abs(part.share - part.chance) < 4.5 * np.sqrt(part.chance * (1 - part.chance) / NUM_REPLICATIONS)


@pytest.mark.parametrize("factor", [3.0, pytest.param(1 / 3, marks=pytest.mark.slow)])
def test_a_wrong_beta_is_found(factor):
    spec = CalibrationSpec(**EXACT, assumed_beta_factor=factor)
    summary = summarise(run_calibration(spec, NUM_REPLICATIONS), NAMES, 99)
    assert not summary.is_calibrated
    assert summary.p_value < 1e-4
    assert summary.worst.name == "log likelihood"


def test_a_net_over_a_continuous_prior_is_calibrated():
    spec = CalibrationSpec(
        problem=choice_problem(normal_prior()), method="enumerate", method_options={"num_points": 1024}
    )
    assert summarise(run_calibration(spec, 100), NAMES, 99).is_calibrated


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "options"),
    [("smc", {}), ("policywalk", {"sampler": "hmc", "num_warmup": 200, "num_draws": 250})],
    ids=["smc", "policywalk"],
)
def test_samplers_are_calibrated_on_the_jail(method, options):
    spec = CalibrationSpec(world="jail", method=method, method_options=options, seed=2)
    names = (*NAMES[:3], "mud", "water", "lava")
    assert summarise(run_calibration(spec, 150), names, 99).is_calibrated


def made(ranks, **changes):
    """Return replications with the same rank for every quantity, and what follows from it."""
    fields = {"effective_draws": 500.0, "seconds": 1.0} | changes
    return [Replication(i, (rank,) * 5, ((rank + 0.5) / 100,) * 5, **fields) for i, rank in enumerate(ranks)]


def test_numbers_of_uniform_ranks():
    """Each of 0..99 five times: nothing is more uniform."""
    summary = summarise(made(list(range(100)) * 5), NAMES, 99)
    assert summary.p_value == summary.chi_square_p == summary.ecdf_p == 1.0
    assert [item.name for item in summary.quantities] == list(NAMES)
    assert summary.worst.mean_rank == 0.5
    shares = [part.share for part in summary.parameter_coverage]  # levels 0.005, 0.015, ...: to a hundredth
    assert shares == pytest.approx([0.5, 0.8, 0.95], abs=0.011)
    assert (summary.mean_seconds, summary.median_effective_draws, summary.num_short) == (1.0, 500.0, 0)


def test_bonferroni_and_the_worst_quantity():
    rng = np.random.default_rng(0)
    replications = [
        Replication(i, (*rng.integers(0, 100, 4), int(100 * rng.random() ** 1.3)), (0.5,) * 5, 200.0, 1.0)
        for i in range(500)
    ]
    summary = summarise(replications, NAMES, 99)
    assert summary.worst.name == "second"
    assert summary.chi_square_p == pytest.approx(5 * min(item.chi_square_p for item in summary.quantities))
    assert summary.p_value == pytest.approx(2 * min(summary.chi_square_p, summary.ecdf_p))
    assert not summary.is_calibrated


def test_failures_short_chains_and_warnings_are_counted():
    failed = Replication(1000, (), (), 0.0, 1.0, error="it broke")
    warned = made([5], warnings=("means are noisy",), effective_draws=50.0)
    summary = summarise([*made(range(100)), *warned, failed], NAMES, 99)
    assert (summary.num_replications, summary.num_failed, summary.num_warned, summary.num_short) == (101, 1, 1, 1)
    assert not summary.is_calibrated


def test_nothing_to_summarise_is_said():
    with pytest.raises(InputError, match="got none: it broke"):
        summarise([Replication(0, (), (), 0.0, 1.0, error="it broke")], NAMES, 99)
    with pytest.raises(InputError, match="got none: there is none"):
        summarise([], NAMES, 99)
    with pytest.raises(InputError, match="names must be one per quantity"):
        summarise(made([1, 2]), NAMES[:2], 99)


def test_record_is_json_and_a_file_gives_the_same(tmp_path):
    spec = CalibrationSpec(**EXACT)
    done = run_calibration(spec, 30, tmp_path / "run.jsonl")
    record = summary_record(summarise(done, NAMES, 99))
    assert record == summary_record(summarise_run(load_run(tmp_path / "run.jsonl")))
    assert json.loads(json.dumps(record, allow_nan=False)) == json.loads(json.dumps(record))
    assert [item["name"] for item in record["quantities"]] == list(NAMES)
    assert record["quantities"][0]["coverage"][2]["chance"] == 0.95
