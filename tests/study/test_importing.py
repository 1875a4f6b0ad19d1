"""Tables of recorded steps become demonstrations: those that a plain parser finds; every complaint names its place."""

import gzip
import json
import time
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from study.mazes import MOVES, led_to, maze

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.rewards import Normal, PerState
from journeyman.study.formats import (
    demonstrations_to_frame,
    examine_demonstrations,
    read_demonstrations,
    write_demonstrations,
)

MICE = {"Ada": 800, "Bo": 800, "Cy": 800, "Di": 750}
MISSING = ("", "NA", "NaN", "nan", "None", "null", ".")
COLUMNS = {"state": "node", "action": "move", "annotator": "animal", "step": "nr"}
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def problem():
    return maze(127)


@pytest.fixture(scope="module")
def small():
    """Nodes n0 .. n6; n5 and n6 are terminal."""
    return maze(7, terminal=(5, 6))


def laboratory_rows():
    """Rows of four mice as a laboratory has them: 2 % of moves missing, some nodes too, and steps that are left out."""
    rng = np.random.default_rng(17)
    rows = []
    for animal, num_steps in MICE.items():
        node = 0
        for step in range(num_steps):
            move = str(rng.choice([move for move in MOVES if led_to(node, move, 127) is not None]))
            is_blank, is_lost, is_out = rng.random(3) < (0.02, 0.005, 0.003)
            word = str(rng.choice(MISSING))
            temperature = f"{rng.uniform(19, 22):.1f}".replace(".", ",")
            row = [animal, str(step + 1), word if is_lost else f"n{node}", word if is_blank else move, temperature]
            if not is_out:
                rows.append(row)
            node = led_to(node, move, 127)
    return rows


def laboratory_text(rows, separator=";"):
    return (
        "\ufeff"
        + "\r\n".join(separator.join(row) for row in [["animal", "nr", "node", "move", "temp"], *rows])
        + "\r\n"
    )


def plainly_parsed(text):
    """What a few lines of plain Python make of that table: (animal, steps by label, state after them or None)."""
    rows = [line.split(";") for line in text.lstrip("\ufeff").split("\r\n")[1:] if line]
    pieces, steps, last = [], [], None
    for animal, number, node, move, _ in rows:
        number, node, move = int(number), None if node in MISSING else node, None if move in MISSING else move
        follows = last == (animal, number - 1)
        if steps and not follows:
            pieces.append((last[0], steps, None))
            steps = []
        if node is not None and move is not None:
            steps = [*steps, (node, move)]
        elif steps:
            pieces.append((animal, steps, node))
            steps = []
        last = (animal, number)
    return [*pieces, (last[0], steps, None)] if steps else pieces


def labelled(problem, demonstrations):
    """Demonstrations in the form of `plainly_parsed`."""
    states, actions = problem.mdp.state_labels, problem.mdp.action_labels
    return [
        (
            item.annotator,
            [(states[state], actions[action]) for state, action in item.steps],
            None if item.final_state is None else states[item.final_state],
        )
        for item in demonstrations
    ]


def test_a_table_of_a_laboratory_is_read_exactly(problem, tmp_path):
    """Semicolons, byte-order mark, a column more, decimal commas in it, subjects, labels, missing values and gaps.

    Frictions 1 to 3 and defect 7 of the people who tried it: no conversion script, and no subject is lost.
    """
    rows = laboratory_rows()
    text = laboratory_text(rows)
    (tmp_path / "runs.csv").write_bytes(text.encode("utf-8"))
    found, report = examine_demonstrations(tmp_path / "runs.csv", problem, columns=COLUMNS)
    expected = plainly_parsed(text)
    assert len(expected) > 60 and len(rows) < 3150
    assert labelled(problem, found) == expected
    assert {item.ended for item in found} == {"truncated"}
    problem.check(found)
    assert read_demonstrations(tmp_path / "runs.csv", problem, columns=COLUMNS) == found
    assert (report.num_rows, report.separator, report.ignored) == (len(rows), "semicolon", ("temp",))
    assert report.columns == COLUMNS and report.impossible == () and report.num_moved == 0
    for item in report.subjects:
        mine = [row for row in rows if row[0] == item.subject]
        numbers = [int(row[1]) for row in mine]
        assert item.demonstrations == 1
        assert item.pieces == sum(piece[0] == item.subject for piece in expected)
        assert item.steps == sum(len(piece[1]) for piece in expected if piece[0] == item.subject)
        assert item.gaps == sum(later - earlier > 1 for earlier, later in pairwise(numbers))
        ends = mine[-1][2] not in MISSING  # a last row without a move only says where it ended
        rest = mine[:-1] if ends else mine
        assert item.missing == sum(row[2] in MISSING or row[3] in MISSING for row in rest)
        assert item.states == len({row[2] for row in mine} - set(MISSING))
    assert [item.subject for item in report.subjects] == list(MICE)
    assert report.total.pieces == len(expected)
    assert report.first_rows[0] == {
        "place": "line 2", "subject": "Ada", "demonstration": None, "state": "n0", "action": rows[0][3],
        "next_state": rows[1][2],
    }  # fmt: skip
    json.dumps(report.to_record(), allow_nan=False)


def test_every_form_of_the_table_gives_the_same(problem, tmp_path):
    rows = laboratory_rows()
    expected = plainly_parsed(laboratory_text(rows))
    blank = [[None if cell in MISSING else cell for cell in row] for row in rows]
    frame = pd.DataFrame(blank, columns=["animal", "nr", "node", "move", "temp"]).astype({"nr": int})
    numbers = frame.assign(  # as pandas has numbers beside missing values: 1.0 and NaN
        node=frame["node"].str.slice(1).astype(float),
        move=frame["move"].map({move: float(number) for number, move in enumerate(MOVES)}),
    )
    shuffled = frame.sample(frac=1.0, random_state=1)
    frame.to_parquet(tmp_path / "a.parquet")
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    records = [{key: value for key, value in row.items() if not pd.isna(value)} for row in frame.to_dict("records")]
    (tmp_path / "a.json").write_text(json.dumps(records))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))
    (tmp_path / "a.tsv").write_text(laboratory_text(rows, "\t"), newline="")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(laboratory_text(rows).encode()))
    (tmp_path / "a.txt").write_bytes(laboratory_text(rows).encode())
    (tmp_path / "a.dat").write_bytes(laboratory_text(rows).encode())
    for source in (frame, numbers, *(tmp_path / name for name in ("a.parquet", "numbers.csv", "a.json", "a.jsonl.gz",
                                                                  "a.tsv", "a.csv.gz", "a.txt"))):  # fmt: skip
        assert labelled(problem, read_demonstrations(source, problem, columns=COLUMNS)) == expected, source
    options = {"columns": COLUMNS, "format": "csv", "separator": "semicolon"}
    assert labelled(problem, read_demonstrations(tmp_path / "a.dat", problem, **options)) == expected
    found, report = examine_demonstrations(shuffled, problem, columns=COLUMNS)
    assert sorted(labelled(problem, found), key=str) == sorted(expected, key=str)
    assert report.num_moved > 1000


def rows_of(text, **options):
    """A small table written with spaces: its first line has the names of the columns."""
    header, *lines = (line.split() for line in text.strip().splitlines())
    cells = [[None if cell == "-" else cell for cell in line] for line in lines]
    return pd.DataFrame(cells, columns=header)


def read_small(text, problem, **options):
    """What a small table holds: steps by label, final state, how it ended, and whose it is."""
    states, actions = problem.mdp.state_labels, problem.mdp.action_labels
    return [
        (
            " ".join(f"{states[state]}:{actions[action]}" for state, action in item.steps),
            None if item.final_state is None else states[item.final_state],
            item.ended,
            item.annotator,
        )
        for item in read_demonstrations(rows_of(text), problem, **options)
    ]


def test_how_pieces_end(small):
    cases = {
        # A single answer, and a trajectory that was cut off.
        "state action\nn0 left": [("n0:left", None, "annotation", None)],
        "state action\nn0 left\nn1 left": [("n0:left n1:left", None, "truncated", None)],
        # A last row without an action is where it ended; in a terminal state the episode is over.
        "state action\nn0 left\nn1 -": [("n0:left", "n1", "truncated", None)],
        "state action\nn2 left\nn5 -": [("n2:left", "n5", "terminated", None)],
        "state action next_state\nn0 left n1": [("n0:left", "n1", "truncated", None)],
        "state action final_state\nn0 left -\nn1 left n3": [("n0:left n1:left", "n3", "truncated", None)],
        # What is said counts, for the last piece.
        "state action ended\nn0 left terminated\nn1 left terminated": [("n0:left n1:left", None, "terminated", None)],
        "state action ended\nn0 left terminated\nn1 - terminated\nn3 back terminated": [
            ("n0:left", "n1", "truncated", None),
            ("n3:back", None, "terminated", None),
        ],
        # Pieces keep their subject, and one step of a split trajectory is no annotation.
        "annotator state action\nAda n0 left\nAda n1 -\nAda n3 back\nBo n0 stay": [
            ("n0:left", "n1", "truncated", "Ada"),
            ("n3:back", None, "truncated", "Ada"),
            ("n0:stay", None, "annotation", "Bo"),
        ],
        # The same number of a demonstration of two subjects are two.
        "annotator demonstration state action\nAda 1 n0 left\nBo 1 n1 left": [
            ("n0:left", None, "annotation", "Ada"),
            ("n1:left", None, "annotation", "Bo"),
        ],
        # A missing state is not known as the end.
        "state action\nn0 left\n- left\nn3 back\nn1 back": [
            ("n0:left", None, "truncated", None),
            ("n3:back n1:back", None, "truncated", None),
        ],
        # Nothing was done: kept where nothing can be done, else left out.
        "demonstration state action\n0 n5 -\n1 n0 -\n2 n0 left": [
            ("", None, "terminated", None),
            ("n0:left", None, "annotation", None),
        ],
        # A step that leads elsewhere than to the next row: rows are left out between them.
        "state action next_state\nn0 left n1\nn0 right n2\nn2 left n5": [
            ("n0:left", "n1", "truncated", None),
            ("n0:right n2:left", "n5", "terminated", None),
        ],
    }  # fmt: skip
    for text, expected in cases.items():
        assert read_small(text, small) == expected, text


def test_steps_put_in_order_and_gaps_split(small):
    table = "step state action\n3 n3 back\n1 n0 left\n2 n1 left\n5 n0 right\n6 n2 back"
    assert read_small(table, small) == [
        ("n0:left n1:left n3:back", None, "truncated", None),
        ("n0:right n2:back", None, "truncated", None),
    ]
    report = examine_demonstrations(rows_of(table), small).report
    assert (report.total.gaps, report.total.pieces, report.num_moved) == (1, 2, 1)
    timed = "time state action\n2.5 n1 left\n0.5 n0 left\n99 n3 back"
    assert read_small(timed, small) == [("n0:left n1:left n3:back", None, "truncated", None)]
    stamped = "time state action\n2026-01-02T10:00 n1 left\n2026-01-02T09:59 n0 left"
    assert read_small(stamped, small) == [("n0:left n1:left", None, "truncated", None)]
    mixed = "annotator step state action\nAda 0 n0 left\nBo 0 n0 right\nAda 1 n1 left\nBo 1 n2 back"
    assert [item[0] for item in read_small(mixed, small)] == ["n0:left n1:left", "n0:right n2:back"]


def test_states_one_after_the_other_are_enough(small):
    """The moves are those that lead to the next row."""
    table = "step node\n0 n0\n1 n1\n2 n3\n3 -\n4 n4\n5 n1\n7 n2\n8 n5"
    columns = {"state": "node", "next_state": "node"}
    assert read_small(table, small, columns=columns) == [
        ("n0:left n1:left", "n3", "truncated", None),
        ("n4:back", "n1", "truncated", None),
        ("n2:left", "n5", "terminated", None),
    ]
    total = examine_demonstrations(rows_of(table), small, columns=columns).report.total
    assert (total.gaps, total.missing, total.steps) == (1, 1, 4)
    with pytest.raises(InputError, match=r"Say which column is the action .* one after the other, next_state=node\."):
        read_small(table, small, columns={"state": "node"})
    with pytest.raises(InputError, match="no action leads from n0 to n5"):
        read_small("node\nn0\nn5", small, columns=columns)


def test_a_step_that_is_said_to_lead_where_it_cannot_is_left_out(small):
    table = "state action next_state\nn0 left n2\nn2 left n5"
    with pytest.raises(InputError, match="entry 0 of the table: n2 cannot follow action left in n0"):
        read_small(table, small)
    assert read_small(table, small, skip_impossible=True) == [("n2:left", "n5", "terminated", None)]


def test_a_gap_splits_even_where_the_next_row_would_follow(small):
    table = "step state action next_state\n0 n0 stay n0\n1 n0 stay n0\n3 n0 left n1"
    assert read_small(table, small) == [
        ("n0:stay n0:stay", "n0", "truncated", None),
        ("n0:left", "n1", "truncated", None),
    ]


def test_a_time_that_is_missing_is_no_place_in_the_order(small):
    with pytest.raises(InputError, match=r"time must be a time, got nothing \(nan\) at entry 1"):
        read_demonstrations({"time": np.array([0.5, np.nan]), "state": ["n0", "n1"], "action": ["left", "left"]}, small)


def test_what_cannot_occur_is_said_by_label_and_subject(small):
    """Defect 4, for demonstrations that do not come from a table."""
    for item, message in (
        (Demonstration(0, ((0, 0), (2, 0)), None, "truncated", annotator="Ada"),
         "got state n2 after action left in state n0 at step 0 of demonstration 0 of Ada."),
        (Demonstration(0, ((0, 0),), 2, "truncated"), "got state n2 after action left in state n0 at step 0 of "
         "demonstration 0."),
        (Demonstration.annotation(1, 3, annotator="Ada"), "got action stay in state n1 in demonstration 0 of Ada."),
        (Demonstration(0, (), None, "terminated", annotator="Ada"), "got state n0 in demonstration 0 of Ada."),
    ):  # fmt: skip
        with pytest.raises(InputError) as caught:
            small.check(item)
        assert message in str(caught.value)


def test_next_states_stand_for_actions(small):
    table = "state next_state\nn0 n1\nn1 n3\nn3 n1\nn1 n0"
    assert read_small(table, small) == [("n0:left n1:left n3:back n1:back", "n0", "truncated", None)]
    with pytest.raises(InputError, match=r"entry 1 of the table: no action leads from n1 to n2"):
        read_small("state next_state\nn0 n1\nn1 n2\nn2 n0", small)
    found = read_small("state next_state\nn0 n1\nn1 n2\nn2 n0", small, skip_impossible=True)
    assert [item[0] for item in found] == ["n0:left", "n2:back"]
    mdp = FiniteMDP.from_dense(np.ones((1, 2, 1)), layout="SAS", discount=0.9, action_labels=("up", "down"))
    several = Problem(mdp, PerState(mdp), Normal(1, 0.0, 1.0), 1.0)
    message = r"got 2 that several actions lead to:\n  entry 0 of the table: from 0 to 0 lead up, down\n  entry 2"
    with pytest.raises(InputError, match=message):
        read_demonstrations({"state": [0, 0, 0], "next_state": [0, None, 0]}, several)
    with pytest.raises(InputError, match="actions must be given where no problem is"):
        read_demonstrations({"state": [0], "next_state": [0]})


IMPOSSIBLE = """
annotator step state action
Ada 0 n0 left
Ada 1 n1 left
Ada 2 n4 back
Ada 3 n1 stay
Ada 4 n1 back
Ada 5 n0 right
Ada 6 n2 left
Ada 7 n5 left
Bo 0 n0 right
"""


def test_impossible_steps_are_listed_with_their_lines(small, tmp_path):
    """Defects 3 and 4: file, true line, subject and labels."""
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(",".join(line.split()) for line in IMPOSSIBLE.strip().splitlines()))
    with pytest.raises(InputError) as caught:
        read_demonstrations(path, small)
    assert str(caught.value).startswith(
        "demonstrations must be possible in this problem, got 3 impossible steps among 9 rows:\n"
        "  line 4 of runs.csv, subject Ada: n4 cannot follow action left in n1\n"
        "  line 5 of runs.csv, subject Ada: action stay is not available in n1\n"
        "  line 9 of runs.csv, subject Ada: nobody acts in n5, which is terminal, but left stands there\n"
    )
    assert "--skip-impossible" in str(caught.value)
    found, report = examine_demonstrations(path, small)
    assert [step.line for step in report.impossible] == [4, 5, 9]
    assert [item.impossible for item in report.subjects] == [3, 0]
    assert labelled(small, found) == [
        ("Ada", [("n0", "left"), ("n1", "left")], None),
        ("Ada", [("n4", "back")], "n1"),
        ("Ada", [("n1", "back"), ("n0", "right"), ("n2", "left")], "n5"),
        ("Bo", [("n0", "right")], None),
    ]
    assert [item.ended for item in found] == ["truncated", "truncated", "terminated", "annotation"]
    assert read_demonstrations(path, small, skip_impossible=True) == found


def test_ten_impossible_steps_are_enough(small):
    table = {"state": ["n0", "n3"] * 12, "action": ["stay", "back"] * 12}
    with pytest.raises(InputError) as caught:
        read_demonstrations(table, small)
    lines = str(caught.value).splitlines()
    assert "got 23 impossible steps among 24 rows" in lines[0]
    assert len([line for line in lines if line.startswith("  entry")]) == 10 and lines[11] == "  and 13 more"
    record = examine_demonstrations(table, small).report.to_record()
    assert (len(record["impossible"]), record["num_impossible"]) == (10, 23)


def test_what_is_left_is_always_possible(small):
    """Of tables of noise: what is read passes the problem's own check, and no step is made up."""
    rng = np.random.default_rng(3)
    names = [*small.mdp.state_labels, "NA"]
    for _ in range(60):
        num_rows = int(rng.integers(1, 30))
        table = {
            "demonstration": np.sort(rng.integers(0, 3, num_rows)),
            "step": np.cumsum(rng.integers(1, 3, num_rows)),
            "state": rng.choice(names, num_rows).tolist(),
            "action": rng.choice([*MOVES, None], num_rows).tolist(),
            "next_state": rng.choice([*names[:3], None, None, None], num_rows).tolist(),
        }
        table["step"][: min(2, num_rows)] = [0, 1][:num_rows]
        try:
            found, report = examine_demonstrations(table, small)
        except InputError as error:
            assert "must count steps by one" in str(error)
            continue
        small.check(found)
        given = list(zip(table["state"], table["action"], strict=True))
        done = [step for _, steps, _ in labelled(small, found) for step in steps]
        assert all(step in given for step in done) and len(done) == report.total.steps
        is_whole = [state != "NA" and action is not None for state, action in given]
        assert len(done) <= sum(is_whole) <= len(done) + len(report.impossible)


LABELS_OF_NUMBERS = ("1", "2", "3", "4", "5", "6", "7")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.json", "a.jsonl", "a.parquet", "a.npz"])
@pytest.mark.parametrize("labels", [None, LABELS_OF_NUMBERS])
def test_what_was_written_is_read_back_whatever_labels_look_like(tmp_path, name, labels):
    """A label "3" of state 2 must not become state 3: tables hold labels, and records of demonstrations numbers."""
    problem = maze(7, labels, terminal=(5, 6))
    stamp = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    everything = (
        Demonstration.annotation(0, 1, query_id=3, annotator="NA", timestamp=stamp),
        Demonstration(0, ((0, 0), (1, 0)), 3, "truncated", annotator="Ada"),
        Demonstration(0, ((0, 1), (2, 0)), 5, "terminated"),
        Demonstration(0, ((0, 3),), None, "truncated"),
        Demonstration(5, (), None, "terminated"),
    )
    write_demonstrations(everything, tmp_path / name, problem)
    assert read_demonstrations(tmp_path / name, problem) == everything
    if name == "a.csv":
        frame = demonstrations_to_frame(everything, problem)
        assert frame["state"].tolist()[1:3] == list(problem.mdp.state_labels[:2])
        assert read_demonstrations(frame, problem) == everything
        numbers = demonstrations_to_frame(everything)
        assert str(numbers["state"].dtype) == "Int64" and numbers["state"].tolist()[1:3] == [0, 1]
        assert read_demonstrations(numbers) == everything
        if labels is None:
            assert read_demonstrations(numbers, problem) == everything
        else:
            with pytest.raises(InputError, match="a state must be named by its label where labels look like numbers"):
                read_demonstrations(numbers, problem)


def test_records_of_demonstrations_may_use_labels(small, tmp_path):
    """Also those that `study tell --json` and `study attach --json` print."""
    record = {"start_state": "n0", "steps": [["n0", "left"], ["n1", 0]], "final_state": "n3", "annotator": "Ada"}
    expected = (Demonstration(0, ((0, 0), (1, 0)), 3, "truncated", annotator="Ada"),)
    for name, data in (
        ("a.json", [record]),
        ("a.json", record),
        ("a.json", {"demonstrations": [record]}),
        ("a.json", {"query": 1, "demonstration": record, "num_demonstrations": 4}),
        ("a.json", [{"answer": "attached-0", "demonstration": record}]),
        ("a.jsonl", record),
    ):
        (tmp_path / name).write_text(json.dumps(data))
        assert read_demonstrations(tmp_path / name, small) == expected, data
    gap = record | {"steps": [["n0", "left"], ["n1", None], ["n4", "back"]], "final_state": "n1"}
    (tmp_path / "a.jsonl").write_text(json.dumps(gap))
    assert labelled(small, read_demonstrations(tmp_path / "a.jsonl", small)) == [
        ("Ada", [("n0", "left")], "n1"),
        ("Ada", [("n4", "back")], "n1"),
    ]
    bad = record | {"steps": [["n0", "left"], ["n1", "lefft"]]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n\n" + json.dumps(bad))
    with pytest.raises(InputError, match=r"at line 3: an action must be a label .*'lefft'\. Did you mean 'left'"):
        read_demonstrations(tmp_path / "a.jsonl", small)


def test_a_wrong_value_is_named_at_its_line(problem, tmp_path):
    """Defect 3: it stood on line 82, and line 2 was named."""
    rows = laboratory_rows()
    path = tmp_path / "runs.csv"
    for column, word, message in (
        (2, "n9x", "column node, line 82 of runs.csv, subject Ada: a state must be a label or a number in 0..126, got "
                   "'n9x'. Did you mean 'n9'?"),
        (3, "lft", "column move, line 82 of runs.csv, subject Ada: an action must be a label or a number in 0..3, got "
                   "'lft'. Did you mean 'left'?"),
        (3, "1,5", "line 82 of runs.csv, subject Ada: an action must be"),
        (1, "x", "nr must be a number, got 'x' at line 82 of runs.csv, subject Ada."),
        (1, "", "nr must be a number, got nothing ('') at line 82 of runs.csv, subject Ada."),
        (1, "nan", "nr must be a whole number that counts steps, got nan at line 82 of runs.csv, subject Ada."),
        (1, "2.5", "nr must be a whole number that counts steps, got 2.5 at line 82 of runs.csv, subject Ada."),
        (1, "2", "got nr 2 at line 3 of runs.csv, subject Ada and at line 82."),
    ):  # fmt: skip
        changed = [list(row) for row in rows]
        changed[80][column] = word
        path.write_bytes(laboratory_text(changed).encode())
        with pytest.raises(InputError) as caught:
            read_demonstrations(path, problem, columns=COLUMNS)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("node move\nn0 left", {}, r"columns state and action \(or next_state\), got node, move .* Say which column is"
         r" the state\. Example: --columns state=node"),
        ("state move\nn0 left", {}, r"Say which column is the action \(or next_state\)"),
        ("node move\nn0 left", {"node": "state"}, "got 'node'. Write state=node."),
        ("node move\nn0 left", {"stat": "node"}, "got 'stat'. Did you mean 'state'"),
        ("node move\nn0 left", {"subject": "node"}, "got 'subject'. Known are demonstration, step,"),
        ("node move\nn0 left", {"state": "nod"}, "got 'nod'; the table has node, move. Did you mean 'node'"),
        ("node move\nn0 left", {"state": "node", "action": "node"}, "a column must mean one thing, got 'node' for"),
        ("demonstration state action\n0 n0 left\n- n1 left", {}, "got nothing .* at column demonstration, entry 1"),
        ("demonstration state action\n0 n0 left\n1 n1 left\n0 n1 left", {}, r"rows of demonstration 0 must stand"
         r" together, got entry 2 of the table after"),
        ("annotator state action\nA n0 left\nB n1 left\nA n1 left", {}, "rows of one annotator must stand together"),
        ("demonstration annotator state action\n0 A n0 left\n0 - n1 left", {}, "on all rows of a demonstration or on"
         " none, got nothing at entry 1"),
        ("step state action\n0 n0 left\n0 n1 left", {}, "must be there once, got step 0 at entry 0"),
        ("step state action\n0 n0 left\n40 n1 left\n80 n3 back", {}, "must count steps by one, got 0 and then 40 at"
         " entry 1.* --columns step=,time=step"),
        ("time state action\n2026-01-02 n0 left\n2026-13-02 n1 left", {}, "must be in ISO format, got '2026-13-02' at"
         " column time, entry 1"),
        ("timestamp state action\nyesterday n0 left", {}, "must be in ISO format, got 'yesterday' at entry 0"),
        ("state action ended\nn0 left over", {}, "column ended, entry 0 of the table: ended must be one of"),
        ("state action ended\nn0 left truncated\nn1 left terminated", {}, "got terminated after truncated at entry 1"),
        ("state action final_state\nn0 left n1\nn1 left n3", {}, "final_state must be the same on all rows.* after"
         " entry 0.*--columns final_state=,next_state=final_state"),
        ("state action ended\nn0 left annotation\nn1 left annotation", {}, "entry 0 of the table: an annotation must"),
        ("query_id state action\n-1 n0 left", {}, "column query_id, entry 0 of the table: query_id must be a whole"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_table_is_named(small, text, columns, message):
    with pytest.raises(InputError, match=message):
        read_demonstrations(rows_of(text), small, columns=columns)


def test_a_column_may_be_left_out_and_others_are_listed(small):
    frame = rows_of("demonstration step time state action note\n0 7 x n0 left good\n1 3 y n1 left bad")
    leave_out = {"demonstration": None, "step": "", "time": ""}
    found, report = examine_demonstrations(frame, small, columns=leave_out)
    assert labelled(small, found) == [(None, [("n0", "left"), ("n1", "left")], None)]
    assert report.ignored == ("demonstration", "step", "time", "note")
    # A column that is used under another name is not used for its own.
    found, report = examine_demonstrations(frame, small, columns={"demonstration": "step", "time": None})
    assert len(found) == 2 and report.columns["demonstration"] == "step" and "step" not in report.columns


def test_timestamps_and_questions_come_with_each_piece(small):
    frame = rows_of("timestamp state action\na n0 left\nb n1 -\nc n3 back")
    frame["timestamp"] = pd.to_datetime(["2026-01-02T03:04:05", "2026-01-02T03:04:06", "2026-01-02T03:04:07"])
    first, second = read_demonstrations(frame.assign(query_id=[4.0, 4.0, 4.0]), small)
    assert (first.timestamp, second.timestamp) == (datetime(2026, 1, 2, 3, 4, 5), datetime(2026, 1, 2, 3, 4, 7))
    assert first.query_id == second.query_id == 4
    aware = frame.assign(timestamp=frame["timestamp"].dt.tz_localize("UTC"))
    assert read_demonstrations(aware, small)[0].timestamp == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_hundred_thousand_rows_take_seconds():
    """The mice of the example, as published: 238 bouts of 500 steps."""
    problem = maze(127, [str(node) for node in range(127)])
    columns = {"state": "node", "action": "move", "demonstration": "bout"}
    begin = time.process_time()
    found, report = examine_demonstrations(EXAMPLES / "labyrinth" / "labyrinth.csv.gz", problem, columns=columns)
    seconds = time.process_time() - begin
    assert [len(item) for item in found] == [500] * 238
    assert (report.total.gaps, report.total.missing, report.impossible) == (0, 0, ())
    assert seconds < 15  # about 1 on an idle core
