"""Simulation-based calibration: whether a posterior is right on average over its own prior.

Draw a truth from the prior and answers from its expert, infer, and see where the truth lies among posterior draws. Over
many replications its rank must be uniform (Talts et al. 2018), for every quantity. This holds only where the dynamics
do not tell about the reward: use worlds with `terminals="independent"`, or a problem of your own.

    spec = CalibrationSpec(problem=problem, method="smc", num_demonstrations=20)
    replications = run_calibration(spec, 500, "mine.jsonl", num_workers=2, progress=True)   # run again to resume
    summary = summarise_run(load_run("mine.jsonl"))
    summary.is_calibrated, summary.p_value, summary.worst.name
"""

from journeyman.calibration.replication import Replication, replicate
from journeyman.calibration.run import CalibrationRun, load_run, run_calibration
from journeyman.calibration.spec import CalibrationSpec
from journeyman.calibration.summary import (
    CalibrationSummary,
    Coverage,
    QuantitySummary,
    coverage,
    exact_interval,
    pooled_coverage,
    summarise,
    summarise_run,
    summary_record,
)
from journeyman.calibration.uniformity import Band, chi_square_p_value, ecdf_band, ecdf_difference, ecdf_p_value

__all__ = [
    "Band",
    "CalibrationRun",
    "CalibrationSpec",
    "CalibrationSummary",
    "Coverage",
    "QuantitySummary",
    "Replication",
    "chi_square_p_value",
    "coverage",
    "ecdf_band",
    "ecdf_difference",
    "ecdf_p_value",
    "exact_interval",
    "load_run",
    "pooled_coverage",
    "replicate",
    "run_calibration",
    "summarise",
    "summarise_run",
    "summary_record",
]
