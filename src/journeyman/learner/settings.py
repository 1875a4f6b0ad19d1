"""Settings of a learner: all that it needs besides the problem, checked once, and plain data when stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from journeyman.acquisition import ACQUISITIONS, default_acquisition
from journeyman.acquisition.candidates import check_candidates, checked_candidates
from journeyman.acquisition.registry import check_acquisition_options
from journeyman.acquisition.scoring import check_kind, checked_costs, checked_step_cost
from journeyman.apprentice import APPRENTICES
from journeyman.apprentice.effective_size import size_needed
from journeyman.apprentice.epsilon import checked_epsilon, epsilon_record
from journeyman.apprentice.regret import checked_scope
from journeyman.checks import check_options, float_array, nearest, one_of, positive, share, whole_number
from journeyman.errors import InputError, UnsupportedError
from journeyman.experts import KINDS
from journeyman.inference import INFERENCE, Method
from journeyman.problem import Problem

GOAL_OPTIONS = ("width", "level", "information")
CONFIRMATION_FACTOR = 2
MAX_SAMPLES = 16_000
ASK, POSTERIOR, CONFIRMATION, FORECAST, CERTIFICATE, CRITICISM = 1, 2, 3, 4, 5, 6  # purposes of random streams
OLD_NAMES = {"query": "kind"}  # of settings that 0.1 stored

# What may be changed while a learner lives: how much is computed, never what is computed. Options of methods from
# elsewhere are not known to be of this kind.
COMPUTING_SETTINGS = ("max_samples", "confirmation_factor", "num_histories")
_CHAINS = ("num_chains", "num_warmup", "num_draws", "thin", "target_accept")
COMPUTING_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "smc": (
        "num_particles", "chain_length", "ess_threshold", "stage_ess", "acceptance", "start_correlation",
        "move_correlation", "max_leapfrog", "max_burn_in", "lag",
    ),
    "policywalk": _CHAINS,
    "valuewalk": _CHAINS,
    "enumerate": ("num_points",),
    "variational": ("num_draws", "max_iterations", "tolerance"),
}  # fmt: skip


@dataclass(frozen=True)
class LearnerSettings:
    """How a learner asks, infers and stops.

    Parameters
    ----------
    acquisition, acquisition_options
        A key of `ACQUISITIONS` and its options. Default: "reward_eig" for a reward; for a policy
        "failure_chance" or "pac_eig", as suits the problem (see `for_problem`).
    inference, inference_options
        A key of `INFERENCE` and its options.
    epsilon
        Regret of the apprentice that is too much: in units of the reward, or a share of what is at stake, such as "5%".
    delta
        The chance of that much regret that is acceptable: a certificate holds if it shows that the chance is no larger.
    confidence
        Of the bound on that chance, in a certificate.
    scope
        Where regret counts: "initial", from the initial states, or "every_state".
    kind
        What a question asks for: "state", one action there, or "trajectory", several in a row.
    length
        How many actions a trajectory has at most; None with kind "state".
    goal, goal_options
        "policy": stop with a certificate. "reward": stop when the reward is known; options `width` (of the credible
        intervals that are narrow enough; default: a tenth of the prior's widest), `level` (of these intervals, 0.95)
        and `information` (in nats: a best answer that tells less is not worth asking for, 0.01).
    apprentice
        A key of `APPRENTICES`: the policy that is handed out.
    num_histories
        Sampled trajectories per state, where scores are sampled.
    max_samples
        What a certificate may draw until it is decided; 0: it is made of the samples of the posterior alone, half of
        which choose the policy.
    confirmation_factor
        How many times as many samples the fresh inference may draw that confirms a certificate.
    costs
        `[S]` cost of asking in each state; default: all alike, 1.
    step_cost
        What each action of a trajectory after the first adds to that. Above 0 a query may be shorter than `length`, if
        that is worth more per cost.
    seed
        Of everything random.
    candidates
        Which states are rated when a question is chosen, as in `score`: None, a list, a number, or "occupancy:1000".
    """

    acquisition: str = ""
    acquisition_options: Mapping[str, Any] = field(default_factory=dict)
    inference: str = "smc"
    inference_options: Mapping[str, Any] = field(default_factory=dict)
    epsilon: float = 0.1
    delta: float = 0.1
    confidence: float = 0.95
    scope: str = "initial"
    kind: str = "state"
    length: int | None = None
    goal: str = "policy"
    goal_options: Mapping[str, Any] = field(default_factory=dict)
    apprentice: str = "expected_return"
    num_histories: int = 64
    max_samples: int = MAX_SAMPLES
    confirmation_factor: int = CONFIRMATION_FACTOR
    costs: tuple[float, ...] | None = None
    step_cost: float = 0.0
    seed: int = 0
    candidates: Any = None

    @classmethod
    def for_problem(cls, problem: Problem, **given: Any) -> "LearnerSettings":
        """Return settings whose acquisition function, if none is given, is the one that suits the problem.

        With a scope of every state, or with options but no name, it is that of the goal alone, whatever the problem.
        """
        settings = cls(**given)
        settings.check_problem(problem)
        is_usual = not given.get("acquisition") and not settings.acquisition_options and settings.scope == "initial"
        if not is_usual:
            return settings
        return replace(settings, acquisition=default_acquisition(settings.goal, problem.mdp.num_states))

    def __post_init__(self) -> None:
        """Check everything that does not depend on the problem, and make it plain data."""
        checked = {
            "acquisition": self.acquisition or default_acquisition(self.goal),
            "epsilon": checked_epsilon(self.epsilon),
            "delta": share(self.delta, "delta", "It is the chance of failure you accept."),
            "confidence": share(self.confidence, "confidence", "0.95 is usual."),
            "num_histories": whole_number(self.num_histories, "num_histories", 2),
            "max_samples": whole_number(self.max_samples, "max_samples", 0, "16000 are usual, 0 draws none."),
            "confirmation_factor": whole_number(self.confirmation_factor, "confirmation_factor", 1),
            "seed": whole_number(self.seed, "seed", 0),
            "candidates": checked_candidates(self.candidates),
        }
        default_acquisition(self.goal)
        for name in ("acquisition_options", "inference_options", "goal_options"):
            checked[name] = {key: plain(value, key) for key, value in dict(getattr(self, name)).items()}
        known = ACQUISITIONS.find(self.acquisition or default_acquisition(self.goal))
        checked["acquisition_options"] = known.with_present_names(cast(dict[str, Any], checked["acquisition_options"]))
        if self.costs is not None:
            checked["costs"] = _listed_costs(self.costs)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self._check_names()
        self._check_kind()
        self._check_goal()

    def _check_names(self) -> None:
        check_acquisition_options(self.acquisition, self.acquisition_options)
        self.method.check_options(self.inference_options, f"inference {self.inference!r}")
        APPRENTICES.find(self.apprentice)
        checked_scope(self.scope)

    def _check_kind(self) -> None:
        one_of(self.kind, KINDS, "kind", "Leave it out for 'state'.")
        check_kind(self.acquisition, self.kind)
        object.__setattr__(self, "step_cost", checked_step_cost(self.step_cost, self.kind))
        if self.kind == "trajectory":
            length = whole_number(
                self.length,
                "the length of trajectory queries",
                1,
                "Say how many steps: --length 5 (in Python length=5).",
            )
            object.__setattr__(self, "length", length)
        elif self.length is not None:
            raise InputError(
                f"state queries must have no length, got {self.length}. Say --kind trajectory (in Python "
                "kind='trajectory'), or leave the length out."
            )

    def _check_goal(self) -> None:
        known = GOAL_OPTIONS if self.goal == "reward" else ()
        check_options(self.goal_options, known, f"goal {self.goal!r}")
        for name, value in self.goal_options.items():
            if name == "level":
                share(value, "level", "0.95 is usual.")
            else:
                positive(value, name, "Give the accuracy that you need.")

    def check_problem(self, problem: Problem) -> None:
        """Refuse a problem that these settings cannot do."""
        if not isinstance(problem, Problem):
            raise InputError(
                f"problem must be a Problem, got {type(problem).__name__}. A World has one: world.problem."
            )
        if not problem.queryable.any():
            raise InputError("a problem must have a queryable state to be asked about, got none. Set queryable.")
        reason = self.method.refusal_fn(problem)
        if reason is not None:
            raise UnsupportedError(reason)
        checked_costs(problem, self.costs)
        check_candidates(self.candidates, problem)

    @property
    def method(self) -> Method:
        """The inference method."""
        return INFERENCE.find(self.inference)

    @property
    def sized_options(self) -> dict[str, Any]:
        """Options of the method, with a size, where none is given, of which half can show a chance of delta."""
        needed = 2.0 * size_needed(0.0, self.delta, self.confidence)
        return self.method.sized_fn(self.inference_options, needed)

    @property
    def computing(self) -> dict[str, Any]:
        """The settings that only cost computing: those of the learner, and the options of its method that are given."""
        options = {name: value for name, value in self.inference_options.items() if name in self._computing_options}
        return {name: getattr(self, name) for name in COMPUTING_SETTINGS} | options

    @property
    def _computing_options(self) -> tuple[str, ...]:
        return COMPUTING_OPTIONS.get(self.inference, ())

    def with_computing(self, changes: Mapping[str, Any]) -> "LearnerSettings":
        """Return settings with others of those that only cost computing; refuses any that change what is computed.

        Parameters
        ----------
        changes
            Names of `COMPUTING_SETTINGS`, and of the options of the method in `COMPUTING_OPTIONS`; None sets one back
            to its default.
        """
        known = (*COMPUTING_SETTINGS, *self._computing_options)
        for name in changes:
            if name not in known:
                raise InputError(
                    f"only settings that cost computing and nothing else can be changed in place ({', '.join(known)}), "
                    f"got {name!r}. {nearest(name, known) or f'Make a copy that has it: clone({name}=...).'}"
                )
        options = dict(self.inference_options)
        values: dict[str, Any] = {}
        for name, value in changes.items():
            if name in COMPUTING_SETTINGS:
                values[name] = self.__dataclass_fields__[name].default if value is None else value
            elif value is None:
                options.pop(name, None)
            else:
                options[name] = value
        return replace(self, inference_options=options, **values)

    def rng(self, purpose: int, event_number: int) -> np.random.Generator:
        """Return the random stream of one purpose at one event.

        What is drawn for one event does not depend on how many threads there are, on what was looked at in between, or
        on whether the learner was stored and restored.
        """
        return np.random.default_rng(self._seeds(purpose, event_number))

    def stream_seed(self, purpose: int, event_number: int) -> int:
        """Return a seed for functions that take one, of one purpose at one event."""
        return int(self._seeds(purpose, event_number).generate_state(1)[0])

    def _seeds(self, purpose: int, event_number: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self.seed, spawn_key=(purpose, event_number))

    def to_record(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        costs = None if self.costs is None else list(self.costs)
        if self.candidates is None:  # the usual: records are as they were before there were any
            del record["candidates"]
        return record | {"epsilon": epsilon_record(self.epsilon), "costs": costs}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "LearnerSettings":
        """Return the settings that `to_record` described, in this version or an older one."""
        values = {OLD_NAMES.get(name, name): value for name, value in record.items()}
        for name in values:
            if name not in cls.__dataclass_fields__:
                raise InputError(
                    f"settings of a learner must be known, got {name!r}. "
                    "Were they written by a newer version of journeyman?"
                )
        return cls(**values)


def _listed_costs(costs: Any) -> tuple[float, ...]:
    array = float_array(costs, "costs")
    if array.ndim != 1:
        raise InputError(f"costs must be a list of numbers, got shape {array.shape}. Give one number per state.")
    return tuple(array.tolist())


def plain(value: Any, name: str) -> Any:
    """Return a value as plain data that JSON can hold: numbers, words, truth values, None, and lists of these."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item, name) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(f"{name} must be numbers, words or lists of them, got {type(value).__name__}. Convert it.")
