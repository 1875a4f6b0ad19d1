"""The mutation fuzzer: gives spoilt inputs to every parser, and says what broke.

    python tests/fuzz/harness.py run --inputs 100000 --table docs/trust/fuzz.jsonl
    python tests/fuzz/harness.py show "problem.toml" 0 1234      the input of a finding, and what it does

An input follows from target, seed and index alone. Each is worked on in a process of its target, within SECONDS and
MEMORY; it must give a value or a JourneymanError. Whatever else happens is a finding, the end of the process too.
"""

import argparse
import faulthandler
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from pathlib import Path

TESTS = Path(__file__).parents[1]
SECONDS, MEMORY = 5.0, 4 * 2**30  # of the processor: other programs may be running
GRACE = 60.0  # seconds on the clock until a process that says nothing is ended
NUM_QUICK, NUM_SLOW = 800, 20_000  # inputs of `make test` and of `make test-all`
SHARES = {  # of the inputs, in percent: those that make files of a database take a hundred times as long as others
    "problem.toml": 25, "tables": 25, "demonstrations": 20, "uploads": 12, "stored MDPs": 10, "sweep.toml": 4,
    "checkpoints": 2, "sweep results": 2, "requests": 1.5, "Minari": 1, "studies": 1,
    "commands": 0.6, "sheets": 0.5, "forged studies": 0.4,
}  # fmt: skip


class OutOfTime(BaseException):
    """An input took longer than it may; no parser can take this for its own error."""


def case_of(name, target, seed, index):
    """Return the input of a target with this number."""
    import numpy as np
    from fuzz.mutators import mutated, pick
    from fuzz.targets import SPOILERS

    rng = np.random.default_rng([zlib.crc32(name.encode()), seed, index])
    case = pick(rng, target.cases)
    if name in SPOILERS:
        return SPOILERS[name](rng, case, target.cases)
    names = None if target.names is None else [file for file in case if target.names(file)]
    return mutated(rng, case, target.cases, names)


def outcome(target, folder, case, seconds=None):
    """Return what an input came to: "value", "refused", "stopped" where that is right, or a finding in words."""
    from fuzz.targets import prepared

    from journeyman.errors import JourneymanError

    prepared(folder, case)
    before = os.getcwd()
    os.chdir(folder)

    def stop(*_):
        raise OutOfTime

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds or (1.0 if target.may_take_long else SECONDS))
    try:
        target.run_fn(folder, case)
        return "value"
    except JourneymanError as error:
        return "refused" if str(error).strip() else "finding: an error without a word"
    except OutOfTime:
        return "stopped" if target.may_take_long else f"finding: more than {SECONDS:g} s"
    except BaseException as error:
        places = [
            f"{Path(frame.filename).name}:{frame.lineno}"
            for frame in traceback.extract_tb(error.__traceback__)
            if "journeyman" in frame.filename
        ]
        return f"finding: {type(error).__name__}: {str(error)[:200]} at {' '.join(places[-3:])}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        os.chdir(before)


def work(name, seed, first, last):
    """Work on inputs first..last-1 of a target; prints a line before and after each."""
    from fuzz.targets import TARGETS

    faulthandler.enable()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    target = TARGETS[name]()
    with tempfile.TemporaryDirectory(prefix="journeyman-fuzz-") as folder:
        place = Path(folder) / "case"
        for case in target.cases:  # what is valid must be taken, or all the rest means little; and code gets compiled
            found = outcome(target, place, case, 60.0)
            if found != "value" and not (name in ("commands", "requests", "studies") and "finding" not in found):
                raise SystemExit(f"a valid input of {name} must be read, got {found}: {str(case)[:300]}")
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for index in range(first, last):
            print(json.dumps({"begin": index}), flush=True)
            print(
                json.dumps({"end": index, "is": outcome(target, place, case_of(name, target, seed, index))}), flush=True
            )


def lines_until_silence(process, seconds):
    """Yield lines of a process, and end it if it says nothing for so long."""
    buffer = b""
    while True:
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        if not ready:
            process.kill()
            return
        data = os.read(process.stdout.fileno(), 65536)
        if not data:
            return
        *whole, buffer = (buffer + data).split(b"\n")
        yield from whole


def fuzz(name, seed, first, last):
    """Fuzz one target, in as many processes as it takes; return counts and findings `[(index, words)]`."""
    counts, findings, start = {"value": 0, "refused": 0, "stopped": 0}, [], first
    environment = {
        **os.environ, "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "TERM": "dumb", "NO_COLOR": "1",
        "JOURNEYMAN_THREADS": "1",
    }  # fmt: skip
    while start < last:
        command = [sys.executable, __file__, "work", name, str(seed), str(start), str(last)]
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment)
            begun = done = start - 1
            for line in lines_until_silence(process, GRACE + 120.0 * (begun < start)):
                try:
                    said = json.loads(line)
                except ValueError:
                    continue  # something printed past us
                if not isinstance(said, dict):
                    continue
                if "begin" in said:
                    begun = said["begin"]
                elif "end" in said:
                    done, words = said["end"], said["is"]
                    if words in counts:
                        counts[words] += 1
                    else:
                        findings.append((done, words))
            process.stdout.close()
            process.wait()
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace")
        if done == last - 1:
            break
        if begun < start:
            raise SystemExit(f"fuzzing {name} could not begin: {said[-2000:]}")
        findings.append((begun, f"finding: the process ended ({process.returncode}): {said[-300:]}"))
        start = begun + 1
    return counts, findings


def shares(num_inputs, names=None):
    """Return how many of the inputs each target gets."""
    from fuzz.targets import TARGETS

    chosen = {name: SHARES[name] for name in names or TARGETS}
    total = sum(chosen.values())
    return {name: max(10, round(num_inputs * share / total)) for name, share in chosen.items()}


def run(num_inputs, seed=0, names=None, report_fn=None):
    """Fuzz all targets; return a record for each: parser, inputs, what they came to, findings, seconds, version."""
    import journeyman

    records = []
    for name, count in shares(num_inputs, names).items():
        begin = time.monotonic()
        counts, findings = fuzz(name, seed, 0, count)
        records.append(
            {
                "parser": name, "seed": seed, "inputs": count, "values": counts["value"], "refused": counts["refused"],
                "stopped": counts["stopped"], "findings": len(findings),
                "seconds": round(time.monotonic() - begin, 1), "version": journeyman.__version__,
            }
        )  # fmt: skip
        if report_fn is not None:
            report_fn(records[-1], findings)
    return records


def show(name, seed, index):
    """Print an input, and what it does."""
    from fuzz.targets import TARGETS, prepared

    target = TARGETS[name]()
    case = case_of(name, target, seed, index)
    for file, data in case.items():
        print(f"--- {file} ({len(data)} bytes)\n{data[:3000]!r}")
    folder = Path(tempfile.mkdtemp()) / "case"
    prepared(folder, case)
    os.chdir(folder)
    target.run_fn(folder, case)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("--inputs", type=int, default=NUM_SLOW)
    running.add_argument("--seed", type=int, default=0)
    running.add_argument("--only", action="append")
    running.add_argument("--table", type=Path)
    for word in ("show", "work"):
        one = commands.add_parser(word)
        one.add_argument("name")
        one.add_argument("seed", type=int)
        one.add_argument("index", type=int)
        one.add_argument("last", type=int, nargs="?")
    given = parser.parse_args()
    sys.path.insert(0, str(TESTS))
    if given.command == "work":
        work(given.name, given.seed, given.index, given.last)
        return
    if given.command == "show":
        show(given.name, given.seed, given.index)
        return

    def report(record, findings):
        print(json.dumps(record), flush=True)
        for index, words in findings:
            print(f"    {index}: {words}", flush=True)
        if given.table is not None:
            with given.table.open("a", encoding="utf-8") as table:
                table.write(json.dumps(record) + "\n")

    records = run(given.inputs, given.seed, given.only, report)
    raise SystemExit(any(record["findings"] for record in records))


if __name__ == "__main__":
    main()
