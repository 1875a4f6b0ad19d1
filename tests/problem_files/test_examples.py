"""The problems of docs/problem-file.md and docs/memory.md run as they are printed."""

import re
from pathlib import Path

import numpy as np
import pytest

from journeyman.problem_files import (
    explain,
    load_problem,
    write_from_graph,
    write_from_map,
)

PAGE = Path(__file__).parents[2] / "docs" / "problem-file.md"
TEXT = PAGE.read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
PROBLEMS = [block for language, _, block in BLOCKS if language == "toml"]
FILES = {name: block for _, name, block in BLOCKS if name}


@pytest.fixture
def folder(tmp_path):
    for name, block in FILES.items():
        (tmp_path / name).write_text(block, "utf-8")
    return tmp_path


def test_the_page_has_a_map_graphs_and_a_table():
    assert [re.search(r"^\[(map|graph|transitions)\]", text, re.MULTILINE).group(1) for text in PROBLEMS] == [
        "map", "graph", "graph", "transitions",
    ]  # fmt: skip
    assert set(FILES) == {"meadow.txt", "edges.csv", "nodes.csv", "transitions.csv"}


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_its_problems_run_and_leave_no_doubt(folder, number):
    (folder / "problem.toml").write_text(PROBLEMS[number], "utf-8")
    found = explain(load_problem(folder / "problem.toml"), num_rewards=50)
    doubts = [text for text in found.warnings if "all actions are the same" not in text]  # true of dead ends
    assert doubts == []


def test_both_ways_to_write_the_map_and_the_graph_agree(folder):
    write_from_map(folder / "meadow.txt", folder / "meadow")
    (folder / "problem.toml").write_text(PROBLEMS[0].replace("slip = 0.1", ""), "utf-8")
    by_hand, made = (load_problem(path / "problem.toml").mdp for path in (folder, folder / "meadow"))
    assert np.array_equal(by_hand.dense_transitions(), made.dense_transitions())
    assert by_hand.state_labels == made.state_labels
    write_from_graph(folder / "edges.csv", folder / "maze")
    (folder / "problem.toml").write_text(PROBLEMS[1], "utf-8")
    by_hand, made = (load_problem(path / "problem.toml").mdp for path in (folder, folder / "maze"))
    assert np.array_equal(by_hand.dense_transitions(), made.dense_transitions())


def test_the_examples_of_memories_run(tmp_path):
    page = (PAGE.parent / "memory.md").read_text("utf-8")
    blocks = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    (whole,) = [block for _, name, block in blocks if name == "problem.toml"]
    part, timed = [block for language, name, block in blocks if language == "toml" and not name]
    world = (
        '[graph]\nedges = [["depot", "road", "go", "back"], ["road", "customer", "on", "off"], '
        '["road", "ditch", "left", "up"], ["depot", "depot", "pick"], ["customer", "customer", "drop"]]\n'
    )
    rest = whole[whole.index("[reward]") :]
    (tmp_path / "problem.toml").write_text(f"discount = 0.9\n{world}{part}\n{rest}", "utf-8")
    assert load_problem(tmp_path / "problem.toml").mdp.memory.labels == ("empty", "carrying")
    (tmp_path / "problem.toml").write_text(f"discount = 0.9\n{world}{timed}\n{rest}", "utf-8")
    clocked = load_problem(tmp_path / "problem.toml")
    assert len(clocked.mdp.memory.labels) == 6 and clocked.reward_model.num_parameters == 4
