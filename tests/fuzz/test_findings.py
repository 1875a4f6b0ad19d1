"""What the fuzzer found, each as the smallest input that broke something; all are refused in words now."""

import io
import json
import zipfile

import h5py
import numpy as np
import pytest
from cli.command import command as run
from experiment.small import tiny_sweep
from fuzz.targets import (
    CORPUS,
    forged_cases,
    line_problem,
    merge_sheet,
    minari_cases,
    npz,
    open_forged,
    parquet,
    prepared,
    read_minari,
    sheet_cases,
    sweep_cases,
)

from journeyman.cli.options import parse_options, parse_settings
from journeyman.errors import InputError, JourneymanError, StudyError
from journeyman.experiment.cell_run import Checkpoint, load_checkpoint
from journeyman.experiment.spec_file import sweep_from_toml
from journeyman.inference.smc import sized_options
from journeyman.mdp.names import whole_or_none
from journeyman.problem_files import load_problem, write_from_map
from journeyman.storage.files import read_arrays
from journeyman.storage.jsonl import read_lines
from journeyman.studio.making import sent_problem
from journeyman.study import Study
from journeyman.study.formats import read_demonstrations

REST = '[reward]\nmodel = "per_state"\n[prior]\nkind = "normal"\nstd = 1.0\n[expert]\nbeta = 1.0\n'
DEEP = 100_000


def problem(folder, text, **files):
    for name, content in files.items():
        (folder / name.replace("_dot_", ".")).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "problem.toml").write_text(text, encoding="utf-8")
    return load_problem(folder / "problem.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = " + "[" * DEEP, "must not be nested so deeply"),
        ("a." * DEEP + "a = 1", "a key of problem.toml must have at most 100 parts, got more at line 1"),
        ("[" + "a." * DEEP + "a]", "must have at most 100 parts"),
        ("\n\nb = {" + '"a".' * DEEP + "a = 1}", "must have at most 100 parts, got more at line 3"),
        ("discount = " + "1" * 5000, "must be TOML, but: Exceeds the limit"),
        (f'discount = 0.9\n[transitions]\nfile = "{"a" * 300}.csv"\n' + REST, "must name a file that exists"),
    ],
)
def test_toml_that_no_parser_should_try(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        problem(tmp_path, text)
    if "file" not in text:
        with pytest.raises(InputError, match=message.replace("problem.toml", "a sweep")):
            sweep_from_toml(text)


def test_dots_that_are_no_keys(tmp_path):
    """A wide map, a wide row of a layout and many numbers on a line have dots by the hundred."""
    wide = "." * 150
    top = f'discount = 0.9\nmap = """\nS{wide}G\n"""\n'
    assert problem(tmp_path, top + REST).mdp.num_states == 152
    numbers = ", ".join(["0.5"] * 152)
    found = problem(tmp_path, top + REST.replace("std = 1.0", f"std = 1.0\nmean = [{numbers}]"))
    assert found.prior.num_parameters == 152


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("std = 1.0", "std = 1" + "0" * 400, "must be a number below 1.8e308"),
        ("std = 1.0", "std = [1.0, 1" + "0" * 400 + "]", "must be a number below 1.8e308"),
    ],
)
def test_whole_numbers_beyond_all_floats(tmp_path, old, new, message):
    with pytest.raises(InputError, match=message):
        problem(tmp_path, ('discount = 0.9\nmap = "S.G"\n' + REST).replace(old, new))


@pytest.mark.parametrize("change", ["std = 1e-320", "std = 1e200", "std = 1.0\nlength_scale = 1e-320"])
def test_kernels_beyond_what_numbers_hold(tmp_path, change):
    text = 'discount = 0.9\nmap = "S.G"\n' + REST.replace("normal", "kernel").replace("std = 1.0", change)
    if "length_scale" not in change:
        text = text.replace(change, change + "\nlength_scale = 1.0")
    try:
        problem(tmp_path, text)
    except InputError as error:
        assert "std" in str(error) or "length_scale" in str(error)


ESTIMATED = 'discount = 0.9\n[transitions]\nfile = "t.csv"\nestimated = true\nnum_states = {}\nnum_actions = 2\n' + REST


def test_estimates_of_too_many_pairs(tmp_path):
    with pytest.raises(InputError, match="at most 20,000,000 pairs of state and action, got 2147483647 x 2"):
        problem(tmp_path, ESTIMATED.format(2**31 - 1), t_dot_csv="state,action,next_state\n0,0,0\n")


def test_an_empty_table_of_steps(tmp_path):
    with pytest.raises(InputError, match="at least one step, got none"):
        problem(tmp_path, ESTIMATED.format(2), t_dot_csv="state,action,next_state,done\n")


def test_an_edge_with_a_label_for_the_way_back_only(tmp_path):
    text = 'discount = 0.9\n[graph]\nedges = "e.csv"\n' + REST
    with pytest.raises(InputError, match=r"must have one for the way there too, got 'back' alone at line 2 of e\.csv"):
        problem(tmp_path, text, e_dot_csv="from,to,action,back\na,b,,back\nb,c,,off\n")


def test_numbers_of_tables_beyond_all_floats(tmp_path):
    text = 'discount = 0.9\n[transitions]\nfile = "t.json"\n' + REST
    row = {"state": 0, "action": 0, "next_state": 0, "probability": 10**400}
    with pytest.raises(InputError, match="probability must be a number"):
        problem(tmp_path, text, t_dot_json=json.dumps([row]))
    with pytest.raises(InputError):
        problem(tmp_path, text, t_dot_json=json.dumps([{**row, "probability": 1, "state": 10**400}]))
    for number in (10**400, "1" * 400, "1e300", 2**63):
        assert whole_or_none(number) is None
    assert whole_or_none(2**53 + 1) == 2**53 + 1


@pytest.mark.parametrize(
    "record",
    [
        {"start_state": 10**400, "steps": [[10**400, 0]]},
        {"start_state": 2**63, "steps": [[2**63, 0]]},
        {"start_state": 0, "steps": [[0, 1]], "annotator": ["ada"]},
        {"start_state": 0, "steps": [[0, 1]], "annotator": {"a": 1}},
        {"start_state": 0, "steps": [[0, 1]], "query_id": 2**64},
        {"state": 2**64, "action": 0},
    ],
)
def test_demonstrations_with_numbers_and_names_that_are_none(tmp_path, record):
    (tmp_path / "d.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"d\.jsonl"):
        read_demonstrations(tmp_path / "d.jsonl")


@pytest.mark.parametrize("name", ["d.json", "d.jsonl"])
def test_json_that_is_nested_deeply(tmp_path, name):
    (tmp_path / name).write_text("[" * DEEP, encoding="utf-8")
    with pytest.raises(InputError, match="must not be nested so deeply"):
        read_demonstrations(tmp_path / name)


IMITATION = {
    "obs": np.array([0, 1, 0]), "acts": np.array([1, 0]), "terminal": np.array([False]), "indices": np.zeros(0, int),
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.zeros(0)},
        {"indices": np.array(["a"])},
        {"indices": np.array([0.5])},
        {"terminal": np.array([[False, True]])},
        {"terminal": np.array([False, True])},
        {"obs": np.array(3)},
        {"journeyman_ended": np.zeros(0, int)},
        {"journeyman_ended": np.zeros((1, 2), int)},
    ],
)
def test_arrays_of_imitation_of_other_shapes(tmp_path, change):
    about = {
        "ended": np.array([1]), "final_state": np.array([0]), "query_id": np.array([-1]), "annotator": np.array([""]),
        "timestamp": np.array([""]),
    }  # fmt: skip
    arrays = {**IMITATION, **{f"journeyman_{name}": value for name, value in about.items()}, **change}
    (tmp_path / "d.npz").write_bytes(npz(**arrays))
    try:
        read_demonstrations(tmp_path / "d.npz", line_problem(), format="imitation", skip_impossible=True)
    except JourneymanError as error:
        assert "d.npz" in str(error) or "trajector" in str(error)


def test_a_sheet_with_a_field_beyond_all_measure(tmp_path):
    (case,) = sheet_cases()
    (tmp_path / "s.study").write_bytes(case["s.study"])
    (tmp_path / "sheet.csv").write_bytes(case["sheet.csv"] + b'"' + b"a" * 200_000)
    with pytest.raises(InputError, match=r"a sheet must be a well-formed table, got field larger .* of sheet.csv"):
        merge_sheet(tmp_path, case)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("settings.json", b"[]"),
        ("settings.json", b'"a"'),
        ("settings.json", b"[" * DEEP),
        ("facts.json", b"[]"),
        ("facts.json", b'"a"'),
        ("events.json", b'[["ask", []]]'),
        ("events.json", b'[["ask", 1.5]]'),
        ("events.json", b'[["attach", {}]]'),
        ("events.json", b'[["ask", {"queries": [[]]}]]'),
    ],
)
def test_studies_with_checksums_that_fit_what_nobody_wrote(tmp_path, name, content):
    (case,) = forged_cases()
    case = {**case, name: content}
    (tmp_path / "s.study").write_bytes(case["s.study"])
    try:
        open_forged(tmp_path, case)  # opens it, or else recovers what can be read
    except StudyError as error:
        assert "recover" in str(error)
    with pytest.raises(StudyError, match="is damaged"):
        Study.open(tmp_path / "s.study", read_only=True)


def test_a_study_whose_words_are_not_utf8(tmp_path):
    """SQLite names what is wrong with a schema in the bytes of the file, which Python cannot decode."""
    path = tmp_path / "s.study"
    (case,) = forged_cases()
    path.write_bytes(case["s.study"].replace(b"CREATE TABLE events", b"CREATE TABLX \xe5\xe5vents"))
    with pytest.raises(StudyError):
        Study.open(path, read_only=True)


def test_settings_on_the_command_line_that_are_nested_deeply():
    assert parse_settings(["a=" + "[" * DEEP]) == {"a": "[" * DEEP}
    with pytest.raises(InputError, match="size"):
        parse_options("random-grid", ["size=" + "[" * DEEP])


def test_results_that_are_nested_deeply(tmp_path):
    (tmp_path / "r.jsonl").write_text("[" * DEEP + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="must begin with a header"):
        read_lines(tmp_path / "r.jsonl", "journeyman-x-1")


def test_the_corpus_is_valid():
    for folder in sorted((CORPUS / "problems").iterdir()):
        if folder.name != "features":  # its arrays are made by targets.py
            assert load_problem(folder / "problem.toml").mdp.num_states > 0


def test_a_parquet_file_that_is_damaged_in_what_it_says_of_its_columns(tmp_path):
    whole = parquet({"state": [0], "action": [1]})
    for old, new in (
        (b'"numpy_type"', b'"mumpy_type"'),
        (b"index_columns", b"imdex_columns"),
        (b"int64", b"Ynt64"),
    ):
        (tmp_path / "d.parquet").write_bytes(whole.replace(old, new))
        try:
            read_demonstrations(tmp_path / "d.parquet")
        except InputError as error:
            assert "d.parquet must be a Parquet file" in str(error)


def test_a_file_of_arrays_with_something_else_in_it(tmp_path):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as file:
        for name in ("obs", "acts", "terminal", "indices"):
            file.writestr(name, b"no array")
    with pytest.raises(InputError, match="is not an array"):
        read_demonstrations(tmp_path / "d.npz", format="imitation")


@pytest.mark.parametrize(
    "command", [["study", "ask"], ["study", "status"], ["check"], ["study", "new", "--world", "jail"]]
)
def test_names_of_files_that_are_too_long(monkeypatch, capsys, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(monkeypatch, capsys)(*command, "a" * 300 + ".study")
    assert code == 1
    assert err.startswith("Error: ") and "Traceback" not in err


def test_a_map_with_marks_that_nobody_sees(tmp_path):
    (tmp_path / "map.txt").write_text("S.\x0e\n..G\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"marks that can be seen, got '.x0e' at line 1, column 3 of map\.txt"):
        write_from_map(tmp_path / "map.txt", tmp_path)


def test_tables_for_too_many_pairs_and_grids_of_no_words(tmp_path):
    text = 'discount = 0.9\n[transitions]\nfile = "t.csv"\nnum_states = 2147483647\nnum_actions = 2147483648\n' + REST
    with pytest.raises(InputError, match="states times actions must be at most 100,000,000"):
        problem(tmp_path, text, t_dot_csv="state,action,next_state,probability\n0,0,0,1\n")
    line = (CORPUS / "problems" / "line" / "problem.toml").read_text("utf-8")
    table = (CORPUS / "problems" / "line" / "transitions.csv").read_text("utf-8")
    with pytest.raises(InputError, match="kinds of a grid must be 3 words, got 5"):
        problem(tmp_path, line.replace('wall = "#"', "kinds = 5"), transitions_dot_csv=table)


def test_a_nugget_whose_square_is_infinite(tmp_path):
    kernel = REST.replace("normal", "kernel")
    kernel = kernel.replace("std = 1.0", "std = 1.0\nlength_scale = 1.0\nnugget = 1e200")
    with pytest.raises(InputError, match="with a finite square, got 1e"):
        problem(tmp_path, 'discount = 0.9\nmap = "S.G"\n' + kernel)


def test_a_table_that_is_sent_with_a_name_too_long():
    for name in ("n" * 300 + ".csv", "\u4f60" * 100 + ".csv"):
        with pytest.raises(InputError, match="at most 200 bytes"):
            sent_problem("toml", "discount = 0.9\n", {name: "a\n"})


@pytest.fixture(scope="module")
def minari_set():
    (case,) = minari_cases()
    return case


@pytest.mark.parametrize(
    "spoil_fn",
    [
        lambda content: content.__delitem__("episode_0/rewards"),
        lambda content: content.__delitem__("episode_0/observations"),
        lambda content: replace(content, "episode_0/terminations", np.zeros((2, 2), dtype=bool)),
        lambda content: replace(content, "episode_0/infos/journeyman_ended", np.ones(3, dtype=complex)),
        lambda content: replace(content, "episode_0/infos/journeyman_ended", np.ones((3, 2), dtype=int)),
    ],
)
def test_minari_sets_that_are_damaged_inside(tmp_path, minari_set, spoil_fn):
    file = io.BytesIO(minari_set["main_data.hdf5"])
    with h5py.File(file, "r+") as content:
        spoil_fn(content)
    assert_refused(tmp_path / "case", {**minari_set, "main_data.hdf5": file.getvalue()})


def replace(content, name, array):
    del content[name]
    content[name] = array


@pytest.mark.parametrize("name", ["main_data.hdf5", "metadata.json"])
def test_minari_sets_that_are_cut(tmp_path, minari_set, name):
    assert_refused(tmp_path / "case", {**minari_set, name: minari_set[name][: len(minari_set[name]) // 2]})


@pytest.mark.parametrize("space", ['"{}"', '"{\\"type\\": \\"Odd\\"}"', "5"])
def test_minari_sets_of_odd_spaces(tmp_path, minari_set, space):
    about = json.loads(minari_set["metadata.json"]) | {"action_space": json.loads(space)}
    assert_refused(tmp_path / "case", {**minari_set, "metadata.json": json.dumps(about).encode()})


def assert_refused(folder, case):
    prepared(folder, case)
    with pytest.raises(InputError, match="a Minari dataset must"):
        read_minari()(folder, case)


def test_a_delta_that_no_particles_can_show():
    with pytest.raises(InputError, match="Choose a larger delta"):
        sized_options({}, float("inf"))
    assert sized_options({"num_particles": 10}, float("inf")) == {"num_particles": 10}


@pytest.mark.parametrize("word", ["w", "wetter"])
@pytest.mark.parametrize("order", "<>")
def test_words_of_arrays_with_letters_that_are_none(tmp_path, word, order):
    names = np.array([word, "far"]).astype(f"{order}U6")
    (tmp_path / "a.npz").write_bytes(npz(names=names, none=np.array([], dtype="U3")))
    assert read_arrays(tmp_path / "a.npz")["names"].tolist() == [word, "far"]
    spoilt = names.view(f"{order}u4").copy()
    spoilt[0] = 0x110000
    (tmp_path / "a.npz").write_bytes(npz(names=spoilt.view(names.dtype)))
    with pytest.raises(ValueError, match="names has words with letters that are none"):
        read_arrays(tmp_path / "a.npz")


def test_a_checkpoint_whose_words_were_changed_is_none(tmp_path):
    (case,) = sweep_cases()[1:]
    ((name, data),) = case.items()
    (tmp_path / name).write_bytes(data)
    metrics = tiny_sweep().metrics
    assert load_checkpoint(tmp_path / name, metrics) != Checkpoint()
    arrays = dict(np.load(io.BytesIO(data), allow_pickle=False))
    text = arrays["plain"].tobytes()
    assert text.count(b"posterior_seconds") > 1
    arrays["plain"] = np.frombuffer(text.replace(b"posterior_seconds", b"posterior_secondx", 1), dtype=np.uint8)
    (tmp_path / name).write_bytes(npz(**arrays))
    assert load_checkpoint(tmp_path / name, metrics) == Checkpoint()
