"""The studio for half an hour: 50 annotators answer one study while others do whatever harm can be done to a server.

Each annotator thinks for some seconds, answers, and has a page open that listens to live events and looks at the belief
from time to time. Meanwhile, again and again: requests whose head or body comes byte by byte, connections that are
dropped in the middle of a request, of an answer and of a live stream, streams that nobody reads, huge heads and bodies,
malformed JSON and HTTP, wrong tokens, forged Host and Origin, paths that try to leave the server. Each attack says
which responses are right; any other counts as "wrong".

Memory, descriptors and threads of the server and of the process that computes are noted every few seconds. Memory is
"flat" if a straight line through the last two thirds of the time grows by less than 10 % over them, or by less than
KEPT bytes for each answer in that time: answers are kept, and the history of a study is held. At the end everybody
stops, descriptors are counted again after the slowest limit of time, people answer without thinking, and the server is
killed (SIGKILL) while they do. "lost" counts acknowledged answers that are not in the file, "twice" questions that are
answered twice in it.

The machine is shared with the annotators and the attackers, all in this process, and with whatever else runs: "load".
"""

import argparse
import asyncio
import json
import os
import socket
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from _measure import LOAD, console, environment, finish, show

# isort: split
import numpy as np
from _studio import Annotator, Connection, Server, lost_answers, quantiles, serving

from journeyman.study import Study

KEPT = 4000  # bytes of memory that the server, and the process that computes, may take for each answer
FLAT = 0.1  # growth over two thirds of the time that counts as none
PATIENCE = 30.0  # seconds in which any attack has to be answered or cut off, stated limits of 20 s included
CLIENT_ERRORS = frozenset(range(400, 500))


class Attack(NamedTuple):
    """What is done: `do(server, rng)` returns a status, "closed" for a connection that was cut, or "left"."""

    do: Callable[[Server, np.random.Generator], Awaitable[int | str]]
    right: frozenset[int | str]
    pause: float  # seconds between two, on average
    num_at_once: int = 1


def head(server: Server, method: str, target: str, **headers: str | None) -> bytes:
    """Return the head of a request; a header that is None is left out."""
    given = {"host": f"127.0.0.1:{server.port}", "authorization": f"Bearer {server.token}", **headers}
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items() if value is not None]
    return (f"{method} {target} HTTP/1.1\r\n" + "".join(lines) + "\r\n").encode("latin-1")


async def status_of(server: Server, *parts: bytes, pause: float = 0.0) -> int | str:
    """Send parts with pauses; return the status of the response, or that the connection was closed without one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    answered = asyncio.create_task(reader.readline())
    try:
        with suppress(ConnectionError):
            for part in parts:
                writer.write(part)
                await asyncio.wait_for(writer.drain(), PATIENCE)
                if pause:
                    await asyncio.wait([answered], timeout=pause)
                if answered.done():
                    break
        try:
            line = await asyncio.wait_for(answered, PATIENCE)
        except ConnectionError:
            line = b""
        return int(line[9:12]) if line.startswith(b"HTTP/1.1 ") else "closed"
    finally:
        answered.cancel()
        writer.close()


def drop(writer: asyncio.StreamWriter) -> None:
    """End a connection as a cable does that is pulled out: with a reset."""
    found = writer.get_extra_info("socket")
    with suppress(OSError):
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def api(server: Server, what: str, person: str = "mallory") -> str:
    return f"/api/studies/{server.name}/{what}?annotator={person}"


async def slow_head(server: Server, rng: np.random.Generator) -> int | str:
    token = rng.choice([f"Bearer {server.token}", "Bearer guess"])
    whole = head(server, "GET", api(server, "status"), authorization=token, x_filler="x" * 1000)
    return await status_of(server, *(whole[i : i + 1] for i in range(len(whole))), pause=1.0)


async def silent(server: Server, rng: np.random.Generator) -> int | str:
    return await status_of(server, b"")


async def slow_body(server: Server, rng: np.random.Generator) -> int | str:
    whole = head(server, "POST", api(server, "answer"), content_type="application/json", content_length="1000")
    return await status_of(server, whole, *([b" "] * 1000), pause=1.0)


async def dropped_request(server: Server, rng: np.random.Generator) -> int | str:
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    whole = head(server, "POST", api(server, "answer"), content_type="application/json", content_length="40") + b"{"
    writer.write(whole[: int(rng.integers(1, len(whole)))])
    await writer.drain()
    await asyncio.sleep(float(rng.random()) * 0.2)
    drop(writer)
    return "left"


def dropped_answer() -> Callable[[Server, np.random.Generator], Awaitable[int | str]]:
    """Somebody whose network breaks while an answer is on its way, and who sends it again: it must count once."""

    async def answer_twice(server: Server, rng: np.random.Generator) -> int | str:
        asking = Connection(server, "unlucky")
        try:
            _, found = await asking.send("GET", "question")
            if not found.get("question"):
                return "left"
            body = {"question": found["question"]["id"], "action": int(rng.integers(4))}
            content = json.dumps(body).encode()
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            begin = head(server, "POST", api(server, "answer", "unlucky"), content_length=str(len(content)))
            writer.write(begin.replace(b"\r\n\r\n", b"\r\ncontent-type: application/json\r\n\r\n") + content)
            await writer.drain()
            await asyncio.sleep(float(rng.random()) * 0.02)
            drop(writer)
            status, kept = await asking.send("POST", "answer", body)
            if status == 200:
                server.acknowledged.append((kept["kept"], found["question"]["state"], body["action"], "unlucky"))
            return status
        finally:
            asking.close()

    return answer_twice


async def dropped_stream(server: Server, rng: np.random.Generator) -> int | str:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(head(server, "GET", api(server, "events", f"guest-{rng.integers(20)}")))
    line = await asyncio.wait_for(reader.readline(), PATIENCE)
    with suppress(TimeoutError):
        await asyncio.wait_for(reader.read(int(rng.integers(1, 2000))), 1.0 + 3.0 * float(rng.random()))
    drop(writer)
    return int(line[9:12])


async def unread_stream(server: Server, rng: np.random.Generator) -> int | str:
    found = socket.create_connection(("127.0.0.1", server.port))
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        found.sendall(head(server, "GET", api(server, "events", "deaf")))
        await asyncio.sleep(20.0 + 20.0 * float(rng.random()))
        return "left"
    finally:
        found.close()


async def huge_head(server: Server, rng: np.random.Generator) -> int | str:
    return await status_of(server, head(server, "GET", api(server, "status"), cookie="a=" + "x" * 1_000_000))


async def huge_target(server: Server, rng: np.random.Generator) -> int | str:
    return await status_of(server, head(server, "GET", "/" + "a/" * int(rng.integers(10, 20_000))))


async def huge_body(server: Server, rng: np.random.Generator) -> int | str:
    target = rng.choice([api(server, "answer"), "/api/studies"])
    size = int(rng.choice([3_000_000, 10**12]))
    begin = head(server, "POST", target, content_type="application/json", content_length=str(size))
    return await status_of(server, begin, *([b" " * 100_000] * 30))


async def endless_body(server: Server, rng: np.random.Generator) -> int | str:
    target = rng.choice([api(server, "answer"), "/api/studies"])
    begin = head(server, "POST", target, content_type="application/json", transfer_encoding="chunked")
    return await status_of(server, begin, *([b"%x\r\n" % 50_000 + b"x" * 50_000 + b"\r\n"] * 100))


BODIES = (
    b"", b"{", b"[]", b"null", b'"', b"\x00", b"\xff\xfe{}", b'{"question": NaN, "action": 0}', b"[" * 20_000,
    b'{"question":' * 5_000, b'{"question": 1e999, "action": 0}', b'{"question": ' + b"9" * 5_000 + b"}",
    b'{"question": -1, "action": -1}', b'{"question": 0, "action": "\\ud800"}', b'{"question": true, "action": []}',
    b'{"question": 0, "steps": [[0, 0]], "final_state": 1e308}', b'{"question": 0, "question": 1, "extra": {}}',
)  # fmt: skip
ACTS = ("answer", "step", "step/undo", "end", "skip", "cannot", "comment", "undo", "correct")


async def malformed_json(server: Server, rng: np.random.Generator) -> int | str:
    content = bytearray(BODIES[rng.integers(len(BODIES))])
    if content and rng.random() < 0.5:
        content[rng.integers(len(content))] = rng.integers(256)
    target = rng.choice([api(server, what) for what in ACTS] + ["/api/studies"])
    size = str(len(content))
    return await status_of(
        server, head(server, "POST", target, content_type="application/json", content_length=size) + bytes(content)
    )


GARBAGE = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), b"GET\r\n\r\n", b"\r\n" * 200,
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n: no name\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x00" * 2_000 + b"\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",
    b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    b"GET / HTTP/1.1\r\nhost: a\r\nhost: 127.0.0.1\r\n\r\n", b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: \x01\r\n\r\n",
)  # fmt: skip


async def malformed_http(server: Server, rng: np.random.Generator) -> int | str:
    return await status_of(server, GARBAGE[rng.integers(len(GARBAGE))])


async def wrong_token(server: Server, rng: np.random.Generator) -> int | str:
    guess = rng.choice([None, "Bearer", "Bearer guess", f"Bearer {server.token[:-1]}", f"Basic {server.token}"])
    target = rng.choice([api(server, "status"), f"/api/studies?token={server.token}", "/", "/static/js/main.js"])
    return await status_of(server, head(server, "GET", target, authorization=guess))


async def forged_host(server: Server, rng: np.random.Generator) -> int | str:
    host = rng.choice(["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "0x7f.1", "", "[::1].evil"])
    return await status_of(server, head(server, rng.choice(["GET", "POST"]), api(server, "status"), host=host))


async def forged_origin(server: Server, rng: np.random.Generator) -> int | str:
    origin = rng.choice(["http://evil.example", "null", f"http://127.0.0.1:{server.port + 1}", "file://", "http://"])
    return await status_of(server, head(server, rng.choice(["GET", "POST"]), api(server, "undo"), origin=origin))


PATHS = (
    "/static/../../../../etc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd", "/static/..%2f..%2fapp.py",
    "/static/js/..%5c..", "//etc/passwd", "/static//etc/passwd", "/api/studies/..%2f..%2fetc%2fpasswd",
    "/api/studies/%00", "/api/studies/a%0d%0a", "/api/studies/crowd/download/..%2f..%2fsoak.study",
    "/api/studies/soak/download/%2fetc%2fpasswd", "/api/studies/~root", "/api/studies/soak/pictures/..%2f0",
    "/api/studies/soak.study", "/api/studies/soak/question/9e9", "/%ff%fe", "/api/studies/CON",
    "/api/studies/" + "x" * 5_000, "http://evil.example/api", "*", "/static/css/%2e%2e/js/../../app.py",
)  # fmt: skip


async def path_trick(server: Server, rng: np.random.Generator) -> int | str:
    method = rng.choice(["GET", "GET", "GET", "DELETE", "PUT", "OPTIONS", "TRACE"])
    return await status_of(server, head(server, method, PATHS[rng.integers(len(PATHS))]))


CUT, LEFT = frozenset({"closed"}), frozenset({"left"})
ATTACKS = {
    "head byte by byte": Attack(slow_head, CUT | {408}, 1.0, 10),
    "connection that says nothing": Attack(silent, CUT, 1.0, 10),
    "body byte by byte": Attack(slow_body, frozenset({408}), 1.0, 10),
    "dropped in a request": Attack(dropped_request, LEFT, 0.5),
    "dropped in an answer, sent again": Attack(dropped_answer(), LEFT | {200}, 2.0),
    "dropped live stream": Attack(dropped_stream, frozenset({200}), 0.5, 5),
    "live stream that nobody reads": Attack(unread_stream, LEFT, 1.0, 5),
    "huge head": Attack(huge_head, frozenset({400, 431}) | CUT, 2.0),
    "huge address": Attack(huge_target, CLIENT_ERRORS | CUT, 2.0),
    "huge body": Attack(huge_body, frozenset({413, 429}), 2.0),
    "body without end": Attack(endless_body, frozenset({413, 429}), 2.0),
    "malformed JSON": Attack(malformed_json, CLIENT_ERRORS, 0.3),
    "malformed HTTP": Attack(malformed_http, CLIENT_ERRORS | CUT, 0.5),
    "wrong token": Attack(wrong_token, frozenset({401, 429}), 0.5),
    "forged Host": Attack(forged_host, frozenset({400, 403}), 0.5),
    "forged Origin": Attack(forged_origin, frozenset({403}), 0.5),
    "path": Attack(path_trick, CLIENT_ERRORS, 0.3),
}


async def attack(server: Server, name: str, number: int, found: dict[str, Counter], end: float) -> None:
    """Do one thing again and again."""
    one, rng = ATTACKS[name], np.random.default_rng([number, len(name)])
    while time.perf_counter() < end:
        await asyncio.sleep(one.pause * one.num_at_once * float(rng.exponential()))
        if time.perf_counter() >= end:
            return
        try:
            result: int | str = await one.do(server, rng)
        except TimeoutError:
            result = "hung"
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            result = "closed" if "closed" in one.right else type(error).__name__
        found[name][result] += 1


async def page(server: Server, number: int, end: float) -> None:
    """Listen as the page of an annotator does, and look at what the studio believes from time to time."""
    looking, rng = Connection(server, f"person-{number}"), np.random.default_rng([7, number])
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(head(server, "GET", api(server, "events", f"person-{number}")))

    async def listen() -> None:
        while await reader.read(65536):
            pass

    listening = asyncio.create_task(listen())
    try:
        while time.perf_counter() < end:
            await asyncio.sleep(20.0 * float(rng.random()))
            await looking.send("GET", str(rng.choice(["belief", "status", "history", "certificate"])))
    finally:
        listening.cancel()
        writer.close()
        looking.close()


def state_of(pid: int) -> tuple[int, int, int]:
    """Return the memory of a process in bytes, its descriptors and its threads."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return (
        pages * os.sysconf("SC_PAGE_SIZE"),
        len(os.listdir(f"/proc/{pid}/fd")),
        len(os.listdir(f"/proc/{pid}/task")),
    )


async def watch(server: Server, series: list, begin: float, end: float, spacing: float) -> None:
    """Note how large the processes are."""
    while time.perf_counter() < end:
        now = time.perf_counter() - begin
        series.append((now, len(server.acknowledged), *state_of(server.process.pid), *state_of(server.worker)))
        await asyncio.sleep(spacing)


async def soak(server: Server, num_people: int, seconds: float, think: float) -> dict:
    """Let people answer and others attack; then kill the server while people answer without thinking."""
    server.acknowledged, results = [], []
    await Annotator(server, 10_000, [], []).question()  # the learner is there
    before = state_of(server.process.pid)
    begin = time.perf_counter()
    end = begin + seconds
    found: dict[str, Counter] = {name: Counter() for name in ATTACKS}
    people = [Annotator(server, number, results, server.acknowledged) for number in range(num_people)]
    series: list[tuple] = []
    await asyncio.gather(
        watch(server, series, begin, end, min(5.0, seconds / 20)),
        *(person.answer(seconds, think, lambda: "soak") for person in people),
        *(page(server, number, end) for number in range(num_people)),
        *(attack(server, name, i, found, end) for name, one in ATTACKS.items() for i in range(one.num_at_once)),
    )
    for person in people:
        person.connection.close()
    statuses, num_answers = Counter(server.statuses), len(results)
    await asyncio.sleep(25.0 if seconds >= 60.0 else 0.0)  # longer than any limit of time of the server
    after = state_of(server.process.pid)
    tasks = [asyncio.create_task(person.answer(3600.0, 0.0, lambda: "burst")) for person in people]
    await asyncio.sleep(min(5.0, seconds))
    server.process.kill()  # while answers are on their way
    await asyncio.gather(*tasks, return_exceptions=True)
    return {
        "series": series, "attacks": found, "statuses": statuses, "num_answers": num_answers,
        "results": results[:num_answers], "before": before, "after": after,
    }  # fmt: skip


def growth(series: np.ndarray, column: int) -> dict:
    """Fit a line through the last two thirds of a series of memory, and judge whether it is flat."""
    last = series[series[:, 0] >= series[-1, 0] / 3]
    slope, level = np.polyfit(last[:, 0], last[:, column], 1)
    grown = slope * (last[-1, 0] - last[0, 0])
    answers = max(1.0, last[-1, 1] - last[0, 1])
    share = grown / (level + slope * last[0, 0])
    return {
        "first": int(last[0, column]), "last": int(last[-1, column]), "most": int(series[:, column].max()),
        "grown": int(grown), "share": float(share), "bytes_per_answer": float(grown / answers),
        "is_flat": bool(share < FLAT or grown / answers < KEPT),
    }  # fmt: skip


def answered_twice(path: Path) -> int:
    """Count questions that have more than one answer in the history of a study."""
    with Study.open(path, read_only=True) as study:
        told = Counter(event.payload["query"] for event in study.events if event.name == "tell")
    return sum(count > 1 for count in told.values())


def main() -> None:
    """Serve, attack, judge, and write the row."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--people", type=int, default=50, help="who answer at once")
    parser.add_argument("--minutes", type=float, default=30.0, help="how long")
    parser.add_argument("--think", type=float, default=6.0, help="seconds that each thinks, on average")
    parser.add_argument("--out", type=Path, help="a file for the result, such as docs/trust/soak.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), "soak") as server:
        found = asyncio.run(soak(server, options.people, 60.0 * options.minutes, options.think))
        lost, twice = lost_answers(server.path, server.acknowledged), answered_twice(server.path)
        said = server.errors.read_text("utf-8")
    series = np.array(found["series"])
    memory = {"server": growth(series, 2), "worker": growth(series, 5)}
    attacks = {
        name: {
            "times": counts.total(),
            "statuses": {str(key): count for key, count in sorted(counts.items(), key=str)},
            "wrong": sum(count for key, count in counts.items() if key not in ATTACKS[name].right),
        }
        for name, counts in found["attacks"].items()
    }
    answering = quantiles([result[1] for result in found["results"]])
    following = quantiles([result[2] for result in found["results"]])
    chosen = series[np.unique(np.linspace(0, len(series) - 1, 61).round().astype(int))]
    record = {
        "bench": "soak", "minutes": options.minutes, "num_people": options.people, "think": options.think,
        "answers": found["num_answers"], "acknowledged": len(server.acknowledged), "lost": lost, "twice": twice,
        "tracebacks": said.count("Traceback"),
        "statuses": {str(key): count for key, count in sorted(found["statuses"].items())},
        "answering": answering, "next": following, "memory": memory,
        "descriptors": {"before": found["before"][1], "most": int(series[:, 3].max()), "after": found["after"][1]},
        "threads": {"before": found["before"][2], "most": int(series[:, 4].max()), "after": found["after"][2]},
        "attacks": attacks,
        "series": {
            "seconds": [round(x) for x in chosen[:, 0]], "answers": [int(x) for x in chosen[:, 1]],
            "server_mb": [round(x / 1e6, 1) for x in chosen[:, 2]],
            "worker_mb": [round(x / 1e6, 1) for x in chosen[:, 5]],
        },
        "load": LOAD, "environment": environment("journeyman", "fastapi", "uvicorn", "numpy"),
    }  # fmt: skip
    show(
        f"{options.people} annotators for {options.minutes:g} min, thinking {options.think:g} s each",
        ("attack", "times", "wrong", "results"),
        [(name, one["times"], one["wrong"], one["statuses"]) for name, one in attacks.items()],
        f"{found['num_answers']} answers; lost {lost} of {len(server.acknowledged)}, twice {twice}. "
        f"Responses to people: {record['statuses']}.",
    )
    console.print({key: record[key] for key in ("memory", "descriptors", "threads", "answering", "next")})
    console.print(said[-2000:], markup=False)
    if options.out is not None:
        options.out.write_text(json.dumps(record) + "\n", "utf-8")
    finish(record)


if __name__ == "__main__":
    main()
