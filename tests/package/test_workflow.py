"""The workflow calls targets of the Makefile, and may do no more than read."""

import re

import yaml
from package.tested_versions import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8"))
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]


def test_it_calls_targets_that_exist():
    called = {step["run"].removeprefix("make ") for step in STEPS if step.get("run", "").startswith("make ")}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert called == {"lint", "test", "docs", "package", "test-lowest"}
    assert called <= targets


def test_it_may_only_read():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert not [job for job in WORKFLOW["jobs"].values() if "permissions" in job]


def test_it_covers_every_python_from_the_lowest_on():
    assert WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
