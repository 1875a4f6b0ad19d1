"""`journeyman init` and `journeyman check`, as a user types them."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from cli.command import command

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run `journeyman` with these arguments in an empty folder; return exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    return command(monkeypatch, capsys, columns=200)


def test_init_then_check(run, tmp_path):
    code, out, err = run("init")
    assert (code, err) == (0, "")
    assert out == "Wrote problem.toml\nWrote transitions.csv\nNext: journeyman check problem.toml\n"
    code, out, err = run("check", "problem.toml")
    assert (code, err) == (0, "")
    assert "problem.toml is a complete problem" in out
    assert "8 states, 5 actions" in out
    assert "this expert picks a best action 89 % of the time" in out
    assert "Next: journeyman study new my.study --problem problem.toml" in out
    code, out, _ = run("check", "problem.toml", "--json")
    record = json.loads(out, parse_constant=pytest.fail)
    assert record["num_states"] == 8
    assert round(record["best_action_chance"], 2) == 0.89


def test_init_never_overwrites_without_force(run, tmp_path):
    run("init", "garden")
    (tmp_path / "garden" / "problem.toml").write_text("mine")
    code, out, err = run("init", "garden")
    assert (code, out) == (1, "")
    assert "must not overwrite files" in err
    assert (tmp_path / "garden" / "problem.toml").read_text() == "mine"
    code, out, err = run("init", "garden", "--force")
    assert (code, err) == (0, "")
    assert run("check", "garden/problem.toml")[0] == 0


def test_mistakes_are_messages(run, tmp_path):
    run("init")
    text = (tmp_path / "problem.toml").read_text()
    (tmp_path / "problem.toml").write_text(text.replace("discount =", "disount ="))
    code, out, err = run("check", "problem.toml")
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert "Did you mean 'discount'?" in err
    assert "of problem.toml" in err


def test_doubts_are_shown(run, tmp_path):
    run("init")
    text = (tmp_path / "problem.toml").read_text()
    (tmp_path / "problem.toml").write_text(text.replace("beta = 5.0", "beta = 0.001"))
    code, out, _ = run("check", "problem.toml")
    assert code == 0
    assert "Look again: This expert chooses nearly at random" in out


def test_brackets_and_spaces_are_shown_as_they_are(run, tmp_path):
    run("init", "my [bold] garden")
    file = tmp_path / "my [bold] garden" / "problem.toml"
    file.write_text(file.read_text().replace('# queryable = ["house", "path"]', "queryable = []"))
    code, out, _ = run("check", "my [bold] garden/problem.toml")
    assert code == 0
    assert "my [bold] garden/problem.toml is a complete problem" in out
    assert "Change [states] queryable." in out
    new = "'my [bold] garden/my.study' --problem 'my [bold] garden/problem.toml'"
    assert f"Next: journeyman study new {new}" in out


MAZE = """
  ###########
  #S   #    #
  # ## # ~~ #
  # #    ~G?#
  ###########
"""


def test_a_drawn_map_becomes_a_problem_and_a_study(run, tmp_path):
    """A grid needs no Python: init, check and study new, as they are typed."""
    (tmp_path / "maze.txt").write_text(MAZE, "utf-8")
    code, out, err = run("init", "maze", "--from-map", "maze.txt")
    assert (code, err) == (0, "")
    assert out.splitlines() == ["Wrote maze/problem.toml", "Next: journeyman check maze/problem.toml"]
    text = (tmp_path / "maze" / "problem.toml").read_text("utf-8")
    assert "\n###########\n#S...#....#\n#.##.#.~~.#\n#.#....~G?#\n###########\n" in text
    assert 'terrains = { "~" = "water", "?" = "terrain_2" }' in text
    code, out, err = run("check", "maze/problem.toml")
    assert (code, err) == (0, "")
    assert "22 states, 4 actions" in out
    assert "1 terminal (goal), 1 initial (start); all can be reached" in out
    assert "known features times unknown numbers (3 in all)" in out
    assert run("study", "new", "maze/my.study", "--problem", "maze/problem.toml")[0] == 0
    assert "got problem.toml in 'maze' already" in run("init", "maze", "--from-map", "maze.txt")[2]


def test_letters_of_all_languages_name_terrains(run, tmp_path):
    (tmp_path / "maze.txt").write_text("Sé\U00010400\nñ.G\n", "utf-8")
    assert run("init", "--from-map", "maze.txt")[0] == 0
    names = tomllib.loads((tmp_path / "problem.toml").read_text("utf-8"))["map"]["terrains"]
    assert names == {"é": "terrain_é", "\U00010400": "terrain_\U00010400", "ñ": "terrain_ñ"}
    assert '"é" = "terrain_é"' in (tmp_path / "problem.toml").read_text("utf-8")
    assert run("check", "problem.toml")[0] == 0


@pytest.mark.parametrize("options", [(), ("--from-map", "maze.txt"), ("--from-graph", "edges.csv")])
def test_where_help_is_found_is_right_without_the_sources(run, tmp_path, options):
    (tmp_path / "maze.txt").write_text("S.G\n", "utf-8")
    (tmp_path / "edges.csv").write_text("from,to\nhome,fork\n", "utf-8")
    assert run("init", "made", *options)[0] == 0
    text = (tmp_path / "made" / "problem.toml").read_text("utf-8")
    assert "docs/" not in text
    (title,) = re.findall(r'journeyman init --help; every key: the page "(.*)" of the documentation', text)
    assert f"[{title}](problem-file.md)" in (ROOT / "docs" / "guides.md").read_text("utf-8")


@pytest.mark.parametrize("text", ["S x G \nx   x \nx   x \n", "S x G\nx   x \nx   x  \n"])
def test_spaces_at_the_ends_of_lines_mean_nothing(run, tmp_path, text):
    files = {}
    for name, drawn in (("a", text), ("b", "\n".join(line.rstrip() for line in text.splitlines()))):
        (tmp_path / f"{name}.txt").write_text(drawn, encoding="utf-8")
        assert run("init", name, "--from-map", f"{name}.txt")[0] == 0
        files[name] = (tmp_path / name / "problem.toml").read_text("utf-8").replace(f"{name}.txt", "")
    assert files["a"] == files["b"]


def test_spaces_are_walls_where_floor_is_drawn_otherwise(run, tmp_path):
    (tmp_path / "maze.txt").write_text("S.. .\n. . .\n. ...\n", "utf-8")
    assert run("init", "--from-map", "maze.txt")[0] == 0
    assert "\nS..#.\n.#.#.\n.#...\n" in (tmp_path / "problem.toml").read_text("utf-8")
    assert 'model = "per_state"' in (tmp_path / "problem.toml").read_text("utf-8")


def test_floor_does_not_leak_between_walls_that_touch_at_a_corner(run, tmp_path):
    (tmp_path / "maze.txt").write_text(" ####\n#S  G#\n ####\n", "utf-8")
    assert run("init", "--from-map", "maze.txt")[0] == 0
    assert "\n######\n#S..G#\n######\n" in (tmp_path / "problem.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("...\n..G\n", "a map must have a start, got no 'S' in maze.txt"),
        ("S..\n..\n...\n", "equally long, got 2 marks at line 2 of maze.txt where others have 3. Fill it up"),
        ("S..\n....\n...\n", "equally long, got 4 marks at line 2 of maze.txt where others have 3. Remove 1 mark."),
        ("", "at least one line, got none"),
        ("S..\n\n..G\n", "without empty lines, got one at line 2 of maze.txt"),
        ("#####\n#S. .#\n#.~G.#\n#####\n", "wall is drawn as # and floor as ., got one at line 2 of maze.txt"),
        (
            "#####\n#S ~G#\n####\n",
            "where one can walk, got 4 marks at line 3 of maze.txt where others have 5. Fill it up with walls (#), or",
        ),
        (
            "####\n#S  G#\n####\n",
            "where one can walk, got 6 marks at line 2 of maze.txt where others have 4. Remove 2 marks, or draw floor",
        ),
        ("####\n#S G\n#####\n", "got 5 marks at line 3 of maze.txt where others have 4. Remove 1 mark, or"),
        ("###\n#S\tG#\n", "marks that can be seen, got '\\t' at line 2, column 3 of maze.txt"),
        ("\n  ###\n  S\tG\n", "marks that can be seen, got '\\t' at line 3, column 4 of maze.txt"),
    ],
)
def test_maps_that_are_none(run, tmp_path, text, message):
    (tmp_path / "maze.txt").write_text(text, "utf-8")
    code, out, err = run("init", "maze", "--from-map", "maze.txt")
    assert (code, out) == (1, "")
    assert message in err
    assert not (tmp_path / "maze").exists()


@pytest.mark.parametrize("labels", [True, False])
def test_a_table_of_edges_becomes_a_problem(run, tmp_path, labels):
    table = (
        "from;to;action;back\nhome;fork;in;out\nfork;pond;left;back\n" if labels else "from,to\nhome,fork\nfork,pond\n"
    )
    (tmp_path / "edges.csv").write_text(table, "utf-8")
    code, out, err = run("init", "maze", "--from-graph", "edges.csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == ["Wrote maze/problem.toml", "Wrote maze/edges.csv"]
    code, out, _ = run("check", "maze/problem.toml")
    assert code == 0
    assert f"3 states, {4 if labels else 3} actions" in out
    assert "1 initial (home)" in out
    code, out, _ = run("init", "--from-graph", "edges.csv")  # beside the table, which stays as it is
    assert out.splitlines()[0] == "Wrote problem.toml"
    assert len(out.splitlines()) == 2
    assert run("check", "problem.toml")[0] == 0


def test_one_source_and_files_that_exist(run, tmp_path):
    assert "Leave one out" in run("init", "--from-graph", "a.csv", "--from-map", "b.txt")[2]
    for option in ("--from-graph", "--from-map"):
        code, _, err = run("init", option, "nowhere.csv")
        assert code == 1
        assert "nowhere.csv" in err


def test_check_says_what_a_prior_implies(run, tmp_path):
    """People did not see coming that a goal worth 8 is a surprise under a prior of sd 1."""
    (tmp_path / "maze.txt").write_text("S..~\n.#..\n..~G\n", "utf-8")
    run("init", "--from-map", "maze.txt")
    code, out, _ = run("check", "problem.toml")
    assert code == 0
    words = " ".join(out.split())
    assert "expects each of them between -2 and 2 (95 %). What lies outside, such as a goal worth 8" in words
    assert "of what is typically at stake" in words
    assert "is at water" in words
    assert "The prior does not know whether goal is good" in words
    file = tmp_path / "problem.toml"
    file.write_text(file.read_text().replace("mean = 0.0 ", "mean = { goal = 8.0, water = -1.0 } "))
    assert "does not know" not in run("check", "problem.toml")[1]
    record = json.loads(run("check", "problem.toml", "--epsilon", "5%", "--json")[1])
    assert record["prior"]["epsilon"] == 0.05
    assert record["prior"]["epsilon_is_share"] is True
    assert {one["name"] for one in record["prior"]["visits"]} == {"water", "goal", "elsewhere"}
    assert "epsilon must be a number or a share" in run("check", "problem.toml", "--epsilon", "much")[2]
