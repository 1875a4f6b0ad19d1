"""The file of a sweep: small TOML.

    name = "forms of PAC-EIG"
    steps = 40
    seeds = 4                       # 0..3; or a list of them
    worlds = ["random-8x8", {name = "random-grid", options = {size = 4}}]
    queries = ["state", {kind = "trajectory", length = 5}]
    inference = [{name = "smc", options = {num_particles = 500}}]
    acquisitions = ["random", {name = "pac_eig", label = "PAC-EIG", options = {occupancy = false}}]

Names, keys and combinations are checked when the file is read, before any work; values of options that only their
function understands, when it first runs.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from journeyman.acquisition import ACQUISITIONS
from journeyman.checks import check_options, one_of, suggestion, whole_number
from journeyman.errors import InputError
from journeyman.experiment.cell import Choice, QueryKind
from journeyman.experiment.spec import Sweep
from journeyman.experts import KINDS
from journeyman.inference import INFERENCE
from journeyman.learner.settings import plain
from journeyman.registry import Registry
from journeyman.storage.tables import parsed_toml
from journeyman.worlds import WORLDS, world_options

CHOICE_KEYS = ("name", "label", "options")
QUERY_KEYS = ("kind", "length")
MAX_SEEDS = 100_000
REQUIRED = {  # keys, and an example of each
    "name": 'name = "my comparison"',
    "worlds": 'worlds = ["random-8x8"]',
    "acquisitions": 'acquisitions = ["random", "pac_eig"]',
    "seeds": "seeds = 4",
    "steps": "steps = 40",
}


def load_sweep(path: str | Path) -> Sweep:
    """Return the sweep that a TOML file says; if it says what cannot be done, the error names the key and the fix."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(
            f"a sweep must be a TOML file that can be read, got {str(path)!r}: {reason}. "
            "`journeyman sweep init` writes one to begin with."
        ) from None
    try:
        return sweep_from_toml(text)
    except InputError as error:
        raise type(error)(f"{file.name}: {error}") from None


def sweep_from_toml(text: str) -> Sweep:
    """Return the sweep that the text of a TOML file says."""
    return sweep_from_record(parsed_toml(text, "a sweep"))


def sweep_from_record(record: Mapping[str, Any]) -> Sweep:
    """Return the sweep that plain data say, as read from TOML."""
    check_options(record, Sweep.__dataclass_fields__, "a sweep")
    for key, example in REQUIRED.items():
        if key not in record:
            raise InputError(f"a sweep must say its {key}, got none. Add a line such as: {example}")
    values: dict[str, Any] = dict(record)
    values["worlds"] = _choices(record["worlds"], "worlds", WORLDS)
    values["acquisitions"] = _choices(record["acquisitions"], "acquisitions", ACQUISITIONS)
    values["seeds"] = _seeds(record["seeds"])
    if "inference" in record:
        values["inference"] = _choices(record["inference"], "inference", INFERENCE)
    if "queries" in record:
        values["queries"] = tuple(_query(entry) for entry in _listed(record["queries"], "queries"))
    if "metrics" in record:
        values["metrics"] = tuple(_listed(record["metrics"], "metrics"))
    return Sweep(**values)


def _listed(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{key} must be a list, got {value!r}. Write it in brackets: {key} = [...]")
    return value


def _seeds(value: Any) -> tuple[int, ...]:
    if isinstance(value, list):
        return tuple(value)
    count = whole_number(value, "seeds", 1, "It is how many, or a list such as [0, 1, 7].")
    if count > MAX_SEEDS:
        raise InputError(f"seeds must be at most {MAX_SEEDS}, got {count}. It is how many; a list says which.")
    return tuple(range(count))


def _choices(value: Any, key: str, registry: Registry[Any]) -> tuple[Choice, ...]:
    return tuple(_choice(entry, key, registry) for entry in _listed(value, key))


def _choice(entry: Any, key: str, registry: Registry[Any]) -> Choice:
    if isinstance(entry, str):
        entry = {"name": entry}
    for word in entry if isinstance(entry, Mapping) else ():
        if word not in CHOICE_KEYS:
            raise InputError(
                f"an entry of {key} must have a name, a label and options, got {word!r}. "
                f"{suggestion(word, CHOICE_KEYS)} Options go into a table of their own: options = {{key = value}}."
            )
    if not isinstance(entry, Mapping) or "name" not in entry:
        first = next(iter(registry))
        raise InputError(
            f"an entry of {key} must be a name or a table with a name, got {entry!r}. "
            f'Write "{first}" or {{name = "{first}"}}.'
        )
    name = entry["name"]
    registry.find(name)
    options = entry.get("options", {})
    if not isinstance(options, Mapping):
        raise InputError(f"options of {name!r} must be a table, got {options!r}. Write options = {{key = value}}.")
    options = {option: plain(value, option) for option, value in options.items()}
    check_options(options, _option_names(key, name), repr(name))
    label = entry.get("label", _default_label(name, options))
    if not (isinstance(label, str) and label.strip()):
        raise InputError(
            f"the label of {name!r} must be a word or two, got {label!r}. Leave it out for one made of the name."
        )
    return Choice(name, label, options)


def _option_names(key: str, name: str) -> tuple[str, ...]:
    if key == "worlds":
        return tuple(world_options(name))
    if key == "acquisitions":
        return (*ACQUISITIONS[name].options, *ACQUISITIONS[name].renamed.values())
    return INFERENCE[name].options


def _default_label(name: str, options: Mapping[str, Any]) -> str:
    if not options:
        return name
    return f"{name} " + ", ".join(f"{option}={value}" for option, value in options.items())


def _query(entry: Any) -> QueryKind:
    if isinstance(entry, str):
        entry = {"kind": entry}
    check_options(entry if isinstance(entry, Mapping) else (), QUERY_KEYS, "an entry of queries")
    if not isinstance(entry, Mapping) or "kind" not in entry:
        raise InputError(
            f"an entry of queries must be a kind or a table with a kind, got {entry!r}. "
            'Write "state" or {kind = "trajectory", length = 5}.'
        )
    one_of(entry["kind"], KINDS, "a kind of query")
    return QueryKind(**entry)
