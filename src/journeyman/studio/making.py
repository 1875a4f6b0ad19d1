"""New studies from worlds, and from problems that somebody sent: made in a process of its own, within limits.

What is sent is text: a map, a table of edges, or a problem.toml with the tables that it names, which must be sent with
it. Nothing is unpickled, and no other file is read. A problem that takes too long or too much memory ends its process,
not the server.
"""

import inspect
import json
import logging
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from journeyman.errors import InputError, JourneymanError, StudyError

log = logging.getLogger("journeyman.studio")
MAX_STATES, MAX_EDGES, MAX_BYTES = 5_000, 200_000, 2_000_000
MAX_NAME = 200  # bytes of the name of a table
MAX_SECONDS, MAX_MEMORY = 60, 4 * 2**30
TABLE_ENDINGS = (".csv", ".tsv", ".txt")


def world_words() -> dict[str, str]:
    """Return the worlds that a study can be made from, each in a line."""
    from journeyman.worlds import WORLDS

    own = [name for name in WORLDS if name in WORLDS.builtin]
    return {name: (inspect.getdoc(WORLDS[name]) or "").partition("\n")[0] for name in own}


def make_study(path: Path, request: dict[str, Any]) -> None:
    """Make a new study file from a world or from a problem; `request` is that of `POST /api/studies`."""
    if (request.get("world") is None) == (request.get("problem") is None):
        got, fix = ("none", "Send one") if request.get("world") is None else ("both", "Leave one out")
        raise InputError(f"a study must be made of one thing, a world or a problem, got {got}. {fix}.")
    if request.get("length") is not None and request.get("answers") != "trajectory":
        raise InputError(
            'length must be left out where answers are single actions. Say "answers": "trajectory", or leave it out.'
        )
    sent = request.get("problem")
    if sent is not None:
        size = len(sent["text"]) + sum(map(len, sent["tables"].values()))
        if size > MAX_BYTES:
            raise InputError(f"a problem must have at most {MAX_BYTES} characters, got {size}. Make it smaller.")
    if path.exists():
        raise FileExistsError(path)
    order = json.dumps({"path": str(path), "request": request})
    try:
        done = subprocess.run(
            [sys.executable, "-m", "journeyman.studio.making"],
            input=order.encode(), capture_output=True, timeout=MAX_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        _remove(path)
        raise InputError(
            f"a problem must be read within {MAX_SECONDS} s, but it was not. Make it smaller, or make the study on the "
            "command line: journeyman study new"
        ) from None
    try:
        said = json.loads(done.stdout.decode().splitlines()[-1])
    except (ValueError, IndexError):
        _remove(path)
        words = done.stderr.decode("utf-8", "replace")[-2000:]
        log.warning("making a study ended with code %d: %s", done.returncode, words)
        raise InputError(
            "a problem must be small enough for the memory that it may use, but reading it was ended. Make it smaller, "
            "or make the study on the command line: journeyman study new"
        ) from None
    if said["error"]:
        raise InputError(said["error"])


def _remove(path: Path) -> None:
    """Remove what is left of a study that was not finished; nobody else has its name."""
    for suffix in ("", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _limit() -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))


def made_problem(request: dict[str, Any]) -> tuple[Any, int]:
    """Return the problem of a request, and how long runs in it are."""
    if request.get("world") is not None:
        from journeyman.worlds import make_world

        name = request["world"]["name"]
        if name not in world_words():
            raise InputError(f"a world must be one of {', '.join(world_words())}, got {name!r}. Choose one of them.")
        world = make_world(name, request["world"]["seed"])
        return world.problem, world.max_length
    return sent_problem(**request["problem"]), 20


def sent_problem(kind: str, text: str, tables: dict[str, str]) -> Any:
    """Return the problem that a map, a table of edges or a problem.toml with its tables describes."""
    from journeyman.problem_files import load_problem, write_from_graph, write_from_map

    for name in tables:
        if len(name.encode("utf-8", "replace")) > MAX_NAME:
            raise InputError(
                f"the name of a table must have at most {MAX_NAME} bytes, got {name[:20]!r}... Shorten it."
            )
        if Path(name).name != name or name.startswith(".") or Path(name).suffix.lower() not in TABLE_ENDINGS:
            raise InputError(
                f"a table must be a text file without a folder, ending in {', '.join(TABLE_ENDINGS)}, got {name!r}. "
                "Rename it here and in the problem."
            )
    with tempfile.TemporaryDirectory(prefix="journeyman-") as folder:
        place = Path(folder)
        for name, content in tables.items():
            (place / name).write_text(content, encoding="utf-8", newline="")
        if kind == "toml":
            (place / "problem.toml").write_text(text, encoding="utf-8", newline="")
        elif kind == "map":
            (place / "map.txt").write_text(text, encoding="utf-8", newline="")
            write_from_map(place / "map.txt", place)
        else:
            (place / "edges.csv").write_text(text, encoding="utf-8", newline="")
            write_from_graph(place / "edges.csv", place)
        return load_problem(place / "problem.toml", is_confined=True)


def _made(path: Path, request: dict[str, Any]) -> None:
    from journeyman.study import Study

    problem, max_length = made_problem(request)
    num_states, num_edges = problem.mdp.num_states, len(problem.mdp.rows.next_states)
    for what, count, most in (("states", num_states, MAX_STATES), ("transitions", num_edges, MAX_EDGES)):
        if count > most:
            raise InputError(
                f"a problem made here must have at most {most} {what}, got {count}. Make the study on the command "
                "line: journeyman study new"
            )
    kind, length = request["answers"], request["length"]
    settings = {
        "epsilon": request["epsilon"], "delta": request["delta"], "kind": kind,
        "length": (length or max_length) if kind == "trajectory" else None,
        "seed": (request.get("world") or {}).get("seed", 0),
    }  # fmt: skip
    Study.create(path, problem, **settings).close()


def main() -> None:
    """Make the study that standard input orders, and say on standard output what is wrong, if anything is."""
    order, error = json.loads(sys.stdin.buffer.read()), ""
    _limit()
    try:
        _made(Path(order["path"]), order["request"])
    except StudyError as found:
        error = str(found)
    except JourneymanError as found:
        error = str(found)
    except MemoryError:
        error = "a problem must be small enough for the memory that it may use, but it is not. Make it smaller."
    except RecursionError:
        error = "a problem must not be nested so deeply. Make it simpler."
    print(json.dumps({"error": error}))


if __name__ == "__main__":
    main()
