"""Files that pages show are such as the program reads, and names of its parts and extras exist wherever they stand."""

import importlib
import json
import re
import tomllib
from pathlib import Path

import pytest
from docs.blocks import REGISTRIES, ROOT, blocks, pages, without_blocks, write_files

from journeyman.errors import InputError
from journeyman.experiment.spec_file import sweep_from_toml
from journeyman.experts import Boltzmann
from journeyman.problem_files import dynamics, graphs, loading, maps, memory, rewards
from journeyman.problem_files.tables import ROOT as TOP, TomlFile

GROUPS = {registry.group for registry in REGISTRIES.values()}
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
KEYS = {
    **loading.KEYS,
    "transitions": dynamics.TRANSITION_KEYS,
    "map": maps.KEYS,
    "graph": graphs.KEYS,
    "reward": rewards.REWARD_KEYS,
}
BY_KIND = {
    "prior": rewards.PRIOR_KEYS,
    "memory": {kind: (*keys, *memory.SHARED_KEYS) for kind, keys in memory.KEYS.items()},
}
ANY_KEYS = {
    key for keys in (*KEYS.values(), *(keys for kinds in BY_KIND.values() for keys in kinds.values())) for key in keys
}


@pytest.mark.parametrize("page", [page for page in pages() if blocks(page, "toml")])
def test_toml_is_read_by_the_program(page, tmp_path):
    write_files(page, tmp_path)
    for block in blocks(page, "toml"):
        try:
            read_toml_text(block.text, tmp_path)
        except InputError as error:
            pytest.fail(f"{page}:{block.line} {error}")


def read_toml_text(text, folder):
    """Let the program read a sweep or a problem; compare the keys of a part of one with those that it knows."""
    data = tomllib.loads(text)
    if "acquisitions" in data:
        sweep_from_toml(text)
    elif {"reward", "prior", "expert"} <= set(data):
        file = folder / "shown.toml"
        file.write_text(text, "utf-8")
        loading.load_problem(file)
    elif "project" in data:
        assert set(data) == {"project"} and set(data["project"]) == {"entry-points"}
        assert set(data["project"]["entry-points"]) <= GROUPS
    else:
        check_fragment(TomlFile(Path("the fragment"), text, data))


def check_fragment(file):
    """Refuse keys that a problem file does not have; lines without a table may be of any."""
    for name in file.data:
        if name in KEYS:
            file.table(name).check_keys(KEYS[name])
        elif name in BY_KIND:
            table = file.table(name)
            table.check_keys(BY_KIND[name][table.choice("kind", tuple(BY_KIND[name]), "")])
        else:
            file.table(TOP).check_keys(tuple(ANY_KEYS))
    if "expert" in file.data:
        Boltzmann.from_record({"beta": loading.UNKNOWN, **file.data["expert"]})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[prior]\nkind = "kernel"\nlength_scal = 4.0\n', "length_scal"),
        ('[prior]\nkind = "kernal"\n', "kernal"),
        ("[map]\nstayy = true\n", "stayy"),
        ('[memory]\nkind = "clock"\nhorizn = 6\n', "horizn"),
        ("[expert]\nbeta = { lognormal = [4.0] }\n", "lognormal"),
        ("[expert]\nbetta = 4\n", "betta"),
        ("terains = {}\n", "terains"),
        ('acquisitions = ["pac_eigg"]\n', "name"),
        ("[reward]\n[prior]\n[expert]\n", "discount"),
    ],
)
def test_wrong_toml_is_found(text, fault, tmp_path):
    with pytest.raises(InputError, match=fault):
        read_toml_text(text, tmp_path)


@pytest.mark.parametrize("page", [page for page in pages() if blocks(page, "json") or blocks(page, "jsonl")])
def test_json_is_json(page):
    for block in blocks(page):
        for text in {"json": [block.text], "jsonl": block.text.splitlines()}.get(block.language, ()):
            json.loads(text)


@pytest.mark.parametrize("page", [*pages(), *(path.name for path in ROOT.glob("*.md") if path.name != "README.md")])
def test_names_of_extras_and_of_parts_exist(page):
    text = (ROOT / page).read_text("utf-8")
    assert list(unknown_extras(text)) == []
    assert list(unknown_names(text)) == []


def unknown_extras(text):
    """Yield the extras that a page says to install and that there are not."""
    for listed in re.findall(r"(?:journeyman|pip install [^\s\[]*)\[([\w, -]+)\]", text):
        yield from (name for name in re.split(r"\s*,\s*", listed) if name not in EXTRAS)


def unknown_names(text):
    """Yield names such as `journeyman.mdp.solve` that are neither a module, nor in one, nor a group of entry points."""
    for name in re.findall(r"`(journeyman(?:\.\w+)+)\b", without_blocks(text)):
        if name not in GROUPS and not is_there(name):
            yield name


def is_there(name):
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for part in parts[size:]:
            found = getattr(found, part, None)
        return found is not None
    return False


def test_wrong_names_are_found():
    text = "pip install 'journeyman[plt,all]'; `journeyman.aquisitions`, `journeyman.priors`, `journeyman.mdp.nope`"
    assert list(unknown_extras(text)) == ["plt"]
    assert list(unknown_names(text)) == ["journeyman.aquisitions", "journeyman.mdp.nope"]
