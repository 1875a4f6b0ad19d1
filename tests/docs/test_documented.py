"""Nothing that a user can name is undocumented: public names, commands, options, entries, variables and keys."""

import ast
import dataclasses
import importlib
import inspect
import re
from functools import cached_property

import pytest
import typer
from docs.blocks import REGISTRIES, ROOT, blocks, pages, table

from journeyman.cli.app import app
from journeyman.cli.reference import reference_markdown, walk
from journeyman.criticism.variants import CHANGES
from journeyman.experiment import Sweep
from journeyman.learner.settings import COMPUTING_OPTIONS, COMPUTING_SETTINGS
from journeyman.problem_files import dynamics, graphs, loading, maps, memory, rewards
from journeyman.study import Study
from journeyman.study.formats import FORMATS, ROLES
from journeyman.worlds import make_world

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
ENVIRONMENT = ("environ", "environb", "getenv", "getenvb", "putenv", "unsetenv")  # of the module os
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
    """Yield the methods and properties of a class that Sphinx leaves out, since nothing says what they are, and fields.

    A field is described where the class, or a comment below the field, names it.
    """
    if not inspect.isclass(thing):
        return
    fields = getattr(thing, "_fields", ())  # of a NamedTuple
    if dataclasses.is_dataclass(thing):
        fields = [field.name for field in dataclasses.fields(thing)]
    words = set(re.findall(r"\w+", " ".join(inspect.getdoc(one) or "" for one in ours(thing))))
    below = re.findall(r'^    (\w+): .*\n    """', inspect.getsource(thing), re.MULTILINE)
    yield from (name for name in fields if not name.startswith("_") and name not in words.union(below))
    for name, member in ((name, member) for one in ours(thing) for name, member in vars(one).items()):
        is_shown = inspect.isroutine(member) or isinstance(member, property | cached_property)
        if is_shown and not name.startswith("_") and name not in fields and not inspect.getdoc(getattr(thing, name)):
            yield name


def ours(thing):
    """Return a class and those of its bases that are defined here."""
    return [one for one in thing.__mro__ if one.__module__.startswith("journeyman")]


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


def test_environment_variables_are_those_that_are_documented():
    read, unclear = set(), []
    texts = {path: path.read_text("utf-8") for path in sorted(SOURCES.rglob("*.py"))}
    for path, text in texts.items():
        found, others = variables_read(text) if re.search("|".join(ENVIRONMENT), text) else ((), ())
        read |= {*found}
        unclear += [f"{path.relative_to(ROOT)}:{line}" for line in others]
    assert unclear == [], (
        "Name the variable as a word, or as a constant of the package: NAME = ..., os.environ.get(NAME)"
    )
    named = read | set(re.findall(r"\b(?:JOURNEYMAN|NUMBA|OMP|OPENBLAS)_[A-Z_]+\b", "".join(texts.values())))
    listed = {
        name for cell, *_ in table("docs/reference/environment.md", "variable") for name in re.findall(r"`(\w+)`", cell)
    }
    assert {"JOURNEYMAN_PLUGINS", "JOURNEYMAN_LOG_LEVEL", "NO_COLOR", "XDG_STATE_HOME", "NUMBA_CACHE_DIR"} <= read
    assert listed == named


def variables_read(source):
    """Return the environment variables that a file reads or sets, and the lines where it is not clear which.

    A name is a word, a constant of the file or one that it imports from the package, or what a loop takes from such.
    """
    tree = ast.parse(source)
    constants, modules, names = constants_of(tree), {"os"}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name for alias in node.names if alias.name == "os"}
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            names |= {alias.asname or alias.name for alias in node.names if alias.name in ENVIRONMENT}
    uses = {node: (None, node.lineno) for node in ast.walk(tree) if is_environment(node, modules, names)}
    for node in ast.walk(tree):
        for use, key in uses_of(node):
            if use in uses:
                uses[use] = key, node.lineno
    read, unclear = set(), []
    for key, line in uses.values():
        words = words_of(key, constants)
        read |= set(words)
        unclear += [] if words else [line]
    return read, unclear


def is_environment(node, modules, names):
    """Whether a node is `os.environ` or the like, however it was imported."""
    if isinstance(node, ast.Attribute):
        return node.attr in ENVIRONMENT and isinstance(node.value, ast.Name) and node.value.id in modules
    return isinstance(node, ast.Name) and node.id in names


def uses_of(node):
    """Yield (what may be the environment, the key that is taken) for each way to take one."""
    if isinstance(node, ast.Subscript):
        yield node.value, node.slice
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
        yield node.comparators[0], node.left
    elif isinstance(node, ast.Call) and node.args:
        yield node.func, node.args[0]  # getenv(name)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop", "setdefault", "__getitem__"):
            yield node.func.value, node.args[0]


def constants_of(tree):
    """Return the words that names of a file stand for, those that loops run over and those from the package too."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("journeyman"):
            module = importlib.import_module(node.module)
            found |= {alias.asname or alias.name: getattr(module, alias.name, None) for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    found[target.id] = literal(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, found.get(getattr(node.iter, "id", None), literal(node.iter)))
    return found


def literal(node):
    """Return what a node says, if it is plain data."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def words_of(key, constants):
    """Return the words that a key stands for; none if that cannot be seen."""
    value = constants.get(key.id) if isinstance(key, ast.Name) else None if key is None else literal(key)
    words = (value,) if isinstance(value, str) else value
    return words if isinstance(words, tuple | list) and all(isinstance(word, str) for word in words) else ()


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ('import os\nos.environ.get("A")', {"A"}),
        ('import os\nos.environ["A"] = os.getenv("B")', {"A", "B"}),
        ('import os\nNAME = "A"\nos.environ.get(NAME)\n"B" in os.environ', {"A", "B"}),
        ('from os import environ as e\ne["A"]', {"A"}),
        ('import os as o\nNAMES = ("A", "B")\nfor name in NAMES:\n    o.environ.pop(name)', {"A", "B"}),
        (
            "import os\nfrom journeyman.registry import PLUGINS\nos.environ.setdefault(PLUGINS, '')",
            {"JOURNEYMAN_PLUGINS"},
        ),
        ('import os\nos.environ.get(f"A_{1}")', None),
        ("import os\ndef f(name):\n    return os.environ[name]", None),
        ("import os\ndict(os.environ)", None),
        ("from os import environ as e\nfor name in e:\n    print(name)", None),
    ],
)
def test_variables_are_found_however_they_are_read(source, read):
    found, unclear = variables_read(source)
    assert (found, bool(unclear)) == (read or set(), read is None)


PROBLEM_PAGE = "docs/problem-file.md"
TABLE_KEYS = {
    **loading.KEYS, "transitions": dynamics.TRANSITION_KEYS, "map": maps.KEYS, "graph": graphs.KEYS,
    "reward": rewards.REWARD_KEYS,
    "prior": {key for keys in rewards.PRIOR_KEYS.values() for key in keys},
    "memory": {*memory.SHARED_KEYS, *(key for keys in memory.KEYS.values() for key in keys)},
}  # fmt: skip


def quoted(cell):
    """Return the names that a cell of a table has in code, such as `kind` or `ask()`."""
    return re.findall(r"`(\w+)[^`]*`", cell)


def documented_keys():
    """Yield (table, key) of the tables of the page of problem files."""
    for name in ("map", "graph"):
        yield from ((name, key) for cell, *_ in table(PROBLEM_PAGE, f"key of `[{name}]`") for key in quoted(cell))
    name = ""
    for where, cell, meaning in table(PROBLEM_PAGE, "table", "key"):
        name = (quoted(where.replace("[", "").replace("]", "")) or [name])[0] if where != "(top)" else ""
        yield from ((name, key) for key in quoted(cell))
        if cell == "`kind`":  # the keys of each kind stand beside it
            yield from ((name, key) for key in re.findall(r"`([a-z]\w*)`", meaning))


def test_keys_of_problem_files_are_those_that_are_documented():
    written = set(documented_keys())
    known = {(name, key) for name, keys in TABLE_KEYS.items() for key in keys}
    known -= {("", name) for name in loading.TABLES} - written  # tables have lines of their own
    assert written - known == set(), "the loader does not know these"
    assert known - written == set(), "these are missing"


def test_keys_of_kernel_priors_are_those_that_are_documented():
    written = {key for cell, *_ in table("docs/kernel-priors.md", "key") for key in quoted(cell)}
    assert written == set(rewards.PRIOR_KEYS["kernel"]) - {"kind"}


def test_keys_of_memories_are_those_that_are_documented():
    rows = [cell for cell, *_ in table("docs/memory.md", "`kind` of `[memory]`") if not cell.startswith("several")]
    written = {kind: {"kind", *keys} for kind, *keys in map(quoted, rows)}
    assert written == {kind: set(keys) for kind, keys in memory.KEYS.items()}
    text = (ROOT / "docs" / "memory.md").read_text("utf-8")
    assert [key for key in memory.SHARED_KEYS if f"`{key} = " not in text] == []


def test_keys_of_sweeps_are_those_that_are_documented():
    written = {key for cell, *_ in table("docs/sweep.md", "key") for key in quoted(cell)}
    assert written == set(Sweep.__dataclass_fields__)


def test_settings_that_can_be_changed_are_those_that_are_documented():
    (_, *shared), *rows = ([cell, *quoted(names)] for cell, names in table("docs/study.md", "of"))
    assert shared == list(COMPUTING_SETTINGS)
    written = {method: tuple(names) for cell, *names in rows for method in quoted(cell)}
    assert written == COMPUTING_OPTIONS


def test_methods_of_studies_exist(tmp_path):
    cells = [cell for cell, *_ in table("docs/study.md", "method", "what")]
    methods = [name.removeprefix("Study.") for cell in cells for name in re.findall(r"`([\w.]+)[^`]*`", cell)]
    assert "undo" in methods
    with Study.create(tmp_path / "a.study", make_world("jail").problem) as study:
        assert [name for name in methods if not hasattr(study, name)] == []


def test_parts_of_models_that_can_be_varied_are_those_that_are_documented():
    assert {key for cell, _ in table("docs/comparison.md", "part") for key in quoted(cell)} == set(CHANGES)


def test_every_format_and_every_meaning_of_a_column_is_documented():
    text = (ROOT / "docs" / "formats.md").read_text("utf-8")
    assert [name for name in FORMATS if f"`{name}`" not in text] == []
    assert [role for role in ROLES if f"| `{role}` |" not in text] == []
