"""`journeyman study`, as a user types it."""

import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from criticism.misfits import left_and_right, ring_problem

from journeyman import Normal, Problem, discretise
from journeyman.cli import app as cli
from journeyman.rewards import Discrete
from journeyman.study import Study


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run `journeyman` with these arguments in an empty folder; return exit code, stdout and stderr."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # typer sets its own, for good
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)

    def run_command(line):
        monkeypatch.setattr(sys, "argv", ["journeyman", *line.split()])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        output = capsys.readouterr()
        return stop.value.code or 0, output.out, output.err

    return run_command


def test_the_main_job(study, run, succeed):
    out = succeed("study ask my.study")
    assert out.startswith("Question 0: In state ")
    assert "Answer with: journeyman study tell my.study 0 ACTION" in out
    assert succeed("study tell my.study 0 right --by ada").startswith("Kept the answer to question 0.")
    status = succeed("study status my.study --json")
    assert (status["num_done"], status["num_demonstrations"]) == (1, 1)
    assert 0.0 <= status["belief"]["failure_chance"] <= 1.0
    out = succeed("study status my.study")
    assert "Questions: 1 asked, 1 answered, 0 waiting" in out
    assert "Certificate: " in out
    code, out, err = run("study certify my.study")
    assert (code, err) == (3, "")
    assert "All of this assumes that" in out
    code, out, err = run("study certify my.study --json")
    assert code == 3
    assert json.loads(out)["is_confirmed"] is False


def test_options_of_the_acquisition_function_are_kept(succeed, run):
    options = "--acquisition pac_eig --acquisition-set components=joint --acquisition-set edges=0,1"
    made = succeed(f"study new a.study --world lopes-two-state --inference enumerate {options} --json")
    assert made["settings"]["acquisition_options"] == {"components": "joint", "edges": [0.0, 1.0]}
    code, _, err = run("study new b.study --world jail --acquisition-set edge=1")
    assert code == 1 and "Did you mean 'edges'?" in err


def test_a_certificate_that_holds_has_exit_code_0(run, succeed):
    succeed("study new a.study --world lopes-two-state --inference enumerate --epsilon 5")
    code, out, err = run("study certify a.study")
    assert (code, err) == (0, "")
    assert "The certificate HOLDS." in out
    assert "It was confirmed on a fresh, longer posterior." in out


def test_questions_answers_and_second_thoughts(study, run, succeed):
    first, second, third = succeed("study ask my.study --batch 3 --json")
    assert [query["id"] for query in (first, second, third)] == [0, 1, 2]
    told = succeed("study tell my.study 1 4 --json")
    assert told["demonstration"]["steps"] == [[second["state"], 4]]
    assert succeed("study attach my.study house:right path:right --final pond --json")["answer"] == "attached-0"
    succeed("study undo my.study attached-0")
    succeed("study undo my.study 1")
    succeed("study fail my.study 0")
    succeed("study abandon my.study 2")
    status = succeed("study status my.study --quick --json")
    assert (status["num_failed"], status["num_abandoned"], status["num_undone"]) == (2, 1, 2)
    assert status["belief"] is None
    assert "still wait" not in succeed("study ask my.study")
    assert "1 older question still waits: journeyman study ask my.study" in succeed("study ask my.study --new")


def test_advice_about_an_answered_question_is_a_command(study, run, succeed):
    succeed("study ask my.study")
    succeed("study tell my.study 0 right")
    for line in ("study fail my.study 0", "study abandon my.study 0"):
        code, _, err = run(line)
        assert code == 1
        assert "`journeyman study undo my.study 0`." in err and "undo(" not in err
    code, _, err = run("study tell my.study 0 left")
    assert code == 1 and "`journeyman study correct my.study 0 ANSWER`." in err and "correct(" not in err
    succeed("study correct my.study 0 left")
    succeed("study undo my.study 0")
    assert "`journeyman study correct my.study 0 ANSWER`." in run("study tell my.study 0 left")[2]


def test_trajectories_are_told_step_by_step(succeed, run):
    succeed("init")
    new = "study new t.study --problem problem.toml --kind trajectory --length 3 --inference-set num_particles=100"
    succeed(new)
    (query,) = succeed("study ask t.study --json")
    with Study.open("t.study") as study:
        mdp = study.problem.mdp
        house = mdp.state_name(query["state"])
    told = succeed(f"study tell t.study 0 {house}:stay {house}:stay --final {house} --json")
    assert told["demonstration"]["ended"] == "truncated"
    assert len(told["demonstration"]["steps"]) == 2
    code, _, err = run("study tell t.study 0 right")
    assert code == 1
    assert "a step must be written as STATE:ACTION" in err


def test_steps_that_cost_something(succeed, run):
    succeed("init")
    new = "study new t.study --problem problem.toml --kind trajectory --length 5 --inference-set num_particles=100"
    succeed(f"{new} --step-cost 20")
    (query,) = succeed("study ask t.study --json")
    assert query["length"] == 1
    assert "act for up to 1 step:" in query["text"]
    with Study.open("t.study") as study:
        house = study.problem.mdp.state_name(query["state"])
    code, _, err = run(f"study tell t.study 0 {house}:stay {house}:stay --final {house}")
    assert code == 1
    assert "must have at most 1 step, got 2" in err


def test_a_study_on_a_grid_says_what_it_is_not_about(run, succeed):
    step = lambda states, action: np.clip(states + 0.25 * (action - 0.5), 0.0, 1.0)  # noqa: E731
    grid = discretise(step, (0.0, 1.0), 5, actions=2, discount=0.9, features_fn=lambda states: states)
    problem = Problem(grid.mdp, grid.reward_model, Normal(1, 2.0, 0.1), 1.0)
    Study.create("g.study", problem, epsilon=50.0, inference_options={"num_particles": 100}).close()
    assert "(row" not in succeed("study ask g.study")
    assert "But this is about a grid of 5 points alone and DOES NOT CARRY OVER" in succeed("study status g.study")
    code, out, err = run("study certify g.study")
    assert (code, err) == (0, "") and out.startswith("The certificate HOLDS, ON THE GRID ALONE.")
    assert succeed("study certify g.study --json")["cautions"]


def test_candidates(succeed, run):
    succeed("init")
    new = "study new {} --problem problem.toml --inference-set num_particles=100 --candidates {}"
    succeed(new.format("a.study", "path,pond"))
    (query,) = succeed("study ask a.study --json")
    assert query["state"] in (1, 2)
    succeed("study clone a.study b.study --set candidates=lawn,")
    (query,) = succeed("study ask b.study --new --json")
    assert query["state"] == 3
    succeed("study clone a.study c.study --set candidates=none")
    with Study.open("c.study", read_only=True) as study:
        assert study.settings.candidates is None
    code, _, err = run(new.format("d.study", "hedg"))
    assert code == 1 and "hedg" in err and "hedge" in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("study ask none.study", "the study must exist"),
        ("study tell my.study 0 right", "a query must be one that was asked, got id 0"),
        ("study tell my.study 9 right", "a query must be one that was asked"),
        ("study attach my.study houseright", "a step must be written as STATE:ACTION"),
        ("study attach my.study house:fly", "an action must be"),
        ("study attach my.study house:right lawn:up", "demonstrations must follow the dynamics"),
        ("study new my.study --problem problem.toml", "a new study must not overwrite a file"),
        ("study new b.study", "there must be one problem, got none"),
        ("study new b.study --problem problem.toml --world jail", "got a file and a world"),
        ("study new b.study --problem problem.toml --world-set beta=1", "--world-set must come with --world"),
        ("study new b.study --world jail --kind trajectory", "Say how many steps: --length 5"),
        ("study new b.study --world jail --step-cost 0.1", "step_cost must be 0 for state queries"),
        ("study new b.study --world jail --inference-set particles=3", "must get options it knows"),
        ("study undo my.study attached-3", "only an answer that counts can be undone"),
        ("study export my.study a.txt", "the format must be clear from the ending"),
        ("study export my.study a.csv --what rewards", "what must be one of"),
        ("study import my.study none.csv", "that can be read"),
    ],
)
def test_mistakes_are_messages(study, run, line, message):
    code, out, err = run(line)
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert message in err


def test_export_and_import(study, run, succeed, tmp_path):
    succeed("study attach my.study house:right path:right --final pond --by ada")
    succeed("study ask my.study")
    succeed("study tell my.study 0 stay")
    for name in ("answers.csv", "answers.jsonl", "answers.npz"):
        assert succeed(f"study export my.study {name}") == f"Wrote 2 demonstrations to {name}\n"
        succeed(f"study new {name}.study --problem problem.toml --inference-set num_particles=100")
        assert succeed(f"study import {name}.study {name} --json")["answers"] == ["attached-0", "attached-1"]
        with Study.open("my.study") as old, Study.open(f"{name}.study") as new:
            assert [item.steps for item in new.demonstrations] == [item.steps for item in old.demonstrations]
            assert new.demonstrations[0].annotator == "ada"
    code, _, err = run("study export my.study answers.npz --format imitation")
    assert code == 1
    assert "--repeat-last" in err
    succeed("study export my.study answers.npz --format imitation --repeat-last")
    again = "study import answers.csv.study answers.npz --format imitation"
    assert "2 of 2 a second time" in run(again)[2]
    assert "Attached 2 demonstrations" in succeed(f"{again} --allow-duplicates")


def test_a_file_that_is_imported_twice_does_not_count_twice(study, run, succeed, tmp_path):
    table = ["demonstration,state,action,ended", "0,house,right,truncated", "0,path,right,truncated"]
    (tmp_path / "old.csv").write_text("\n".join(table) + "\n")
    assert "Attached 1 demonstration of 2 steps, attached-0 to attached-0." in succeed("study import my.study old.csv")
    code, out, err = run("study import my.study old.csv")
    assert (code, out) == (1, "")
    assert "1 of 1 a second time: demonstration 0 (2 steps from state" in err and "--allow-duplicates" in err
    assert succeed("study status my.study --quick --json")["num_demonstrations"] == 1
    table += [row.replace("0,", "1,", 1) for row in table[1:2]]
    (tmp_path / "more.csv").write_text("\n".join(table) + "\n")
    record = succeed("study import my.study old.csv --skip-duplicates --json")
    assert (record["answers"], record["skipped"]) == ([], [0])
    assert "Nothing is new. Left out 1" in succeed("study import my.study old.csv --skip-duplicates")
    assert succeed("study import my.study old.csv --allow-duplicates --json")["answers"] == ["attached-1"]
    assert succeed("study import my.study more.csv --json")["answers"] == ["attached-2", "attached-3"]
    succeed("study attach my.study house:right path:right --final pond")
    code, _, err = run("study attach my.study house:right path:right --final pond")
    assert code == 1 and "there as attached-4" in err
    succeed("study attach my.study house:right path:right --final pond --allow-duplicates")
    succeed("study attach my.study house:right")
    succeed("study attach my.study house:right")


def test_other_exports(study, run, succeed, tmp_path):
    succeed("study export my.study policy.json --what policy")
    succeed("study export my.study certificate.json --what certificate")
    assert len(json.loads((tmp_path / "policy.json").read_text())["policy"]) == 8


def test_forecast(succeed):
    succeed("study new two.study --world lopes-two-state --epsilon 0.5 --acquisition random")
    record = succeed("study forecast two.study --runs 4 --limit 30 --json")
    assert len(record["runs"]) == 4
    assert record["limit"] == 30
    assert "more answer" in succeed("study forecast two.study --runs 4 --limit 30")
    assert succeed("study status two.study --quick --json")["num_events"] == 0  # nothing was changed


def test_the_history_is_a_table(study, succeed, tmp_path):
    succeed("study attach my.study house:right")
    succeed("study export my.study history.csv --what history")
    lines = (tmp_path / "history.csv").read_text().splitlines()
    assert [line.split(",")[1] for line in lines] == ["name", "start", "attach"]


def test_recover(study, run, succeed, tmp_path):
    succeed("study attach my.study house:right")
    assert "new.study has 1 events of my.study" in succeed("study recover my.study new.study")
    assert succeed("study recover my.study again.study --json") == {"num_events": 1, "num_attached": 0, "losses": []}


def test_recover_with_a_world_that_has_options(run, succeed, tmp_path):
    world = "--world random-grid --world-set size=3 --seed 5"
    succeed(f"study new grid.study {world}")
    succeed("study attach grid.study 1:0")
    with sqlite3.connect(tmp_path / "grid.study") as connection:
        connection.execute("UPDATE problem SET arrays = zeroblob(9)")
    connection.close()
    code, _, err = run("study recover grid.study new.study")
    assert code == 1 and "the problem inside the study cannot be read" in err
    code, _, err = run("study recover grid.study new.study --world-set size=3")
    assert code == 1 and "--world-set must come with --world" in err
    assert "new.study has 1 events of grid.study" in succeed(f"study recover grid.study new.study {world}")
    with Study.open(tmp_path / "new.study") as study:
        assert study.problem.mdp.num_states == 9


def test_as_a_process(tmp_path):
    """The installed command itself, once: its exit code, its output, and that it leaves one file."""
    environment = os.environ | {"COLUMNS": "100"}

    def run(*arguments):
        command = [sys.executable, "-m", "journeyman", "study", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", env=environment, timeout=120
        )

    made = run("new", "a.study", "--world", "lopes-two-state", "--inference", "enumerate")
    assert (made.returncode, made.stderr) == (0, "")
    assert run("tell", "a.study", "0", "1").returncode == 1
    assert run("tell", "a.study").returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.study"]


def test_status_says_how_well_the_reward_is_known(succeed):
    succeed("init")
    succeed("study new my.study --problem problem.toml --goal reward --inference-set num_particles=100")
    known = succeed("study status my.study --json")["belief"]["reward"]
    assert not known["is_known"]
    assert known["information"] > 0.01
    # The prior is Normal with standard deviation 1: 100 draws know its 95 % interval to within about a half.
    assert known["widest_interval"] == pytest.approx(2 * 1.96, abs=1.5)
    out = succeed("study status my.study")
    assert "Goal: the reward is not known well enough yet. The widest 95% interval" in out


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anything")
def test_a_write_protected_study_can_be_looked_at(study, run, succeed, tmp_path):
    folder = tmp_path / "archive"
    folder.mkdir()
    file = (tmp_path / "my.study").rename(folder / "my.study")
    file.chmod(0o444)
    folder.chmod(0o555)
    try:
        assert succeed("study status archive/my.study --json")["num_queries"] == 0
        succeed("study export archive/my.study policy.json --what policy")
        assert run("study certify archive/my.study")[0] == 3
        code, _, err = run("study ask archive/my.study")
        assert (code, "must be in a place that can be written" in err) == (1, True)
    finally:
        folder.chmod(0o755)


def doubtful_study(path):
    """Make a study whose expert goes left and right in turn, where any policy would do if the model were right."""
    rewards = np.random.default_rng(0).normal(size=(2000, 5))  # in a few of them both ways are nearly as good
    with Study.create(path, replace(ring_problem(), prior=Discrete(rewards)), epsilon=1e3, num_threads=1) as study:
        study.attach(left_and_right())


def test_a_doubtful_model_has_an_exit_code_of_its_own(run, tmp_path):
    doubtful_study(tmp_path / "my.study")
    code, out, _ = run("study certify my.study --json")
    record = json.loads(out)
    assert (code, record["status"], record["holds"], record["is_confirmed"]) == (4, "doubtful", False, False)
    assert "left 15 times and right 15 times" in " ".join(record["reasons"])
    code, out, _ = run("study certify my.study")
    assert code == 4 and out.startswith("The certificate holds, but THE MODEL IS DOUBTFUL")
    assert run("study certify my.study --accept-doubtful")[0] == 0


def test_doubts_of_a_study(run, succeed, tmp_path):
    doubtful_study(tmp_path / "my.study")
    code, out, _ = run("study doubts my.study --quick")
    assert code == 4 and out.startswith("The model is DOUBTFUL") and "What to try" in out
    code, out, _ = run("study doubts my.study --json")
    assert code == 4 and json.loads(out, parse_constant=pytest.fail)["is_full"]
    status = succeed("study status my.study")
    assert "Certificate: holds, but the model is doubtful" in status and "journeyman study doubts my.study" in status
    belief = succeed("study status my.study --json")["belief"]
    assert belief["certificate"] == "doubtful" and belief["model"]["is_doubtful"]
    succeed("study report my.study -o page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert 'class="verdict doubtful"' in page and "Is the model right?" in page


def test_a_model_without_doubts_exits_with_0(succeed):
    succeed("study new my.study --world jail --seed 1")
    assert succeed("study doubts my.study").startswith(
        "There are no answers yet: nothing speaks for the model or against it"
    )
