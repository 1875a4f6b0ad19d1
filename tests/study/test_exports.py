"""What leaves a study, in every format that its ending can name, and nothing that its name does not say."""

import csv
import json
import sys
from datetime import UTC, datetime

import numpy as np
import pytest
from study.tiny import SETTINGS, answer_one, tiny_problem

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, MissingExtraError
from journeyman.extras import require
from journeyman.inference.tables import as_frame
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState
from journeyman.study import Study
from journeyman.study.exports import (
    EXPORTS,
    TABLES,
    export_demonstrations,
    export_table,
    write_export,
    write_table,
)
from journeyman.study.formats import read_demonstrations

FORMATS = [(what, ending) for what, endings in EXPORTS.items() for ending in endings]
MAGIC = {".parquet": b"PAR1", ".nc": b"\x89HDF", ".json": b"{"}  # how files of a format begin
EXTRAS = {".parquet": "tables", ".nc": "mcmc"}
STAMP = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    with Study.create(tmp_path_factory.mktemp("study") / "a.study", tiny_problem(), num_threads=1, **SETTINGS) as made:
        for _ in range(3):
            answer_one(made)
        yield made


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("what", "ending"), FORMATS)
def test_a_file_is_what_its_ending_says(study, what, ending, tmp_path):
    """`post.csv` used to hold NetCDF, and `policy.csv` JSON."""
    path = tmp_path / f"a{ending}"
    write_export(study, what, path)
    start = path.read_bytes()[:4]
    if ending == ".csv":
        rows = rows_of(path)
        table = export_table(study, what)
        assert list(rows[0]) == list(table)
        assert [list(row.values()) for row in rows] == [
            ["" if value is None else str(value) for value in row] for row in zip(*table.values(), strict=True)
        ]
    else:
        assert start.startswith(MAGIC[ending])
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("what", EXPORTS)
def test_an_unknown_ending_is_refused_with_those_that_exist(study, what, tmp_path):
    endings = list(EXPORTS[what])
    for name in ("a.txt", "a", "a.xlsx", "a.csv.gz"):
        with pytest.raises(InputError, match="the format must be clear from the ending of the file") as refusal:
            write_export(study, what, tmp_path / name)
        assert all(ending in str(refusal.value) for ending in endings)
    assert not list(tmp_path.iterdir())


def test_endings_in_capitals_are_endings(study, tmp_path):
    write_export(study, "policy", tmp_path / "A.CSV")
    assert len(rows_of(tmp_path / "A.CSV")) == len(export_table(study, "policy")["state"])


def test_csv_numbers_are_exact(study, tmp_path):
    write_export(study, "posterior", tmp_path / "a.csv", level=0.9)
    posterior, rows = study.posterior(), rows_of(tmp_path / "a.csv")
    assert [float(row["mean"]) for row in rows] == pytest.approx(posterior.mean_parameters().tolist(), rel=1e-13)
    intervals = [[float(row["low"]), float(row["high"])] for row in rows]
    np.testing.assert_array_equal(intervals, posterior.credible_intervals(0.9))
    assert {row["level"] for row in rows} == {"0.9"}


@pytest.mark.parametrize("what", [what for what, endings in EXPORTS.items() if ".parquet" in endings])
def test_parquet_is_the_same_table(study, what, tmp_path):
    parquet = require("pyarrow.parquet", "tables")
    write_export(study, what, tmp_path / "a.parquet")
    found = parquet.read_table(tmp_path / "a.parquet")
    table = export_table(study, what)
    assert found.column_names == list(table)
    for name, values in table.items():
        assert found[name].to_pylist() == values
        assert str(found[name].type) != "null", "a column of unknown values must have a type"


@pytest.mark.parametrize("what", TABLES)
def test_every_table_is_a_frame(study, what):
    frame = as_frame(export_table(study, what))
    assert len(frame) == len(next(iter(export_table(study, what).values())))


@pytest.mark.parametrize("what", ["posterior", "reward", "predictive"])
def test_json_has_the_rows_and_where_they_come_from(study, what, tmp_path):
    write_export(study, what, tmp_path / "a.json")
    record = json.loads((tmp_path / "a.json").read_text(), parse_constant=pytest.fail)
    table = export_table(study, what)
    assert record.pop("rows") == [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    warnings = list(study.posterior().warnings)
    assert record == {
        "format": f"journeyman-{what}-1", "method": "smc", "num_samples": 100, "num_demonstrations": 3,
        "warnings": warnings,
    }  # fmt: skip


def test_a_policy_with_its_certificate(study, tmp_path):
    write_export(study, "policy", tmp_path / "policy.json")
    policy = json.loads((tmp_path / "policy.json").read_text())
    assert policy["policy"] == study.apprentice().tolist()
    assert policy["actions"] == ["stay", "up", "right", "down", "left"]
    write_export(study, "certificate", tmp_path / "certificate.json")
    certificate = json.loads((tmp_path / "certificate.json").read_text())
    assert certificate == json.loads(study.certificate().to_json())
    assert policy["certificate"]["upper_bound"] == certificate["upper_bound"]
    write_export(study, "certificate", tmp_path / "certificate.csv")
    (row,) = rows_of(tmp_path / "certificate.csv")
    assert (row["status"], float(row["p_hat"])) == (certificate["status"], certificate["p_hat"])
    table = export_table(study, "policy")
    chosen = [i for i, is_chosen in enumerate(table["is_chosen"]) if is_chosen]
    for i in chosen:
        state, action = table["state"][i], table["action"][i]
        assert policy["policy"][state] == action
        assert policy["chance_optimal"][state][action] == table["chance_optimal"][i]


def test_history_has_labels_and_every_step(study, tmp_path):
    write_export(study, "history", tmp_path / "a.csv")
    write_export(study, "history", tmp_path / "a.json")
    rows, steps = rows_of(tmp_path / "a.csv"), json.loads((tmp_path / "a.json").read_text())["steps"]
    assert [row["name"] for row in rows] == [step["name"] for step in steps] == ["start", "tell", "tell", "tell"]
    assert [int(row["state"]) for row in rows[1:]] == [step["query"]["state"] for step in steps[1:]]


def test_netcdf_of_the_posterior_holds_draws_with_labels(study, tmp_path):
    arviz = require("arviz", "mcmc")
    write_export(study, "posterior", tmp_path / "draws.nc")
    data = arviz.from_netcdf(str(tmp_path / "draws.nc"))
    draws = data["posterior"]["theta"].values
    assert draws.shape == (1, 100, 4)
    assert list(data["posterior"]["parameter"].values) == export_table(study, "posterior")["parameter"]
    # ArviZ knows no weights, so draws are resampled: each sample is kept within one draw of 100.
    samples, index, copies = np.unique(study.posterior().theta, axis=0, return_inverse=True, return_counts=True)
    weights = np.bincount(index.ravel(), weights=study.posterior().weights)
    chosen = np.array([(draws[0] == sample).all(axis=1).sum() for sample in samples])
    assert (np.abs(chosen / 100 - weights) <= 0.01 * copies + 1e-12).all()
    assert chosen.sum() == 100
    data.close()


def test_netcdf_of_predictions_is_found_by_label(study, tmp_path):
    xarray = require("xarray", "mcmc")
    write_export(study, "predictive", tmp_path / "a.nc")
    with xarray.open_dataset(tmp_path / "a.nc") as data:
        table = export_table(study, "predictive")
        state, action = table["state"][3], table["action_label"][3]
        chosen = data["mean"].sel(action=action).isel(state=state)
        assert float(chosen) == table["mean"][3]
        assert data.attrs["num_demonstrations"] == 3


@pytest.mark.parametrize("what", EXPORTS)
def test_an_export_needs_its_folder(study, tmp_path, what):
    ending = next(iter(EXPORTS[what]))
    with pytest.raises(InputError, match="the folder of an export must exist"):
        write_export(study, what, tmp_path / "missing" / f"a{ending}")
    folder = tmp_path / f"folder{ending}"
    folder.mkdir()
    with pytest.raises(InputError, match="an export must go to a file, got the folder"):
        write_export(study, what, folder)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".nc", ".json"])
def test_a_failed_export_leaves_the_old_file(study, tmp_path, ending, monkeypatch):
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"old")

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(InputError, match="No space left on device"):
        write_export(study, "policy", path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("what", EXPORTS)
def test_plain_tables_need_no_extras(study, what, tmp_path, monkeypatch):
    """CSV and JSON are written with what is always installed; the others say which extra they need before any work."""
    for name in ("pandas", "pyarrow", "arviz", "xarray"):
        monkeypatch.setitem(sys.modules, name, None)
    for ending in EXPORTS[what]:
        if ending in (".csv", ".json"):
            write_export(study, what, tmp_path / f"a{ending}")
            continue
        with monkeypatch.context() as patched, pytest.raises(MissingExtraError, match=EXTRAS[ending]):
            patched.setattr(Study, "posterior", lambda self: pytest.fail("it worked before it looked"))
            write_export(study, what, tmp_path / f"a{ending}")
    assert {path.suffix for path in tmp_path.iterdir()} <= {".csv", ".json"}


def labelled_problem(states, actions=("stay", "go")):
    transitions = np.zeros((3, 2, 3))
    transitions[[0, 1], 0, [0, 1]] = transitions[[0, 1], 1, [1, 2]] = 1.0
    mdp = FiniteMDP.from_dense(transitions, layout="SAS", discount=0.5, state_labels=states, action_labels=actions)
    return Problem(mdp, PerState(mdp), Normal(3), 2.0)


DEMONSTRATIONS = (
    Demonstration(0, ((0, 1), (1, 1)), 2, "terminated", 4, "Ada, “A”", STAMP),
    Demonstration.annotation(1, 0),
    Demonstration(2, (), None, "terminated"),
)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".json", ".jsonl", ".jsonl.gz"])
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("states", [("den", "nest", "pit"), ("1", "2", "0"), ("a,b", 'a"b', "é ä")])
def test_demonstrations_are_read_back_exactly(states, labels, ending, tmp_path):
    """With labels or numbers; also where labels look like numbers, so that a number might mean another state."""
    problem = labelled_problem(states)
    export_demonstrations(DEMONSTRATIONS, tmp_path / f"a{ending}", problem, labels=labels)
    assert read_demonstrations(tmp_path / f"a{ending}", problem) == DEMONSTRATIONS


def test_labels_of_demonstrations(tmp_path):
    problem = labelled_problem(("den", "nest", "pit"))
    export_demonstrations(DEMONSTRATIONS, tmp_path / "a.csv", problem)
    assert [row["state"] for row in rows_of(tmp_path / "a.csv")] == ["den", "nest", "nest", "pit"]
    export_demonstrations(DEMONSTRATIONS, tmp_path / "a.jsonl", problem, labels=True)
    first = json.loads((tmp_path / "a.jsonl").read_text("utf-8").splitlines()[0])
    assert (first["steps"], first["final_state"]) == ([["den", "go"], ["nest", "go"]], "pit")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.md", {}, "the format must be clear from the ending"),
        ("a.npz", {"labels": True}, "labels must go to a table or to JSON, got"),
        ("a.npz", {"labels": True, "format": "imitation"}, "labels must go to a table or to JSON, got"),
        ("a.parquet", {"repeat_last": True}, "repeat_last must go with imitation or minari"),
    ],
)
def test_what_demonstrations_cannot_be_written_to(name, options, message, tmp_path):
    with pytest.raises(InputError, match=message):
        export_demonstrations(DEMONSTRATIONS, tmp_path / name, labelled_problem(("den", "nest", "pit")), **options)
    assert not list(tmp_path.iterdir())


def test_labels_must_exist_to_be_written(tmp_path):
    with pytest.raises(InputError, match="labels must exist to be written"):
        export_demonstrations(DEMONSTRATIONS, tmp_path / "a.csv", labelled_problem(None, None), labels=True)


def test_a_table_of_no_rows_keeps_its_columns(tmp_path):
    write_table({"state": [], "mean": []}, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "state,mean\n"


@pytest.mark.parametrize("name", ["a\ud800b", "a\u2028b", "a\x85b", "a\rb", "a\nb", "a\x1b[31mb", "a\x00b"])
def test_names_that_no_table_could_give_back_are_refused(tmp_path, name):
    with Study.create(tmp_path / "a.study", tiny_problem(), num_threads=1, **SETTINGS) as study:
        query = study.ask()
        with pytest.raises(InputError, match="an annotator must have a name of ordinary letters"):
            study.tell(query, 0, annotator=name)
        study.tell(query, 0, annotator="\u5c71\u7530\u3000\u592a\u90ce")


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "jsonl", "parquet", "npz"])
def test_a_name_of_an_old_study_does_not_stop_an_export(tmp_path, ending):
    """Version 0.1 took any name."""
    path = tmp_path / f"answers.{ending}"
    export_demonstrations([Demonstration.annotation(0, 1, annotator="a\ud800b")], path, tiny_problem())
    (found,) = read_demonstrations(path, tiny_problem())
    assert found.steps == ((0, 1),)
