"""What is fuzzed: each parser with its corpus of valid inputs, and how an input is given to it.

A target's `run_fn(folder, case)` finds the files of the case in `folder`. It must return, or raise JourneymanError.
"""

import gzip
import io
import json
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

CORPUS = Path(__file__).with_name("corpus")
FIXTURES = Path(__file__).parents[1] / "study" / "fixtures"
TOKEN = "a-token-for-tests-that-is-long-enough-0123456789"
RIGHT = np.array([[[1.0, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 0, 1]], [[0, 0, 0], [0, 0, 0]]])


class Broken(Exception):
    """What a target found that no exception says: a status or an exit code that must not be."""


class Target(NamedTuple):
    """cases: valid inputs; run_fn: gives one to the parser; names: files that may be spoilt (None: all).

    may_take_long: whether valid input can ask for any amount of work, so that all we ask is that it can be stopped.
    """

    cases: list[dict[str, bytes]]
    run_fn: Callable[[Path, dict[str, bytes]], None]
    names: Callable[[str], bool] | None = None
    may_take_long: bool = False


def files_of(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def parquet(table):
    import pandas

    buffer = io.BytesIO()
    pandas.DataFrame(table).to_parquet(buffer, index=False)
    return buffer.getvalue()


def problem_cases():
    """Every problem of the corpus; the one with arrays, and the tables of one in other formats."""
    cases = [files_of(folder) for folder in sorted((CORPUS / "problems").iterdir())]
    for case in cases:
        if b"transitions.npz" in case["problem.toml"]:
            case["transitions.npz"] = npz(transitions=RIGHT)
    line = files_of(CORPUS / "problems" / "line")
    rows = [row.split(",") for row in line["transitions.csv"].decode().split()]
    table = {name: [row[at] for row in rows[1:]] for at, name in enumerate(rows[0])}
    table["probability"] = [float(value) for value in table["probability"]]
    records = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    others = {
        "transitions.parquet": parquet(table),
        "transitions.json": json.dumps(records).encode(),
        "transitions.jsonl": "".join(json.dumps(record) + "\n" for record in records).encode(),
        "transitions.csv.gz": gzip.compress(line["transitions.csv"], mtime=0),
    }
    for name, data in others.items():
        cases.append({"problem.toml": line["problem.toml"].replace(b"transitions.csv", name.encode()), name: data})
    features = npz(features=np.eye(3)[:, :2], offset=np.zeros(3), names=np.array(["wet", "far"]))
    arrays = next(case for case in cases if "features.csv" in case)
    toml = arrays["problem.toml"].replace(b"features.csv", b"features.npz")
    return [*cases, {"problem.toml": toml, "transitions.npz": arrays["transitions.npz"], "features.npz": features}]


def load_problem(folder, case):
    from journeyman.problem_files import load_problem

    load_problem(folder / "problem.toml")


def line_problem():
    from journeyman.problem_files import load_problem

    return load_problem(CORPUS / "problems" / "line" / "problem.toml")


def demonstration_cases():
    """The demonstrations of the corpus, and the same in every format that is written."""
    from journeyman.study.formats import FORMATS, read_demonstrations, write_demonstrations

    given, problem = CORPUS / "demonstrations", line_problem()
    cases = [{path.name: path.read_bytes()} for path in sorted(given.iterdir())]
    items = read_demonstrations(given / "runs.csv", problem)
    with tempfile.TemporaryDirectory() as folder:
        for name in FORMATS:
            if name != "minari":
                path = Path(folder) / f"{name}{'.npz' if name == 'imitation' else FORMATS[name].endings[0]}"
                write_demonstrations(items, path, problem, format=name)
                cases.append({path.name: path.read_bytes()})
    return [*cases, {"runs.csv.gz": gzip.compress((given / "runs.csv").read_bytes(), mtime=0)}]


def read_demonstrations():
    from journeyman.errors import JourneymanError
    from journeyman.study.formats import read_demonstrations

    problem = line_problem()

    def read(folder, case):
        (name,) = case
        form = "imitation" if name.startswith("imitation") else None
        try:
            read_demonstrations(folder / name, problem, format=form, skip_impossible=True)
        except JourneymanError:
            read_demonstrations(folder / name, None, format=form)

    return read


def load_sweep(folder, case):
    from journeyman.experiment.spec_file import load_sweep

    (name,) = case
    load_sweep(folder / name).cells()


def small_study():
    """Return the bytes of a study with questions, answers, attached data and a snapshot."""
    from journeyman.study import Study

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.study"
        options = {"inference_options": {"num_particles": 100}, "acquisition": "random", "seed": 5}
        with Study.create(path, line_problem(), **options) as study:
            for query in study.ask_batch(4)[:2]:
                study.tell(query, 0)
            study.attach(demonstration())
        return path.read_bytes()


def demonstration():
    from journeyman.demonstrations import Demonstration

    return Demonstration(0, ((0, 1), (1, 0)), 0, "truncated", annotator="ada")


def open_study(folder, case):
    """Open, look, recover."""
    from journeyman.errors import JourneymanError
    from journeyman.study import Study
    from journeyman.study.recovery import recover

    (name,) = case
    try:
        with Study.open(folder / name, read_only=True) as study:
            study.overview()
    except JourneymanError:
        recover(folder / name, folder / "new.study")


def forged_cases():
    """The plain data of a study, to be put into one again with checksums that fit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.study"
        path.write_bytes(small_study())
        connection = sqlite3.connect(path)
        ((facts, arrays),) = connection.execute("SELECT facts, arrays FROM problem")
        ((settings,),) = connection.execute("SELECT record FROM settings")
        events = [
            [name, json.loads(payload)] for name, payload in connection.execute("SELECT name, payload FROM events")
        ]
        connection.close()
        return [
            {
                "facts.json": facts.encode(), "settings.json": settings.encode(),
                "events.json": json.dumps(events).encode(),
                "problem.npz": arrays, "s.study": path.read_bytes(),
            }
        ]  # fmt: skip


def open_forged(folder, case):
    """Put the data into a study as if they had been written so, then open it."""
    from journeyman.study.store import checksum_of, to_json

    path = folder / "s.study"
    connection = sqlite3.connect(path)
    try:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        text = {name: case[name].decode("utf-8", "replace") for name in case if name.endswith(".json")}
        connection.execute("UPDATE problem SET facts = ?, arrays = ?", (text["facts.json"], case["problem.npz"]))
        connection.execute("UPDATE settings SET record = ?", (text["settings.json"],))
        try:
            events = [(str(name), to_json(payload)) for name, payload in json.loads(text["events.json"])]
        except (ValueError, TypeError, RecursionError):
            events = [("ask", text["events.json"])]
        connection.execute("DELETE FROM events")
        checksum = ""
        for number, (name, payload) in enumerate(events):
            name, payload = (word.encode("utf-8", "replace").decode() for word in (name, payload))
            checksum = checksum_of(checksum, number, name, payload)
            connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (number, name, payload, "2026", checksum))
        connection.commit()
    finally:
        connection.close()
    open_study(folder, {"s.study": b""})


def sheet_cases():
    from journeyman.study import Study

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.study"
        path.write_bytes(small_study())
        with Study.open(path) as study:
            study.sheet(Path(folder) / "sheet.csv")
        sheet = (Path(folder) / "sheet.csv").read_bytes()
        filled = sheet.replace(b"left | right,,,,", b"left | right,left,,ada,2026-01-02T10:00:00")
        filled = filled.replace(b"right | left,,,,", b"right | left,left,,ada,")
        return [{"sheet.csv": filled, "s.study": path.read_bytes()}]


def merge_sheet(folder, case):
    from journeyman.study import Study

    with Study.open(folder / "s.study") as study:
        study.merge([folder / "sheet.csv"], dry_run=True)


def upload_cases():
    maps = [{"kind": "map", "text": (CORPUS / "texts" / "map.txt").read_text(), "tables": {}}]
    maps.append({"kind": "graph", "text": (CORPUS / "texts" / "edges.csv").read_text(), "tables": {}})
    for case in problem_cases():
        if all(name.endswith((".toml", ".csv", ".txt")) for name in case):
            tables = {name: data.decode() for name, data in case.items() if name != "problem.toml"}
            maps.append({"kind": "toml", "text": case["problem.toml"].decode(), "tables": tables})
    return [{"upload.json": json.dumps(request).encode()} for request in maps]


def upload(folder, case):
    """Check what is sent as the server does, then read it as its helper does."""
    import pydantic

    from journeyman.studio import schemas
    from journeyman.studio.making import sent_problem

    try:
        given = schemas.NewProblem.model_validate_json(case["upload.json"])
    except pydantic.ValidationError:
        return
    sent_problem(**given.model_dump())


def spoilt_texts(rng, case, cases):
    """Spoil a text inside of an upload as the file that it stands for."""
    from fuzz.mutators import mutate_file, mutated, pick

    if rng.random() < 0.3:
        return mutated(rng, case, cases)
    request = json.loads(case["upload.json"])
    ending = {"map": "map.txt", "graph": "edges.csv", "toml": "problem.toml"}[request["kind"]]
    name = pick(rng, ["", *request["tables"]])
    text = request["tables"][name] if name else request["text"]
    spoilt = mutate_file(rng, name or ending, text.encode(), [text.encode()]).decode("utf-8", "replace")
    if name:
        request["tables"][name] = spoilt
    else:
        request["text"] = spoilt
    return {"upload.json": json.dumps(request).encode()}


def request_cases():
    return [{"request.json": json.dumps(item).encode()} for item in json.loads((CORPUS / "requests.json").read_text())]


def send_requests():
    """Serve a study in this process, and send it what is in a case."""
    from studio.running import running

    from journeyman.study import Study

    folder = Path(tempfile.mkdtemp(prefix="journeyman-fuzz-"))
    os.environ["XDG_STATE_HOME"] = str(folder)
    (folder / "s.study").write_bytes(small_study())
    stack = ExitStack()
    served = stack.enter_context(running(Study.open(folder / "s.study"), folder=folder))

    def send(_, case):
        import httpx

        try:
            method, path, body = json.loads(case["request.json"])
        except (ValueError, TypeError, RecursionError):
            method, path, body = "POST", "answer?annotator=ada", case["request.json"]
        if (
            path == "events"
            or not isinstance(path, str)
            or not isinstance(method, str)
            or method not in ("GET", "POST")
        ):
            method, path = "POST", "answer?annotator=ada"
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            url = httpx.URL("http://127.0.0.1:8765/api/studies/s/" + path)
        except (httpx.InvalidURL, ValueError, UnicodeError):
            return
        headers = {"content-type": "application/json"}
        response = served.request(method, url, content=content if method == "POST" else None, headers=headers)
        if response.status_code >= 500 and response.status_code != 503:
            raise Broken(f"{method} {path!r} gave {response.status_code}: {response.text[:300]}")

    send.stack = stack  # lives as long
    return send


def command_cases():
    files = {
        **files_of(CORPUS / "problems" / "line"),
        "s.study": small_study(),
        "runs.csv": (CORPUS / "demonstrations" / "runs.csv").read_bytes(),
        "steps.csv": b"state,action\n0,1\n1,1\n",
        "sweep.toml": (CORPUS / "sweeps" / "list.toml").read_bytes(),
        **files_of(CORPUS / "texts"),
    }
    commands = json.loads((CORPUS / "commands.json").read_text())
    return [{"args.json": json.dumps(command).encode(), **files} for command in commands]


def run_command(folder, case):
    """Run a command line in this process; it may end with 0, 1 or 2, and says why if it is not 0."""
    from journeyman.cli import app

    try:
        given = json.loads(case["args.json"])
    except (ValueError, RecursionError):
        given = [case["args.json"].decode("utf-8", "replace")]
    given = given if isinstance(given, list) else [given]
    arguments = [safe_argument(word) for word in given]
    if arguments[:1] and arguments[0] in ("studio", "warmup", "reproduce", "demo", "doctor"):
        return  # these serve, compile or compute whatever their arguments say
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["journeyman", *arguments]
    hook = sys.excepthook
    try:
        with redirect_stdout(out), redirect_stderr(err):
            app.main()
    except SystemExit as stop:
        code = stop.code or 0
        if code not in (0, 1, 2):
            raise Broken(f"exit code {code!r}") from None
        if code and not (err.getvalue().strip() or out.getvalue().strip()):
            raise Broken(f"exit code {code!r} without a word") from None
        if "Traceback" in err.getvalue():
            raise Broken(err.getvalue()[-400:]) from None
    finally:
        sys.argv, sys.excepthook = before, hook


def safe_argument(word):
    """Return an argument as a shell could give it, that names nothing outside of the folder."""
    text = word if isinstance(word, str) else json.dumps(word)[:1000]
    text = text.encode("utf-8", "surrogateescape" if text.isprintable() else "replace").decode("utf-8", "replace")
    text = text.replace("\x00", "").replace("/", "_").replace("..", "__")
    return text.replace("gym:", "gym_").replace("tcp:", "tcp_").replace("install-completion", "install")


def stored_table_cases():
    """Results of a sweep, as Parquet with their hash, and an MDP as FiniteMDP.save writes it."""
    with tempfile.TemporaryDirectory() as folder:
        line_problem().mdp.save(Path(folder) / "mdp.npz")
        return [files_of(Path(folder))]


def load_mdp(folder, case):
    from journeyman.mdp import FiniteMDP

    FiniteMDP.load(folder / "mdp.npz")


def minari_cases():
    """A Minari data set: the files that are in its folder."""
    from journeyman.study.formats import read_demonstrations
    from journeyman.study.formats.trajectories import write_minari

    problem = line_problem()
    with tempfile.TemporaryDirectory() as folder, minari_folder(folder):
        items = read_demonstrations(CORPUS / "demonstrations" / "runs.csv", problem)
        write_minari(items, MINARI_ID, problem, repeat_last=True)
        return [files_of(Path(folder) / MINARI_ID / "data")]


MINARI_ID = "journeyman/fuzz-v0"


@contextmanager
def minari_folder(folder):
    """Let Minari look for its data sets there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(folder))
        yield


def read_minari():
    from journeyman.study.formats.trajectories import read_minari

    problem = line_problem()

    def read(folder, case):
        place = folder / MINARI_ID / "data"
        place.mkdir(parents=True)
        for name in case:
            (folder / name).rename(place / name)
        with minari_folder(folder):
            read_minari(MINARI_ID, problem.mdp)

    return read


def spoilt_minari(rng, case, cases):
    """Spoil a group, an array or a number inside of the HDF5 file; else the bytes of a file."""
    import h5py
    from fuzz.mutators import BINARY, mutated, pick, spoilt_array

    if rng.random() < 0.5:
        return mutated(rng, case, cases)
    file = io.BytesIO(case["main_data.hdf5"])
    with h5py.File(file, "r+") as content:
        names: list[str] = []
        content.visit(names.append)
        name, action = pick(rng, names), rng.random()
        array = np.asarray(content[name]) if isinstance(content[name], h5py.Dataset) else np.zeros(2)
        saved = io.BytesIO()
        np.save(saved, array)
        if action < 0.2:
            del content[name]
        elif action < 0.4:
            content.attrs["id"] = 5
            content[pick(rng, names)].attrs[pick(rng, ["id", "total_steps"])] = pick(rng, [-1, 2**40, "x", 0.5])
        else:
            del content[name]
            try:
                spoilt = np.load(io.BytesIO(spoilt_array(rng, saved.getvalue())))
                content[name] = spoilt.astype("S") if spoilt.dtype.kind == "U" else spoilt
            except (TypeError, ValueError):
                content[name] = np.frombuffer(pick(rng, BINARY)(rng, saved.getvalue(), [b"abc"]), dtype=np.uint8)
    return {**case, "main_data.hdf5": file.getvalue()}


def sweep_cases():
    """Results of a cell of a small sweep, and its checkpoint after two steps."""
    from experiment.small import tiny_sweep

    from journeyman.experiment import run_sweep
    from journeyman.experiment.cell_run import Checkpoint, Job, advance, save_checkpoint

    sweep = tiny_sweep(steps=2, acquisitions=["random"])
    with tempfile.TemporaryDirectory() as folder:
        run_sweep(sweep, folder, progress=False)
        (results,) = Path(folder).glob("results/*.parquet")
        job = Job(sweep.cells()[0], 2, sweep.metrics)
        kept = Path(folder) / f"{job.cell.id}.npz"
        save_checkpoint(kept, advance(job, Checkpoint()), job.metrics)
        return [{results.name: results.read_bytes()}, {kept.name: kept.read_bytes()}]


def read_results(folder, case):
    """Read results as a table, and as what a longer run resumes from."""
    from experiment.small import tiny_sweep

    from journeyman.experiment import sweep_table
    from journeyman.experiment.cell_run import Job
    from journeyman.experiment.store import open_store

    (name,) = case
    (folder / "results").mkdir()
    (folder / name).rename(folder / "results" / name)
    sweep = tiny_sweep(steps=2, acquisitions=["random"])
    open_store(folder).checkpoint(Job(sweep.cells()[0], 4, sweep.metrics))
    sweep_table(sweep, folder)


def resume_checkpoint(folder, case):
    """Read a checkpoint; one that is whole gives the learner of its cell, any other is none."""
    from experiment.small import tiny_sweep

    from journeyman.experiment.cell_run import load_checkpoint, resumed_learner

    (name,) = case
    sweep = tiny_sweep(steps=2, acquisitions=["random"])
    cell = sweep.cells()[0]
    resumed_learner(cell, cell.make_world(), load_checkpoint(folder / name, sweep.metrics))


def is_toml(name):
    return name == "problem.toml"


def is_table(name):
    return name != "problem.toml"


TARGETS = {
    "problem.toml": lambda: Target(problem_cases(), load_problem, is_toml),
    "tables": lambda: Target([case for case in problem_cases() if len(case) > 1], load_problem, is_table),
    "demonstrations": lambda: Target(demonstration_cases(), read_demonstrations()),
    "sweep.toml": lambda: Target(
        [{path.name: path.read_bytes()} for path in sorted((CORPUS / "sweeps").iterdir())], load_sweep
    ),
    "studies": lambda: Target(
        [{"s.study": small_study()}, *({p.name: p.read_bytes()} for p in sorted(FIXTURES.glob("*.study")))], open_study
    ),
    "forged studies": lambda: Target(forged_cases(), open_forged, lambda name: name != "s.study"),
    "sheets": lambda: Target(sheet_cases(), merge_sheet, lambda name: name == "sheet.csv"),
    "stored MDPs": lambda: Target(stored_table_cases(), load_mdp),
    "Minari": lambda: Target(minari_cases(), read_minari()),
    "sweep results": lambda: Target(sweep_cases()[:1], read_results),
    "checkpoints": lambda: Target(sweep_cases()[1:], resume_checkpoint),
    "uploads": lambda: Target(upload_cases(), upload),
    "requests": lambda: Target(request_cases(), send_requests()),
    "commands": lambda: Target(command_cases(), run_command, lambda name: name == "args.json", may_take_long=True),
}
SPOILERS = {"uploads": spoilt_texts, "Minari": spoilt_minari}


def prepared(folder, case):
    """Write the files of a case into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in case.items():
        (folder / name).write_bytes(data)
