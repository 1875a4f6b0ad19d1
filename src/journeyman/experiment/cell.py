"""Cell: one run of a sweep, and the id that says what it is.

The id is a hash of all that determines the result: world, seed, query, inference and acquisition with every option,
those that were left out at their defaults. Labels are not part of it, nor is the number of steps: what happens in the
first 40 steps does not depend on whether 100 more will follow.
"""

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from journeyman.acquisition import ACQUISITIONS
from journeyman.errors import InputError
from journeyman.learner import LearnerSettings
from journeyman.learner.settings import plain
from journeyman.worlds import World, make_world, world_options

REVISION = 1  # raised when results change by more than rounding: all cells are then new ones
ID_LENGTH = 16
MAX_WORLDS = 4  # instances that a process keeps: a cell comes back to its own many times


@dataclass(frozen=True)
class Choice:
    """One entry of an axis of a sweep.

    Parameters
    ----------
    name, options
        A name of a registry, and options of that entry.
    label
        What people call it.
    recorded_as
        All options by which an earlier release identified the same inference, if they had other names or values then:
        ids are hashed with them, so that results of that release stay valid, and are run again with the same seeds.
    """

    name: str
    label: str
    options: Mapping[str, Any] = field(default_factory=dict)
    recorded_as: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class QueryKind:
    """What is asked for: the kind "state" (one action) or "trajectory" (up to `length` actions)."""

    kind: str = "state"
    length: int | None = None

    @property
    def label(self) -> str:
        """Return "state" or "trajectory-5"."""
        return self.kind if self.length is None else f"{self.kind}-{self.length}"


@dataclass(frozen=True)
class Cell:
    """One simulated run of a sweep.

    world, query, inference, acquisition: what is combined; seed: which instance of the world; epsilon, delta: of the
    certificate; num_histories: sampled trajectories per state, where scores are sampled.
    """

    world: Choice
    seed: int
    query: QueryKind
    inference: Choice
    acquisition: Choice
    epsilon: float = 0.1
    delta: float = 0.1
    num_histories: int = 64

    @cached_property
    def id(self) -> str:
        """Hash of all that determines the result."""
        text = json.dumps(self.record(), sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]

    def record(self) -> dict[str, Any]:
        """Return all that determines the result, defaults filled in, as plain data."""
        settings, recorded = self.settings(seed=0), self.inference.recorded_as
        return {
            "revision": REVISION,
            "world": {"name": self.world.name, "options": all_world_options(self.world), "seed": self.seed},
            "query": asdict(self.query),
            "inference": {"name": self.inference.name, "options": dict(recorded or _inference_options(settings))},
            "acquisition": {"name": self.acquisition.name, "options": _acquisition_options(settings)},
            "certificate": {"epsilon": settings.epsilon, "delta": settings.delta, "confidence": settings.confidence},
            "num_histories": settings.num_histories,
            "apprentice": settings.apprentice,
        }

    def settings(self, seed: int | None = None) -> LearnerSettings:
        """Return the settings of the learner; everything random in it follows from the id."""
        return LearnerSettings(
            acquisition=self.acquisition.name,
            acquisition_options=self.acquisition.options,
            inference=self.inference.name,
            inference_options=self.inference.options,
            epsilon=self.epsilon,
            delta=self.delta,
            kind=self.query.kind,
            length=self.query.length,
            num_histories=self.num_histories,
            max_samples=0,  # after every answer of hundreds of runs, and for comparison with results that are there
            seed=int(self.id, 16) if seed is None else seed,
        )

    def make_world(self) -> World:
        """Return the instance: it follows from the world and the seed alone, so that every method meets the same."""
        return _instance(self.world.name, self.seed, json.dumps(dict(self.world.options), sort_keys=True))

    @property
    def expert_seed(self) -> int:
        """Seed of the expert's noise: it follows from the world and the seed alone."""
        key = json.dumps([self.world.name, all_world_options(self.world), self.seed], sort_keys=True)
        return int(hashlib.sha256(f"expert {key}".encode()).hexdigest()[:12], 16)

    @property
    def text(self) -> str:
        """Name the cell for people."""
        what = f"{self.world.label} seed {self.seed}, {self.acquisition.label}"
        return f"{what} ({self.query.label}, {self.inference.label})"


def all_world_options(world: Choice) -> dict[str, Any]:
    """Return all options of a world, defaults filled in."""
    return _filled(world_options(world.name), world.options, f"world {world.name!r}")


def _acquisition_options(settings: LearnerSettings) -> dict[str, Any]:
    known = ACQUISITIONS.find(settings.acquisition)
    parameters = inspect.signature(known.rate_fn).parameters
    defaults = {name: parameters[name].default for name in known.options}
    return known.with_old_names(_filled(defaults, settings.acquisition_options, repr(settings.acquisition)))


def _inference_options(settings: LearnerSettings) -> dict[str, Any]:
    method = settings.method
    options = {name: plain(value, name) for name, value in method.filled_options(settings.sized_options).items()}
    unchanged = [name for name, before in method.added.items() if options[name] == before]
    return {name: value for name, value in options.items() if name not in unchanged} | dict(method.retired)


def _filled(defaults: Mapping[str, Any], options: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return all options as plain data, those that are not given at their defaults."""
    filled = {}
    for name, default in defaults.items():
        if default is inspect.Parameter.empty:
            raise InputError(f"options of {what} must have defaults, got {name!r} without. Give it one.")
        usual = plain(default, name)
        filled[name] = _alike(plain(options.get(name, usual), name), usual)
    return filled


def _alike(value: Any, default: Any) -> Any:
    """Return whole numbers as floats where the default is one: 1 and 1.0 are then the same option."""
    if isinstance(value, list) and isinstance(default, list) and default:
        return [_alike(item, default[0]) for item in value]
    return float(value) if type(default) is float and type(value) is int else value


@lru_cache(maxsize=MAX_WORLDS)
def _instance(name: str, seed: int, options: str) -> World:
    return make_world(name, seed, **json.loads(options))
