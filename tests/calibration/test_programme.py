"""The committed table belongs to the programme as it is, and the programme to the package."""

import csv
import importlib.util
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "calibration"


def load_programme():
    spec = importlib.util.spec_from_file_location("programme", FOLDER / "programme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [{item.key: item for item in some} for some in (module.CONFIGURATIONS, module.EXPERTS)]


CONFIGURATIONS, EXPERTS = load_programme()
RECORDS = json.loads((FOLDER / "table.json").read_text("utf-8"))
EXPERT_RECORDS = json.loads((FOLDER / "experts" / "table.json").read_text("utf-8"))


@pytest.mark.parametrize("key", CONFIGURATIONS)
def test_each_configuration_can_be_run(key):
    item = CONFIGURATIONS[key]
    assert item.is_available
    assert item.num_replications >= (500 if item.role in ("method", "baseline") else 200)
    assert item.spec().depends_on_truth == (item.role == "published")


def test_every_role_is_there():
    assert {item.role for item in CONFIGURATIONS.values()} == {"method", "baseline", "mutant", "published"}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["key"])
def test_committed_results_are_those_of_the_programme(record):
    item = CONFIGURATIONS[record["key"]]
    assert record["spec"] == item.spec().record()
    assert (record["world"], record["method"], record["role"]) == (item.world, item.label, item.role)
    if record["num_replications"] >= item.num_replications and item.role in ("mutant", "published"):
        assert not record["is_calibrated"]


def test_table_and_page_say_the_same():
    with (FOLDER / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    page = (FOLDER / "README.md").read_text("utf-8")
    assert len(rows) == len(RECORDS) == page.count("\n| ") - 1  # a line of headings
    for row, record in zip(rows, RECORDS, strict=True):
        assert (row["world"], row["method"]) == (record["world"], record["method"])
        assert float(row["p"]) == pytest.approx(record["p_value"], rel=1e-3)
        assert row["method"] in page


@pytest.mark.parametrize("record", EXPERT_RECORDS, ids=lambda record: record["key"])
def test_committed_results_with_unknown_experts_are_those_of_the_programme(record):
    item = EXPERTS[record["key"]]
    assert item.is_available
    assert record["spec"] == item.spec().record()
    assert {one["name"] for one in record["quantities"]} & {"beta", "beta of anna"}
    assert record["num_failed"] == 0
    if item.role != "baseline":
        assert record["is_calibrated"] == (item.role == "method")


def test_unknown_experts_are_calibrated_on_every_world():
    done = {(record["world"], record["role"]) for record in EXPERT_RECORDS}
    assert {("jail", "method"), ("4x4", "method"), ("8x8", "method"), ("jail", "mutant")} <= done
    assert all(record["num_replications"] >= 50 for record in EXPERT_RECORDS)
