"""The list of faults, the tests that do them, what was found, and the page that says so go together."""

import re
import runpy
from pathlib import Path

from faults.matrix import FAULTS

TESTS = Path(__file__).parents[1]
TRUST = TESTS.parent / "docs" / "trust"


def test_every_fault_has_a_test():
    found = [
        name
        for file in TESTS.rglob("test_*.py")
        for name in re.findall(r"^@attack\(\"(.*)\"\)$", file.read_text(), re.M)
    ]
    assert sorted(found) == sorted(FAULTS)


def test_a_thousand_kills():
    assert sum(fault.many for fault in FAULTS.values() if fault.is_kill) >= 1000


def test_the_page_says_what_was_found():
    script = runpy.run_path(str(TRUST / "faults.py"))
    rows = script["read_rows"]()
    assert [row["name"] for row in rows] == list(FAULTS)
    assert all((row["to"], row["holds"]) == (FAULTS[row["name"]].to, FAULTS[row["name"]].holds) for row in rows)
    assert all(row["result"] == "held" for row in rows)
    assert all(row["times"] >= max(FAULTS[row["name"]].many, FAULTS[row["name"]].quick) for row in rows)
    assert (TRUST / "faults.md").read_text("utf-8") == script["page"](rows), "Run: python docs/trust/faults.py"
