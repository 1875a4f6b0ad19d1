"""How quickly a study with many answers opens again, beside computing everything anew.

    python bench/reopen.py [--quick]

The study is on random-10x10 with the usual number of particles. Of 500 demonstrations, 400 are attached at once and 100
one by one. "reopen" is the time from `Study.open` until the posterior is there, from a snapshot; "replay" is the same
without one. The last line is JSON; its "ratio" is replay / reopen.
"""

import argparse
import json
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from journeyman import Study, make_world


def opened(path: Path) -> tuple[float, np.ndarray]:
    """Return the seconds until the posterior is there, and its samples."""
    begin = time.perf_counter()
    with Study.open(path) as study:
        theta = study.posterior().theta
        return time.perf_counter() - begin, theta


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="40 and 10 demonstrations instead")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    num_single = 10 if options.quick else 100
    num_answers = 5 * num_single
    world = make_world("random-10x10", 3)
    states = np.random.default_rng(0).choice(np.flatnonzero(world.problem.queryable), num_answers)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.study"
        with Study.create(path, world.problem, seed=1) as study:
            answers = world.expert.answers(states)
            study.attach(answers[num_single:])
            begin = time.perf_counter()
            for answer in answers[:num_single]:
                study.attach(answer)
            told = (time.perf_counter() - begin) / num_single
        replay, expected = opened(path)  # closing keeps a snapshot
        reopen = []
        for _ in range(options.repeats):
            seconds, theta = opened(path)
            assert np.array_equal(theta, expected)
            reopen.append(seconds)
        with closing(sqlite3.connect(path)) as connection:
            (num_events,) = connection.execute("SELECT count(*) FROM events").fetchone()
        size = path.stat().st_size / 1e6
    median = float(np.median(reopen))
    print(f"{num_answers} demonstrations in {num_events} events, {size:.1f} MB")
    print(f"store one answer   {1000 * told:8.1f} ms")
    print(f"replay everything  {replay:8.2f} s")
    print(f"reopen             {median:8.2f} s (median of {options.repeats})")
    record = {
        "num_demonstrations": num_answers,
        "store_seconds": told,
        "replay_seconds": replay,
        "reopen_seconds": median,
    }
    print(json.dumps(record | {"ratio": replay / median}))


if __name__ == "__main__":
    main()
