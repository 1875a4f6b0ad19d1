"""The example in examples/gymnasium does what its README says."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "gymnasium"
README = (EXAMPLE / "README.md").read_text("utf-8")
MAKEFILE = (EXAMPLE.parents[1] / "Makefile").read_text("utf-8")


def test_links_and_names_of_the_readme_exist():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (EXAMPLE / target).exists(), target
    script = (EXAMPLE / "run.py").read_text("utf-8")
    for call in ("gymnasium_world(env, reward=", "play(env, world.expert.policy, 1,", "mdp.unrolled("):
        assert call in README and call in script


def test_make_examples_runs_every_example():
    assert "examples/*/run.sh examples/*/run.py" in MAKEFILE
    for folder in EXAMPLE.parent.iterdir():
        assert any((folder / name).exists() for name in ("run.sh", "run.py")) or not any(folder.iterdir())


@pytest.mark.slow
def test_the_example_certifies_a_policy_whose_returns_agree(capsys):
    """The script itself asserts both; about half a minute."""
    pytest.importorskip("gymnasium")
    found = runpy.run_path(str(EXAMPLE / "run.py"))
    assert found["result"].is_finished and abs(found["deviation"]) < 4.0
    assert found["world"].regret(found["policy"]) < found["EPSILON"]
    assert "The certificate HOLDS" in capsys.readouterr().out
