"""Sweeps: experiment grids that resume after anything, on one machine or a cluster."""

from journeyman.experiment.cell import Cell, Choice, QueryKind
from journeyman.experiment.metrics import METRICS, Metric
from journeyman.experiment.overview import CellStatus, sweep_status, sweep_table
from journeyman.experiment.runner import SweepReport, run_sweep
from journeyman.experiment.spec import Sweep
from journeyman.experiment.spec_file import load_sweep, sweep_from_toml

__all__ = [
    "METRICS",
    "Cell",
    "CellStatus",
    "Choice",
    "Metric",
    "QueryKind",
    "Sweep",
    "SweepReport",
    "load_sweep",
    "run_sweep",
    "sweep_from_toml",
    "sweep_status",
    "sweep_table",
]
