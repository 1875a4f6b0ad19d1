"""Studies, learners and files of problems with a memory: states are named as in the world, and lifted."""

from dataclasses import replace

import numpy as np
import pytest

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.learner import ActiveLearner
from journeyman.mdp import FiniteMDP
from journeyman.memory import visited
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState
from journeyman.study import Study
from journeyman.study.formats import examine_demonstrations, read_demonstrations, write_demonstrations
from journeyman.study.typed import parse_answer

FEW = {"inference_options": {"num_particles": 100}, "num_threads": 1}
WALK = [("home", "out"), ("fork", "left"), ("pond", "out"), ("fork", "right"), ("shed", "out"), ("fork", "right")]


def problem():
    """From home to a fork, from there to the pond or the shed, and back: the pond is remembered until home."""
    P = np.zeros((4, 3, 4))
    P[0, 0, 1] = P[1, 0, 0] = P[1, 1, 2] = P[1, 2, 3] = P[2, 0, 1] = P[3, 0, 1] = 1.0
    available = P.sum(axis=2) > 0
    labels = {"state_labels": ("home", "fork", "pond", "shed"), "action_labels": ("out", "left", "right")}
    mdp = FiniteMDP.from_dense(P, layout="SAS", discount=0.9, available=available, **labels)
    return Problem(mdp, PerState(mdp), Normal(4), 2.0).with_memory(visited(mdp, "pond", until="home"))


def table(path, rows, **more):
    columns = {"state": [row[0] for row in rows], "action": [row[1] for row in rows], **more}
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def names(problem, demonstration):
    return [problem.mdp.state_name(state) for state, _ in demonstration.steps]


LIFTED = [
    "home (before pond)", "fork (before pond)", "pond (before pond)", "fork (after pond)", "shed (after pond)",
    "fork (after pond)",
]  # fmt: skip


def test_tables_of_the_world_are_lifted(tmp_path):
    own = problem()
    (found,) = read_demonstrations(table(tmp_path / "walk.csv", WALK), own)
    assert names(own, found) == LIFTED
    write_demonstrations([found], tmp_path / "again.csv", own)
    assert read_demonstrations(tmp_path / "again.csv", own) == (found,)  # with the names of the product
    states_only = table(tmp_path / "states.csv", [(state, "") for state, _ in WALK])
    (by_states,) = read_demonstrations(
        states_only, own, columns={"state": "state", "next_state": "state", "action": None}
    )
    assert names(own, by_states) == LIFTED[:5] and by_states.final_state == found.steps[-1][0]


def test_gaps_leave_unknown_what_is_remembered(tmp_path):
    path = table(tmp_path / "gap.csv", WALK, step=[0, 1, 2, 5, 6, 7])
    with pytest.raises(InputError, match=r"must have no gaps, got one that begins anew at line 5"):
        examine_demonstrations(path, problem())
    pieces = table(tmp_path / "pieces.csv", WALK, step=[0, 1, 2, 5, 6, 7], demonstration=[0, 0, 0, 1, 1, 1])
    assert [len(item) for item in read_demonstrations(pieces, problem())] == [3, 3]


def test_impossible_steps_are_named_as_in_the_world(tmp_path):
    path = table(tmp_path / "wrong.csv", [("home", "out"), ("pond", "out")])
    for skip_impossible in (False, True):
        with pytest.raises(
            InputError, match=r"begins anew .*impossible step \(.*pond cannot follow action out in home"
        ):
            read_demonstrations(path, problem(), skip_impossible=skip_impossible)
    path = table(tmp_path / "end.csv", [("home", "out"), ("fork", "left"), ("pond", "left")])
    with pytest.raises(InputError, match="action left is not available in pond"):
        read_demonstrations(path, problem())


def test_a_study_keeps_the_memory_and_lifts_what_it_is_given(tmp_path):
    own = problem()
    path = tmp_path / "pond.study"
    with Study.create(path, own, seed=0, **FEW) as study:
        walk = Demonstration(0, ((0, 0), (1, 1), (2, 0), (1, 2)), 3, "truncated")
        study.attach(walk)
    with Study.open(path, num_threads=1) as study:
        (kept,) = study.demonstrations
        assert names(study.problem, kept) == LIFTED[:4]
        assert study.problem.mdp.memory.labels == ("before pond", "after pond")
        assert study.problem.counts(walk).tolist() == own.counts(kept).tolist()
        query = study.ask()
        assert query.text.startswith("In state ") and "pond)" in query.text


def test_a_learner_takes_answers_as_in_the_world():
    """Asked about the fork after the pond, one writes "fork:left pond:out": the question says what is remembered."""
    own = problem()
    after = own.mdp.state_names.index("fork (after pond)")
    own = replace(own, queryable=np.arange(own.mdp.num_states) == after)
    learner = ActiveLearner(own, seed=0, kind="trajectory", length=2, **FEW)
    learner.attach(Demonstration(0, ((0, 0), (1, 1)), 2, "truncated"))
    query = learner.ask()
    assert query.state == after
    typed = parse_answer(own.mdp, query, ["fork:left", "pond:out"], "fork", None)
    assert typed.start_state == own.mdp.state_names.index("fork") != after
    learner.tell(query, typed)
    assert names(own, learner.demonstrations[-1]) == ["fork (after pond)", "pond (after pond)"]
    assert learner.demonstrations[-1].final_state == after
