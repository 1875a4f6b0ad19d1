"""A sweep that takes a second, and the example made as small."""

import re
from pathlib import Path

TINY = """
name = "tiny"
steps = 3
seeds = 2
worlds = [{name = "random-grid", label = "3x3", options = {size = 3}}]
inference = [{name = "smc", label = "smc", options = {num_particles = 100}}]
acquisitions = ["random", {name = "pac_eig", label = "nuPAC-EIG"}]
"""


def shrink(path: Path) -> None:
    """Make the example of `journeyman sweep init` small enough for a test; it stays the same otherwise."""
    text = path.read_text("utf-8")
    for key, value in {"steps": 2, "seeds": 1}.items():
        text, count = re.subn(rf"^{key} = \d+", f"{key} = {value}", text, flags=re.MULTILINE)
        assert count == 1
    text, count = re.subn(r"num_particles = \d+", "num_particles = 100", text)
    assert count == 1
    path.write_text(text, "utf-8")
