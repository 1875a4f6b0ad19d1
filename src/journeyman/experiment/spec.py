"""Sweep: an experiment grid, and the small TOML file that says it.

    name = "forms of PAC-EIG"
    steps = 40
    seeds = 4                       # 0..3; or a list of them
    worlds = ["random-8x8", {name = "random-grid", options = {size = 4}}]
    queries = ["state", {kind = "trajectory", length = 5}]
    inference = [{name = "smc", options = {num_particles = 500}}]
    acquisitions = ["random", {name = "pac_eig", label = "PAC-EIG", options = {occupancy = false}}]

Every combination is a cell. Everything is checked when the file is read, before any work, but for values of options
that only the function understands which they are for.
"""

import reprlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from journeyman.acquisition import ACQUISITIONS
from journeyman.errors import InputError
from journeyman.experiment.cell import Cell, Choice, QueryKind, option_names
from journeyman.experiment.metrics import METRICS
from journeyman.experiment.suggestions import check_keys, checked_name, did_you_mean
from journeyman.inference import INFERENCE, find_method
from journeyman.learner.settings import plain
from journeyman.types import whole_number
from journeyman.worlds import WORLDS, make_world

CHOICE_KEYS = ("name", "label", "options")
QUERY_KEYS = ("kind", "length")
KINDS = ("state", "trajectory")
MAX_SEED = 2**31 - 1  # that the column of results can hold
MAX_SEEDS = 100_000
MAX_NUMBER = 1e18  # of an option


@dataclass(frozen=True)
class Sweep:
    """An experiment grid: every world x query x inference x acquisition x seed is a cell of `steps` answers.

    Parameters
    ----------
    name
        Of the sweep, for titles.
    worlds, queries, inference, acquisitions
        The axes; labels within an axis differ.
    seeds
        Instances of each world.
    steps
        Answers per cell.
    epsilon, delta
        Regret that is too much, and the chance of it that is acceptable.
    metrics
        Keys of `METRICS`.
    num_histories
        Sampled trajectories per state, where scores are sampled.
    """

    name: str
    worlds: tuple[Choice, ...]
    acquisitions: tuple[Choice, ...]
    seeds: tuple[int, ...]
    steps: int
    queries: tuple[QueryKind, ...] = (QueryKind(),)
    inference: tuple[Choice, ...] = (Choice("smc", "smc"),)
    epsilon: float = 0.1
    delta: float = 0.1
    metrics: tuple[str, ...] = tuple(METRICS)
    num_histories: int = 64

    def __post_init__(self) -> None:
        """Check all that can be checked before any work, down to every combination."""
        if not (isinstance(self.name, str) and self.name.strip()):
            raise InputError(f"name must be a word or two, got {self.name!r}. It goes into titles.")
        whole_number(self.steps, "steps", 1, "It is the number of answers per cell.")
        for seed in self.seeds:
            if whole_number(seed, "a seed", 0) > MAX_SEED:
                raise InputError(f"a seed must be at most {MAX_SEED}, got {seed}. Choose a smaller one.")
        for axis in ("worlds", "acquisitions", "seeds", "queries", "inference", "metrics"):
            _check_axis(axis, getattr(self, axis))
        for metric in self.metrics:
            checked_name(metric, METRICS, "a metric")
        for choice in (*self.worlds, *self.acquisitions, *self.inference):
            for option, value in choice.options.items():
                _check_finite(value, f"option {option!r} of {choice.name!r}")
        for world in self.worlds:
            problem = make_world(world.name, self.seeds[0], **world.options).problem
            for cell in self._cells(world, self.seeds[0]):
                cell.settings(seed=0).check_problem(problem)

    def cells(self) -> tuple[Cell, ...]:
        """Return all cells, all of one seed before the next: whenever one stops, the rest is a balanced table."""
        return tuple(cell for seed in self.seeds for world in self.worlds for cell in self._cells(world, seed))

    def _cells(self, world: Choice, seed: int) -> Iterable[Cell]:
        for query in self.queries:
            for inference in self.inference:
                for acquisition in self.acquisitions:
                    yield Cell(
                        world=world,
                        seed=seed,
                        query=query,
                        inference=inference,
                        acquisition=acquisition,
                        epsilon=self.epsilon,
                        delta=self.delta,
                        num_histories=self.num_histories,
                    )

    def with_changes(self, **changes: Any) -> "Sweep":
        """Return a sweep with other values in some fields, checked again."""
        return replace(self, **changes)


def load_sweep(path: str | Path) -> Sweep:
    """Return the sweep that a TOML file says.

    Raises
    ------
    InputError
        If the file cannot be read, or says something that cannot be done; the message names the key and the fix.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"a sweep must be a TOML file that can be read, got {str(path)!r}: {reason}.") from None
    try:
        return sweep_from_toml(text)
    except InputError as error:
        raise type(error)(f"{file.name}: {error}") from None


def sweep_from_toml(text: str) -> Sweep:
    """Return the sweep that the text of a TOML file says."""
    try:
        record = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"a sweep must be valid TOML, got a mistake: {error}. Mend that line.") from None
    return sweep_from_record(record)


def sweep_from_record(record: Mapping[str, Any]) -> Sweep:
    """Return the sweep that plain data say, as read from TOML."""
    known = [field.name for field in fields(Sweep)]
    check_keys(record, known, "a sweep")
    for key in ("name", "worlds", "acquisitions", "seeds", "steps"):
        if key not in record:
            raise InputError(f"a sweep must say its {key}, got none. Add a line such as: {EXAMPLES[key]}")
    values: dict[str, Any] = dict(record)
    values["worlds"] = _choices(record["worlds"], "worlds", "a world", WORLDS)
    values["acquisitions"] = _choices(record["acquisitions"], "acquisitions", "an acquisition", ACQUISITIONS)
    values["seeds"] = _seeds(record["seeds"])
    if "inference" in record:
        values["inference"] = _choices(record["inference"], "inference", "an inference method", INFERENCE)
    if "queries" in record:
        values["queries"] = tuple(_query(entry) for entry in _listed(record["queries"], "queries"))
    if "metrics" in record:
        values["metrics"] = tuple(_listed(record["metrics"], "metrics"))
    return Sweep(**values)


EXAMPLES = {
    "name": 'name = "my comparison"',
    "worlds": 'worlds = ["random-8x8"]',
    "acquisitions": 'acquisitions = ["random", "pac_eig"]',
    "seeds": "seeds = 4",
    "steps": "steps = 40",
}


def _check_axis(axis: str, entries: Sequence[Any]) -> None:
    if not entries:
        raise InputError(f"{axis} must not be empty. Give at least one.")
    seen: set[str] = set()
    for entry in entries:
        label = getattr(entry, "label", entry)
        if repr(label) in seen:
            hint = "Give each its own label." if axis in ("worlds", "acquisitions", "inference") else "Remove one."
            raise InputError(f"{axis} must differ from each other, got {label!r} twice. {hint}")
        seen.add(repr(label))


def _check_finite(value: Any, what: str) -> None:
    """Refuse numbers that are none, or are too large to be one."""
    for item in value if isinstance(value, list | tuple) else [value]:
        if isinstance(item, list | tuple):
            _check_finite(item, what)
        elif isinstance(item, float | int) and not abs(item) <= MAX_NUMBER:
            raise InputError(f"{what} must be a number below {MAX_NUMBER:g}, got {reprlib.repr(item)}. Correct it.")


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


def _choices(value: Any, key: str, what: str, registry: Mapping[str, Any]) -> tuple[Choice, ...]:
    return tuple(_choice(entry, key, what, registry) for entry in _listed(value, key))


def _choice(entry: Any, key: str, what: str, registry: Mapping[str, Any]) -> Choice:
    if isinstance(entry, str):
        entry = {"name": entry}
    if not isinstance(entry, Mapping) or "name" not in entry:
        raise InputError(f"an entry of {key} must be a name or a table with a name, got {entry!r}.")
    check_keys(entry, CHOICE_KEYS, f"an entry of {key}", hint_for_options=True)
    name = checked_name(entry["name"], registry, what)
    options = entry.get("options", {})
    if not isinstance(options, Mapping):
        raise InputError(f"options of {name!r} must be a table, got {options!r}. Write options = {{key = value}}.")
    options = {option: plain(value, option) for option, value in options.items()}
    check_keys(options, _option_names(key, name), f"options of {name!r}")
    label = entry.get("label", _default_label(name, options))
    if not (isinstance(label, str) and label.strip()):
        raise InputError(f"the label of {name!r} must be a word or two, got {label!r}.")
    return Choice(name, label, options)


def _option_names(key: str, name: str) -> tuple[str, ...]:
    if key == "worlds":
        return option_names(name)
    return ACQUISITIONS[name].options if key == "acquisitions" else find_method(name).options


def _default_label(name: str, options: Mapping[str, Any]) -> str:
    if not options:
        return name
    return f"{name} " + ", ".join(f"{option}={value}" for option, value in options.items())


def _query(entry: Any) -> QueryKind:
    if isinstance(entry, str):
        entry = {"kind": entry}
    if not isinstance(entry, Mapping) or "kind" not in entry:
        raise InputError(f"an entry of queries must be a kind or a table with a kind, got {entry!r}.")
    check_keys(entry, QUERY_KEYS, "an entry of queries")
    if entry["kind"] not in KINDS:
        raise InputError(
            f"a kind of query must be one of {', '.join(KINDS)}, got {entry['kind']!r}. "
            f"{did_you_mean(entry['kind'], KINDS)}"
        )
    return QueryKind(**entry)
