"""Transition tables of Gymnasium environments (extra `gym`): read, checked, compared with what the environment does.

Environments such as FrozenLake, CliffWalking and Taxi publish their dynamics as `unwrapped.P`: for each state and
action a list of (probability, next state, reward, done). What a copy of it gets wrong, and this does not:

- After a transition that is done the episode is over, whatever the table says about the state that it leads to: Taxi's
  and CliffWalking's ends have live rows. A state that is entered by such transitions alone, and in which therefore
  nobody ever acts, becomes a terminal cell with empty rows. Where a live transition leads to the same state (in Taxi,
  from states that no episode visits), the chance of being done is missing from the row: the episode ends after it.
- A next state may stand in a row several times: its chances add up.
- The reward belongs to a transition. The expected reward r(s, a) = sum of p * reward over a row plans exactly as well.
  It includes what is paid on entering a terminal cell, which itself pays nothing more.
- A time limit (`TimeLimit`, which `gymnasium.make` puts around most environments) is not in the table.
"""

import copy
import math
import reprlib
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import float_array, one_of
from journeyman.errors import InputError, UnsupportedError
from journeyman.extras import require
from journeyman.mdp.gymnasium_looks import Look, look_of
from journeyman.mdp.rows import Rows, rows_from_columns
from journeyman.types import BoolArray, FloatArray, IntArray
from journeyman.wording import below, counted, listed

if TYPE_CHECKING:
    from journeyman.mdp.model import FiniteMDP

# Wrappers that change neither states nor actions nor rewards; all of Gymnasium.
NEUTRAL_WRAPPERS = frozenset(
    {
        "AddWhiteNoise",
        "Autoreset",
        "HumanRendering",
        "ObstructView",
        "OrderEnforcing",
        "PassiveEnvChecker",
        "RecordEpisodeStatistics",
        "RecordVideo",
        "RenderCollection",
        "TimeLimit",
    }
)
TIME_LIMIT_RULES = ("warn", "ignore", "unroll")
SUM_TOLERANCE = 1e-6
MOST_LISTED = 5
NUM_TRIED, STEPS_PER_EPISODE = 1000, 50  # steps to compare with the table, and how soon to begin anew
MOST_DEVIATIONS = 8.0  # standard deviations of frequencies from the table: never by chance


class GymnasiumWarning(UserWarning):
    """What a Gymnasium environment does, and its transition table does not say."""


@dataclass(frozen=True, eq=False)
class GymnasiumTables:
    """The dynamics of an environment as columns, one entry per transition with a positive chance.

    Parameters
    ----------
    name
        Id or class of the environment.
    state, action, next_state, probability, reward, is_done
        `[n]` each.
    available
        `[S, A]` which actions have a row.
    initial
        `[S]` distribution of the first state.
    time_limit
        Steps after which Gymnasium stops an episode; None: it does not.
    look
        Names of states and actions and where to draw them, where they are known.
    """

    name: str
    state: IntArray
    action: IntArray
    next_state: IntArray
    probability: FloatArray
    reward: FloatArray
    is_done: BoolArray
    available: BoolArray
    initial: FloatArray
    time_limit: int | None
    look: Look

    @property
    def num_states(self) -> int:
        """Number of states S."""
        return int(self.available.shape[0])

    @property
    def num_actions(self) -> int:
        """Number of actions A."""
        return int(self.available.shape[1])

    @cached_property
    def terminal(self) -> BoolArray:
        """`[S]` states that end every episode that enters them, and in which nobody acts.

        The largest set of states that are entered by transitions that are done, and otherwise only from each other;
        no episode begins in them.
        """
        is_terminal = np.zeros(self.num_states, dtype=bool)
        is_terminal[self.next_state[self.is_done]] = True
        is_terminal &= self.initial == 0
        is_live = ~self.is_done & (self.state != self.next_state)
        while True:
            entered = self.next_state[is_live & ~is_terminal[self.state]]
            if not is_terminal[entered].any():
                return is_terminal
            is_terminal[entered] = False

    @cached_property
    def rows(self) -> Rows:
        """Transition rows: empty for terminal cells, and without the chance of an end that is no terminal cell."""
        is_kept = ~self.terminal[self.state] & (~self.is_done | self.terminal[self.next_state])
        columns = (self.state, self.action, self.next_state, self.probability)
        return rows_from_columns(self.num_states, self.num_actions, *(column[is_kept] for column in columns))

    def expected(self, values: ArrayLike) -> FloatArray:
        """Return `[S, A]` the expectation of a number per transition `[n]`; 0 in terminal cells."""
        total = np.zeros((self.num_states, self.num_actions))
        weights = self.probability * np.asarray(values) * ~self.terminal[self.state]
        np.add.at(total, (self.state, self.action), weights)
        return total

    @cached_property
    def expected_reward(self) -> FloatArray:
        """`[S, A]` expected reward of doing an action, as the environment pays it; 0 in terminal cells."""
        return self.expected(self.reward)

    def mdp(self, *, discount: float, time_limit: str = "warn", **options: Any) -> "FiniteMDP":
        """Return the dynamics; `time_limit` and options as in `FiniteMDP.from_gymnasium`."""
        from journeyman.mdp.model import FiniteMDP

        one_of(time_limit, TIME_LIMIT_RULES, "time_limit", "Say 'ignore' to leave it out in silence.")
        look = {
            "state_labels": self.look.state_labels,
            "action_labels": self.look.action_labels,
            "grid": self.look.grid,
        }
        chosen = {
            "initial": self.initial,
            "available": self.available,
            "terminal": self.terminal,  # a state whose every action ends the episode is a choice all the same
            "missing_mass": "terminates",
            **look,
            **options,
        }
        found = FiniteMDP(rows=self.rows, discount=discount, **chosen)
        if self.time_limit is None or time_limit == "ignore":
            return found
        if time_limit == "unroll":
            return found.unrolled(self.time_limit)
        warnings.warn(self.time_limit_words(discount), GymnasiumWarning, stacklevel=3)
        return found

    def time_limit_words(self, discount: float) -> str:
        """Say what a time limit means for whoever plans without it."""
        largest = float(np.abs(self.expected_reward).max())
        most = discount ** (self.time_limit or 0) * largest / (1.0 - discount)
        return (
            f"{self.name} is stopped after {self.time_limit} steps (TimeLimit), which its table does not say: here "
            f"episodes go on until they end by themselves. With discount {discount:g} later steps are worth at most "
            f"{most:.2g} at the start. If they matter, say time_limit='unroll' (or mdp.unrolled({self.time_limit})), "
            "which has a state for each time; if not, time_limit='ignore'."
        )


def read_tables(
    env: Any, *, env_options: Mapping[str, Any] | None = None, initial: ArrayLike | str | None = None
) -> GymnasiumTables:
    """Read and check the transition table of a Gymnasium environment.

    The environment is compared with its table: 1000 steps in a copy of it (in itself, which is reset, where it cannot
    be copied) must be possible by the table, as frequent and as well paid as it says, and the table must not change.

    Parameters
    ----------
    env
        An environment with `unwrapped.P`, or the id of one, such as "FrozenLake-v1".
    env_options
        Of `gymnasium.make`, for an id: `{"map_name": "8x8"}`.
    initial
        `[S]` distribution of the first state, or "uniform"; default: the environment's `initial_state_distrib`.
    """
    made = make_environment(env, env_options)
    core, name = made.unwrapped, environment_name(made)
    time_limit = check_wrappers(made, name)
    num_states = _space_size(core, core.observation_space, "states", name)
    sizes = num_states, _space_size(core, core.action_space, "actions", name)
    table = getattr(core, "P", None)
    if table is None:
        raise UnsupportedError(
            f"an environment must have a transition table unwrapped.P, got none in {name}. Estimate one from its steps "
            "(journeyman.estimate_dynamics) or, for continuous states, from its step function (journeyman.discretise)."
        )
    if getattr(core, "fickle_passenger", False):
        raise UnsupportedError(
            f"a transition table must say all that happens, but the passengers of {name} change their minds "
            "(fickle_passenger), which is not in P. Make it with fickle_passenger=False, or estimate its dynamics."
        )
    columns = _columns(table, sizes, name)
    available = np.zeros(sizes, dtype=bool)
    available[columns["state"], columns["action"]] = True
    tables = GymnasiumTables(
        name=name,
        **columns,
        available=available,
        initial=_initial(core, initial, sizes[0], name),
        time_limit=time_limit,
        look=look_of(core, *sizes),
    )
    _check_behaviour(made if isinstance(env, str) else _copied(made), tables, knows_initial=initial is None)
    if isinstance(env, str):
        made.close()
    return tables


def make_environment(env: Any, env_options: Mapping[str, Any] | None = None) -> Any:
    """Return an environment, made by its id if it is one."""
    if not isinstance(env, str):
        if not all(hasattr(env, member) for member in ("unwrapped", "observation_space", "action_space", "step")):
            raise InputError(
                f"env must be a Gymnasium environment or the id of one, got {type(env).__name__}. "
                "Make one with gymnasium.make('FrozenLake-v1')."
            )
        if env_options:
            raise InputError(f"env_options must go with an id, got them for {type(env).__name__}. Give them to make().")
        return env
    gymnasium = require("gymnasium", "gym")
    try:
        return gymnasium.make(env, **(env_options or {}))
    except gymnasium.error.Error as error:
        message = f"got {env!r}: {type(error).__name__}: {error}"
    except TypeError as error:
        message = f"got {env!r} with {dict(env_options or {})}: {error}"
    except (KeyError, ValueError) as error:
        message = f"got {env!r} with {dict(env_options or {})}: {type(error).__name__}: {error}"
    raise InputError(
        f"a Gymnasium environment must be one that can be made, {message.rstrip('.?')}. See "
        "gymnasium.pprint_registry()."
    ) from None


def environment_name(env: Any) -> str:
    """Return the id of an environment, or the name of its class."""
    spec = getattr(env, "spec", None)
    return str(getattr(spec, "id", None) or type(getattr(env, "unwrapped", env)).__name__)


def check_wrappers(env: Any, name: str) -> int | None:
    """Refuse wrappers that may change what the environment says of itself; return the time limit, if there is any."""
    limits, changing, layer = [], [], env
    while layer is not layer.unwrapped:
        kind = type(layer)
        if kind.__name__ not in NEUTRAL_WRAPPERS or kind.__module__.partition(".")[0] != "gymnasium":
            changing.append(kind.__name__)
        limit = getattr(layer, "_max_episode_steps", None) if kind.__name__ == "TimeLimit" else None
        limits += [] if limit is None else [int(limit)]
        layer = layer.env
    if changing:
        raise UnsupportedError(
            "what is known of an environment must be so as it is used, but "
            f"{listed(changing)} may change the states, actions or rewards of {name}, which nothing here says. "
            "Give env.unwrapped if the environment without that is meant; observations of the wrapped one then need a "
            "state_fn."
        )
    return min(limits) if limits else None


def _space_size(env: Any, space: Any, things: str, name: str) -> int:
    """Return how many states or actions there are."""
    size, start = getattr(space, "n", None), getattr(space, "start", 0)
    is_number = isinstance(size, int | np.integer)
    if is_number and start == 0:
        return int(size)  # type: ignore[arg-type]
    got = f"Discrete(start={start})" if is_number else type(space).__name__
    fix = "Subtract the start." if is_number else f"Number its {things} from 0."
    if hasattr(env, "num_envs"):
        fix = "Give one environment, not a vector of them."
    if type(space).__name__ == "Box":
        fix = "Discretise it (journeyman.discretise), which keeps values continuous."
    raise UnsupportedError(f"{things} must be numbers from 0 (a Discrete space), got {got} for {name}. {fix}")


def _entries(table: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield state, action and outcomes of a table of dicts or lists."""
    for state, actions in table.items() if isinstance(table, Mapping) else enumerate(table):
        for action, outcomes in actions.items() if isinstance(actions, Mapping) else enumerate(actions):
            yield state, action, outcomes


def _columns(table: Any, sizes: tuple[int, int], name: str) -> dict[str, Any]:
    """Return a table as columns, or list all that is wrong with it."""
    wrong: list[str] = []
    found: list[tuple[int, int, int, float, float, bool]] = []
    seen: set[int] = set()
    try:
        entries = list(_entries(table))
    except (TypeError, AttributeError):
        raise InputError(
            f"the table P of {name} must map each state and action to its outcomes, got {type(table).__name__}. "
            "P[state][action] is a list of (probability, next state, reward, done)."
        ) from None
    for state, action, outcomes in entries:
        where = f"state {state!r}, action {action!r}"
        if not _is_index(state, sizes[0]) or not _is_index(action, sizes[1]):
            wrong.append(f"{where}: there are states 0..{sizes[0] - 1} and actions 0..{sizes[1] - 1}")
            continue
        seen.add(int(state))
        complaint, kept = _outcomes(outcomes, sizes[0])
        found += [(int(state), int(action), *outcome) for outcome in kept]
        if complaint:
            wrong.append(f"{where}: {complaint}")
    wrong += [f"state {state}: it has no row" for state in range(sizes[0]) if state not in seen]
    if wrong:
        raise InputError(
            f"the table P of {name} must hold (probability, next state, reward, done) for each state and action, got "
            f"{counted(len(wrong), 'mistake')}:\n{below(wrong, MOST_LISTED)}\n"
            "Correct the environment, or build the dynamics with FiniteMDP.from_function."
        )
    state, action, next_state, probability, reward, is_done = zip(*found, strict=True)
    return {
        "state": np.array(state, dtype=np.int64),
        "action": np.array(action, dtype=np.int64),
        "next_state": np.array(next_state, dtype=np.int64),
        "probability": np.array(probability, dtype=np.float64),
        "reward": np.array(reward, dtype=np.float64),
        "is_done": np.array(is_done, dtype=bool),
    }


def _is_index(value: Any, size: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(0 <= value < size)


def _outcomes(outcomes: Any, num_states: int) -> tuple[str, list[tuple[int, float, float, bool]]]:
    """Return what is wrong with the outcomes of a row, or "", and those with a positive chance, whose sum is 1."""
    kept: list[tuple[int, float, float, bool]] = []
    try:
        listed_outcomes = [tuple(outcome) for outcome in outcomes]
    except TypeError:
        return f"outcomes must be a list, got {outcomes!r}", []
    for outcome in listed_outcomes:
        if len(outcome) != 4:
            return f"an outcome must have 4 entries, got {outcome!r}", []
        probability, next_state, reward, is_done = outcome
        if not _is_index(next_state, num_states):
            return f"next states must lie in 0..{num_states - 1}, got {next_state!r}", []
        try:
            chance, paid = float(probability), float(reward)
        except (TypeError, ValueError):
            return f"probability and reward must be numbers, got {outcome!r}", []
        if not 0.0 <= chance <= 1.0 + SUM_TOLERANCE or not np.isfinite(paid):
            return f"a probability must lie in 0..1 and a reward be finite, got {outcome!r}", []
        if not isinstance(is_done, bool | np.bool_):
            return f"done must be True or False, got {is_done!r}", []
        if chance > 0.0:
            kept.append((int(next_state), chance, paid, bool(is_done)))
    total = sum(chance for _, chance, _, _ in kept)
    if not abs(total - 1.0) <= SUM_TOLERANCE:
        return f"probabilities must sum to 1, got {total:.9g}", []
    return "", [(after, chance / total, paid, is_done) for after, chance, paid, is_done in kept]


def _initial(core: Any, initial: ArrayLike | str | None, num_states: int, name: str) -> FloatArray:
    if isinstance(initial, str):
        one_of(initial, ("uniform",), "initial", "Or give a distribution [S].")
        return np.full(num_states, 1.0 / num_states)
    given = initial
    if given is None:
        given = getattr(core, "initial_state_distrib", getattr(core, "isd", None))
    if given is None:
        raise InputError(
            f"where episodes begin must be known, but {name} has no initial_state_distrib. Say initial=[...] with a "
            "chance for each state, or initial='uniform'."
        )
    from journeyman.mdp.validation import checked_initial

    return checked_initial(float_array(given, "initial"), num_states)


def _copied(env: Any) -> Any:
    """Return a copy of an environment to try out, without wrappers; itself where that cannot be copied."""
    try:
        return copy.deepcopy(env.unwrapped)
    except Exception:  # what environments hold (windows, sockets) may raise anything
        return env.unwrapped


def _check_behaviour(env: Any, tables: GymnasiumTables, *, knows_initial: bool) -> None:
    """Refuse an environment that does not do what its table says, or whose table changes while it is used."""
    rng, name = np.random.default_rng(0), tables.name
    chances: dict[tuple[int, int], dict[tuple[int, bool], float]] = {}
    pays: dict[tuple[int, int, int, bool], list[float]] = {}
    columns = (tables.state, tables.action, tables.next_state, tables.is_done, tables.probability, tables.reward)
    for state, action, after, is_done, chance, pay in zip(*(column.tolist() for column in columns), strict=True):
        row = chances.setdefault((state, action), {})
        row[after, is_done] = row.get((after, is_done), 0.0) + chance
        pays.setdefault((state, action, after, is_done), []).append(pay)
    tried: dict[tuple[int, int], Counter[tuple[int, bool]]] = {}
    core, state, num_steps = env.unwrapped, None, 0
    for number in range(NUM_TRIED):
        if state is None:
            state, num_steps = _first_state(env, number, tables, knows_initial=knows_initial), 0
        actions = np.flatnonzero(tables.available[state])
        action = int(actions[rng.integers(actions.size)])
        observation, pay, is_done, is_stopped = stepped(env, action, name)
        after = _as_state(observation, tables)
        if chances[state, action].get((after, bool(is_done)), 0.0) <= 0.0:
            ended = "ends there" if is_done else "goes on"
            raise UnsupportedError(
                f"an environment must do what its table P says, but {name} went from state {state} by action {action} "
                f"to state {after} and {ended}, which P does not allow. Its dynamics change or depend on more than the "
                "state: add what they depend on to the state, or estimate them."
            )
        known = pays[state, action, after, bool(is_done)]
        if not any(math.isclose(float(pay), other, rel_tol=1e-6, abs_tol=1e-9) for other in known):
            raise UnsupportedError(
                f"an environment must pay what its table P says, but {name} paid {pay} for action {action} in state "
                f"{state} where P has {', '.join(f'{other:g}' for other in sorted(set(known)))}. Correct its table."
            )
        tried.setdefault((state, action), Counter())[after, bool(is_done)] += 1
        num_steps += 1
        state = None if is_done or is_stopped or num_steps >= STEPS_PER_EPISODE else after
    deviations = _deviations(chances, tried)
    if deviations > MOST_DEVIATIONS:
        raise UnsupportedError(
            f"an environment must do what its table P says, but how often {name} went where in {NUM_TRIED} steps lies "
            f"{deviations:.3g} standard deviations from it. Its dynamics change or depend on more than the state: add "
            "what they depend on to the state, or estimate them."
        )
    again = _columns(core.P, (tables.num_states, tables.num_actions), name)
    if any(not np.array_equal(again[column], getattr(tables, column)) for column in again):
        raise UnsupportedError(
            f"dynamics must stay the same, but the table P of {name} was another after {NUM_TRIED} steps. Add what it "
            "depends on, such as the time, to the state."
        )


def begun(env: Any, seed: int | None, name: str) -> Any:
    """Return the first observation of a new episode, or say what is wrong with how the environment begins one."""
    try:
        found = env.reset() if seed is None else env.reset(seed=seed)
    except TypeError as error:
        raise UnsupportedError(
            f"an environment must have reset(seed=...), as Gymnasium's have, but that of {name} failed: {error}. "
            "Wrap it so that it takes a seed."
        ) from error
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], Mapping)):
        raise UnsupportedError(
            f"an environment's reset must give (observation, info), got {reprlib.repr(found)} from {name}, as gym "
            "before 0.26 did. Wrap it so."
        )
    return found[0]


def stepped(env: Any, action: int, name: str) -> tuple[Any, float, bool, bool]:
    """Return observation, reward, whether the episode ended, and whether it was stopped; or what is wrong with it."""
    found = env.step(action)
    if not isinstance(found, tuple) or len(found) != 5:
        raise UnsupportedError(
            "an environment's step must give (observation, reward, terminated, truncated, info), got "
            f"{reprlib.repr(found)} from {name}, as gym before 0.26 did. Wrap it so."
        )
    return found[0], found[1], bool(found[2]), bool(found[3])


def _first_state(env: Any, number: int, tables: GymnasiumTables, *, knows_initial: bool) -> int:
    state = _as_state(begun(env, number, tables.name), tables)
    if knows_initial and tables.initial[state] <= 0.0:
        raise UnsupportedError(
            f"an environment must begin where it says, but {tables.name} began in state {state}, which has no "
            "chance in its initial_state_distrib. Say initial=[...] with a chance for each state."
        )
    return state


def _as_state(observation: Any, tables: GymnasiumTables) -> int:
    array = np.asarray(observation)
    if array.ndim != 0 or array.dtype.kind not in "iu":
        raise UnsupportedError(
            f"observations must be the numbers of states, got {observation!r} from {tables.name}. Number its states "
            "from 0."
        )
    if not 0 <= int(array) < tables.num_states:
        raise UnsupportedError(
            f"states must lie in 0..{tables.num_states - 1}, got {int(array)} from {tables.name}, whose "
            f"observation_space has no such state. Number its states from 0, or correct its observation_space."
        )
    return int(array)


def _deviations(
    chances: Mapping[tuple[int, int], Mapping[tuple[int, bool], float]],
    tried: Mapping[tuple[int, int], Mapping[tuple[int, bool], int]],
) -> float:
    """Return how far frequencies lie above what chance allows: Pearson's statistic, in its standard deviations.

    Its mean is the number of outcomes less one and its variance 2 (k - 1) + (sum of 1 / p - k^2 - 2 k + 2) / N for k
    outcomes in N trials, exactly for any N (Haldane 1937).
    """
    excess = variance = 0.0
    for key, outcomes in tried.items():
        p = np.array(list(chances[key].values()))
        seen = np.array([outcomes.get(outcome, 0) for outcome in chances[key]])
        total, k = int(seen.sum()), len(p)
        excess += float(((seen - total * p) ** 2 / (total * p)).sum()) - (k - 1)
        variance += max(0.0, 2.0 * (k - 1) + (float((1.0 / p).sum()) - k * k - 2 * k + 2) / total)
    return excess / np.sqrt(variance) if variance > 1e-9 else 0.0
