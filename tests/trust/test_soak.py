"""The studio under attack: a short run of bench/soak.py loses nothing, and the page says what the long one found."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRUST = ROOT / "docs" / "trust"


def assert_nothing_lost(row):
    assert (row["lost"], row["twice"], row["tracebacks"]) == (0, 0, 0)
    assert row["acknowledged"] > 0
    assert set(row["statuses"]) <= {"200", "304", "429", "503"}  # 503: busy, and says to send the same again
    responses = {status for one in row["attacks"].values() for status in one["statuses"]}
    assert not {status for status in responses if status.startswith("5")} - {"503"}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks at processes as Linux shows them")
def test_a_short_run(tmp_path):
    out = tmp_path / "soak.json"
    command = [sys.executable, "bench/soak.py", "--minutes", "0.15", "--people", "6", "--think", "1", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    row = json.loads(out.read_text())
    assert_nothing_lost(row)
    assert all(
        one["times"] for name, one in row["attacks"].items() if name in ("path", "malformed JSON", "wrong token")
    )


def test_the_committed_run_is_long_and_its_page_says_what_it_found():
    script = runpy.run_path(str(TRUST / "soak.py"))
    row = script["read_row"]()
    assert row["minutes"] >= 30 and row["num_people"] >= 50
    assert_nothing_lost(row)
    assert all(one["times"] > 0 for one in row["attacks"].values())
    assert row["descriptors"]["after"] <= row["descriptors"]["before"] + 2
    assert (TRUST / "soak.md").read_text("utf-8") == script["page"](row), "Run: python docs/trust/soak.py"
