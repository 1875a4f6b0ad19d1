"""A process that forks others on demand, each of which runs a sweep until it is done, interrupted or killed.

Forking after everything is imported and loaded makes one cheap. Commands come as JSON by lines on standard input:

    {"run": {"out": ..., "log": ..., "changes": {...}, "options": {...}, ...}}    prints the number of the new process
    {"wait": number}                                                             prints how it ended

A process writes what it has to say to its log, last its report as JSON. It ends with 0 if the sweep is complete, 3 if
not, 1 after an error of ours, 130 after an interruption. It is the leader of a group of its own.
"""

import json
import os
import resource
import signal
import sys
from dataclasses import asdict

import pandas
import pyarrow.compute
import pyarrow.parquet
from experiment.small import tiny_sweep

from journeyman.errors import JourneymanError
from journeyman.experiment import run_sweep
from journeyman.experiment.cell_run import Checkpoint, Job, advance


def load_everything():
    """Load compiled code; without threads, which a fork would lose."""
    assert pandas and pyarrow.parquet and pyarrow.compute
    sweep = tiny_sweep()
    for cell in sweep.cells():
        advance(Job(cell, 2, sweep.metrics), Checkpoint())


def run(out, log, changes, options, max_file_bytes=None, connect_seconds=None):
    """Run a sweep, and return the exit code."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    if max_file_bytes:  # as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
    if connect_seconds:
        from journeyman.storage import dask_cluster

        dask_cluster.CONNECT_SECONDS = connect_seconds
    try:
        report = run_sweep(tiny_sweep(**changes), out, **options)
    except KeyboardInterrupt:
        return 130
    except JourneymanError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return 1
    print(json.dumps(asdict(report)), flush=True)
    return 0 if report.is_complete else 3


def main():
    load_everything()
    print("ready", flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if "wait" in command:
            print(os.waitstatus_to_exitcode(os.waitpid(command["wait"], 0)[1]), flush=True)
            continue
        child = os.fork()
        if child == 0:
            try:
                code = run(**command["run"])
            except BaseException as error:  # a forked child must never return into the parent's loop
                print(f"unexpected: {error!r}", file=sys.stderr, flush=True)
                code = 99
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        print(child, flush=True)


if __name__ == "__main__":
    main()
