"""Registries are open: by register, by entry points, and by modules named in the environment."""

from importlib.metadata import EntryPoint

import pytest

from journeyman import registry
from journeyman.errors import InputError
from journeyman.registry import PLUGINS, Registry


def numbers() -> Registry[int]:
    return Registry("a number", "journeyman.numbers", int, {"one": 1, "two": 2})


def test_it_is_a_mapping_in_order():
    entries = numbers()
    assert list(entries) == ["one", "two"] and entries["two"] == 2 and len(entries) == 2 and "three" not in entries
    assert dict(entries.items()) == {"one": 1, "two": 2}


def test_what_is_registered_is_found():
    entries = numbers()
    entries.register("three", 3)
    assert entries.find("three") == 3 and list(entries) == ["one", "two", "three"]
    entries.register("three", 4, replace=True)
    assert entries["three"] == 4
    entries.unregister("three")
    assert "three" not in entries


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda entries: entries.find("tow"),
            r"a number must be one that exists, got 'tow'\. Did you mean 'two'\? Choose from: one, two\.$",
        ),
        (
            lambda entries: entries.find("seventeen"),
            r"got 'seventeen'\. Choose from: one, two\. Names from outside need JOURNEYMAN_PLUGINS",
        ),
        (lambda entries: entries.find(["two"]), r"a number must be one that exists, got \['two'\]"),
        (lambda entries: entries.register("one", 7), r"a name of its own, got 'one', which exists"),
        (lambda entries: entries.register("one", 7, replace=True), r"got 'one', which exists"),
        (lambda entries: entries.register("", 7), r"must have a name"),
        (lambda entries: entries.register("word", "seven"), r"must be of type int, got str as 'word'"),
        (lambda entries: entries.unregister("one"), r"got 'one'"),
    ],
)
def test_bad_calls_name_the_offender(call, message):
    with pytest.raises(InputError, match=message):
        call(numbers())


def test_entry_points_are_loaded_when_they_are_used(monkeypatch):
    point = EntryPoint("pid", "os:getpid", "journeyman.functions")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "journeyman.functions" else [])
    entries = Registry("a function", "journeyman.functions", object, {})
    assert list(entries) == ["pid"] and len(entries) == 1
    assert entries["pid"]() > 0
    assert list(numbers()) == ["one", "two"]


def test_modules_named_in_the_environment_are_imported_once(tmp_path, monkeypatch):
    (tmp_path / "a_plugin_for_journeyman.py").write_text(
        "import os\nos.environ['PLUGGED'] = os.environ['PLUGGED'] + 'x'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PLUGGED", "")
    monkeypatch.setenv(PLUGINS, " a_plugin_for_journeyman, ")
    monkeypatch.setattr(registry, "_imported", set())
    assert "one" in numbers() and "three" not in numbers() and "four" not in numbers()
    import os

    assert os.environ["PLUGGED"] == "x"


def test_a_module_that_does_not_exist_is_named(monkeypatch):
    monkeypatch.setenv(PLUGINS, "no_such_module")
    monkeypatch.setattr(registry, "_imported", set())
    with pytest.raises(InputError, match=f"{PLUGINS} must name modules that can be imported, got 'no_such_module'"):
        list(numbers())


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no_such_module:B", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("os:no_such_name", "AttributeError: .*no_such_name"),
        ("a_module_that_fails:B", "RuntimeError: no licence"),
    ],
)
def test_a_broken_entry_point_is_named_when_it_is_used_and_not_before(tmp_path, monkeypatch, value, reason):
    (tmp_path / "a_module_that_fails.py").write_text("raise RuntimeError('no licence')\n")
    info = tmp_path / "kit-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kit\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[journeyman.numbers]\nbroken = {value}\n")
    monkeypatch.syspath_prepend(tmp_path)
    entries = numbers()
    assert dict(entries.usable()) == {"one": 1, "two": 2}
    assert list(entries) == ["one", "two", "broken"] and "broken" in repr(entries) and entries.find("two") == 2
    message = f"entry point 'broken' of journeyman.numbers must name .*, got '{value}' from package kit: {reason}"
    with pytest.raises(InputError, match=message):
        entries.find("broken")


def test_a_built_in_name_wins_over_an_entry_point(monkeypatch):
    point = EntryPoint("one", "os:getpid", "journeyman.numbers")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    assert numbers().find("one") == 1 and list(numbers()) == ["one", "two"]


def test_a_module_that_raises_is_named_with_its_error(monkeypatch, tmp_path):
    (tmp_path / "broken_plugin_for_journeyman.py").write_text("raise RuntimeError('out of paint')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(PLUGINS, "broken_plugin_for_journeyman")
    monkeypatch.setattr(registry, "_imported", set())
    with pytest.raises(InputError, match=r"which raises RuntimeError: out of paint\. Fix it, or leave it out"):
        list(numbers())
