"""Runs a sweep in a process that was forked (see faults/forked.py) until it is done, interrupted or killed.

It writes what it has to say to its log, last its report as JSON. It ends with 0 if the sweep is complete, 3 if not, 1
after an error of ours, 130 after an interruption.
"""

import json
import resource
from dataclasses import asdict

import pandas
import pyarrow.compute
import pyarrow.parquet
from experiment.small import tiny_sweep

from journeyman.errors import JourneymanError
from journeyman.experiment import run_sweep
from journeyman.experiment.cell_run import Checkpoint, Job, advance


def prepare():
    """Load compiled code; without threads, which a fork would lose."""
    assert pandas and pyarrow.parquet and pyarrow.compute
    sweep = tiny_sweep()
    for cell in sweep.cells():
        advance(Job(cell, 2, sweep.metrics), Checkpoint())


def run(out, changes, options, max_file_bytes=None, connect_seconds=None):
    """Run a sweep, and return the exit code."""
    if max_file_bytes:  # as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
    if connect_seconds:
        from journeyman.storage import dask_cluster

        dask_cluster.CONNECT_SECONDS = connect_seconds
    try:
        report = run_sweep(tiny_sweep(**changes), out, **options)
    except JourneymanError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return 1
    print(json.dumps(asdict(report)), flush=True)
    return 0 if report.is_complete else 3
