"""What benchmarks of the studio share: a server in a process of its own, and people who answer over the loopback.

Import it after `_measure`, which has to come before NumPy.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from journeyman.experts import Question
from journeyman.study import Study
from journeyman.worlds import make_world

WORLD = "random-8x8"


class Server:
    """The command, and the process that computes for it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.path = name, folder / f"{name}.study"
        with Study.create(self.path, make_world(WORLD, 0).problem):
            pass
        self.statuses: Counter[int] = Counter()  # of what people were answered
        kept = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}  # as people do
        self.errors = folder / f"{name}.errors"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "journeyman", "studio", self.path.name, "--port", "0", "--no-browser"],
                cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True,
                env=kept | {"XDG_STATE_HOME": str(folder / "state")},
            )  # fmt: skip
        for line in self.process.stdout:
            if found := re.match(r"http://[\d.]+:(\d+)/\?token=(\S+)", line):
                self.port, self.token = int(found[1]), found[2]
                return
        raise RuntimeError(f"the studio did not start: {self.errors.read_text()}")

    @property
    def worker(self) -> int:
        """The process that computes."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        every = {
            child
            for task in Path(f"/proc/{self.process.pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        } | set(children)
        return next(int(child) for child in every if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes())


@contextmanager
def serving(folder: Path, name: str) -> Iterator[Server]:
    server = Server(folder, name)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()
        server.process.stdout.close()


class Connection:
    """A connection that is kept open, with as little work per request as can be."""

    def __init__(self, server: Server, annotator: str) -> None:
        self.server, self.annotator = server, annotator
        self.writer: asyncio.StreamWriter | None = None

    async def send(self, method: str, what: str, body: dict | None = None) -> tuple[int, dict]:
        is_old = self.writer is not None
        try:
            return await self._send(method, what, body)
        except (ConnectionError, asyncio.IncompleteReadError):
            if not is_old:
                raise
            self.close()  # the server closes connections on which nothing is said; what is done twice counts once
            return await self._send(method, what, body)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    async def _send(self, method: str, what: str, body: dict | None) -> tuple[int, dict]:
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} /api/studies/{self.server.name}/{what}?annotator={self.annotator} HTTP/1.1\r\n"
            f"host: 127.0.0.1:{self.server.port}\r\nauthorization: Bearer {self.server.token}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        )
        self.writer.write(head.encode() + content)
        received = await self.reader.readuntil(b"\r\n\r\n")
        size = int(re.search(rb"content-length: (\d+)", received)[1])
        status = int(received[9:12])
        self.server.statuses[status] += 1
        return status, json.loads(await self.reader.readexactly(size))


class Annotator:
    """Somebody who answers as the expert of the world would."""

    def __init__(self, server: Server, number: int, results: list, acknowledged: list) -> None:
        self.connection, self.expert = Connection(server, f"person-{number}"), make_world(WORLD, 0).make_expert(number)
        self.rng, self.results, self.acknowledged = np.random.default_rng(number), results, acknowledged
        self.num_given = 0

    async def question(self) -> dict:
        while True:
            _, found = await self.connection.send("GET", "question")
            if found.get("question") is not None:
                return found["question"]
            await asyncio.sleep(0.02)

    async def answer(self, seconds: float, think: float, phase_fn) -> None:
        question = await self.question()
        end = time.perf_counter() + seconds
        await asyncio.sleep(think * self.rng.random())  # nobody begins together
        while time.perf_counter() < end:
            action = int(self.expert.demonstrate(Question(question["state"], self.num_given)).steps[0][1])
            self.num_given += 1
            phase, begin = phase_fn(), time.perf_counter()
            given = {"question": question["id"], "action": action}
            while (sent := await self.connection.send("POST", "answer", given))[0] in (429, 503):
                await asyncio.sleep(0.05)  # then the same again
            (status, kept), answered = sent, time.perf_counter()
            if status != 200:
                question = await self.question()
                continue
            self.acknowledged.append((kept["kept"], question["state"], action, self.connection.annotator))
            question = kept["next"]["question"] or await self.question()
            self.results.append((phase, answered - begin, time.perf_counter() - begin))
            if think:
                await asyncio.sleep(think * (0.5 + self.rng.random()))


def quantiles(numbers: list[float]) -> dict[str, float]:
    return dict(zip(("p50", "p95", "p99"), np.quantile(numbers, [0.5, 0.95, 0.99]).tolist(), strict=True))


def lost_answers(path: Path, acknowledged: list) -> int:
    """Count answers that were acknowledged and are not in the file as they were given."""
    with Study.open(path) as study:
        kept = {(key, *answer.steps[0], answer.annotator) for key, answer in study.answers.items()}
    return sum(answer not in kept for answer in acknowledged)
