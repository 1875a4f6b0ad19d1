"""What people wait for in the studio: 50 simulated annotators answer one study over the loopback network.

`journeyman studio` is started on a new study of the 8x8 world in its default settings. Annotators are connections of
this process: each gets a question, thinks for a while, and answers as the world's expert would, for a minute.
"answering" is the time from sending an answer until it is acknowledged, which is after it is on the disk; "next" is the
time until the following question is there. In turns of some seconds the process that computes is stopped (SIGSTOP:
"idle") and runs ("busy"): "ratio" is the 95 % quantile of answering while it is busy over that while it is idle. At the
end the server is killed (SIGKILL) in the middle of it all, and the file is opened: "lost" counts answers that were
acknowledged and are not in it. "together" is a burst without thinking, which says how many answers a second are kept.

Then one annotator alone answers another new study: "one_next_p95" is what a person waits for the next question.

All cores are shared with whatever else runs on the machine, and with the annotators themselves: see "load".
"""

import argparse
import asyncio
import os
import signal
import tempfile
import time
from pathlib import Path

from _measure import LOAD, console, environment, finish, show

# isort: split
from _studio import Annotator, Server, lost_answers, quantiles, serving

TURN = 5.0  # seconds until the worker is stopped or goes on


async def crowd(server: Server, num_people: int, seconds: float, think: float) -> tuple[list, list, list]:
    """Let people answer, in turns with and without the worker, and then all at once; kill the server while they do."""
    results, burst, acknowledged = [], [], []
    first = Annotator(server, 10_000, [], [])
    await first.question()  # the learner is there
    worker, phase = server.worker, "busy"

    async def turns() -> None:
        nonlocal phase
        while True:
            await asyncio.sleep(TURN)
            phase = "idle" if phase == "busy" else "busy"
            os.kill(worker, signal.SIGSTOP if phase == "idle" else signal.SIGCONT)

    people = [Annotator(server, number, results, acknowledged) for number in range(num_people)]
    turning = asyncio.create_task(turns())
    try:
        await asyncio.gather(*(person.answer(seconds, think, lambda: phase) for person in people))
    finally:
        turning.cancel()
        os.kill(worker, signal.SIGCONT)
    for person in people:
        person.results = burst
    begin = time.perf_counter()
    tasks = [asyncio.create_task(person.answer(3600.0, 0.0, lambda: "burst")) for person in people]
    await asyncio.sleep(min(10.0, seconds))
    burst_seconds = time.perf_counter() - begin
    server.process.kill()  # while answers are on their way
    await asyncio.gather(*tasks, return_exceptions=True)
    assert set(server.statuses) <= {200, 429, 503}, server.statuses
    return results, [len(burst) / burst_seconds, *(next_ for _, _, next_ in burst)], acknowledged


def main() -> None:
    """Measure a crowd, then one person."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=50, help="who answer at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long they do")
    parser.add_argument("--think", type=float, default=1.0, help="seconds that each thinks, on average")
    parser.add_argument("--alone", type=int, default=40, help="answers of the one who is alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        with serving(Path(folder), "crowd") as server:
            results, burst, acknowledged = asyncio.run(crowd(server, options.people, options.seconds, options.think))
            lost = lost_answers(server.path, acknowledged)
        with serving(Path(folder), "alone") as server:
            alone, own = [], []
            person = Annotator(server, 0, alone, own)
            asyncio.run(person.answer(options.alone * options.think, options.think, lambda: "alone"))
    by_phase = {name: [time for phase, time, _ in results if phase == name] for name in ("busy", "idle")}
    answering, following = (quantiles([result[i] for result in results]) for i in (1, 2))
    phases = {name: quantiles(times) for name, times in by_phase.items()}
    one = quantiles([result[2] for result in alone[1:]])
    rows = [
        ("answering, all", *answering.values()), ("  while the sampler is busy", *phases["busy"].values()),
        ("  while it is stopped", *phases["idle"].values()), ("next question", *following.values()),
        ("next question, one person", *one.values()),
    ]  # fmt: skip
    show(
        f"{options.people} annotators for {options.seconds:g} s, thinking {options.think:g} s each",
        ("seconds", "p50", "p95", "p99"),
        [(name, *(f"{number:.3f}" for number in numbers)) for name, *numbers in rows],
        f"{len(results)} answers, {len(results) / options.seconds:.0f} a second; without thinking {burst[0]:.0f} a "
        f"second. Lost: {lost} of {len(acknowledged)} after the server was killed.",
    )
    ratio = phases["busy"]["p95"] / phases["idle"]["p95"]
    console.print(f"Answering while the sampler is busy takes {ratio:.2f} times as long (95 % quantile).")
    finish(
        {
            "bench": "studio",
            "ratio": ratio,
            "lost": lost,
            "acknowledged": len(acknowledged),
            "answers_per_second": len(results) / options.seconds,
            "together_per_second": burst[0],
            **{f"answering_{name}": value for name, value in answering.items()},
            **{f"next_{name}": value for name, value in following.items()},
            **{f"{phase}_{name}": value for phase, found in phases.items() for name, value in found.items()},
            **{f"one_next_{name}": value for name, value in one.items()},
            "num_people": options.people,
            "seconds": options.seconds,
            "think": options.think,
            "load": LOAD,
            "environment": environment("journeyman", "fastapi", "uvicorn", "numpy"),
        }
    )


if __name__ == "__main__":
    main()
