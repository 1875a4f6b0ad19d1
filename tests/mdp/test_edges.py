"""Edge tables: CSV, TSV, Parquet, DataFrame and mapping."""

import sys

import numpy as np
import pandas as pd
import pytest
from mdp.random_mdps import random_mdp
from mdp.test_builders import assert_same, columns_of

from journeyman.errors import InputError, MissingExtraError
from journeyman.mdp import FiniteMDP

HEADER = "state,action,next_state,probability\n"
GOOD = {"state": [0, 0, 1], "action": [0, 0, 0], "next_state": [0, 1, 0], "probability": [0.5, 0.5, 1.0]}


@pytest.fixture(scope="module")
def example():
    """An MDP without terminal states, so that a table knows all its states and actions, and its table."""
    mdp = random_mdp(np.random.default_rng(8), 5, 3, density=0.5)
    return mdp, columns_of(mdp.dense_transitions())


def write_text(path, columns, delimiter):
    lines = [delimiter.join(columns)]
    lines += [delimiter.join(repr(value.item()) for value in line) for line in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_every_form_of_table_gives_the_same_mdp(example, tmp_path):
    mdp, columns = example
    frame = pd.DataFrame(columns)
    frame.to_parquet(tmp_path / "edges.parquet")
    nullable = frame.astype({"state": "Int64", "action": "Int8", "probability": "Float64"})
    reordered = frame.iloc[::-1][["probability", "next_state", "action", "state"]].assign(note="text")
    tables = [
        columns,
        {name: column.tolist() for name, column in columns.items()},
        {name: column.astype(object) for name, column in columns.items()},
        frame,
        nullable,
        reordered,
        write_text(tmp_path / "edges.csv", columns, ","),
        str(write_text(tmp_path / "edges.TXT", columns, ",")),
        write_text(tmp_path / "edges.tsv", columns, "\t"),
        tmp_path / "edges.parquet",
    ]
    for table in tables:
        assert_same(FiniteMDP.from_edges(table, discount=0.9), mdp)


def test_csv_as_spreadsheets_write_it(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes(
        b"\xef\xbb\xbfnote, state ,action,next_state,probability\r\n"
        b'"a, b",0,0,1,1\r\n\r\n"two\r\nlines",1.0,0,0,1e0\r\n ,,, \r\n'
    )
    mdp = FiniteMDP.from_edges(path, discount=0.9)
    assert mdp.rows.next_states.tolist() == [1, 0]


def test_lines_that_repeat_add_up(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(HEADER + "0,0,0,0.25\n0,0,0,0.75\n")
    assert FiniteMDP.from_edges(path, discount=0.9).rows.probabilities.tolist() == [1.0]


def test_sizes_come_from_the_largest_numbers_unless_given():
    options = {"discount": 0.9, "missing_mass": "terminates"}
    mdp = FiniteMDP.from_edges({"state": [0], "action": [1], "next_state": [3], "probability": [1.0]}, **options)
    assert (mdp.num_states, mdp.num_actions) == (4, 2)
    assert mdp.terminal.tolist() == [False, True, True, True]
    larger = FiniteMDP.from_edges(GOOD, num_states=5, num_actions=2, **options)
    assert (larger.num_states, larger.num_actions) == (5, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": [0, 0]}, r"columns of an edge table must have one length, got \{'state': 2"),
        ({name: [] for name in GOOD}, "at least one line, got an empty one"),
        (
            {"state": ["kitchen", "hall", "hall"]},
            "columns state and next_state must both hold labels, or both numbers, got 0 in next_state and 'kitchen'",
        ),
        ({"action": [0, "up", 0]}, "got both: 'up' at entry 1 of the table and 0 at entry 0 of the table"),
        ({"action": [0, None, 0]}, r"column action must name something, got nothing \(None\) at entry 1"),
        ({"state": [True, False, True]}, "column state must hold labels, or whole numbers from 0, got True"),
        (
            {"state": [0.0, np.nan, 1.0]},
            r"column state must name something, got nothing \(nan\) at entry 1 .*Fill it in",
        ),
        (
            {"next_state": [0, 1, np.inf]},
            "column next_state must hold labels, or whole numbers from 0, got inf at entry 2",
        ),
        ({"state": [0, 0.5, 1]}, "column state must hold labels, or whole numbers from 0, got 0.5 at entry 1"),
        ({"state": [0, -1, 1]}, r"column state, entry 1 of the table: a state must be a number in 0\.\.1, .*got -1"),
        (
            {"next_state": [0, 1, -2]},
            r"column next_state, entry 2 of the table: a state must be a number in 0\.\.1, .*got -2",
        ),
        ({"probability": [0.5, np.nan, 1.0]}, r"probability must be a number, got nothing \(nan\) at entry 1"),
        ({"probability": [0.5, -0.5, 1.0]}, r"must lie in 0\.\.1, got -0\.5 at entry 1"),
        ({"probability": [50, 50, 100]}, r"must lie in 0\.\.1, got 50 at entry 0 .* Write 0\.5 for 50 %"),
        (
            {"probability": [0.5, 0.4, 1.0]},
            r"sum to 1 over next states, got 0\.9 at state 0, action 0 \(entries 0 and 1 of the table\)",
        ),
        ({"state": 0}, r"column state must be a list of values, got shape \(\)"),
        ({"state": [[0], [0], [1]]}, r"column state must be a list of values, got shape \(3, 1\)"),
        ({"next_state": [0, 1, 2_000_000_000]}, "without wide gaps, got 2000000001 states and 1 actions from 3 lines"),
        ({"state": [0, 0, 1e18]}, "num_states must be at most"),
    ],
)
def test_bad_columns(change, message):
    with pytest.raises(InputError, match=message):
        FiniteMDP.from_edges(GOOD | change, discount=0.9)


def test_a_state_beyond_the_given_number():
    with pytest.raises(
        InputError, match=r"column state, entry 2 of the table: a state must be a number in 0\.\.0, .*got 1"
    ):
        FiniteMDP.from_edges(GOOD, num_states=1, discount=0.9)


@pytest.mark.parametrize("table", [5, None, [(0, 0, 0, 1.0)], np.zeros((3, 4)), b"edges.csv"])
def test_what_is_no_table(table):
    with pytest.raises(InputError, match="a path, a DataFrame or a mapping of columns, got "):
        FiniteMDP.from_edges(table, discount=0.9)


def test_missing_and_repeated_columns():
    with pytest.raises(InputError, match=r"got state, p in the table\. Add or rename: action, next_state, probability"):
        FiniteMDP.from_edges({"state": [0], "p": [1.0]}, discount=0.9)
    frame = pd.DataFrame(GOOD)
    with pytest.raises(InputError, match="Remove or rename the second state"):
        FiniteMDP.from_edges(pd.concat([frame, frame[["state"]]], axis=1), discount=0.9)
    with pytest.raises(InputError, match="an empty one"):
        FiniteMDP.from_edges(pd.DataFrame(columns=list(GOOD)), discount=0.9)


@pytest.mark.parametrize("value", [pd.NA, None])
def test_missing_values_of_a_data_frame(value):
    frame = pd.DataFrame(GOOD).astype({"state": "Int64"})
    frame.loc[1, "state"] = value
    with pytest.raises(InputError, match="column state must name something, got nothing"):
        FiniteMDP.from_edges(frame, discount=0.9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have the columns .* got none in edges.csv"),
        ("\n\n", "must have the columns"),
        (HEADER, "at least one line, got an empty one"),
        ("state|action|next_state|probability\n0|0|0|1\n", "Is it separated by comma, semicolon or tab"),
        (HEADER + "0,0,0,1\n1,0,zero,1\n", "got both: 'zero' at line 3 of edges.csv and '0' at line 2"),
        (HEADER + "0,0,0\n", r"must hold 4 fields.* got 3 \('0,0,0'\) at line 2"),
        (HEADER + "0,0,0,0,5\n", r"must hold 4 fields.* got 5 \('0,0,0,0,5'\) at line 2 .*decimal comma"),
        (HEADER + "0,0,,1\n", r"column next_state must name something, got nothing \(''\) at line 2"),
        (HEADER + "0,0,0,nan\n", "got nan at line 2 of edges.csv"),
        (HEADER + '0,0,0,"1\n', "well-formed table, got unexpected end of data at line"),
        (HEADER + "nan,0,0,1\n", r"column state must name something, got nothing \('nan'\) at line 2"),
    ],
)
def test_bad_csv(tmp_path, text, message):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        FiniteMDP.from_edges(path, discount=0.9)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00\x01", b"\x00" * 100, b"PK\x03\x04" + bytes(range(256))])
@pytest.mark.parametrize("name", ["edges.csv", "edges.tsv", "edges.parquet", "edges.pq"])
def test_files_that_are_something_else(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=name):
        FiniteMDP.from_edges(path, discount=0.9)


def test_a_truncated_parquet_file(tmp_path):
    path = tmp_path / "edges.parquet"
    pd.DataFrame(GOOD).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"edges\.parquet must be a Parquet file, but reading it failed"):
        FiniteMDP.from_edges(path, discount=0.9)


@pytest.mark.parametrize("name", ["missing.csv", "folder.csv", "\0.csv"])
def test_no_such_file(tmp_path, name):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="must be an existing file"):
        FiniteMDP.from_edges(tmp_path / name, discount=0.9)


def test_an_unknown_kind_of_file(tmp_path):
    path = tmp_path / "edges.xlsx"
    path.write_bytes(b"")
    with pytest.raises(
        InputError, match=r"must be a file that ends in \.csv, \.tsv, .* got 'edges\.xlsx'\. Rename or convert it"
    ):
        FiniteMDP.from_edges(path, discount=0.9)


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_parquet_without_its_packages_names_the_extra(tmp_path, monkeypatch, package):
    path = tmp_path / "edges.parquet"
    path.write_bytes(b"")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package} is needed .*journeyman\[tables\]"):
        FiniteMDP.from_edges(path, discount=0.9)


def test_an_action_without_edges_needs_a_word():
    """A maze's table that leaves out moves into walls must not turn them into exits."""
    table = {"state": [0, 0, 1], "action": [0, 1, 0], "next_state": [1, 1, 0], "probability": [1.0, 1.0, 1.0]}
    with pytest.raises(InputError, match=r"got none at state 1, action 1.*available="):
        FiniteMDP.from_edges(table, discount=0.9)
    mdp = FiniteMDP.from_edges(table, discount=0.9, available=np.array([[True, True], [True, False]]))
    assert not mdp.available[1, 1]
    assert FiniteMDP.from_edges(table, discount=0.9, missing_mass="terminates").next_states(1, 1)[0].size == 0


MAZE = """state,action,next_state,probability
home,go,fork,1
home,wait,home,1
fork,go,pond,0.9
fork,go,fork,0.1
fork,wait,fork,1
"""


def written(tmp_path, text, name="edges.csv", encoding="utf-8"):
    (tmp_path / name).write_text(text, encoding=encoding)
    return tmp_path / name


def test_words_in_a_table_are_its_labels_in_order_of_appearance(tmp_path):
    """Frictions 1 and defect 7: a table with names needs no conversion script."""
    mdp = FiniteMDP.from_edges(written(tmp_path, MAZE), discount=0.9)
    assert mdp.state_labels == ("home", "fork", "pond")
    assert mdp.action_labels == ("go", "wait")
    assert mdp.terminal.tolist() == [False, False, True]
    assert mdp.next_states(1, 0)[0].tolist() == [1, 2]
    frame = pd.read_csv(tmp_path / "edges.csv")
    assert_same(FiniteMDP.from_edges(frame, discount=0.9), mdp)
    frame.to_parquet(tmp_path / "edges.parquet")
    assert_same(FiniteMDP.from_edges(tmp_path / "edges.parquet", discount=0.9), mdp)


def test_given_labels_fix_the_order_and_numbers_stay_possible(tmp_path):
    labels = {"state_labels": ["pond", "fork", "home"], "action_labels": ["wait", "go"]}
    mdp = FiniteMDP.from_edges(written(tmp_path, MAZE), discount=0.9, **labels)
    assert mdp.terminal.tolist() == [True, False, False]
    assert mdp.next_states(2, 1)[0].tolist() == [1]
    mixed = MAZE.replace("pond", "0").replace("fork,wait", "1.0,wait")
    assert_same(FiniteMDP.from_edges(written(tmp_path, mixed), discount=0.9, **labels), mdp)


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_semicolons_tabs_and_a_byte_order_mark_are_read(tmp_path, separator, encoding):
    """Friction 2: what spreadsheets write is read."""
    path = written(tmp_path, MAZE.replace(",", separator), encoding=encoding)
    assert FiniteMDP.from_edges(path, discount=0.9).state_labels == ("home", "fork", "pond")


@pytest.mark.parametrize(
    ("old", "new", "options", "message"),
    [
        ("go,fork,1", "go,frok,1", {"state_labels": ["home", "fork", "pond"]},
         r"column next_state, line 2 of edges\.csv: a state must be a label .* got 'frok'\. Did you mean 'fork'\?"),
        ("fork,wait,fork", "fork,wiat,fork", {"action_labels": ["go", "wait"]},
         r"column action, line 6 of edges\.csv: .* got 'wiat'\. Did you mean 'wait'\?"),
        ("home,wait,home", "Home,wait,home", {}, "differ by more than capital letters, got 'home' and 'Home'"),
        ("home,go,fork,1", "home,go,fork,0.5", {},
         r"got 0\.5 at state 'home', action 'go' \(line 2 of edges\.csv\)\. Add the line that is missing"),
        ("fork,go,fork,0.1", "fork,go,home,0.2", {},
         r"got 1\.1 at state 'fork', action 'go' \(lines 4 and 5 of edges\.csv\)\. Divide these chances"),
        ("home,wait,home,1\n", "", {}, r"got none at state 'home', action 'wait' \(others of that state at line 2 of"),
        ("fork,go,pond,0.9", "7,go,pond,0.9", {}, r"got both: 'home' at line 2 of edges\.csv and '7' at line 4 of"),
        ("home,go,fork,1", "home,go,fork,NA", {}, r"probability must be a number, got nothing \('NA'\) at line 2"),
        ("home,go,fork,1", "NA,go,fork,1", {}, r"column state must name something, got nothing \('NA'\) at line 2"),
        ("home,go,fork,1", 'home,go,fork,"0,5"', {}, r"got '0,5' at line 2 .* write 0\.5 with a decimal point"),
        ("home", "home", {"num_states": 2}, "as many as num_states says, 2, got 3 in edges.csv: home, fork, pond"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_file_line_and_label(tmp_path, old, new, options, message):
    """Defects 4 and 7: errors of edge tables name the file, the line and the labels, and suggest what is meant."""
    with pytest.raises(InputError, match=message):
        FiniteMDP.from_edges(written(tmp_path, MAZE.replace(old, new, 1)), discount=0.9, **options)


def test_a_repeated_line_is_to_be_removed(tmp_path):
    """Defect 10: "Divide that row by its sum" does not help where a line was pasted twice."""
    path = written(tmp_path, MAZE + "fork,go,pond,0.9\n")
    with pytest.raises(InputError) as caught:
        FiniteMDP.from_edges(path, discount=0.9)
    message = str(caught.value)
    assert "got 1.9 at state 'fork', action 'go' (lines 4, 5 and 7 of edges.csv)" in message
    assert "Line 7 of edges.csv repeats next state 'pond' of line 4, and repeated lines add up: remove it." in message
    assert "Divide" not in message


def test_labels_that_look_like_numbers_are_explained(tmp_path):
    text = HEADER + "1,0,2,1\n2,0,3,1\n3,0,1,1\n"
    labels = {"state_labels": ["1", "2", "3"]}
    mdp = FiniteMDP.from_edges(written(tmp_path, text), discount=0.9, **labels)
    assert mdp.next_states(0, 0)[0].tolist() == [1]
    with pytest.raises(
        InputError, match=r"line 4 of edges\.csv: .* labels look like numbers, got '0'\. There are 1, 2"
    ):
        FiniteMDP.from_edges(written(tmp_path, text.replace("3,0,1", "3,0,0")), discount=0.9, **labels)


def test_labels_survive_a_file(tmp_path):
    mdp = FiniteMDP.from_edges(written(tmp_path, MAZE), discount=0.9)
    mdp.save(tmp_path / "mdp.npz")
    assert FiniteMDP.load(tmp_path / "mdp.npz").state_labels == ("home", "fork", "pond")
