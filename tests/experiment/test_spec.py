import copy
import datetime

import pytest
from experiment.small import RECORD, tiny_sweep
from hypothesis import given, settings, strategies as st

from journeyman.acquisition import ACQUISITIONS
from journeyman.errors import InputError, UnsupportedError
from journeyman.experiment import METRICS, Choice, QueryKind, Sweep, load_sweep, sweep_from_toml
from journeyman.experiment.spec_file import sweep_from_record
from journeyman.inference import INFERENCE
from journeyman.worlds import WORLDS, world_options

TOML = """
name = "forms of PAC-EIG"
steps = 40
seeds = [3, 1]
epsilon = 0.2
delta = 0.05
worlds = ["random-8x8", {name = "random-grid", label = "4x4", options = {size = 4}}]
queries = ["state", {kind = "trajectory", length = 5}]
inference = ["smc", {name = "smc", label = "small", options = {num_particles = 200}}]
acquisitions = ["random", {name = "pac_eig", label = "PAC-EIG", options = {occupancy = false}}]
metrics = ["true_regret", "certificate"]
"""


def refused(**changes):
    """The message that a record gets in which some keys have other values; None removes a key."""
    record = {key: value for key, value in (RECORD | changes).items() if value is not None}
    with pytest.raises(InputError) as found:
        sweep_from_record(record)
    return str(found.value)


def test_a_file_says_every_axis(tmp_path):
    path = tmp_path / "forms.toml"
    path.write_text(TOML)
    sweep = load_sweep(path)
    assert sweep.name == "forms of PAC-EIG"
    assert (sweep.steps, sweep.seeds, sweep.epsilon, sweep.delta) == (40, (3, 1), 0.2, 0.05)
    assert [world.label for world in sweep.worlds] == ["random-8x8", "4x4"]
    assert sweep.queries == (QueryKind(), QueryKind("trajectory", 5))
    assert [query.label for query in sweep.queries] == ["state", "trajectory-5"]
    assert [choice.options for choice in sweep.inference] == [{}, {"num_particles": 200}]
    assert sweep.acquisitions[1] == Choice("pac_eig", "PAC-EIG", {"occupancy": False})
    assert sweep.metrics == ("true_regret", "certificate")
    assert sweep == sweep_from_toml(TOML)


def test_what_is_left_out_has_a_default():
    sweep = sweep_from_toml('name = "x"\nsteps = 1\nseeds = 3\nworlds = ["jail"]\nacquisitions = ["random"]')
    assert sweep.seeds == (0, 1, 2)
    assert sweep.queries == (QueryKind("state"),)
    assert sweep.inference == (Choice("smc", "smc"),)
    assert (sweep.epsilon, sweep.delta, sweep.num_histories) == (0.1, 0.1, 64)
    assert sweep.metrics == tuple(METRICS)


def test_every_combination_is_a_cell_and_seeds_come_one_after_the_other():
    cells = sweep_from_toml(TOML).cells()
    keys = [
        (cell.seed, cell.world.label, cell.query.label, cell.inference.label, cell.acquisition.label) for cell in cells
    ]
    assert len(set(keys)) == len(keys) == 2 * 2 * 2 * 2 * 2
    assert [cell.seed for cell in cells] == [3] * 16 + [1] * 16
    assert keys[0] == (3, "random-8x8", "state", "smc", "random")
    assert keys[-1] == (1, "4x4", "trajectory-5", "small", "PAC-EIG")
    assert {(cell.epsilon, cell.delta, cell.num_histories) for cell in cells} == {(0.2, 0.05, 64)}


def test_a_label_that_is_left_out_says_the_options():
    entry = {"name": "pac_eig", "options": {"scope": "joint", "edges": [0.0, 1.0]}}
    assert tiny_sweep(acquisitions=[entry]).acquisitions[0].label == "pac_eig scope=joint, edges=[0.0, 1.0]"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"step": 4}, ["a sweep", "'step'", "Did you mean 'steps'?"]),
        ({"acquisition": []}, ["'acquisition'", "Did you mean 'acquisitions'?"]),
        ({"zzzz": 4}, ["'zzzz'", "It has: name, worlds"]),
        ({"worlds": ["jial"]}, ["a world", "'jial'", "Did you mean 'jail'?"]),
        ({"acquisitions": ["pac-eig"]}, ["an acquisition", "'pac-eig'", "Did you mean 'pac_eig'?"]),
        ({"inference": ["scm"]}, ["an inference method", "'scm'", "Did you mean 'smc'?"]),
        ({"metrics": ["true_regrets"]}, ["a metric", "'true_regrets'", "Did you mean 'true_regret'?"]),
        ({"queries": ["sate"]}, ["a kind of query", "'sate'", "Did you mean 'state'?"]),
        ({"queries": [{"kind": "trajectories", "length": 3}]}, ["'trajectories'", "Did you mean 'trajectory'?"]),
        ({"queries": [{"kind": "trajectory", "lenght": 3}]}, ["'lenght'", "Did you mean 'length'?"]),
        ({"queries": [{"length": 3}]}, ["an entry of queries", "a table with a kind"]),
        ({"worlds": [{"name": "random-grid", "optoins": {}}]}, ["'optoins'", "Did you mean 'options'?"]),
        ({"worlds": [{"name": "random-grid", "size": 3}]}, ["'size'", "options = {key = value}"]),
        ({"worlds": [{"label": "3x3"}]}, ["an entry of worlds", "a table with a name"]),
        ({"worlds": [{"name": "random-grid", "options": {"sise": 3}}]}, ["'random-grid'", "'sise'", "mean 'size'?"]),
        (
            {"acquisitions": [{"name": "pac_eig", "options": {"ocupancy": True}}]},
            ["'pac_eig'", "'ocupancy'", "Did you mean 'occupancy'?"],
        ),
        ({"acquisitions": [{"name": "random", "options": {"edges": [1]}}]}, ["'random'", "'edges'", "none"]),
        (
            {"inference": [{"name": "smc", "options": {"particles": 200}}]},
            ["'smc'", "'particles'", "Did you mean 'num_particles'?"],
        ),
    ],
)
def test_typos_are_named_and_the_right_word_is_suggested(changes, words):
    message = refused(**changes)
    assert all(word in message for word in words), message


@pytest.mark.parametrize("key", ["name", "worlds", "acquisitions", "seeds", "steps"])
def test_what_is_missing_is_asked_for_with_an_example(key):
    message = refused(**{key: None})
    assert message.startswith(f"a sweep must say its {key}, got none. Add a line such as: {key} = ")
    example = message.split("such as: ")[1]
    rest = "\n".join(
        f"{other} = {value!r}" for other, value in RECORD.items() if other not in {key, "worlds", "inference"}
    )
    worlds = "" if key == "worlds" else 'worlds = ["jail"]'
    assert sweep_from_toml("\n".join([rest, worlds, example])).cells()  # the example is a line that works


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seeds": "x"}, "seeds must be a whole number of at least 1, got 'x'. It is how many, or a list"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1, got 0"),
        ({"seeds": True}, "seeds must be a whole number"),
        ({"seeds": []}, "seeds must not be empty"),
        ({"seeds": [0, -1]}, "a seed must be a whole number of at least 0, got -1"),
        ({"seeds": [0, 1.0]}, "a seed must be a whole number of at least 0, got 1.0"),
        ({"seeds": [2, 2]}, "seeds must differ from each other, got 2 twice. Remove one."),
        ({"seeds": [2**31]}, "a seed must be at most 2147483647, got 2147483648"),
        ({"seeds": 10**12}, "seeds must be at most 100000, got 1000000000000"),
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0. It is the number of answers per cell."),
        ({"steps": 2.5}, "steps must be a whole number of at least 1, got 2.5"),
        ({"steps": True}, "steps must be a whole number of at least 1, got True"),
        ({"steps": "4"}, "steps must be a whole number of at least 1, got '4'"),
        ({"name": 3}, "name must be a word or two, got 3"),
        ({"name": " "}, "name must be a word or two, got ' '"),
        ({"worlds": "jail"}, "worlds must be a list, got 'jail'. Write it in brackets: worlds = [...]"),
        ({"acquisitions": {"name": "random"}}, "acquisitions must be a list"),
        ({"queries": "state"}, "queries must be a list"),
        ({"metrics": "truth"}, "metrics must be a list"),
        ({"worlds": []}, "worlds must not be empty. Give at least one."),
        ({"acquisitions": []}, "acquisitions must not be empty"),
        ({"inference": []}, "inference must not be empty"),
        ({"queries": []}, "queries must not be empty"),
        ({"metrics": []}, "metrics must not be empty"),
        ({"acquisitions": ["random", "random"]}, "got 'random' twice. Give each its own label."),
        (
            {"queries": ["state", {"kind": "state"}]},
            "queries must differ from each other, got 'state' twice. Remove one.",
        ),
        ({"metrics": ["truth", "truth"]}, "metrics must differ from each other, got 'truth' twice"),
        ({"worlds": [3]}, "an entry of worlds must be a name or a table with a name, got 3"),
        ({"worlds": [{"name": ["jail"]}]}, "a world must be one that exists, got ['jail']"),
        ({"worlds": [{"name": "jail", "options": 3}]}, "options of 'jail' must be a table, got 3"),
        (
            {"worlds": [{"name": "jail", "options": {"beta": {}}}]},
            "beta must be numbers, words or lists of them, got dict",
        ),
        ({"worlds": [{"name": "jail", "options": {"beta": "x"}}]}, "beta must be a number, got 'x'"),
        ({"worlds": [{"name": "jail", "options": {"beta": -1}}]}, "beta must be positive and finite, got -1"),
        ({"worlds": [{"name": "random-grid", "options": {"size": 2.5}}]}, "size must be a whole number"),
        ({"worlds": [{"name": "random-grid", "options": {"size": 10**6}}]}, "a gridworld must have at most"),
        (
            {"worlds": [{"name": "random-grid", "options": {"std": 10**400}}]},
            "option 'std' of 'random-grid' must be a number below",
        ),
        (
            {"acquisitions": [{"name": "pac_eig", "options": {"edges": [0.5, float("nan")]}}]},
            "option 'edges' of 'pac_eig' must be a number below 1e+18, got nan",
        ),
        ({"acquisitions": [{"name": "random", "label": 3}]}, "the label of 'random' must be a word or two, got 3"),
        ({"acquisitions": [{"name": "random", "label": ""}]}, "the label of 'random' must be a word or two, got ''"),
        ({"inference": [{"name": "smc", "options": {"num_particles": 10}}]}, "num_particles must be a whole number"),
        ({"inference": [{"name": "smc", "options": {"num_particles": 200.0}}]}, "num_particles must be a whole number"),
        ({"inference": [{"name": "smc", "options": {"acceptance": "x"}}]}, "acceptance must be a number, got 'x'"),
        ({"queries": [{"kind": "trajectory"}]}, "the length of trajectory queries must be a whole number"),
        ({"queries": [{"kind": "trajectory", "length": -2}]}, "must be a whole number of at least 1, got -2"),
        ({"queries": [{"kind": "trajectory", "length": 2.0}]}, "must be a whole number of at least 1, got 2.0"),
        ({"queries": [{"kind": "trajectory", "length": True}]}, "must be a whole number of at least 1, got True"),
        ({"queries": [{"kind": "state", "length": 3}]}, "state queries must have no length, got 3"),
        ({"queries": [3]}, "an entry of queries must be a kind or a table with a kind, got 3"),
        ({"metrics": [["truth"]]}, "a metric must be one that exists, got ['truth']"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "x"}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"num_histories": 1}, "num_histories must be a whole number of at least 2, got 1"),
        ({"worlds": [{"name": "jail", "options": {"beta": datetime.date(2020, 1, 1)}}]}, "got date. Convert it."),
    ],
)
def test_wrong_values_are_said(changes, words):
    message = refused(**changes)
    assert words in message, message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"acquisitions": ["policy_entropy"], "queries": [{"kind": "trajectory", "length": 3}]},
            "'policy_entropy' cannot rate trajectory queries. These can: ",
        ),
        ({"inference": ["enumerate"]}, "parameters"),
        ({"inference": ["valuewalk"], "worlds": ["jail"]}, "reward"),
        ({"inference": ["policywalk"], "worlds": ["lopes-two-state"]}, "Discrete"),
    ],
)
def test_what_does_not_go_together_is_said_before_any_work(changes, words):
    with pytest.raises(UnsupportedError) as found:
        sweep_from_record(RECORD | changes)
    assert words in str(found.value)


def test_a_combination_that_is_wrong_is_found_in_the_last_place_too():
    changes = {"worlds": [*RECORD["worlds"], "jail"], "inference": [*RECORD["inference"], "enumerate"]}
    with pytest.raises(UnsupportedError):
        sweep_from_record(RECORD | changes)


def test_mistakes_in_files_name_the_file(tmp_path):
    with pytest.raises(InputError, match=r"got '.*none.toml': No such file"):
        load_sweep(tmp_path / "none.toml")
    with pytest.raises(InputError, match="Is a directory"):
        load_sweep(tmp_path)
    path = tmp_path / "mine.toml"
    path.write_bytes(b'name = "\xff"')
    with pytest.raises(InputError, match="not UTF-8"):
        load_sweep(path)
    path.write_text('name = "x"\nsteps = = 3')
    with pytest.raises(InputError, match=r"mine.toml: a sweep must be TOML, .* line 2"):
        load_sweep(path)
    path.write_text('name = "x"\nname = "y"')
    with pytest.raises(InputError, match=r"mine.toml: a sweep must be TOML"):
        load_sweep(path)
    path.write_text("")
    with pytest.raises(InputError, match=r"mine.toml: a sweep must say its name"):
        load_sweep(path)
    path.write_text(TOML.replace('"random",', '"policy_entropy",'))
    with pytest.raises(UnsupportedError, match=r"mine.toml: 'policy_entropy' cannot rate"):
        load_sweep(path)


def test_changes_are_checked_again():
    sweep = tiny_sweep()
    assert sweep.with_changes(steps=7).steps == 7
    with pytest.raises(InputError, match="steps"):
        sweep.with_changes(steps=0)
    with pytest.raises(InputError, match="seeds must not be empty"):
        sweep.with_changes(seeds=())
    with pytest.raises(InputError, match="option 'beta' of 'jail' must be a number below"):
        sweep.with_changes(worlds=(Choice("jail", "jail", {"beta": float("inf")}),))


NUMBERS = [True, 0, 1, -1, 2.5, float("nan"), float("inf"), 10**30, -(10**30), 1e300]
LISTS = [[], [1], ["a"], [[]], [float("nan")], [0.5, 1]]
TABLES = [{}, {"a": 1}, {"name": "smc"}]
JUNK = st.sampled_from([*NUMBERS, *LISTS, *TABLES, None, datetime.date(2020, 1, 1), "", "x", "state", "smc", "joint"])


def options_of(names):
    return st.dictionaries(st.sampled_from([*names, "typo"]), JUNK, max_size=2)


def entries(registry, names_fn):
    """Entries of an axis: names that exist or not, with options that are known or not, and anything as value."""
    known = st.sampled_from(list(registry)).flatmap(
        lambda name: st.fixed_dictionaries(
            {"name": st.just(name)}, optional={"options": options_of(names_fn(name)), "label": JUNK}
        )
    )
    return st.lists(st.one_of(known, st.sampled_from(list(registry)), JUNK), max_size=2)


RECORDS = st.fixed_dictionaries(
    {
        "name": st.just("x"),
        "steps": st.one_of(st.just(3), JUNK),
        "seeds": st.one_of(st.just([0, 4]), JUNK),
        "worlds": entries(WORLDS, lambda name: list(world_options(name))),
        "acquisitions": entries(ACQUISITIONS, lambda name: ACQUISITIONS[name].options),
    },
    optional={
        "inference": entries(INFERENCE, lambda name: INFERENCE.find(name).options),
        "queries": st.lists(st.one_of(st.just("state"), st.fixed_dictionaries({"kind": JUNK, "length": JUNK}), JUNK)),
        "metrics": st.lists(st.one_of(st.sampled_from(list(METRICS)), JUNK)),
        "epsilon": JUNK,
        "delta": JUNK,
        "num_histories": JUNK,
        "typo": JUNK,
    },
)


@given(RECORDS)
@settings(max_examples=300)
def test_whatever_a_file_says_it_is_a_sweep_or_an_input_error(record):
    before = copy.deepcopy(record)
    try:
        sweep = sweep_from_record(record)
    except InputError as error:
        assert len(str(error)) > 20
    else:
        assert isinstance(sweep, Sweep)
        assert len({cell.id for cell in sweep.cells()}) > 0
    assert repr(record) == repr(before)


@given(st.text(alphabet='abk=[]{}",.0123456789\n #ésw', max_size=60))
@settings(max_examples=100)
def test_whatever_the_text_is_the_error_is_ours(text):
    with pytest.raises(InputError):
        sweep_from_toml(text)


def test_one_cell_under_two_labels_is_refused():
    twice = [{"name": "pac_eig", "label": "one"}, {"name": "pac_eig", "label": "two", "options": {"occupancy": True}}]
    with pytest.raises(InputError, match=r"differ in more than their labels, got '.* one .*' and '.* two .*'"):
        tiny_sweep(acquisitions=twice)


@pytest.mark.parametrize(("key", "entry", "meant"), [
    ("worlds", {"nam": "jail"}, "name"),
    ("queries", {"knd": "state"}, "kind"),
])  # fmt: skip
def test_a_misspelt_key_of_an_entry_is_suggested(key, entry, meant):
    with pytest.raises(InputError, match=f"Did you mean '{meant}'"):
        tiny_sweep(**{key: [entry]})


def test_shares_are_refused_by_name():
    """Sweeps compare epsilon with true regrets, in units of the reward."""
    assert "epsilon must be in units of the reward for sweeps, which compare it with true regrets, got 10%" in refused(
        epsilon="10%"
    )
