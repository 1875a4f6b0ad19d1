"""The [memory] of a problem file: what it makes, what `check` says of it, and every complaint with its line."""

import numpy as np
import pytest
from problem_files.texts import REST

from journeyman.errors import InputError
from journeyman.memory import automaton, clock, combined, last_action, visited
from journeyman.problem_files import explain, problem_from_record, problem_to_record
from journeyman.problem_files.explanation import explanation_lines

WORLD = """discount = 0.9
[graph]
edges = [["home", "fork", "on", "off"], ["fork", "pond", "left", "back"], ["fork", "shed", "right", "back"]]
[states]
initial = ["home"]
"""
VISITED = """
[memory]
kind = "visited"
place = "pond"
until = "home"
"""


def same(problem, memory):
    """Check that a problem is over the world with this memory, and return that product."""
    world = problem.mdp.memory.world
    other = world.with_memory(memory(world))
    np.testing.assert_array_equal(problem.mdp.dense_transitions(), other.dense_transitions())
    assert problem.mdp.state_labels == other.state_labels
    return other


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        (VISITED, lambda mdp: visited(mdp, "pond", until="home")),
        (VISITED + 'on = "entering"\n', lambda mdp: visited(mdp, "pond", until="home", on="entering")),
        ('[memory]\nkind = "last_action"\n', last_action),
        ('[memory]\nkind = "clock"\nhorizon = 3\n', lambda mdp: clock(mdp, 3)),
        (
            '[memory]\nkind = "automaton"\nstates = ["dry", "wet"]\nstart = "wet"\n'
            'changes = [{ from = "dry", state = "fork", action = "left", to = "wet" },\n'
            '           { enters = "home", to = "dry" }]\n',
            lambda mdp: automaton(
                mdp, ["dry", "wet"], [("dry", ("fork", "left"), "wet"), {"enters": "home", "to": "dry"}], start="wet"
            ),
        ),
        (
            '[memory.thirst]\nkind = "visited"\nplace = "pond"\n[memory.move]\nkind = "last_action"\n',
            lambda mdp: combined(visited(mdp, "pond"), last_action(mdp)),
        ),
    ],
)
def test_files_say_what_is_remembered(load, text, memory):
    problem = load(WORLD + REST + text)
    other = same(problem, memory)
    assert problem.reward_model.num_parameters == other.num_states
    back = problem_from_record(problem_to_record(problem))
    same(back, memory)
    np.testing.assert_array_equal(back.queryable, problem.queryable)
    assert back.mdp.state_names.index("pond") == problem.mdp.memory.world.state_names.index("pond")


def test_rewards_may_be_shared_and_questions_only_asked_at_the_start(load):
    more = 'rewards = "shared"\nquestions = "start"\n'
    problem = load(WORLD + REST + VISITED + more)
    assert problem.reward_model.num_parameters == 4
    assert np.flatnonzero(problem.queryable).tolist() == [0, 1, 2, 3]
    named = WORLD + REST + '[memory]\nrewards = "shared"\n[memory.a]\nkind = "visited"\nplace = "pond"\n'
    assert load(named).reward_model.num_parameters == 4


def test_check_explains_it(load):
    problem = load(WORLD + REST + VISITED)
    found = explain(problem, num_rewards=20)
    words = dict(explanation_lines(found))["Memory"]
    assert words.startswith("has visited pond since home: before pond; after pond.")
    assert (
        "rewards of its own" in words
        and f"4 places of the world with what may be remembered there make {problem.mdp.num_states} states" in words
    )
    record = found.to_record()["memory"]
    assert record == {
        "name": "has visited pond since home", "states": ["before pond", "after pond"], "num_world_states": 4,
        "is_shared": False,
    }  # fmt: skip
    assert not [warning for warning in found.warnings if "cannot be reached" in warning]
    shared = load(WORLD + REST + VISITED + 'rewards = "shared"\n')
    assert "Rewards are the same in all of them" in dict(explanation_lines(explain(shared, num_rewards=20)))["Memory"]
    assert explain(load(WORLD + REST), num_rewards=20).to_record()["memory"] is None


def test_check_names_what_is_never_remembered(load):
    automaton_of = '[memory]\nkind = "automaton"\nstates = {}\nchanges = [{}]\n'.format
    lost = automaton_of('["dry", "wet", "lost"]', '{ enters = "pond", to = "wet" }')
    still = automaton_of('["dry", "wet"]', '{ from = "wet", enters = "pond", to = "dry" }')
    told = [explain(load(WORLD + REST + text), num_rewards=20).warnings for text in (lost, still, VISITED)]
    assert "The memory is never lost. If it should be, say which change leads there." in told[0]
    assert any("it is 'dry' wherever one may be" in warning for warning in told[1])
    assert not any("memory" in warning for warning in told[2])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[memory]\nplace = "pond"\n', r"kind must be given in \[memory\], got none in line 13"),
        ('[memory]\nkind = "visit"\n', r"kind must be one of visited, .*, got 'visit' at line 14.*visited"),
        ('[memory]\nkind = "visited"\n', r"place must be given in \[memory\]"),
        (
            '[memory]\nkind = "visited"\nplace = "lake"\n',
            r"\[memory\], line 15 of problem.toml: a state must be .*'lake'",
        ),
        ('[memory]\nkind = "visited"\nplace = "pond"\nuntil = "pond"\n', r"line 16 of .*undone in another state"),
        ('[memory]\nkind = "visited"\nplace = "pond"\nunitl = "home"\n', r"got 'unitl' at line 16.*until"),
        (
            '[memory]\nkind = "visited"\nplace = "pond"\non = "exit"\n',
            r"on must be one of leaving, entering, got 'exit'",
        ),
        ('[memory]\nkind = "visited"\nplace = "pond"\nrewards = "own"\n', "rewards must be one of per_memory, shared"),
        ('[memory]\nkind = "clock"\nhorizon = 0\n', r"\[memory\], line 15 .*horizon must be a whole number"),
        ('[memory]\nkind = "automaton"\nstates = ["a"]\n', "changes must be given"),
        ('[memory]\nkind = "automaton"\nstates = ["a", "a"]\nchanges = []\n', r"line 15 .*got 'a' twice"),
        (
            '[memory]\nkind = "automaton"\nstates = ["a", "b"]\nstart = "c"\n'
            'changes = [{ state = "pond", to = "b" }]\n',
            r"line 16 .*state of the memory must be .*'c'",
        ),
        (
            '[memory]\nkind = "automaton"\nstates = ["a", "b"]\nchanges = [{ state = "lake", to = "b" }]\n',
            r"line 16 .*change 0 of a memory: a state must be .*'lake'",
        ),
        ('[[memory]]\nkind = "last_action"\n', r"memory must be one table, got a list .*\[memory.thirst\]"),
        ('[memory]\nplace = "pond"\n[memory.a]\nkind = "last_action"\n', r"got 'place' at line 14"),
        ('[memory.a]\nkind = "lastaction"\n', r"got 'lastaction' at line 14.*last_action"),
    ],
)
def test_mistakes_are_named_with_their_line(load, text, complaint):
    before = WORLD + REST.lstrip()
    assert before.count("\n") == 12  # so that what is added begins on line 13
    with pytest.raises(InputError, match=complaint):
        load(before + text)
