"""Answers questions of a study in a loop, in a process that was forked (see faults/forked.py), until it is killed."""

import os
import tempfile
from pathlib import Path

from study.tiny import SETTINGS, answer_one, tiny_problem

from journeyman.study import Study


def prepare():
    """Load compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        with Study.create(Path(folder) / "warm.study", tiny_problem(), num_threads=1, **SETTINGS) as study:
            for _ in range(8):
                answer_one(study)
        with Study.open(Path(folder) / "warm.study", num_threads=1) as study:
            answer_one(study)


def run(path, acknowledged, count=0):
    """Answer so many questions, 0 for as long as it lives, and write down which of them were acknowledged."""
    log = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    done = 0
    with Study.open(path, num_threads=1) as study:
        while not count or done < count:
            try:
                query = answer_one(study)
            except ValueError:  # another process was quicker with that question
                continue
            os.write(log, f"{query}\n".encode())
            done += 1
    return 0
