"""A process that forks children on demand: each answers questions of a study in a loop until it is killed.

Forking after everything is imported and compiled makes a child cheap. Commands come by lines on standard input:
"start STUDY ACKNOWLEDGED COUNT" forks a child and prints its number; COUNT 0 means for ever. "wait" waits until some
child has ended, and prints its status.
"""

import os
import sys
import tempfile
from pathlib import Path

from study.tiny import SETTINGS, answer_one, tiny_problem

from journeyman.study import Study


def warm_up():
    with tempfile.TemporaryDirectory() as folder:
        with Study.create(Path(folder) / "warm.study", tiny_problem(), num_threads=1, **SETTINGS) as study:
            for _ in range(8):
                answer_one(study)
        with Study.open(Path(folder) / "warm.study", num_threads=1) as study:
            answer_one(study)


def work(path, acknowledged, count):
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


def main():
    warm_up()
    print("ready", flush=True)
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "wait":
            print(os.wait()[1], flush=True)
            continue
        child = os.fork()
        if child == 0:
            try:
                work(arguments[0], arguments[1], int(arguments[2]))
            except BaseException as error:  # a forked child must never return into the parent's loop
                print(f"child failed: {error!r}", file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main()
