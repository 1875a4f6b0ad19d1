"""What a problem says, in numbers and in words: sizes, what can be reached, what its prior implies, what beta means."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from journeyman.checks import whole_number
from journeyman.experts import SimulatedExpert
from journeyman.mdp import FiniteMDP, q_values, solve_batch
from journeyman.mdp.accuracy import accuracy_of
from journeyman.mdp.memory import innermost, places_in
from journeyman.problem import Problem, beta_of
from journeyman.problem_files.implications import (
    Implications,
    implication_lines,
    implication_warnings,
    implications_of,
)
from journeyman.rewards import KernelPrior, KernelRewards
from journeyman.rewards.kernel_prior import neighbour_correlation
from journeyman.types import FloatArray
from journeyman.wording import counted, listed, percent

TIE_TOLERANCE = 1e-9
MAX_ENTRIES = 20_000_000  # action values held at once
MODEL_WORDS = {
    "per_state": "one unknown number per state",
    "per_state_action": "one unknown number per state and action",
    "features": "known features times unknown numbers",
    "kernel": "one unknown number per state, all of which follow from those of some",
}
MAX_NAMED = 5  # states
MAX_LOOKED_AT, LIKENESS = 100, 0.8  # labels that may be misspelt
MANY_ACTIONS, FEW_ACTIONS = 20, 6  # in all, and where most are
ALONE, ALL_ALIKE = 0.2, 0.9999  # correlations between neighbours that a kernel is hardly meant to have
NEARLY_SURE, NEARLY_RANDOM = 0.995, 0.1  # of the way from chance to certainty


@dataclass(frozen=True, eq=False)
class Explanation:
    """A problem in numbers.

    Parameters
    ----------
    problem
        What is explained.
    num_transitions
        How many transitions it has.
    best_action_chance
        How often this expert would choose a best action, over states that may be asked about and rewards drawn from
        the prior.
    best_action_range
        The same for single rewards: its 5 % and 95 % quantiles over the prior.
    chance_at_random
        How often an expert who chooses at random would.
    halving_gap
        An action that is worth so much less is chosen half as often, by a Boltzmann expert.
    choice_states
        `[S]` part of the rewards for which actions differ in a state; where it is 0 answers tell nothing.
    unreachable
        States that cannot be reached from the initial ones.
    unreachable_queryable
        Those of them that may be asked about.
    num_rewards
        Draws of the prior that chances are averages over.
    prior
        What the prior implies: returns, what is at stake, where apprentices go.
    warnings
        What is unusual, with advice.
    """

    problem: Problem
    num_transitions: int
    unreachable: tuple[int, ...]
    unreachable_queryable: tuple[int, ...]
    best_action_chance: float | None
    best_action_range: tuple[float, float] | None
    chance_at_random: float | None
    halving_gap: float | None
    choice_states: FloatArray
    num_rewards: int
    prior: Implications
    warnings: tuple[str, ...]

    @property
    def num_reachable(self) -> int:
        """Number of states that can be reached from the initial ones."""
        return self.problem.mdp.num_states - len(self.unreachable)

    def to_record(self) -> dict[str, Any]:
        """Return the explanation as plain data for JSON."""
        problem, mdp, model = self.problem, self.problem.mdp, self.problem.reward_model
        return {
            "num_states": mdp.num_states,
            "num_actions": mdp.num_actions,
            "discount": mdp.discount,
            "num_transitions": self.num_transitions,
            "terminal_states": np.flatnonzero(mdp.terminal).tolist(),
            "initial_states": np.flatnonzero(mdp.initial).tolist(),
            "queryable_states": np.flatnonzero(problem.queryable).tolist(),
            "num_reachable": self.num_reachable,
            "unreachable_states": list(self.unreachable),
            "unreachable_queryable": list(self.unreachable_queryable),
            "has_grid": mdp.grid is not None,
            "memory": _memory_record(problem),
            "reward_model": model.kind,
            "num_parameters": model.num_parameters,
            "parameters": [model.parameter_name(i) for i in range(model.num_parameters)],
            "beta": beta_of(problem),
            "expert": problem.expert.to_record(),
            "best_action_chance": self.best_action_chance,
            "best_action_range": None if self.best_action_range is None else list(self.best_action_range),
            "chance_at_random": self.chance_at_random,
            "halving_gap": self.halving_gap,
            "num_rewards": self.num_rewards,
            "prior": self.prior.to_record(),
            "warnings": list(self.warnings),
        }


def explain(
    problem: Problem, *, num_rewards: int = 200, seed: int = 0, epsilon: float = 0.1, is_share: bool = False
) -> Explanation:
    """Explain a problem; what the prior implies and what beta means is computed on `num_rewards` draws of the prior.

    Fewer are drawn for huge problems. `epsilon` is in units of the reward, or if `is_share` a part of what is at stake.
    Chances lie in 0..1, and are None where nothing can be asked.
    """
    mdp = problem.mdp
    size = min(whole_number(num_rewards, "num_rewards", 1), max(10, MAX_ENTRIES // (mdp.num_states * mdp.num_actions)))
    rng = np.random.default_rng(seed)
    rewards = problem.reward_model.reward(problem.prior.sample(rng, size))
    values = solve_batch(mdp, rewards).values
    q = q_values(mdp, rewards, values)
    is_best = q >= q.max(axis=2, keepdims=True) - 2.0 * accuracy_of(mdp, rewards, values).values[:, :, None]
    has_choice = (is_best < mdp.available).any(axis=2)
    asked = problem.queryable & ~mdp.terminal
    chances = (_policies(problem, rewards, q, rng) * is_best).sum(axis=2)[:, asked]
    random = (is_best.sum(axis=2) / mdp.available.sum(axis=1))[:, asked]
    reachable = innermost(mdp).reachable()[places_in(mdp)]  # with a memory, what can be met is all there is
    unreachable = tuple(np.flatnonzero(problem.queryable & ~reachable).tolist())
    is_best &= mdp.available
    prior = implications_of(problem, rng, rewards, values, is_best, epsilon, is_share)
    found = at_random = found_range = None
    if asked.any():
        per_reward = chances.mean(axis=1)
        found, at_random = float(per_reward.mean()), float(random.mean())
        found_range = tuple(np.quantile(per_reward, [0.05, 0.95]).tolist())
    doubts = _warnings(problem, unreachable, found, at_random, has_choice.mean(axis=0))
    if at_random is None or at_random < 1.0 - TIE_TOLERANCE:  # else there is nothing more to say
        doubts += tuple(implication_warnings(prior, problem))
    return Explanation(
        problem=problem,
        num_transitions=len(mdp.rows.next_states),
        unreachable=tuple(np.flatnonzero(~reachable).tolist()),
        unreachable_queryable=unreachable,
        best_action_chance=found,
        best_action_range=found_range,
        chance_at_random=at_random,
        halving_gap=None if beta_of(problem) is None else float(np.log(2.0) / problem.beta),
        choice_states=has_choice.mean(axis=0),
        num_rewards=size,
        prior=prior,
        warnings=doubts,
    )


def _policies(problem: Problem, rewards: FloatArray, q: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the expert's chances `[M, S, A]`, what is unknown about it drawn from the prior too."""
    space, expert = problem.expert_space, problem.expert
    if space.size == 0 and getattr(expert, "values", "optimal") != "soft":
        return np.exp(expert.log_policy(q))
    drawn = space.sample(rng, len(q))
    found = [
        SimulatedExpert(problem.mdp, r, expert, parameters=own).policy for r, own in zip(rewards, drawn, strict=True)
    ]
    return np.stack(found)


def _warnings(
    problem: Problem,
    unreachable: tuple[int, ...],
    chance: float | None,
    at_random: float | None,
    has_choice: FloatArray,
) -> tuple[str, ...]:
    found = _ends_out_of_reach(innermost(problem.mdp))
    if chance is None or at_random is None:
        return (*found, "No state can be asked about: all are terminal or not queryable. Change [states] queryable.")
    if problem.prior.is_discrete and problem.expert_space.size:
        found.append(
            "No method of inference does this problem: a discrete prior of the reward needs an expert of whom all is "
            f"known, got unknown {', '.join(problem.expert_space.names)}. Give numbers, or another prior of the reward."
        )
    if unreachable:
        found.append(
            f"{len(unreachable)} of the states that may be asked about cannot be reached from the initial states: "
            f'{_named(problem.mdp, unreachable)}. If that is not meant, open a way; else queryable = "reachable".'
        )
    found += _misspelt(problem)
    share = (chance - at_random) / (1.0 - at_random) if at_random < 1.0 else 1.0
    if at_random >= 1.0 - TIE_TOLERANCE:
        found.append("Actions never differ where one may ask: no answer tells anything about the reward.")
    elif share < NEARLY_RANDOM:
        found.append(
            "This expert chooses nearly at random, so that each answer tells little. Is beta in the right units? It "
            "multiplies returns: a larger prior reward needs a smaller beta for the same expert."
        )
    elif share > NEARLY_SURE:
        found.append(
            "This expert nearly never makes a mistake. If yours does, one wrong answer will mislead the posterior: use "
            "a smaller beta."
        )
    silent = np.flatnonzero(problem.queryable & ~problem.mdp.terminal & (has_choice == 0)).tolist()
    if silent and at_random < 1.0 - TIE_TOLERANCE:
        found.append(
            f"In {len(silent)} of the states that may be asked about all actions are the same, so that answers tell "
            f"nothing: {_named(problem.mdp, silent)}. If nobody should be asked there, leave them out of queryable."
        )
    most = int(problem.mdp.available[~problem.mdp.terminal].sum(axis=1).max(initial=0))
    if problem.mdp.num_actions > MANY_ACTIONS and most <= FEW_ACTIONS:
        found.append(
            f"There are {problem.mdp.num_actions} actions, but at most {most} in a state. That works, and costs time "
            "and memory: if places have directions in common, give actions labels such as left, right and back."
        )
    return (*found, *_memory_doubts(problem), *_kernel_doubts(problem))


def _ends_out_of_reach(mdp: FiniteMDP) -> list[str]:
    """Name the terminal states that no way leads to."""
    ends, starts = (np.flatnonzero(mask).tolist() for mask in (mdp.terminal & ~mdp.reachable(), mdp.initial > 0))
    if not ends:
        return []
    return [
        f"The terminal {'states' if len(ends) > 1 else 'state'} {_named(mdp, ends)} cannot be reached from the start: "
        f"no way leads there from {_named(mdp, starts)}. If that is not meant, open a way (on a map, draw floor in "
        "place of a wall) or move the start."
    ]


def _misspelt(problem: Problem) -> list[str]:
    """Ask about terminal states that are called nearly like others: a misspelt next state brings a state of its own."""
    mdp = innermost(problem.mdp)
    if mdp.state_labels is None or mdp.grid is not None:
        return []
    others = [label for label, is_end in zip(mdp.state_labels, mdp.terminal, strict=True) if not is_end]
    for state in np.flatnonzero(mdp.terminal)[:MAX_LOOKED_AT].tolist():
        label = mdp.state_labels[state]
        close = get_close_matches(label, others, n=1, cutoff=LIKENESS)
        if close and not any(sign.isdigit() for sign in label + close[0]):
            return [
                f"Episodes end in {label}, which is spelt nearly like {close[0]}. If it is a mistake in writing, "
                "correct it, and give [states] labels, so that the next one is found at once."
            ]
    return []


def _named(mdp: FiniteMDP, states: Sequence[int]) -> str:
    """Name the first of some states: "a, b and 3 more"."""
    names = [mdp.state_name(state) for state in states[:MAX_NAMED]]
    more = len(states) - len(names)
    return listed([*names, f"{more} more"] if more else names)


def explanation_lines(explanation: Explanation) -> list[tuple[str, str]]:
    """Return what a problem is as (title, sentence) pairs."""
    problem, mdp = explanation.problem, explanation.problem.mdp
    unreachable = explanation.unreachable
    reach = "all can be reached"
    if unreachable:
        reach = f"{len(unreachable)} cannot be reached from an initial one: {_named(problem.mdp, unreachable)}"
    ends, starts = (np.flatnonzero(mask).tolist() for mask in (mdp.terminal, mdp.initial > 0))
    model = problem.reward_model
    horizon = 1.0 / (1.0 - mdp.discount)
    lines = [
        (
            "Size",
            f"{counted(mdp.num_states, 'state')}, {counted(mdp.num_actions, 'action')}, "
            f"{counted(explanation.num_transitions, 'transition')}",
        ),
        (
            "States",
            f"{_some(problem, ends, 'terminal')}, {_some(problem, starts, 'initial')}; {reach}",
        ),
        ("Questions", f"{counted(int(problem.queryable.sum()), 'state')} may be asked about"),
        (
            "Reward",
            f"{MODEL_WORDS[model.kind]} ({model.num_parameters} in all), "
            f"{type(problem.prior).__name__.removesuffix('Prior')} prior",
        ),
        *_memory_lines(problem),
        ("Discount", f"{mdp.discount:g}: the future counts for about {horizon:.3g} steps"),
    ]
    kernel = [("Kernel", _kernel_words(problem))] if isinstance(problem.prior, KernelPrior) else []
    return [*lines, *kernel, *implication_lines(explanation.prior), ("Expert", _expert(explanation))]


def _kernel_words(problem: Problem) -> str:
    alike, words = _correlation(problem), problem.prior.describe().removeprefix("normal, ")
    if alike is None:
        return words
    return f"{words}. States that are one step apart have rewards with a correlation of {alike:.2g} (median)"


def _correlation(problem: Problem) -> float | None:
    assert isinstance(problem.prior, KernelPrior)
    return neighbour_correlation(problem.mdp, KernelRewards(problem.reward_model, problem.prior))


def _kernel_doubts(problem: Problem) -> list[str]:
    """Say where a length scale is so short or so long that a kernel is hardly meant."""
    alike = _correlation(problem) if isinstance(problem.prior, KernelPrior) else None
    if alike is not None and alike < ALONE:
        return [
            f"The kernel hardly joins states: those one step apart have a correlation of {alike:.2g} (median), so that "
            "an answer says little about its neighbours. Use a longer length_scale."
        ]
    if alike is not None and alike > ALL_ALIKE:
        return [
            f"The kernel makes neighbours nearly equal: states one step apart have a correlation of {alike:.6f}. Is "
            "length_scale in the units of what the kernel is over? Use a shorter one."
        ]
    return []


def _memory_doubts(problem: Problem) -> list[str]:
    """Name what can never be remembered: most often a change that is missing, or a place where episodes end."""
    memory = problem.mdp.memory
    if memory is None:
        return []
    met = np.unique(memory.memories)
    if len(met) == 1 and len(memory.labels) > 1:
        return [
            f"The memory never changes: it is {memory.labels[met[0]]!r} wherever one may be, so that it explains "
            "nothing. Nobody acts after the end of an episode, nor where nobody gets."
        ]
    never = [label for number, label in enumerate(memory.labels) if number not in met]
    if not never or " and " in memory.automaton.name:  # of several memories hardly ever all combinations are met
        return []
    return [f"The memory is never {listed(never[:MAX_NAMED])}. If it should be, say which change leads there."]


def _memory_record(problem: Problem) -> dict[str, Any] | None:
    """Return what the expert remembers as plain data; None without a memory."""
    memory = problem.mdp.memory
    if memory is None:
        return None
    return {
        "name": memory.automaton.name,
        "states": list(memory.panels.labels),
        "num_world_states": memory.world.num_states,
        "is_shared": _is_shared(problem),
    }


def _is_shared(problem: Problem) -> bool:
    """Return whether rewards are the same whatever is remembered: one set of features for all copies of a place."""
    model, places = problem.reward_model, places_in(problem.mdp)
    if model.kind != "features":
        return len(np.unique(places)) == len(places)
    rows = model.features if model.is_state_only else model.features[:: problem.mdp.num_actions]
    first = np.unique(places, return_index=True)[1][places]  # places of the world are numbered from 0
    return bool(abs(rows - rows[first]).sum() == 0.0)


def _memory_lines(problem: Problem) -> list[tuple[str, str]]:
    """Say what the expert remembers, and what that means, if there is anything."""
    memory = problem.mdp.memory
    if memory is None:
        return []
    labels, size = memory.panels.labels, memory.panels.world.num_states
    many = f", ... ({len(labels)} in all)" if len(labels) > MAX_NAMED else ""
    states = "; ".join(labels[:MAX_NAMED]) + many if len(labels) > 1 else "nothing that ever changes"
    rewards = "Rewards are the same in all of them" if _is_shared(problem) else "Each of these has rewards of its own"
    return [
        (
            "Memory",
            f"{memory.automaton.name}: {states}. {rewards}. {counted(size, 'place')} of the world with what may be "
            f"remembered there make {counted(problem.mdp.num_states, 'state')}. Demonstrations name places as in the "
            "world",
        )
    ]


def _some(problem: Problem, states: list[int], what: str) -> str:
    """Count states, and name them where they have labels: "1 terminal (pond)"."""
    is_named = problem.mdp.state_labels is not None and states and len(states) < problem.mdp.num_states
    return f"{len(states)} {what}" + (f" ({_named(problem.mdp, states)})" if is_named else "")


def _expert(explanation: Explanation) -> str:
    """Say in words what beta means for this problem."""
    expert, size = explanation.problem.expert.assumption(), ""
    if explanation.halving_gap is not None:
        expert = f"beta = {explanation.problem.beta:g}"
        size = f": an action that is worth {explanation.halving_gap:.3g} less is chosen half as often"
    if explanation.best_action_chance is None or explanation.best_action_range is None:
        return f"{expert}{size}. Nobody can be asked, so there is no more to say."
    low, high = explanation.best_action_range
    return (
        f"{expert}{size}. If the reward is as the prior says, this expert picks a best action "
        f"{percent(explanation.best_action_chance)} of the time (between {percent(low)} and {percent(high)} for most "
        f"rewards); one who guesses, {percent(explanation.chance_at_random or 0.0)} of the time."
    )
