"""Statistics of sweeps: pure functions of the tidy table of results (extra `tables`)."""

from journeyman.experiment.statistics.curves import curves, entropy_column, normalised_regret, step_groups
from journeyman.experiment.statistics.paired import paired_differences
from journeyman.experiment.statistics.queries import mean_overlap, query_counts, query_overlap
from journeyman.experiment.statistics.steps_to import median_steps, share_reached, steps_to
from journeyman.experiment.statistics.table import common_instances, method_names
from journeyman.experiment.statistics.timing import core_hours, core_hours_by, seconds_per_step

__all__ = [
    "common_instances",
    "core_hours",
    "core_hours_by",
    "curves",
    "entropy_column",
    "mean_overlap",
    "median_steps",
    "method_names",
    "normalised_regret",
    "paired_differences",
    "query_counts",
    "query_overlap",
    "seconds_per_step",
    "share_reached",
    "step_groups",
    "steps_to",
]
