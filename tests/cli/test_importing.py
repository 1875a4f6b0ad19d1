"""`journeyman study import` and the other commands that read a table of steps, as a user types it."""

import json

import pytest
from cli.command import command

from journeyman.cli.compare import read_inputs
from journeyman.errors import InputError
from journeyman.study import Study

GARDEN = "animal;nr;place;move;note\n"
GOOD = GARDEN + "Ada;0;house;right;x\nAda;1;path;;x\nAda;2;pond;down;x\nBo;0;shed;right;x\nBo;2;bed;right;x\n"
BAD = GARDEN + "Ada;0;house;right;x\nAda;1;path;right;x\nAda;2;shed;right;x\n"
COLUMNS = ("--columns", "state=place,action=move", "--columns", "annotator=animal,step=nr")


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run `journeyman` in a folder with a study of the garden and tables."""
    monkeypatch.chdir(tmp_path)
    call = command(monkeypatch, capsys, columns=100)
    assert call("init")[0] == 0
    assert call("study", "new", "my.study", "--problem", "problem.toml", "--inference-set", "num_particles=100")[0] == 0
    (tmp_path / "good.csv").write_text(GOOD, "utf-8")
    (tmp_path / "bad.csv").write_text(BAD, "utf-8")
    return call


def num_answers():
    with Study.open("my.study") as study:
        return len(study.answers)


def test_a_dry_run_shows_what_would_be_imported_and_writes_nothing(run, tmp_path):
    before = (tmp_path / "my.study").read_bytes()
    code, out, err = run("study", "import", "my.study", "good.csv", *COLUMNS, "--dry-run")
    assert (code, err) == (0, "")
    assert "good.csv: 5 rows, separated by semicolon." in out
    assert "Columns: step = nr, state = place, action = move, annotator = animal." in out
    assert "Ignored columns: note." in out
    rows = [line.split() for line in out.splitlines()]
    assert ["Ada", "1", "2", "2", "3", "0", "1", "0", "0"] in rows
    assert ["Bo", "1", "2", "2", "2", "1", "0", "0", "0"] in rows
    assert ["all", "2", "4", "4", "1", "1", "0", "0"] in rows
    assert "  line 2 Ada: house, right -> path\n  line 3 Ada: path, (no action)\n" in out
    assert out.endswith("Would attach 4 demonstrations of 4 steps. Nothing was written.\n")
    assert (tmp_path / "my.study").read_bytes() == before
    record = json.loads(run("study", "import", "my.study", "good.csv", *COLUMNS, "--dry-run", "--json")[1])
    assert (record["answers"], record["num_new"], record["refusal"]) == ([], 4, None)
    assert record["report"]["total"] == {
        "demonstrations": 2, "pieces": 4, "steps": 4, "states": 5, "gaps": 1, "missing": 1, "impossible": 0,
        "duplicates": 0,
    }  # fmt: skip
    assert num_answers() == 0


def test_an_import_keeps_subjects_and_shows_the_same(run):
    code, out, err = run("study", "import", "my.study", "good.csv", *COLUMNS)
    assert (code, err) == (0, "")
    assert "Ignored columns: note." in out
    assert out.endswith("Attached 4 demonstrations of 4 steps, attached-0 to attached-3.\n")
    with Study.open("my.study") as study:
        assert [item.annotator for item in study.demonstrations] == ["Ada", "Ada", "Bo", "Bo"]
    code, out, err = run("study", "import", "my.study", "good.csv", *COLUMNS, "--dry-run")
    assert code == 1 and "Would be refused: data must not be there already, got 4 of 4" in out
    code, out, err = run("study", "import", "my.study", "good.csv", *COLUMNS, "--skip-duplicates", "--dry-run")
    assert code == 0 and "Would attach 0 demonstrations of 0 steps." in out
    assert [line.split()[-1] for line in out.splitlines() if line.startswith(("Ada ", "Bo ", "all "))] == [
        "2",
        "2",
        "4",
    ]
    assert num_answers() == 4


def test_impossible_steps_are_refused_or_skipped(run):
    code, out, err = run("study", "import", "my.study", "bad.csv", *COLUMNS)
    assert (code, out) == (1, "")
    assert "  line 4 of bad.csv, subject Ada: shed cannot follow action right in path\n" in err
    assert num_answers() == 0
    code, out, err = run("study", "import", "my.study", "bad.csv", *COLUMNS, "--dry-run")
    assert (code, err) == (1, "")
    assert (
        "1 impossible step among 3 rows:\n  line 4 of bad.csv, subject Ada: shed" in out
        and out.count("line 4 of bad") == 1
    )
    assert "Would be refused: demonstrations must be possible in this problem, got 1 impossible step among 3" in out
    code, out, err = run("study", "import", "my.study", "bad.csv", *COLUMNS, "--skip-impossible", "--json")
    record = json.loads(out)
    assert record["answers"] == ["attached-0", "attached-1"]
    assert record["report"]["impossible"][0]["line"] == 4 and record["report"]["num_impossible"] == 1


def test_who_it_was_may_be_said_for_all(run, tmp_path):
    (tmp_path / "one.csv").write_text("state,action\nhouse,right\n")
    code, out, _ = run("study", "import", "my.study", "one.csv", "--by", "Cy")
    assert code == 0 and any(line.split()[:2] == ["Cy", "1"] for line in out.splitlines())
    with Study.open("my.study") as study:
        assert study.demonstrations[0].annotator == "Cy"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "Say which column is the state. Example: --columns state=node,action=move"),
        (("--columns", "place"), "columns must be written as WHAT=COLUMN, got 'place'"),
        (("--columns", "state=place,state=move"), "state must have one column, got 'place' and 'move'"),
        (("--columns", "place=state"), "Write state=place."),
        (("--columns", "state=plaice,action=move"), "Did you mean 'place'?"),
        (("--separator", "colon"), "a separator must be comma, semicolon or tab, got 'colon'"),
        (("--separator", "comma"), "separated by a comma, semicolon or tab"),
        (("--format", "npz", "--columns", "state=place"), "columns must go with a table"),
    ],
)  # fmt: skip
def test_mistakes_are_messages(run, options, message):
    code, out, err = run("study", "import", "my.study", "good.csv", *options)
    assert (code, out) == (1, "")
    assert message in err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "state,action\n", "a.csv must have at least one step, got none in 0 rows, of which 0 lack"),
        ("a.csv", "state,action\nNA,left\nhouse,\n.,\n", "got none in 3 rows, of which 3 lack a state or an action"),
        ("a.xlsx", "", "got 'a.xlsx'. Spreadsheets read and write CSV: use that."),
    ],
)
def test_a_file_without_steps_is_named(run, tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    code, out, err = run("study", "import", "my.study", name)
    assert (code, out) == (1, "")
    assert message in err


def test_a_long_answer_need_not_be_typed(run, tmp_path):
    """Friction 9: 1000 steps from a table, for a question and without one."""
    new = ("study", "new", "long.study", "--problem", "problem.toml", "--kind", "trajectory", "--length", "1000")
    assert run(*new, "--inference-set", "num_particles=100")[0] == 0
    with Study.open("long.study") as study:
        start = study.problem.mdp.state_name(study.ask().state)
    lines = [f"{start},stay\n" for _ in range(1000)]
    (tmp_path / "steps.csv").write_text("place,move\n" + "".join(lines), "utf-8")
    columns = ("--columns", "state=place,action=move")
    code, out, err = run("study", "tell", "long.study", "0", "--from", "steps.csv", *columns, "--by", "Ada", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)["demonstration"]
    assert (len(told["steps"]), told["annotator"], told["ended"]) == (1000, "Ada", "truncated")
    code, out, err = run("study", "attach", "my.study", "--from", "steps.csv", *columns, "--final", start, "--json")
    assert (code, err) == (0, "")
    assert len(json.loads(out)["demonstration"]["steps"]) == 1000
    for given, message in (
        (("house:right", "--from", "steps.csv"), "an answer must be typed or come from a file, got both"),
        ((), "an answer must be typed or come from a file, got neither"),
        (("--from", "good.csv", *COLUMNS), "must be one demonstration without gaps, got 4 in good.csv. good.csv: 2 "
         "demonstrations became 4 pieces of 4 steps, because of 1 gap, 1 incomplete row."),
        (("--from", "bad.csv", *COLUMNS), "line 4 of bad.csv, subject Ada"),
        (("--from", "none.csv"), "in a file that can be read, got 'none.csv'"),
    ):  # fmt: skip
        code, out, err = run("study", "attach", "my.study", *given)
        assert (code, out) == (1, "") and message in err


def test_models_are_compared_on_a_table_as_it_is(run, tmp_path, capsys):
    """`compare` reads with the same options, and notes what was split."""
    columns = [text for text in COLUMNS if text != "--columns"]
    _, found = read_inputs(tmp_path / "problem.toml", tmp_path / "good.csv", columns, None, False)
    assert [(item.annotator, len(item)) for item in found] == [("Ada", 1), ("Ada", 1), ("Bo", 1), ("Bo", 1)]
    note = capsys.readouterr().err
    assert note == (
        "good.csv: 2 demonstrations became 4 pieces of 4 steps, because of 1 gap, 1 incomplete row. Columns ignored: "
        "note.\n"
    )
    with pytest.raises(InputError, match=r"line 4 of bad\.csv"):
        read_inputs(tmp_path / "problem.toml", tmp_path / "bad.csv", columns, None, False)
    _, found = read_inputs(tmp_path / "problem.toml", tmp_path / "bad.csv", columns, None, True)
    assert [len(item) for item in found] == [2, 1]
    code, _, err = run("compare", "problem.toml", "bad.csv", *COLUMNS)
    assert code == 1 and "line 4 of bad.csv, subject Ada" in err


def test_a_table_that_cannot_be_split_into_columns_says_why(run, tmp_path):
    """Another separator, the wrong one, a quote that is never closed and an empty file are named as such."""
    (tmp_path / "bars.csv").write_text(GOOD.replace(";", "|"), "utf-8")
    (tmp_path / "open.csv").write_text(GARDEN + 'Ada;0;house;"right;x\nAda;1;path;;x\n', "utf-8")
    (tmp_path / "empty.csv").write_text("", "utf-8")
    for table in (("bars.csv",), ("good.csv", "--separator", "comma"), ("open.csv",)):
        code, _, err = run("study", "import", "my.study", *table, *COLUMNS)
        assert code == 1 and "No other separator is read" in err and "a quote that is never closed" in err
    code, _, err = run("study", "import", "my.study", "empty.csv", *COLUMNS)
    assert code == 1 and "empty.csv must be a table of steps, got an empty file" in err
    (tmp_path / "one.csv").write_text("state,action\nhouse,right\n", "utf-8")
    assert "one.csv: 1 row, separated by comma." in run("study", "import", "my.study", "one.csv")[1]
    assert run("study", "export", "my.study", "out.csv")[1] == "Wrote 1 demonstration to out.csv\n"


def test_a_count_that_is_taken_for_a_time_is_explained(run, tmp_path):
    """Rows left out look impossible where `time` only orders: the message says how to make gaps of them, once."""
    table = "time,state,action\n0,house,right\n1,path,right\n3,hedge,down\n"
    (tmp_path / "timed.csv").write_text(table, "utf-8")
    code, out, _ = run("study", "import", "my.study", "timed.csv", "--dry-run")
    assert code == 1 and out.count("line 4 of timed.csv") == 1
    assert "If time counts steps, so that a number left out is a gap: --columns step=time." in out
    code, out, _ = run("study", "import", "my.study", "timed.csv", "--columns", "step=time", "--dry-run")
    assert code == 0 and "Would attach 2 demonstrations of 3 steps" in out
    code, out, _ = run("study", "import", "my.study", "timed.csv", "--skip-impossible", "--dry-run")
    assert code == 0 and out.count("line 4 of timed.csv") == 1
    code, _, err = run("study", "import", "my.study", "bad.csv", *COLUMNS)
    assert code == 1 and "counts steps" not in err
