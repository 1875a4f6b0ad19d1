"""Run benchmarks in a row, keep their last lines in results.jsonl, and make the table of docs/performance.md.

    python bench/_record.py "solve --quick" "acquisition --quick"   # run these, keep what they say, remake the table
    python bench/_record.py                                         # only remake the table

A benchmark that was kept before with the same options is replaced. Run it on an idle machine: the load before each is
kept, too, and stands in the table. A ratio has the range of its repeats beside it where a benchmark tells it, and what
is left against the fastest form of the other side, where that can be written in several ways.
"""

import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BENCH = Path(__file__).parent
RESULTS = BENCH / "results.jsonl"
PAGE = BENCH.parent / "docs" / "performance.md"
BEGIN, END = "<!-- made by bench/_record.py -->", "<!-- end -->"
MEANINGS = {
    "solve": "10x10, many rewards: QuantEcon's `DiscreteDP` in a loop / `solve_batch`",
    "acquisition": "nested estimator of trajectory information / ours, at equal error",
    "posterior": "effective samples per second of `policywalk` / NumPyro NUTS",
    "step": "NumPyro NUTS from nothing / one step of SMC, at equal effective samples",
    "learner": "NumPyro NUTS from nothing / the wait from `tell` to the next `ask`",
    "studio": "time to keep an answer of 50 people (95 % quantile), sampler busy / stopped",
    "reopen": "replaying a study / opening it from its snapshot",
    "sweep": "bare loop / engine of sweeps",
    "experts": "inference with beta unknown / known",
    "kernel_prior": "inference with independent rewards / with a kernel prior",
    "valuewalk": "effective draws per second of `valuewalk` / `policywalk`",
    "batch": "many decisions, from the prior / by the bridge, at equal error",
    "scale": "policy iteration with scipy's `spsolve` / `solve`, 1e5 states",
}


def processor() -> str:
    """Return what the processor is called."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def measure(command: str) -> dict[str, Any]:
    """Run one benchmark; return its last line beside when, where and how it was run."""
    name, *options = shlex.split(command)
    load = round(os.getloadavg()[0], 1)
    start = time.monotonic()
    run = subprocess.run(
        [sys.executable, str(BENCH / f"{name}.py"), *options], stdout=subprocess.PIPE, text=True, check=True
    )
    return {
        "command": shlex.join([name, *options]),
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": load,
        "seconds": round(time.monotonic() - start),
        "result": json.loads(run.stdout.strip().splitlines()[-1]),
    }


def kept() -> list[dict[str, Any]]:
    """Return what was kept, in the order of the file."""
    return [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()] if RESULTS.exists() else []


def ratio_words(result: dict[str, Any]) -> str:
    """Return a ratio with its range and, where there is one, that against the fastest form of the other side."""
    ratio, spread = result["ratio"], result.get("ratio_range")
    if isinstance(ratio, list):
        ratio, *spread = ratio
    ranged = f" ({_number(spread[0])} to {_number(spread[1])})" if spread else ""
    forms = [form[0] for form in result.get("ratio_by_form", {}).values()]
    fastest = min(forms) if forms else result.get("ratio_fastest_form")
    return f"{_number(ratio)}{ranged}{f'; fastest form: {_number(fastest)}' if fastest else ''}"


def _number(value: float) -> str:
    """Return three digits: 1,020, 15.7 or 1.22."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table in Markdown."""
    lines = ["| `python bench/...` | ratio | what it compares | measured | took |", "|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: row["command"]):
        name, *options = row["command"].split()
        where = f"{row['date']}, {row['processor']}, {row['cores']} cores, load {row['load']}"
        command = " ".join([f"{name}.py", *options])
        ratio = ratio_words(row["result"])
        lines.append(f"| `{command}` | {ratio} | {MEANINGS[name]} | {where} | {row['seconds']} s |")
    return "\n".join(lines)


def page(text: str, rows: list[dict[str, Any]]) -> str:
    """Return the page with its table made anew."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n\n{table(rows)}\n\n{END}{rest.split(END)[1]}"


def main(commands: list[str]) -> None:
    """Measure, keep, and make the table."""
    for command in commands:
        if shlex.split(command)[0] not in MEANINGS:
            raise SystemExit(f"{command!r}: no such benchmark, or it has no ratio. There are: {', '.join(MEANINGS)}.")
    for command in commands:
        row = measure(command)
        rows = [old for old in kept() if old["command"] != row["command"]] + [row]
        RESULTS.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
        print(f"{row['command']}: ratio {row['result']['ratio']}, {row['seconds']} s", flush=True)
    if PAGE.exists():
        PAGE.write_text(page(PAGE.read_text("utf-8"), kept()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
