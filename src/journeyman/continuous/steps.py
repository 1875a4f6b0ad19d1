"""Steps of a continuous world: of a function or of an environment, many states at a time, and checked.

Whatever the world is, here it is a function from states `[n, d]` and the number of an action to next states `[n, d]`
and to whether the episode ended, `[n]`. That it always answers the same is checked: a model of dynamics that change is
wrong from the start.
"""

import inspect
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import float_array, whole_number
from journeyman.errors import InputError, UnsupportedError
from journeyman.mdp.gymnasium_tables import check_wrappers, environment_name
from journeyman.types import BoolArray, FloatArray

NUM_PROBES = 5  # more than a state has dimensions, so that a batch cannot be mistaken for a state
AGREEMENT = 1e-9  # relative: sums over a batch may be rounded otherwise than for one state


class Moved(NamedTuple):
    """Next states `[n, d]`, and whether the episode ended, `[n]`."""

    states: FloatArray
    is_done: BoolArray


@dataclass(frozen=True, eq=False)
class Steps:
    """One step of a continuous world for many states.

    call_fn: (states [n, d], action value, rng or None) -> Moved; actions: their values, as the world takes them;
    is_random: whether it draws from the rng; name: of what it calls, for messages.
    """

    call_fn: Callable[[FloatArray, Any, Any], Moved]
    actions: tuple[Any, ...]
    is_random: bool
    name: str

    def __call__(self, states: FloatArray, action: int, rng: np.random.Generator | None = None) -> Moved:
        """Return where one step of an action, given by its number, leads from each state."""
        moved = self.call_fn(states, self.actions[action], rng)
        is_bad = ~np.isfinite(moved.states).all(axis=1) & ~moved.is_done
        if is_bad.any():
            i = int(np.argmax(is_bad))
            raise InputError(
                f"{self.name} must return finite next states, got {moved.states[i].tolist()} at state "
                f"{states[i].tolist()}, action {self.actions[action]!r}. Fix it there, or choose bounds without that "
                "state."
            )
        return moved

    def check_same(self, states: FloatArray, moved: Moved, action: int, seed: Any) -> None:
        """Refuse a world that answers otherwise when it is asked again, with the same draws if it is random."""
        again = self(states, action, np.random.default_rng(seed) if self.is_random else None)
        same = (again.is_done == moved.is_done) & (
            np.isclose(again.states, moved.states, rtol=AGREEMENT, atol=AGREEMENT).all(axis=1) | moved.is_done
        )
        if not same.all():
            i = int(np.argmin(same))
            fix = (
                "Draw all noise from the rng that it is given"
                if self.is_random
                else "Write random steps as step_fn(states, action, rng) and give num_samples; dynamics that change "
                "with time or history need that as part of the state"
            )
            raise InputError(
                f"{self.name} must give the same next state whenever it is called, got {moved.states[i].tolist()} and "
                f"then {again.states[i].tolist()} at state {states[i].tolist()}, action {self.actions[action]!r}. "
                f"{fix}."
            )


def steps_of(
    world: Any,
    probes: FloatArray,
    actions: int | Sequence[Any] | None,
    *,
    is_random: bool,
    state_fn: Callable[[Any], ArrayLike] | None = None,
    set_state_fn: Callable[[Any, FloatArray], None] | None = None,
) -> Steps:
    """Return the steps of a function, or of an environment; `probes` `[n, d]` are states to try it on.

    Parameters
    ----------
    world
        step_fn(states, action) or step_fn(states, action, rng), for many states `[n, d]` or for one `[d]`, which
        returns next states, or these and whether the episode ended; or an environment as of Gymnasium.
    actions
        What the world takes as actions: a list, or how many if they are numbers from 0. May be left out for an
        environment with discrete actions.
    is_random
        Whether it takes an rng.
    state_fn, set_state_fn
        For an environment: state_fn(env) reads its state, set_state_fn(env, state) sets it. Default: the attribute
        `state` of `env.unwrapped`.
    """
    if hasattr(world, "step") and hasattr(world, "reset"):
        return _steps_of_environment(world, probes, actions, is_random, state_fn, set_state_fn)
    if not callable(world):
        raise InputError(
            f"a world must be a function step_fn(states, action) or an environment with step and reset, got "
            f"{reprlib.repr(world)}. Give one of these; gymnasium.make(...) makes an environment."
        )
    if state_fn is not None or set_state_fn is not None:
        raise InputError("state_fn and set_state_fn must be left out for a step function, which has no state to set.")
    if actions is None:
        raise InputError("actions must be given for a step function. Give a list, or how many if they count from 0.")
    values = _action_values(actions)
    _check_rng(world, is_random)
    name = f"step_fn {getattr(world, '__name__', '')}".rstrip()
    extra = (np.random.default_rng(0),) if is_random else ()
    if _is_vectorised(world, probes, values[0], is_random):
        call = _vectorised(world, name)
    else:
        call = _one_by_one(world, name)
        try:
            call(probes[:1], values[0], *extra or (None,))  # what it raises is the caller's to see, now
        except InputError:
            raise
        except Exception:
            _check_many(world, probes, values[0], *extra or (None,), name=name)
            raise
    return Steps(call, values, is_random, name)


def _action_values(actions: Any) -> tuple[Any, ...]:
    if isinstance(actions, int | np.integer) and not isinstance(actions, bool):
        return tuple(range(whole_number(actions, "actions", 1)))
    try:
        values = tuple(actions)
    except TypeError:
        values = ()
    if isinstance(actions, str) or not values:
        raise InputError(
            f"actions must be a list of at least one action, or how many, got {reprlib.repr(actions)}. "
            "Example: [-2.0, 0.0, 2.0]."
        )
    return values


def _check_rng(step_fn: Any, is_random: bool) -> None:
    """Refuse a function that takes an rng and gets none, or the other way round, where its signature can be read."""
    try:
        inspect.signature(step_fn).bind(*(0,) * (3 if is_random else 2))
    except TypeError:
        raise InputError(
            "step_fn must be step_fn(states, action, rng) where num_samples is given, which is for random steps."
            if is_random
            else "step_fn must be step_fn(states, action) unless num_samples is given: that is how many draws of its "
            "noise to average over. Example: num_samples=20."
        ) from None
    except ValueError:
        return  # some built-in functions have no signature


def _split(result: Any) -> tuple[Any, Any]:
    """Return next states and ends: a tuple of two whose second part is one-dimensional, or true or false, has both."""
    if isinstance(result, tuple) and len(result) == 2 and np.asarray(result[1]).dtype.kind == "b":
        return result
    return result, None


def _read(result: Any, shape: tuple[int, ...], name: str) -> Moved:
    states, is_done = _split(result)
    array = float_array(states, f"what {name} returns")
    if array.shape != shape:
        raise InputError(
            f"{name} must return next states of the shape that it got, {shape}, and perhaps whether the episode ended "
            f"as true or false, got {array.shape}. Return (next states, is done)."
        )
    ended = np.zeros(shape[:-1], dtype=bool) if is_done is None else np.asarray(is_done)
    if ended.shape != shape[:-1]:
        raise InputError(
            f"{name} must say for each state whether the episode ended, {shape[:-1]}, got {ended.shape}. "
            "Return (next states, is done)."
        )
    return Moved(np.array(array), np.array(ended))


def _vectorised(step_fn: Any, name: str) -> Callable[[FloatArray, Any, Any], Moved]:
    def call(states: FloatArray, action: Any, rng: Any) -> Moved:
        extra = () if rng is None else (rng,)
        return _read(step_fn(states.copy(), action, *extra), states.shape, name)

    return call


def _one_by_one(step_fn: Any, name: str) -> Callable[[FloatArray, Any, Any], Moved]:
    def call(states: FloatArray, action: Any, rng: Any) -> Moved:
        extra = () if rng is None else (rng,)
        moved = [_read(step_fn(state.copy(), action, *extra), state.shape, name) for state in states]
        if not moved:
            return Moved(states.copy(), np.zeros(0, dtype=bool))
        return Moved(np.array([one.states for one in moved]), np.array([bool(one.is_done) for one in moved]))

    return call


def _check_many(step_fn: Any, probes: FloatArray, action: Any, rng: Any, *, name: str) -> None:
    """Say what is wrong with what a function gives for many states, if it takes them: it was not made for one."""
    complaint = None
    try:
        _vectorised(step_fn, name)(probes, action, rng)
    except InputError as error:
        complaint = error
    except Exception:  # it takes neither
        return
    if complaint is not None:
        raise complaint


def _is_vectorised(step_fn: Any, probes: FloatArray, action: Any, is_random: bool) -> bool:
    """Return whether a function takes many states: the shapes fit, and each is moved as it would be alone."""
    many = probes[np.arange(NUM_PROBES) % len(probes)]
    call = _vectorised(step_fn, "step_fn")

    def rng() -> Any:
        return np.random.default_rng(0) if is_random else None

    try:
        together = call(many, action, rng())
        alone = [call(many[i : i + 1], action, rng()) for i in range(NUM_PROBES)]
    except Exception:  # a function of one state may raise anything when it gets many
        return False
    if is_random:
        return True
    states = np.concatenate([one.states for one in alone])
    return bool(np.isclose(together.states, states, rtol=AGREEMENT, atol=AGREEMENT, equal_nan=True).all())


def _steps_of_environment(
    env: Any, probes: FloatArray, actions: Any, is_random: bool, state_fn: Any, set_state_fn: Any
) -> Steps:
    """Return the steps of an environment whose state can be set; its rewards and time limits are left out."""
    bare = getattr(env, "unwrapped", env)
    name = f"environment {environment_name(env)}"
    if hasattr(env, "num_envs"):
        raise UnsupportedError(f"a world must be one environment, got a vector of {env.num_envs}. Give one of them.")
    if bare is not env:
        check_wrappers(env, name)
    if is_random:
        raise UnsupportedError(
            f"an environment must have deterministic steps, got num_samples for {name}. Write its step as "
            "step_fn(states, action, rng), which draws its noise from the rng."
        )
    values = _environment_actions(bare, actions, name)
    bare.reset(seed=0)
    read, write = state_fn or _read_state, set_state_fn or _write_state
    _state(bare, read, probes.shape[1], name)

    def call(states: FloatArray, action: Any, rng: Any) -> Moved:
        after, is_done = np.empty_like(states), np.zeros(len(states), dtype=bool)
        for i, state in enumerate(states):
            _set(bare, write, state, name)
            if getattr(bare, "steps_beyond_terminated", None) is not None:
                bare.steps_beyond_terminated = None  # an episode that begins here has not ended
            is_done[i] = bool(bare.step(action)[2])
            after[i] = _state(bare, read, states.shape[1], name)
        return Moved(after, is_done)

    for probe in probes:
        _set(bare, write, probe, name)
        found = _state(bare, read, probes.shape[1], name)
        if not np.allclose(found, probe, rtol=1e-5, atol=1e-8):
            raise UnsupportedError(_cannot_set(name, f"set to {probe.tolist()} it is {found.tolist()}"))
    moved = call(probes, values[0], None)
    if len(probes) > 1 and np.ptp(moved.states, axis=0).max() == 0.0 and not moved.is_done.any():
        raise UnsupportedError(_cannot_set(name, "its steps do not depend on the state that was set"))
    return Steps(call, values, False, name)


def _environment_actions(bare: Any, actions: Any, name: str) -> tuple[Any, ...]:
    space: Any = getattr(bare, "action_space", None)
    if actions is not None:
        values = _action_values(actions)
        if getattr(space, "shape", None) == (1,):  # a list of torques is meant as it would be typed
            dtype = getattr(space, "dtype", np.float64)
            values = tuple(np.asarray(value, dtype=dtype).reshape(-1) for value in values)
        for value in values:
            if hasattr(space, "contains") and not space.contains(value):
                raise InputError(
                    f"actions must be such as {name} takes, {space}, got {value!r}. Choose values that it contains."
                )
        return values
    if getattr(space, "n", None) is None:
        raise InputError(
            f"actions must be given for {name}, whose actions are {space}. Give a list of some: "
            "actions=[-2.0, 0.0, 2.0]."
        )
    return tuple(range(int(getattr(space, "start", 0)), int(getattr(space, "start", 0)) + int(space.n)))


def _read_state(bare: Any) -> Any:
    if not hasattr(bare, "state"):
        raise AttributeError("it has no attribute 'state'")
    return bare.state


def _write_state(bare: Any, state: FloatArray) -> None:
    bare.state = state


def _set(bare: Any, write: Any, state: FloatArray, name: str) -> None:
    try:
        write(bare, state.copy())
    except (AttributeError, TypeError) as error:
        raise UnsupportedError(_cannot_set(name, str(error))) from None


def _state(bare: Any, read: Any, num_dimensions: int, name: str) -> FloatArray:
    try:
        state = float_array(read(bare), f"the state of {name}").ravel()
    except AttributeError as error:
        raise UnsupportedError(_cannot_set(name, str(error))) from None
    if state.size != num_dimensions:
        raise InputError(
            f"bounds must be given for each of the {state.size} numbers of the state of {name}, got {num_dimensions}. "
            "The state is what env.unwrapped.state holds, which may differ from what is observed."
        )
    return state


def _cannot_set(name: str, why: str) -> str:
    return (
        f"an environment must let its state be set, but {name} does not: {why}. Give set_state_fn(env, state) and "
        "state_fn(env), or write its step as step_fn(states, action)."
    )
