"""What commands print with --json is described: by a JSON Schema each, which is checked, and by docs/json.md."""

import contextlib
import io
import json
import sys
from pathlib import Path

import pytest
import typer
from cli.tiny_sweep import TINY
from jsonschema import Draft202012Validator

from journeyman.cli import app as cli
from journeyman.cli.reference import walk
from journeyman.cli.schemas import DOCUMENTS, FILES, SCHEMAS, SHARED, references, schema_of
from journeyman.cli.schemas.page import json_markdown
from journeyman.study.exports import EXPORTS

COMMANDS = {
    path.removeprefix("journeyman ")
    for path, command in walk(typer.main.get_command(cli.app), "journeyman")
    if any("--json" in parameter.opts for parameter in command.params)
}
HOW = (
    "Describe what `journeyman {0} --json` prints: add {0!r} to the dict of its group in src/journeyman/cli/schemas "
    "(STUDIES, MODELS or SWEEPS), then run: python -m journeyman.cli.schemas.page > docs/json.md"
)
HOW_TO_RUN = (
    "Add a line that runs `journeyman {0}` on something tiny to STUDY, WORLDS or SWEEP in tests/cli/test_json.py."
)
MAKE = "Run: python -m journeyman.cli.schemas.page > docs/json.md"

QUICK = "--inference-set num_particles=100"
PEOPLE = "demonstration,state,action,annotator\n" + "".join(
    f"{number},{number % 2},{4 - number % 2},{who}\n" for number, who in enumerate(("ada", "ben", "ada", "ben"))
)
# Lines run in turn, in a folder with an example of a problem; a line that begins with "!" only prepares.
STUDY = f"""
check problem.toml
doctor --quick
study new my.study --problem problem.toml {QUICK}
study ask my.study --threads 1
study tell my.study 0 stay --by ada
study attach my.study house:right path:right --final pond
study undo my.study 0
study ask my.study --batch 2 --threads 1
study fail my.study 1
study abandon my.study 2
study status my.study --quick
study status my.study --threads 1
study certify my.study --threads 1
study doubts my.study --threads 1
study doubts my.study --quick --threads 1
study report my.study --threads 1
study scores my.study --threads 1
study plot my.study --list
study plot my.study --what policy --threads 1
study set my.study max_samples=100 max_burn_in=24
study clone my.study d.study --set epsilon=0.2
study ask my.study --new --threads 1
study sheet my.study --batch 2 --out sheet.csv --threads 1
study correct d.study 0 up
study merge my.study d.study --dry-run
study merge my.study d.study --prefer theirs
study tell my.study 3 stay
!study export my.study a.csv
!study new b.study --problem problem.toml {QUICK}
study import b.study a.csv
study import b.study a.csv --skip-duplicates
study import b.study people.csv --dry-run
study recover my.study c.study
!study new some.study --problem problem.toml {QUICK} --candidates occupancy:3
study status some.study --threads 1
!study new two.study --world lopes-two-state --epsilon 0.5 --goal reward
study status two.study --threads 1
study certify two.study --threads 1
study report two.study --threads 1 --forecast 1
study forecast two.study --runs 2 --limit 20 --threads 1
compare problem.toml people.csv {QUICK} --folds 2 --threads 1
compare problem.toml people.csv {QUICK} --by annotator --threads 1
"""
WORLDS = f"""
bound --states 8 --actions 5 --beta 2 --discount 0.9 --epsilon 0.1 --delta 0.1
bound --states 8 --actions 1 --beta 2 --discount 0.9 --epsilon 0.1 --delta 0.1 --support 3 --horizon 5 --near-states 4
infer jail --inference enumerate --inference-set num_points=256 --demonstrations 2 --threads 1
infer lopes-two-state --demonstrations 2 --threads 1
scores random-grid --world-set size=2 {QUICK} --demonstrations 2 --threads 1
scores random-grid --world-set size=2 {QUICK} --kind trajectory --length 3 --step-cost 0.1 --demonstrations 2
worlds
worlds show jail
worlds show lopes-two-state
run --world random-grid --world-set size=2 {QUICK} --steps 1 --out r --threads 1
run --world random-grid --world-set size=2 {QUICK} --steps 0 --out q --threads 1 --candidates 1
run --problem problem.toml {QUICK} --steps 0 --out p --epsilon 5% --threads 1
calibrate --world lopes-two-state --replications 2 --demonstrations 2
calibrate --world random-grid --world-set size=2 {QUICK} --replications 2 --demonstrations 2
calibrate --problem problem.toml {QUICK} --replications 1 --demonstrations 2 --length 2
"""
SWEEP = """
sweep status tiny.toml
sweep run tiny.toml --workers 1
sweep resume tiny.toml --workers 1
sweep status tiny.toml --cells
sweep table tiny.toml
sweep table tiny.toml --to t.csv
sweep plot tiny.toml --format svg
"""


def command_of(line):
    """The command that a line runs: the longest name that it begins with."""
    found = [name for name in COMMANDS if f"{line} ".startswith(f"{name} ")]
    return max(found, key=len) if found else None


def run(line):
    """Run a line in this process and return what it prints, also where it ends with another exit code than 0."""
    out, sys.argv = io.StringIO(), ["journeyman", *line.split()]
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code in (0, None, 3, 4) or "--dry-run" in line, line
    return out.getvalue()


def complaints(name, document):
    """What is wrong with a document, by its schema; no words if nothing is."""
    found = Draft202012Validator(schema_of(name)).iter_errors(document)
    return [f"{error.json_path}: {error.message[:300]}" for error in found]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer sets its own, for good
    monkeypatch.setattr(sys, "argv", sys.argv)
    run("init")
    (tmp_path / "people.csv").write_text(PEOPLE, "utf-8")
    (tmp_path / "tiny.toml").write_text(TINY, "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_with_json_is_described(name):
    """Keys of --json used to be undocumented."""
    assert name in SCHEMAS, HOW.format(name)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_with_json_is_run(name):
    lines = f"{STUDY}{WORLDS}{SWEEP}".splitlines()
    assert name in {command_of(line) for line in lines}, HOW_TO_RUN.format(name)


def test_only_commands_that_exist_are_described():
    assert set(SCHEMAS) <= COMMANDS
    assert {name.removeprefix("study export --what ") for name in FILES} == {
        what for what, endings in EXPORTS.items() if ".json" in endings
    }


@pytest.mark.parametrize(
    "lines", [pytest.param(STUDY, marks=pytest.mark.slow), WORLDS, SWEEP], ids=["study", "worlds", "sweep"]
)
def test_what_is_printed_is_what_is_described(folder, lines):
    found = {}
    for line in lines.split("\n"):
        if line.startswith("!"):
            run(line[1:])
        elif line:
            document = json.loads(run(f"{line} --json"), parse_constant=pytest.fail)
            name = command_of(line)
            if wrong := complaints(name, document):
                found[line] = wrong
    assert not found, f"{json.dumps(found, indent=2)}\nChange the schema in src/journeyman/cli/schemas. {MAKE}"


def test_files_are_what_is_described(folder):
    run(f"study new my.study --problem problem.toml {QUICK}")
    run("study attach my.study house:right path:right --final pond")
    run("study new two.study --world lopes-two-state")
    for study in ("my", "two"):
        for name in FILES:
            what = name.rpartition(" ")[2]
            run(f"study export {study}.study {study}-{what}.json --what {what} --threads 1")
            document = json.loads(Path(f"{study}-{what}.json").read_text("utf-8"), parse_constant=pytest.fail)
            assert not complaints(name, document), f"{name}: {complaints(name, document)}"


def nodes(schema, place="$"):
    """All schemas within a schema, with their places."""
    yield place, schema
    for name, value in schema.get("properties", {}).items():
        yield from nodes(value, f"{place}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key], f"{place}.{key}")
    for number, value in enumerate(schema.get("anyOf", ())):
        yield from nodes(value, f"{place}.anyOf[{number}]")


@pytest.mark.parametrize("name", [*DOCUMENTS, *SHARED])
def test_schemas_are_strict_and_say_what_every_key_means(name):
    schema = DOCUMENTS.get(name) or SHARED[name]
    Draft202012Validator.check_schema(schema_of(name) if name in DOCUMENTS else schema)
    for place, node in nodes(schema):
        if node.get("type") in ("object", ["object", "null"]):
            is_fixed = node.get("additionalProperties") is False
            assert is_fixed == ("properties" in node), f"{place} must have fixed keys, or values that are all alike"
        for key, value in node.get("properties", {}).items():
            words = value.get("description", "")
            assert words and len(words) < 200, f"{place}.{key} needs one short description"
            assert "\n" not in words
    assert set(references(schema)) <= set(SHARED)


def test_a_key_that_nobody_described_is_found():
    """So is one that is missing, and a value of another kind: the checks above can fail."""
    given = {"num_events": 7, "num_attached": 0, "losses": []}
    assert complaints("study recover", given) == []
    assert "'more' was unexpected" in complaints("study recover", given | {"more": 1})[0]
    assert complaints("study recover", {"num_events": 7, "losses": []}) == ["$: 'num_attached' is a required property"]
    assert complaints("study recover", given | {"losses": ["all", 1]}) == ["$.losses[1]: 1 is not of type 'string'"]
    query = {"id": 0, "state": 3, "kind": "word", "length": None, "score": 0.1, "text": "", "visit": 0}
    assert complaints("study ask", [query])[0].startswith("$[0].kind: 'word' is not one of")


def test_the_page_is_up_to_date():
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text("utf-8")
    assert page == json_markdown(), MAKE


def test_the_command_prints_a_schema(folder):
    assert run("schema").splitlines() == list(DOCUMENTS)
    assert json.loads(run("schema study status")) == schema_of("study status")


def test_the_command_knows_no_other(folder, capsys):
    sys.argv = ["journeyman", "schema", "study", "statu"]
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    assert "Did you mean 'study status'?" in capsys.readouterr().err
