"""Any problem as a Gymnasium environment: to let others' agents act in it, or a certified policy.

The expected discounted return of a policy, from `reset`, is its value in the problem: rewards are those of (state,
action), and the reward of a terminal cell, in which nobody acts, is paid with the step that enters it, times the
discount.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import known_name, one_of, whole_number
from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.gym.rendering import Picture, drawn_as_text
from journeyman.mdp import FiniteMDP
from journeyman.mdp.episodes import draw_action, draw_next_state
from journeyman.mdp.validation import checked_rewards
from journeyman.problem import Problem
from journeyman.types import FloatArray
from journeyman.worlds import World

gymnasium = require("gymnasium", "gym")
UNAVAILABLE_RULES = ("stay", "error")


class JourneymanEnv(gymnasium.Env):  # type: ignore[misc,name-defined]
    """A world, a problem with a reward, or an MDP with one, as a Gymnasium environment.

    Observations are states and actions are actions, both by number. An episode is terminated on entering a terminal
    cell, and by the chance that a row leaves to 1: then the observation is the state before, for there is none after.
    It is never truncated: wrap it in `gymnasium.wrappers.TimeLimit` for that. `reset(options={"state": s})` begins in a
    state, by number or label. `info` has "state" (its name), and "action_mask" `[A]`, 1 for actions that exist there.

    Parameters
    ----------
    problem
        A World, whose true reward is paid; or a Problem or FiniteMDP, with `reward` or `theta`.
    reward
        `[S]` or `[S, A]`, instead of the truth of a world.
    theta
        `[D]` parameters of the problem's reward model, instead of a reward.
    unavailable
        What an action does that does not exist in a state. "stay": nothing, for the lowest reward of all or 0 if that
        is lower, so that it is never worth while; "error": it is refused.
    render_mode
        "ansi", "rgb_array" (extra `plot`), or None.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

    def __init__(
        self,
        problem: World | Problem | FiniteMDP,
        *,
        reward: ArrayLike | None = None,
        theta: ArrayLike | None = None,
        unavailable: str = "stay",
        render_mode: str | None = None,
    ) -> None:
        self.mdp, self.reward = _dynamics_and_reward(problem, reward, theta)
        self.unavailable = one_of(unavailable, UNAVAILABLE_RULES, "unavailable", "Leave it out for 'stay'.")
        self.render_mode = one_of(render_mode, (None, *self.metadata["render_modes"]), "render_mode")
        self.observation_space = gymnasium.spaces.Discrete(self.mdp.num_states)
        self.action_space = gymnasium.spaces.Discrete(self.mdp.num_actions)
        exists = self.mdp.available
        self._penalty = min(0.0, float(self.reward[exists].min()))
        self._last_pay = np.where(exists, self.reward, -np.inf).max(axis=1)  # of terminal cells: what solving takes
        self._state: int | None = None
        self._is_over = False
        self._news = ""
        self._picture: Picture | None = None
        self.spec = gymnasium.envs.registration.EnvSpec(  # so that it can be made again; it is not registered
            "journeyman/Problem-v0",
            entry_point=lambda render_mode=None: type(self)(
                problem, reward=reward, theta=theta, unavailable=unavailable, render_mode=render_mode
            ),
            kwargs={"render_mode": render_mode},
        )

    @property
    def state(self) -> int | None:
        """Where the episode is; None before the first `reset`."""
        return self._state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Begin an episode: in options["state"], by number or label, else in a state that the problem draws."""
        super().reset(seed=seed)
        for name in options or {}:
            known_name(name, ("state",), "an option of reset")
        if options and options.get("state") is not None:
            self._state = self.mdp.state_names.index(options["state"])
        else:
            self._state = draw_action(self.np_random, self.mdp.initial)
        self._news, self._is_over = "", False
        return self._state, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Do an action; see the class for what is paid and how episodes end."""
        if self._state is None:
            raise InputError("an episode must have begun before a step. Call env.reset() first.")
        if self._is_over:
            raise InputError("an episode must not go on after its end. Call env.reset() to begin another.")
        state, chosen = self._state, whole_number(action, "an action", 0, "Actions are numbered from 0.")
        if chosen >= self.mdp.num_actions:
            raise InputError(f"an action must lie in 0..{self.mdp.num_actions - 1}, got {chosen}. Choose one of them.")
        paid, is_over = float(self.reward[state, chosen]), False
        if self.mdp.terminal[state]:  # only where an episode began in it
            paid, is_over = float(self._last_pay[state]), True
        elif not self.mdp.available[state, chosen]:
            paid = self._unavailable(state, chosen)
        else:
            after = draw_next_state(self.np_random, self.mdp, state, chosen)
            is_over = after is None or bool(self.mdp.terminal[after])
            if after is not None:
                self._state = after
                paid += self.mdp.discount * float(self._last_pay[after]) if is_over else 0.0
        self._news = f"after {self.mdp.action_name(chosen)} in {self.mdp.state_name(state)}: reward {paid:.4g}"
        self._news += ", the end" if is_over else ""
        self._is_over = is_over
        return self._state, paid, is_over, False, self._info()

    def render(self) -> Any:
        """Return the problem with the state that the episode is in: a text, or an image `[height, width, 3]`."""
        if self.render_mode is None:
            return None
        if self.render_mode == "ansi":
            return drawn_as_text(self.mdp, self._state, self._news)
        if self._picture is None:
            self._picture = Picture(self.mdp, self.reward)
        return self._picture.with_mark(self._state)

    def _unavailable(self, state: int, action: int) -> float:
        if self.unavailable == "error":
            exist = ", ".join(self.mdp.action_name(int(a)) for a in np.flatnonzero(self.mdp.available[state]))
            raise InputError(
                f"an action must exist where it is done, got {self.mdp.action_name(action)} in state "
                f"{self.mdp.state_name(state)}, which has {exist}. See info['action_mask']."
            )
        return self._penalty

    def _info(self) -> dict[str, Any]:
        assert self._state is not None
        mask = self.mdp.available[self._state].astype(np.int8)
        return {"state": self.mdp.state_name(self._state), "action_mask": mask}


def _dynamics_and_reward(
    problem: Any, reward: ArrayLike | None, theta: ArrayLike | None
) -> tuple[FiniteMDP, FloatArray]:
    """Return dynamics and reward `[S, A]`, or say what is missing."""
    if not isinstance(problem, World | Problem | FiniteMDP):
        raise InputError(
            f"an environment must be made of a World, a Problem or a FiniteMDP, got {type(problem).__name__}. "
            "Example: JourneymanEnv(make_world('jail'))."
        )
    if reward is not None and theta is not None:
        raise InputError("an environment must have one reward, got reward and theta. Leave one out.")
    known = problem.problem if isinstance(problem, World) else problem
    mdp = known if isinstance(known, FiniteMDP) else known.mdp
    paid = reward
    if theta is not None:
        if isinstance(known, FiniteMDP):
            raise InputError("theta must go with a problem, which has a reward model, got an MDP. Give reward=[...].")
        paid = known.reward_model.reward(theta)
    elif reward is None and isinstance(problem, World):
        paid = problem.reward
    if paid is None:
        raise InputError(
            f"an environment must pay a reward, got a {type(problem).__name__}, which has none. Say reward=[...] for "
            "each state or state and action, or theta=[...] for a problem's reward model."
        )
    table = checked_rewards(np.asarray(paid)[None], mdp.num_states, mdp.num_actions)[0]
    return mdp, np.broadcast_to(table, (mdp.num_states, mdp.num_actions)).copy()
