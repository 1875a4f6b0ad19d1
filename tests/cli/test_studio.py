import pytest
from cli.command import command
from problem_files.texts import REST

from journeyman.cli.studio import check_problem, check_settings, other_options, study_place
from journeyman.errors import InputError
from journeyman.problem_files import load_problem
from journeyman.studio.serving import bound_socket
from journeyman.study import Study
from journeyman.worlds import make_world


@pytest.fixture
def studio(monkeypatch, capsys, tmp_path):
    """The command in an empty folder, with nowhere else to write."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return command(monkeypatch, capsys, "studio", columns=200)


def test_help_teaches(studio):
    code, output, _ = studio("--help")
    words = " ".join(output.split())
    assert code == 0
    for part in ("--world jail", "--annotator", "--allow-remote", "not encrypted"):
        assert part in words


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--host", "0.0.0.0"), "--allow-remote"),
        (("--world", "jail", "--problem", "x.toml"), "one problem"),
        (("missing.study",), "must exist"),
        (("--world", "nowhere"), "nowhere"),
        (("--world", "jail", "--pictures", "nowhere"), "--pictures must be a folder"),
        (("--world", "jail", "--port", "99999"), "--port must lie in"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_served(studio, tmp_path, arguments, words):
    code, _, error = studio(*arguments, "--no-browser")
    assert code == 1
    assert words in error
    assert not list(tmp_path.glob("*.study"))


@pytest.mark.parametrize("option", [("--kind", "trajectory"), ("--epsilon", "5%"), ("--world-set", "size=3")])
def test_a_study_is_continued_with_its_own_settings(studio, tmp_path, option):
    problem = make_world("random-grid", 1, size=2, terminals="independent").problem
    with Study.create(tmp_path / "random-grid.study", problem):
        pass
    code, _, error = studio("--world", "random-grid", *option, "--no-browser")
    assert code == 1
    assert "must be continued with its own settings" in error


def test_a_study_is_continued_with_its_own_problem(studio, tmp_path):
    text = 'discount = 0.9\nmap = """\nS.G\n"""\n' + REST
    for folder, discount in (("mine", "0.9"), ("other", "0.5")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "maze.toml").write_text(text.replace("0.9", discount), encoding="utf-8")
    with Study.create(tmp_path / "maze.study", load_problem(tmp_path / "mine" / "maze.toml")) as study:
        check_problem(study, tmp_path / "mine" / "maze.toml")
    code, output, error = studio("--problem", "other/maze.toml", "--no-browser")
    assert (code, output) == (1, "")
    assert "must be continued with the problem that it was made from" in error
    assert "journeyman studio maze.study" in error
    code, output, error = studio("--problem", "missing/maze.toml", "--no-browser")
    assert (code, output) == (1, "")
    assert "missing/maze.toml" in error


def test_options_of_a_world_that_a_study_has_already_may_be_said_again(tmp_path):
    problem = make_world("random-grid", 1, size=3, terminals="independent").problem
    with Study.create(tmp_path / "random-grid-1.study", problem) as study:
        said = ["size=3", "terminals=independent"]
        assert other_options(study, "random-grid", said, 1) == []
        assert other_options(study, "random-grid", None, 1) == []
        assert other_options(study, "random-grid", ["size=2", "terminals=independent"], 1)
        with pytest.raises(InputError, match="must come with --world"):
            other_options(study, None, said, 1)


def test_the_name_of_a_study_follows_from_what_it_is_made_of(tmp_path):
    assert str(study_place(None, "jail", None, 0)) == "jail.study"
    assert str(study_place(None, "jail", None, 3)) == "jail-3.study"
    assert str(study_place(None, "gym:CliffWalking-v1", None, 0)) == "gym-CliffWalking-v1.study"
    assert str(study_place(None, None, tmp_path / "maze" / "problem.toml", 0)) == "maze.study"
    assert str(study_place(None, None, tmp_path / "garden.toml", 0)) == "garden.study"
    assert study_place(None, None, None, 0) is None


def test_the_same_command_continues_a_study(tmp_path):
    problem = make_world("random-grid", 1, size=2, terminals="independent").problem
    with Study.create(tmp_path / "grid.study", problem, inference_options={"num_particles": 200}) as study:
        wanted = {"kind": "state", "epsilon": "0.1", "delta": 0.1, "inference_options": {"num_particles": 200}}
        check_settings(study, None, wanted, [])
        with pytest.raises(InputError, match="num_particles"):
            check_settings(study, None, wanted | {"inference_options": {"num_particles": 300}}, [])


def test_a_port_that_is_taken_leaves_no_study_behind(studio, tmp_path):
    with bound_socket("127.0.0.1", 0) as taken:
        code, _, error = studio("--world", "jail", "--port", str(taken.getsockname()[1]), "--no-browser")
    assert code == 1
    assert "Choose another with --port" in error
    assert not list(tmp_path.glob("*.study"))
