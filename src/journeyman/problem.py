"""Problem: all that a learner may know. It never holds the true reward."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import any_array, one_of, positive
from journeyman.demonstrations import Demonstration, action_counts, as_demonstrations
from journeyman.errors import InputError, UnsupportedError
from journeyman.experts import Boltzmann, ExpertModel, ExpertSpace, as_expert_model, known_beta
from journeyman.experts.priors import ParameterPrior
from journeyman.mdp import FiniteMDP
from journeyman.mdp.automata import Memory
from journeyman.mdp.memory import Remembered, places_in
from journeyman.rewards import Prior, RewardModel
from journeyman.rewards.copies import copied_prior
from journeyman.rewards.priors import missing_members
from journeyman.types import BoolArray, FloatArray, IntArray
from journeyman.wording import counted

REWARDS = ("per_memory", "shared")  # what a memory means for rewards
QUESTIONS = ("anywhere", "start")  # where experts with a memory are asked


@dataclass(frozen=True, eq=False)
class Problem:
    """Known dynamics, a reward model with its prior, and a model of the expert.

    Parameters
    ----------
    mdp
        Known dynamics.
    reward_model
        How parameters become a reward.
    prior
        Belief about the parameters before any demonstration.
    expert
        How the expert acts: an ExpertModel, or a number beta for `Boltzmann(beta)`, which does action a in s with a
        chance proportional to exp(beta Q*(s, a)). It may have parameters that are not known, with priors of their own.
    queryable
        `[S]` states that may be asked about; default: all that are not terminal.

    Examples
    --------
    >>> from journeyman import FiniteMDP, Normal, PerState, Problem
    >>> ring = FiniteMDP.from_function(
    ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
    ... )
    >>> problem = Problem(ring, PerState(ring), Normal(3), 2.0)
    >>> problem.queryable.tolist()
    [True, True, True]
    """

    mdp: FiniteMDP
    reward_model: RewardModel
    prior: Prior
    expert: ExpertModel
    queryable: BoolArray = None  # type: ignore[assignment]

    if TYPE_CHECKING:  # dataclass makes it; the checks below accept more than the fields then hold

        def __init__(
            self,
            mdp: FiniteMDP,
            reward_model: RewardModel,
            prior: Prior,
            expert: ExpertModel | float,
            queryable: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Check that the parts fit each other, once."""
        for name, kind in (("mdp", FiniteMDP), ("reward_model", RewardModel)):
            if not isinstance(getattr(self, name), kind):
                raise InputError(
                    f"{name} must be a {kind.__name__}, got {type(getattr(self, name)).__name__}. "
                    "The order is mdp, reward_model, prior, expert."
                )
        _check_prior(self.prior)
        model, mdp = self.reward_model, self.mdp
        if (model.num_states, model.num_actions) != (mdp.num_states, mdp.num_actions):
            raise InputError(
                f"the reward model must cover {mdp.num_states} states and {mdp.num_actions} actions, "
                f"got {model.num_states} and {model.num_actions}. Make it for this MDP."
            )
        if self.prior.num_parameters != model.num_parameters:
            raise InputError(
                f"the prior must have as many parameters as the reward model ({model.num_parameters}), "
                f"got {self.prior.num_parameters}. Give the prior one entry per parameter."
            )
        object.__setattr__(self, "expert", _checked_expert(self.expert))
        queryable = ~mdp.terminal if self.queryable is None else any_array(self.queryable, "queryable").copy()
        if queryable.shape != (mdp.num_states,) or queryable.dtype.kind != "b":
            raise InputError(
                f"queryable must be a boolean array of shape {(mdp.num_states,)}, "
                f"got {queryable.dtype} of shape {queryable.shape}. Give one True or False per state."
            )
        queryable.setflags(write=False)
        object.__setattr__(self, "queryable", queryable)

    def __repr__(self) -> str:
        size = counted(self.reward_model.num_parameters, "reward parameter")
        names = f"{type(self.prior).__name__} prior, {type(self.expert).__name__} expert"
        return f"Problem({self.mdp.num_states} states, {self.mdp.num_actions} actions: {size}, {names})"

    @property
    def beta(self) -> float:
        """Rationality of the expert, where its model has one that is known."""
        if not isinstance(self.expert, Boltzmann):
            raise UnsupportedError(
                f"only a Boltzmann expert has a beta, got {type(self.expert).__name__}. Read problem.expert instead."
            )
        if not isinstance(self.expert.beta, float):
            raise UnsupportedError(
                f"beta must be known here, got a prior ({self.expert.beta.describe()}). Read problem.expert instead."
            )
        return self.expert.beta

    @cached_property
    def expert_space(self) -> ExpertSpace:
        """The parameters of the expert that are not known."""
        return ExpertSpace(self.expert)

    @property
    def num_unknowns(self) -> int:
        """Number of all that is inferred: D parameters of the reward and E of the expert."""
        return self.reward_model.num_parameters + self.expert_space.size

    def split(self, z: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the coordinates `[..., D]` of the reward and `[..., E]` of the expert from those of both."""
        array, size = np.asarray(z, dtype=np.float64), self.reward_model.num_parameters
        return array[..., :size], array[..., size:]

    @property
    def counts_shape(self) -> tuple[int, ...]:
        """Shape of counts: `[S, A]`, or `[G, S, A]` where G annotators have parameters of their own."""
        groups = len(self.expert_space.annotators)
        return (*((groups,) if groups else ()), self.mdp.num_states, self.mdp.num_actions)

    def counts(self, demonstrations: Iterable[Demonstration] | Demonstration) -> IntArray:
        """Return the counts n(s, a) `[S, A]` of demonstrations, after checking that they can occur in this problem.

        Actions must exist, a terminal state takes no action unless it is queryable, and each state must be a possible
        next one. Where annotators have parameters of their own, counts are `[G, S, A]`, and each demonstration must say
        whose it is.
        """
        listed = self.lift(demonstrations)
        total = self.check(listed)
        return self.tally(listed) if self.expert_space.annotators else total

    def check(self, demonstrations: Iterable[Demonstration] | Demonstration) -> IntArray:
        """Refuse demonstrations that cannot occur, whoever gave them; return the counts `[S, A]` of all together."""
        listed = self.lift(demonstrations)
        counts = action_counts(listed, self.mdp.num_states, self.mdp.num_actions)
        used = counts > 0
        wrong = used & ~self.mdp.available
        rule = "use available actions"
        if not wrong.any():
            wrong = used & (self.mdp.terminal & ~self.queryable)[:, None]
            rule = "not act in terminal states"
        if wrong.any():
            state, action = (int(i) for i in np.argwhere(wrong)[0])
            index = next(i for i, item in enumerate(listed) if (state, action) in item.steps)
            raise InputError(
                f"demonstrations must {rule}, got action {self.mdp.action_name(action)} "
                f"in state {self.mdp.state_name(state)} in demonstration {index}{_owner(listed[index])}. Remove that "
                "step."
            )
        for index, demonstration in enumerate(listed):
            self._check_possible(demonstration, index)
        return counts

    def tally(self, demonstrations: Iterable[Demonstration]) -> IntArray:
        """Return what `counts` does, of demonstrations that were checked before."""
        space, sizes = self.expert_space, (self.mdp.num_states, self.mdp.num_actions)
        demonstrations = self.lift(demonstrations)
        if not space.annotators:
            return action_counts(demonstrations, *sizes)
        own: list[list[Demonstration]] = [[] for _ in space.annotators]
        for demonstration in demonstrations:
            own[space.group_of(demonstration.annotator)].append(demonstration)
        return np.stack([action_counts(some, *sizes) for some in own])

    def _check_possible(self, demonstration: Demonstration, index: int) -> None:
        """Refuse steps that the dynamics cannot make; they would not change the likelihood, but something is wrong."""
        mdp, steps, final = self.mdp, demonstration.steps, demonstration.final_state
        if not steps and not mdp.terminal[mdp.state_indices(demonstration.start_state)].all():
            raise InputError(
                f"a demonstration without steps must start in a terminal state, got state "
                f"{mdp.state_name(demonstration.start_state)} in demonstration {index}{_owner(demonstration)}. Add its "
                "steps, or remove it."
            )
        after = [state for state, _ in steps[1:]] + ([] if final is None else [final])
        for step, ((state, action), next_state) in enumerate(zip(steps, after, strict=False)):
            if next_state not in mdp.next_states(state, action)[0]:
                raise InputError(
                    f"demonstrations must follow the dynamics, got state {mdp.state_name(next_state)} after action "
                    f"{mdp.action_name(action)} in state {mdp.state_name(state)} at step {step} of demonstration "
                    f"{index}{_owner(demonstration)}. Split it where steps are missing."
                )

    def lift(self, demonstrations: Iterable[Demonstration] | Demonstration) -> tuple[Demonstration, ...]:
        """Return demonstrations as ones of this problem: with a memory, each step with what is remembered there.

        Those of the world begin where the memory begins; those that are lifted already stay as they are. Without a
        memory all do. Whatever takes demonstrations lifts them by itself.
        """
        listed = as_demonstrations(demonstrations)
        memory = self.mdp.memory
        if memory is None:
            return tuple(listed)
        found = []
        for item in listed:
            start, steps, final = memory.lifted(item.start_state, item.steps, item.final_state)
            is_same = (start, steps, final) == (item.start_state, item.steps, item.final_state)
            found.append(item if is_same else replace(item, start_state=start, steps=steps, final_state=final))
        return tuple(found)

    def in_world(self, demonstrations: Iterable[Demonstration] | Demonstration) -> tuple[Demonstration, ...]:
        """Return demonstrations without what is remembered, as ones of the world; the reverse of `lift`.

        Refuses those that begin with something remembered, which the world cannot tell.
        """
        places, found = places_in(self.mdp).tolist(), []
        for index, item in enumerate(self.lift(demonstrations)):
            final = None if item.final_state is None else places[item.final_state]
            steps = tuple((places[state], action) for state, action in item.steps)
            other = replace(item, start_state=places[item.start_state], steps=steps, final_state=final)
            if self.lift(other) != (item,):
                raise InputError(
                    "demonstrations must begin where the memory begins to be ones of the world, got one that begins in "
                    f"{self.mdp.state_name(item.start_state)} (demonstration {index}). Leave it out."
                )
            found.append(other)
        return tuple(found)

    def with_memory(self, automaton: Memory, *, rewards: str = "per_memory", questions: str = "anywhere") -> "Problem":
        """Return the problem whose expert remembers: its states are those of the product of mdp and automaton.

        Parameters
        ----------
        automaton
            What is remembered: see `journeyman.memory`.
        rewards
            "per_memory": each state of the memory has reward parameters of its own, alike and independent under the
            prior: one per state and memory, one per state, action and memory, or one per feature and memory, as the
            reward model is. "shared": what is remembered does not matter to the reward, so that parameters stay as
            they are.
        questions
            "anywhere": experts can be asked about every state with everything that may be remembered there. "start":
            only as an episode begins, since nobody can be made to remember something.
        """
        one_of(rewards, REWARDS, "rewards", "per_memory: parameters of their own for each state of the memory.")
        one_of(questions, QUESTIONS, "questions", "start: only as an episode begins.")
        mdp = self.mdp.with_memory(automaton)
        return self._over(mdp, rewards, self.queryable[_remembered(mdp).places], is_at_start=questions == "start")

    def unrolled(self, horizon: int) -> "Problem":
        """Return the problem with a finite horizon: states are (t, s), numbered t * S + s, and share parameters over t.

        It is the problem with a clock for its memory. Only the copies at t = 0 are queryable.
        """
        mdp = self.mdp.unrolled(horizon)
        return self._over(mdp, "shared", np.tile(self.queryable, horizon), is_at_start=True)

    def _over(self, mdp: FiniteMDP, rewards: str, queryable: BoolArray, *, is_at_start: bool) -> "Problem":
        """Return the problem over the product of its MDP with a memory."""
        memory, model, prior = _remembered(mdp), self.reward_model, self.prior
        if rewards == "shared":
            model = model.at(memory.places)
        else:
            model, sources, owners = model.per_memory(memory.places, memory.memories, memory.labels)
            prior = copied_prior(prior, sources, owners)
        if is_at_start:
            queryable = queryable & (np.arange(mdp.num_states) < self.mdp.num_states)
        return Problem(mdp, model, prior, self.expert, queryable)


def _remembered(mdp: FiniteMDP) -> Remembered:
    assert mdp.memory is not None  # a product has one
    return mdp.memory


def beta_of(problem: Problem) -> float | None:
    """Return the rationality of the expert, or None where it is not known, or not all there is to its model."""
    return known_beta(problem.expert)


def parameter_label(problem: Problem, index: int) -> str:
    """Return the name of a parameter for people: by the names of state and action where it is the reward of one."""
    mdp, model = problem.mdp, problem.reward_model
    if model.names is None and model.kind == "per_state":
        return f"reward of {mdp.state_name(index)}"
    if model.names is None and model.kind == "per_state_action":
        state, action = divmod(index, model.num_actions)
        return f"reward of {mdp.state_name(state)}, {mdp.action_name(action)}"
    return model.parameter_name(index)


def _check_prior(prior: Any) -> None:
    missing = missing_members(prior)
    if missing:
        is_one = hasattr(type(prior), "log_density")
        what = f"{type(prior).__name__} without {', '.join(missing)}" if is_one else type(prior).__name__
        raise InputError(
            f"prior must be a Prior, got {what}. "
            + ("Derive it from ContinuousPrior." if is_one else "The order is mdp, reward_model, prior, expert.")
        )


def _checked_expert(expert: Any) -> ExpertModel:
    """Return the model of an expert who tells something: one with beta 0 does not."""
    beta = expert.beta if isinstance(expert, Boltzmann) else expert
    if isinstance(beta, ParameterPrior) and not isinstance(expert, Boltzmann):
        raise InputError(f"expert must be a number (beta) or an ExpertModel, got {beta}. Write Boltzmann(beta={beta}).")
    if not hasattr(beta, "log_policy") and not isinstance(beta, ParameterPrior):
        positive(beta, "beta", "Larger means closer to optimal; an expert with beta 0 tells nothing.")
    return as_expert_model(expert)


def _owner(demonstration: Demonstration) -> str:
    """Say whose a demonstration is, if that is known."""
    return f" of {demonstration.annotator}" if demonstration.annotator else ""
