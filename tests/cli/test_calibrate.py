import json

import pytest
from cli.command import command

from journeyman.calibration.spec import problem_id
from journeyman.problem_files import load_problem, write_example, write_from_map

QUICK = ("--world", "lopes-two-state", "--inference", "enumerate", "--demonstrations", "5")
MAZE = """
from journeyman import make_world

problem = make_world("lopes-two-state").problem
number = 3

def made():
    return problem
"""


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run `journeyman calibrate` in an empty folder; return exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    return command(monkeypatch, capsys, "calibrate")


def test_table_and_verdict(run):
    code, out, err = run(*QUICK, "--replications", "120")
    assert code == 0
    assert out.startswith("enumerate on lopes-two-state, 5 annotations\n120 replications, rank among 99 draws")
    for name in ("log likelihood", "V*(rho)", "regret", "reward[0, 0]", "all parameters"):
        assert f"\n{name} " in out
    assert "Nothing speaks against calibration" in out
    assert "run the same command again to resume" in err
    assert max(map(len, out.splitlines())) <= 80


def test_json_and_the_file_that_a_second_run_continues(run, tmp_path):
    code, out, _ = run(*QUICK, "--replications", "12", "--json")
    first = json.loads(out, parse_constant=pytest.fail)
    assert (code, first["num_replications"], first["spec"]["method"]) == (0, 12, "enumerate")
    assert first["depends_on_truth"] is False
    (path,) = tmp_path.glob("calibration-lopes-two-state-enumerate-*.jsonl")
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) == 13
    again = json.loads(run(*QUICK, "--replications", "15", "--json")[1])
    assert again["num_replications"] == 15
    assert path.read_text("utf-8").splitlines()[:13] == lines


def test_a_wrong_beta_is_found(run):
    code, out, _ = run(*QUICK[:4], "--replications", "150", "--assumed-beta-factor", "5", "--demonstrations", "30")
    assert code == 0
    assert "beta assumed 5 times what it is" in " ".join(out.split())
    assert "Miscalibrated: p = " in out


def test_a_problem_of_your_own(run, tmp_path):
    (tmp_path / "maze.py").write_text(MAZE, "utf-8")
    results = [
        json.loads(run("--problem-factory", place, "--inference", "enumerate", "--replications", "5", "--json")[1])
        for place in ("maze.py:problem", "maze.py:made")
    ]
    assert results[0] == results[1]
    assert "world" not in results[0]["spec"]


def test_a_problem_file(run, tmp_path):
    """Defect 8: a problem file that exists is taken, as --help and docs say."""
    write_example(tmp_path)
    quick = ("--inference-set", "num_particles=100", "--demonstrations", "2", "--replications", "2", "--json")
    code, out, err = run("--problem", "problem.toml", *quick)
    assert code == 0, err
    found = json.loads(out)
    assert found["num_replications"] == 2
    assert found["spec"]["problem"] == problem_id(load_problem(tmp_path / "problem.toml"))
    (tmp_path / "maze.txt").write_text("S.~\n..G\n", "utf-8")
    write_from_map(tmp_path / "maze.txt", tmp_path / "maze")
    code, out, err = run("--problem", "maze/problem.toml", *quick)
    assert code == 0, err
    assert json.loads(out)["num_replications"] == 2


def test_published_generators_are_warned_of(run):
    options = ("--world-set", "size=3", "--inference-set", "num_particles=100", "--replications", "1")
    code, out, err = run("--world", "random-grid", *options)
    assert code == 0
    assert err.startswith("Warning: the dynamics of this world are drawn with a look at the true reward")
    assert "1 replication can show gross mistakes only" in out
    assert "Warning" not in run("--world", "random-grid", *options, "--world-set", "terminals=independent")[2]


def test_the_reward_of_an_environment_is_no_draw(run, tmp_path):
    pytest.importorskip("gymnasium")
    options = ("--replications", "1", "--demonstrations", "1", "--inference-set", "num_particles=100")
    code, _, err = run("--world", "gym:FrozenLake-v1", *options)
    assert code == 0 and err.startswith("Warning: the true reward of this world is the environment's own")
    (kept,) = tmp_path.glob("*.jsonl")
    assert kept.name.startswith("calibration-gym-FrozenLake-v1-smc-")  # a name that every file system takes
    assert "Warning" not in run("--world", "gym:FrozenLake-v1", "--world-set", "truth=prior", *options)[2]


def test_picture(run, tmp_path):
    code, out, _ = run(*QUICK, "--replications", "30", "--png", "ranks.png", "--out", "mine.jsonl")
    assert code == 0
    assert out.endswith("Picture written to ranks.png\n")
    assert (tmp_path / "ranks.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (tmp_path / "mine.jsonl").exists()


def test_trajectories_are_said(run):
    out = run(*QUICK, "--length", "2", "--replications", "2")[1]
    assert "5 trajectories of up to 2 steps" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "must have a world or a problem"),
        (["--world", "jial"], "Did you mean 'jail'?"),
        (["--world", "jail", "--inference", "scm"], "Did you mean 'smc'?"),
        (["--world", "jail", "--inference-set", "speed=1"], "got 'speed'"),
        (["--world", "jail", "--inference-set", "speed"], "a setting must be written as KEY=VALUE, got 'speed'"),
        (
            ["--world", "jail", "--inference-set", "num_particles=100", "--inference-set", "num_particles=200"],
            "must be given once",
        ),
        (["--world", "jail", "--world-set", "colour=1"], "got 'colour'"),
        (["--world", "jail", "--replications", "0"], "the number of replications must be a whole number of at least 1"),
        (["--world", "jail", "--png", "ranks.doc"], "must end in one of .png"),
        (["--world", "random-8x8", "--inference", "enumerate"], "enumerate needs at most 3 parameters"),
        (["--problem", "maze.toml"], "maze.toml"),
        (["--problem", "maze.py:problem"], "Say --problem-factory maze.py:problem"),
        (["--problem", "a.toml", "--problem-factory", "maze.py:problem"], "Leave one out"),
        (["--problem", "a.toml", "--world-set", "size=3"], "--world-set must come with --world"),
        (["--problem-factory", "maze"], "a problem factory must be given as FILE.py:NAME"),
        (
            ["--problem-factory", "maze.py:number"],
            "'number' in 'maze.py' must be a Problem, got int. Problems there: problem.",
        ),
    ],
)
def test_mistakes_get_a_message_and_leave_no_file(run, tmp_path, arguments, message):
    (tmp_path / "maze.py").write_text(MAZE, "utf-8")
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".jsonl" and path.stat().st_size] == []


def test_a_file_of_other_settings_is_refused(run):
    run(*QUICK, "--replications", "2", "--out", "mine.jsonl")
    code, _, err = run(*QUICK, "--replications", "2", "--out", "mine.jsonl", "--seed", "5")
    assert code == 1
    assert "got seed = 5 where 'mine.jsonl' has 0" in err


def test_help_teaches_with_an_example(run):
    code, out, _ = run("--help")
    text = " ".join(out.split())
    assert code == 0
    assert "journeyman calibrate --world jail --inference smc --replications 200" in text
