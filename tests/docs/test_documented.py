"""Nothing that a user can name is undocumented: public names, commands, options, entries, variables and keys."""

import ast
import importlib
import inspect
import re
from functools import cached_property

import pytest
import typer
from docs.blocks import REGISTRIES, ROOT, blocks, pages

from journeyman.cli.app import app
from journeyman.cli.reference import reference_markdown, walk
from journeyman.problem_files import dynamics, graphs, loading, maps, memory, rewards
from journeyman.study.formats import FORMATS, ROLES

API = "".join(path.read_text("utf-8") for path in sorted((ROOT / "docs" / "reference" / "api").glob("*.md")))
MODULES = re.findall(r"^\.\. automodule:: (\S+)$", API, re.MULTILINE)
SINGLE = set(re.findall(r"^\.\. (?:autofunction|autoclass|py:data):: (\S+)$", API, re.MULTILINE))
SOURCES = ROOT / "src" / "journeyman"
# At the top of the package, but only for the project itself.
NOT_FOR_USERS = {
    "checks", "cli", "compiling", "doctor", "extras", "logs", "notebooks", "once", "progress", "registry", "resources",
    "storage", "threads", "types", "wording",
}  # fmt: skip
# Packages with exports that only the project itself uses.
INSIDE = {
    "journeyman.cli.schemas", "journeyman.cli.study", "journeyman.doctor", "journeyman.mdp.krylov",
    "journeyman.report.drawing.situations", "journeyman.studio.app",
}  # fmt: skip
PAGE = (ROOT / "docs" / "cli.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (journeyman[^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
COMMANDS = dict(walk(typer.main.get_command(app), "journeyman"))
MAKE = "Run: python -m journeyman.cli.reference > docs/cli.md"


def test_there_are_commands():
    assert {"journeyman", "journeyman check", "journeyman study ask", "journeyman study import"} <= set(COMMANDS)


def test_the_page_has_these_commands_and_no_others():
    assert list(SECTIONS) == list(COMMANDS), MAKE


@pytest.mark.parametrize("path", COMMANDS)
def test_every_argument_and_option_is_documented(path):
    written = set(re.findall(r"^\| `([^`]+)` \|", SECTIONS[path], re.MULTILINE))
    words = {word for entry in written for word in re.split(r"[ ,]+", entry)}
    for parameter in COMMANDS[path].params:
        if parameter.name == "help":
            continue
        is_option = parameter.param_type_name == "option"
        names = [*parameter.opts, *parameter.secondary_opts] if is_option else [parameter.metavar]
        assert set(names) <= words, f"{path} {names}. {MAKE}"
        assert getattr(parameter, "help", None), f"{path} {names} must say what it means"


@pytest.mark.parametrize("path", [path for path, command in COMMANDS.items() if not hasattr(command, "commands")])
def test_every_command_has_an_example(path):
    command = COMMANDS[path]
    assert command.help
    assert re.search(r"Examples?: ", command.epilog or ""), f"{path} must end its help with an example"
    assert path in command.epilog.replace("[bold]", "").replace("[/]", "")


def test_the_page_of_commands_is_up_to_date():
    assert reference_markdown() == PAGE, MAKE


def public_names(module):
    """Return the names that a module offers: those that it exports, else the classes and functions that it defines."""
    found = importlib.import_module(module)
    own = [name for name, thing in vars(found).items() if getattr(thing, "__module__", None) == module]
    return getattr(found, "__all__", [name for name in own if not name.startswith("_")])


def test_every_layer_is_in_the_reference():
    """Whoever adds one says whether it is for users."""
    layers = {path.stem for path in SOURCES.glob("*.py")} | {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    documented = {module.split(".")[1] for module in MODULES}
    assert layers - {"__init__", "__main__"} - documented == NOT_FOR_USERS


def test_every_module_with_exports_is_in_the_reference():
    exporting = {
        ".".join(path.relative_to(SOURCES.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in SOURCES.rglob("*.py")
        if re.search(r"^__all__\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert exporting - set(MODULES) - INSIDE == {"journeyman"}
    assert exporting >= INSIDE


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    """Sphinx shows classes and functions that have a docstring; other things have an entry, or are a registry."""
    missing = []
    for name in public_names(module):
        thing = getattr(importlib.import_module(module), name)
        if name in REGISTRIES or f"{module}.{name}" in SINGLE:
            continue
        if (
            not (inspect.isclass(thing) or inspect.isroutine(thing))
            or not (thing.__doc__ or "").strip()
            or "alias for field" in thing.__doc__
            or (inspect.isclass(thing) and thing.__doc__.startswith(f"{name}("))
        ):
            missing.append(name)
        missing += [f"{name}.{member}" for member in undescribed_members(thing)]
    assert missing == []


def undescribed_members(thing):
    """Yield the methods and properties of a class that Sphinx leaves out, since nothing says what they are."""
    fields = getattr(thing, "__dataclass_fields__", {})
    for name, member in vars(thing).items() if inspect.isclass(thing) else ():
        is_shown = inspect.isroutine(member) or isinstance(member, property | cached_property)
        if is_shown and not name.startswith("_") and name not in fields and not inspect.getdoc(getattr(thing, name)):
            yield name


def test_every_name_of_the_package_is_public_in_its_layer():
    import journeyman

    homes = journeyman._MODULE_OF
    assert [
        name for name in journeyman.__all__ if homes[name] not in MODULES or name not in public_names(homes[name])
    ] == []


def imported_names(page):
    """Yield what the Python of a page imports from the package."""
    for block in blocks(page, "python"):
        for node in ast.walk(ast.parse(block.text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("journeyman"):
                yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("page", [page for page in pages() if any(imported_names(page))])
def test_pages_use_what_is_in_the_reference(page):
    """A name may be imported from where it is defined; then its layer offers it."""
    offered = {
        (id(getattr(importlib.import_module(module), name))) for module in MODULES for name in public_names(module)
    }
    unknown = [
        f"{module}.{name}"
        for module, name in imported_names(page)
        if f"{module}.{name}" not in SINGLE and id(getattr(importlib.import_module(module), name)) not in offered
    ]
    assert unknown == []


@pytest.mark.parametrize("name", REGISTRIES)
def test_every_registry_and_entry_is_documented(name):
    """The page of registries lists entries with what they say of themselves; worlds and methods are also on others."""
    text = (ROOT / "docs" / "reference" / "registries.md").read_text("utf-8")
    assert f"## {name}\n" in text and re.search(rf"^```{{entries}} \S+\.{name}$", text, re.MULTILINE)
    for entry, thing in REGISTRIES[name].items():
        says = thing.__doc__ if inspect.isclass(thing) or inspect.isroutine(thing) else thing.summary
        assert (says or "").strip(), f"{entry} must say what it is"


def test_options_of_entries_stand_beside_them(monkeypatch):
    """They are names as well: what `--acquisition-set` and the like take."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "_extensions")
    rows = dict(importlib.import_module("said").entry_rows("journeyman.acquisition.ACQUISITIONS"))
    for name, thing in REGISTRIES["ACQUISITIONS"].items():
        assert all(f"`{option}`" in rows[f"`{name}`"] for option in thing.options)


def test_every_registry_is_known_here():
    sources = "".join(path.read_text("utf-8") for path in sorted(SOURCES.rglob("*.py")))
    made = re.findall(r"^(\w+)(?:: [^\n=]+)? = \w*(?:Registry|_Worlds)(?:\[.*\])?\(", sources, re.MULTILINE)
    assert sorted(made) == sorted(REGISTRIES)


def test_every_environment_variable_is_documented():
    listed = (ROOT / "docs" / "reference" / "environment.md").read_text("utf-8")
    sources = [path.read_text("utf-8") for path in sorted(SOURCES.rglob("*.py"))]
    # How a variable is read differs; in a file that reads any, each word that is written like one counts.
    reading = [text for text in sources if re.search(r"\b(?:environ|getenv|putenv|envvar)\b", text)]
    read = set(re.findall(r"""["']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)["']""", "".join(reading)))
    call = r"""(?:environ\.\w+\(|environ\[|getenv\()\s*["'](\w+)["']|["'](\w+)["'] (?:not )?in os\.environ"""
    read |= {name for names in re.findall(call, "".join(reading)) for name in names if name}
    named = set(re.findall(r"\b(?:JOURNEYMAN|NUMBA|OMP|OPENBLAS)_[A-Z_]+\b", "".join(sources)))
    assert {"JOURNEYMAN_PLUGINS", "NO_COLOR", "XDG_STATE_HOME"} <= read | named
    assert [name for name in sorted(read | named) if f"`{name}`" not in listed] == []


def test_every_key_of_a_problem_file_is_documented():
    text = (ROOT / "docs" / "problem-file.md").read_text("utf-8")
    grouped = (loading.KEYS, rewards.PRIOR_KEYS, memory.KEYS)
    keys = {key for group in grouped for known in group.values() for key in known}
    keys |= {*dynamics.TRANSITION_KEYS, *maps.KEYS, *graphs.KEYS, *rewards.REWARD_KEYS, *memory.SHARED_KEYS}
    written = ("`{}`", "`[{}]`", "`{} = ")
    assert [key for key in sorted(keys) if not any(form.format(key) in text for form in written)] == []


def test_every_key_of_a_memory_is_on_its_page():
    text = (ROOT / "docs" / "memory.md").read_text("utf-8")
    keys = {*(key for keys in memory.KEYS.values() for key in keys), *memory.SHARED_KEYS}
    assert [key for key in sorted(keys) if f"`{key}`" not in text and f"`{key} = " not in text] == []


def test_every_format_and_every_meaning_of_a_column_is_documented():
    text = (ROOT / "docs" / "formats.md").read_text("utf-8")
    assert [name for name in FORMATS if f"`{name}`" not in text] == []
    assert [role for role in ROLES if f"| `{role}` |" not in text] == []
