"""Posterior: weighted reward samples with their optimal values, and what follows from them.

All that is kept per sample is theta `[D]` and V* `[S]`. Action values are computed from these when asked for, a chunk
of states at a time, so that memory stays bounded however many states there are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import share
from journeyman.errors import InputError
from journeyman.experts import ExpertModel, known_beta
from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.likelihood import (
    RewardsWhereAsked,
    acted_on,
    action_values,
    is_soft,
    log_likelihoods,
    log_policies,
    no_parameters,
    policy_slopes,
)
from journeyman.inference.target import LARGE_TOLERANCE, MAX_EXACT_STATES
from journeyman.inference.weights import systematic_resample
from journeyman.mdp import Solution, kernels as mdp_kernels, solve, solve_batch
from journeyman.mdp.accuracy import Accuracy, Looked, accuracy_of, look_through
from journeyman.mdp.ordering import shared_rows_of
from journeyman.notebooks import html_of
from journeyman.problem import Problem
from journeyman.rewards import continuous
from journeyman.rewards.discrete import weighted_quantile as weighted_quantile
from journeyman.threads import default_num_threads, run_chunks
from journeyman.types import BoolArray, FloatArray, IntArray
from journeyman.wording import counted

T = TypeVar("T")
CHUNK_ENTRIES = 4_000_000  # numbers held at once while going through states
PART_ENTRIES = 8_000_000  # rewards of the samples that are gone through at once in large worlds


@dataclass(frozen=True, eq=False)
class Posterior:
    """Belief about the reward after demonstrations.

    Parameters
    ----------
    problem
        What was known before.
    counts
        `[S, A]` demonstrated actions it is conditioned on. Where annotators have parameters of their own give them
        `[G, S, A]`: `counts` then is their sum, and `annotator_counts` and `answers` are what was given.
    theta
        `[M, D]` parameters of the samples.
    weights
        `[M]` not negative, sum to one.
    values
        `[M, S]` optimal values of each sample.
    method
        Name of the inference method.
    diagnostics
        How good the samples are.
    log_evidence
        log p(D), where the method gives it.
    log_evidence_error
        Its Monte-Carlo standard error in nats, where it is known; 0 where nothing is random.
    chains
        `(chains, draws)` if the samples are chains one after the other, else None.
    sample_stats
        Per draw, `[chains, draws]` each, by ArviZ's names.
    groups
        `[M]` number of the chain, ancestor or shift of a net that each sample comes from, where their order does not
        tell; None where it does, or where nothing is known.
    expert_parameters
        `[M, E]` what is not known of the expert, in the order of `problem.expert_space.names`; E is mostly 0.
    expert_values
        `[M, G, S]` soft values that each annotator acts on, where the expert does; else None.

    Examples
    --------
    >>> from journeyman import Demonstration, infer, make_world
    >>> world = make_world("brown-two-state")
    >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
    >>> posterior
    Posterior('enumerate': 4 samples of 4 parameters, 1 demonstrated action)
    >>> posterior.weights.round(3).tolist()
    [0.5, 0.0, 0.5, 0.0]
    """

    problem: Problem
    counts: IntArray
    theta: FloatArray
    weights: FloatArray
    values: FloatArray
    method: str
    diagnostics: Diagnostics
    log_evidence: float | None = None
    chains: tuple[int, int] | None = None
    sample_stats: dict[str, Any] = field(default_factory=dict)
    groups: IntArray | None = None
    expert_parameters: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    expert_values: FloatArray | None = None
    annotator_counts: IntArray | None = None
    log_evidence_error: float | None = None

    def __post_init__(self) -> None:
        """Fill in the parameters of an expert that has none, and take counts by annotator apart."""
        if self.expert_parameters.size == 0:
            object.__setattr__(self, "expert_parameters", no_parameters(len(self.weights)))
        if self.counts.ndim == 3:
            object.__setattr__(self, "annotator_counts", self.counts)
            object.__setattr__(self, "counts", self.counts.sum(axis=0))

    def __repr__(self) -> str:
        size = f"{counted(self.num_samples, 'sample')} of {counted(self.theta.shape[1], 'parameter')}"
        return f"Posterior({self.method!r}: {size}, {counted(int(self.counts.sum()), 'demonstrated action')})"

    def _repr_html_(self) -> str:
        return html_of(self)

    @property
    def answers(self) -> IntArray:
        """Counts as the likelihood takes them: `[S, A]`, or `[G, S, A]` where annotators have own parameters."""
        return self.counts if self.annotator_counts is None else self.annotator_counts

    @property
    def acted_values(self) -> FloatArray:
        """Values that the expert acts on: `[M, S]` optimal ones, or `[M, G, S]` soft ones."""
        return self.values if self.expert_values is None else self.expert_values

    def log_likelihoods(self) -> FloatArray:
        """Return the log likelihood of the answers under each sample, `[M]`."""
        rewards = self.rewards_where_asked
        return log_likelihoods(self.problem, self.answers, rewards, self.acted_values, self.expert_parameters)

    @property
    def num_samples(self) -> int:
        """Number of samples M."""
        return len(self.weights)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is doubtful about these samples, with advice; empty if nothing is."""
        return self.diagnostics.warnings

    @property
    def origins(self) -> IntArray | None:
        """Number of the chain, ancestor or shift that each sample `[M]` comes from; None if nothing is known of that.

        Samples with the same number may be alike, others are independent or nearly so.
        """
        index, ancestors = np.arange(self.num_samples), self.diagnostics.distinct_ancestors
        if self.groups is not None:
            return self.groups
        if self.chains is not None:
            return index // self.chains[1]
        return None if ancestors is None else index // (self.diagnostics.chain_length or 1)

    @cached_property
    def rewards(self) -> FloatArray:
        """Rewards of the samples, `[M, S]` if they depend on the state only, else `[M, S, A]`."""
        return self.problem.reward_model.reward(self.theta)

    @property
    def rewards_where_asked(self) -> Any:
        """The rewards, or in large worlds what gives them for the states that one asks for."""
        return RewardsWhereAsked(self.problem, self.theta) if self.is_large else self.rewards

    @property
    def is_large(self) -> bool:
        """Whether the world is so large that samples are gone through a few at a time: nothing of `[M, S, A]` is made.

        Values are then kept as float32, which costs a relative 6e-8, and are exact to about 1e-6: `value_errors` says
        how exact, and what follows from them takes that into account.
        """
        return self.problem.mdp.num_states > MAX_EXACT_STATES

    def parts(self) -> list["Posterior"]:
        """Return the samples as posteriors of a few each, whose weights are those here; all in one, unless large."""
        if not self.is_large:
            return [self]
        size = max(1, PART_ENTRIES // self.problem.reward_model.offset.size)
        return [self._part(slice(first, first + size)) for first in range(0, self.num_samples, size)]

    def _part(self, at: slice) -> "Posterior":
        return replace(
            self,
            theta=self.theta[at],
            weights=self.weights[at],
            values=self.values[at],
            chains=None,
            sample_stats={},
            groups=None,
            expert_parameters=self.expert_parameters[at],
            expert_values=None if self.expert_values is None else self.expert_values[at],
        )

    def of_parts(self, part_fn: Callable[["Posterior"], T]) -> list[T]:
        """Return what a function gives for each of the `parts`, on all cores where there are several."""
        if not self.is_large:  # a thread to wait for would take longer than the work
            return [part_fn(self)]
        parts = self.parts()
        found: list[Any] = [None] * len(parts)

        def work(numbers: range) -> None:
            for number in numbers:
                part = parts[number]
                part = replace(part, values=part.values.astype(np.float64))  # widened only while it is looked at
                found[number] = part_fn(part)

        run_chunks(work, len(parts), default_num_threads(), 1)
        return found

    @cached_property
    def value_errors(self) -> FloatArray:
        """`[M]` guaranteed error of the values of each sample, in any state."""
        return self.looked().value_errors if self.is_large else self.accuracy.values.max(axis=1)

    def looked(self, probabilities: FloatArray | None = None, visits: FloatArray | None = None) -> Looked:
        """Go once through all states of every sample of a large world; with a policy for its regrets."""
        model, theta = self.problem.reward_model, self.theta
        longest = int(np.diff(model.features.indptr).max(initial=0))
        terms = np.abs(theta) @ abs(model.features).max(axis=0).toarray().ravel() + np.abs(model.offset).max(
            initial=0.0
        )
        reward_errors = 2.0**-52 * (1 + longest) * terms
        found = look_through(
            self.problem.mdp, lambda m: model.reward(theta[m]), self.values, reward_errors, probabilities, visits
        )
        self.__dict__.setdefault("value_errors", found.value_errors)  # they come by the way
        return found

    def optimal_chances(self, states: range) -> tuple[FloatArray, FloatArray]:
        """Return the chance of each action to be optimal in some states, and its mean gap, `[len(states), A]` each.

        Actions that do not exist have a chance and a gap of 0.
        """
        mdp, model = self.problem.mdp, self.problem.reward_model
        if not self.is_large:
            chosen = np.arange(states.start, states.stop)
            gaps = self.gaps(chosen, self.q(chosen))
            return self.mean(gaps == 0.0), self.mean(np.where(np.isfinite(gaps), gaps, 0.0))
        width = 1 if model.is_state_only else mdp.num_actions
        paying = slice(states.start * width, states.stop * width)
        rewards = np.ascontiguousarray((model.features[paying] @ self.theta.T).T) + model.offset[paying]
        chances, losses = (np.zeros((len(states), mdp.num_actions)) for _ in range(2))
        rows = shared_rows_of(mdp)
        mdp_kernels.add_chances(
            *rows.common, *rows.extra, mdp.available, rewards.reshape(self.num_samples, len(states), width),
            self.values, self.weights, 2.0 * self.value_errors, states.start, chances, losses,
        )  # fmt: skip
        return chances, losses

    def value_errors_at(self, states: IntArray) -> FloatArray:
        """Return guaranteed errors of values `[M, len(states)]`."""
        if self.is_large:
            return np.broadcast_to(self.value_errors[:, None], (self.num_samples, len(states)))
        return np.asarray(self.accuracy.values[:, states])

    def mean(self, quantity: ArrayLike) -> Any:
        """Return the posterior mean of a quantity given per sample, `[M, ...]`.

        Examples
        --------
        >>> from journeyman import Demonstration, infer, make_world
        >>> world = make_world("brown-two-state")
        >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
        >>> posterior.mean(posterior.values).round(2).tolist()
        [11.0, 10.0]
        """
        return np.tensordot(self.weights, np.asarray(quantity), axes=(0, 0))

    def mean_parameters(self) -> FloatArray:
        """Return the posterior mean of theta `[D]`.

        Examples
        --------
        >>> from journeyman import Demonstration, infer, make_world
        >>> world = make_world("brown-two-state")
        >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
        >>> posterior.mean_parameters()[2:].round(2).tolist()
        [10.0, -10.0]
        """
        return np.asarray(self.weights @ self.theta)

    def parameter_std(self) -> FloatArray:
        """Return the posterior standard deviation of theta `[D]`.

        Examples
        --------
        >>> from journeyman import Demonstration, infer, make_world
        >>> world = make_world("brown-two-state")
        >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
        >>> posterior.parameter_std().round(2).tolist()
        [2.0, 2.0, 0.0, 0.0]
        """
        return np.asarray(np.sqrt(self.weights @ (self.theta - self.mean_parameters()) ** 2))

    def mean_reward(self) -> FloatArray:
        """Return the posterior mean reward, `[S]` or `[S, A]`.

        Examples
        --------
        >>> from journeyman import Demonstration, infer, make_world
        >>> world = make_world("brown-two-state")
        >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
        >>> posterior.mean_reward()[1].round(2).tolist()
        [10.0, -10.0]
        """
        return self.problem.reward_model.reward(self.mean_parameters())

    def reward_std(self) -> FloatArray:
        """Return the posterior standard deviation of the reward, `[S]` or `[S, A]`.

        Examples
        --------
        >>> from journeyman import Demonstration, infer, make_world
        >>> world = make_world("brown-two-state")
        >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
        >>> posterior.reward_std().round(2).tolist()
        [[2.0, 2.0], [0.0, 0.0]]
        """
        return np.asarray(np.sqrt(self.mean((self.rewards - self.mean_reward()) ** 2)))

    def credible_intervals(self, level: float = 0.95) -> FloatArray:
        """Return central intervals `[D, 2]` of the parameters, by weighted quantiles, of posterior chance `level`.

        Examples
        --------
        >>> from journeyman import Demonstration, infer, make_world
        >>> world = make_world("brown-two-state")
        >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
        >>> posterior.credible_intervals(0.9).tolist()
        [[-2.0, 2.0], [-2.0, 2.0], [10.0, 10.0], [-10.0, -10.0]]
        """
        return self.intervals(self.theta, level)

    def intervals(self, values: FloatArray, level: float = 0.95) -> FloatArray:
        """Return central intervals `[N, 2]` of numbers `[M, N]` that each sample has, as `credible_intervals`."""
        level = share(level, "level", "The default is 0.95.")
        tails = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
        return np.stack([weighted_quantile(values, self.weights, tail) for tail in tails], axis=1)

    def expert_knowledge(self, level: float = 0.95) -> dict[str, tuple[float, float, float]]:
        """Return mean and central interval of each parameter of the expert that is not known, by name.

        Examples
        --------
        >>> from journeyman import Demonstration, infer, make_world
        >>> world = make_world("brown-two-state")
        >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
        >>> posterior.expert_knowledge()  # its beta is known
        {}
        """
        mean = self.weights @ self.expert_parameters
        low, high = self.intervals(self.expert_parameters, level).T
        names = self.problem.expert_space.names
        return {name: (float(mean[i]), float(low[i]), float(high[i])) for i, name in enumerate(names)}

    def q(self, states: ArrayLike | None = None) -> FloatArray:
        """Return optimal action values `[M, len(states), A]`; minus infinity where an action does not exist.

        Holds them all at once: for many states go through `q_chunks`.

        Examples
        --------
        >>> from journeyman import Demonstration, infer, make_world
        >>> world = make_world("brown-two-state")
        >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
        >>> posterior.q([1]).shape
        (4, 1, 2)
        """
        return self._q_of(self.values, states)

    def _q_of(self, values: FloatArray, states: ArrayLike | None) -> FloatArray:
        mdp = self.problem.mdp
        chosen = np.arange(mdp.num_states) if states is None else mdp.state_indices(states)
        return action_values(self.problem, chosen, self.theta, values)

    def q_chunks(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield (states, Q of these states), a chunk of states at a time."""
        for states in self.state_chunks():
            yield states, self.q(states)

    def state_chunks(self) -> Iterator[IntArray]:
        """Yield all states, a few at a time: as many as arrays `[M, states, A]` may have."""
        for states in self.state_ranges():
            yield np.arange(states.start, states.stop)

    def state_ranges(self) -> list[range]:
        """Return all states, a few at a time."""
        mdp = self.problem.mdp
        size = max(1, CHUNK_ENTRIES // (self.num_samples * mdp.num_actions))
        return [range(start, min(start + size, mdp.num_states)) for start in range(0, mdp.num_states, size)]

    def log_policies(self, states: ArrayLike | None = None, annotator: str | None = None) -> FloatArray:
        """Return the log chance of each action under each sample `[M, len(states), A]`.

        Each sample has its own parameters of the expert. Where annotators have parameters of their own, and it is not
        said who will answer, it may be any of them: their chances are averaged, with equal weights.
        """
        space = self.problem.expert_space
        groups = range(space.num_groups) if annotator is None else [space.group_of(annotator)]
        q = self.q(states) if self.expert_values is None else None
        total: FloatArray | None = None
        for group in groups:
            if self.expert_values is not None:
                q = self._q_of(self.expert_values[:, group], states)
            assert q is not None
            found = log_policies(self.problem, q, self.expert_parameters, group)
            total = found if total is None else np.logaddexp(total, found)
        assert total is not None
        return total if len(groups) == 1 else total - np.log(len(groups))

    def answer_slopes(self, states: IntArray) -> FloatArray:
        """Return how much the log likelihood of the answers in each state changes per unit of Q, `[M, len(states)]`.

        That is the sum over actions of the sizes of its slopes, and over annotators.
        """
        counts = self.answers.reshape(-1, *self.counts.shape)
        total = np.zeros((self.num_samples, len(states)))
        for group, answers in enumerate(counts):
            q = self.q(states) if self.expert_values is None else self._q_of(self.expert_values[:, group], states)
            gradient = np.broadcast_to(answers[states].astype(float), q.shape)
            total += np.abs(policy_slopes(self.problem, q, gradient, self.expert_parameters, group)).sum(axis=2)
        return total

    def expert_policies(self, states: ArrayLike | None = None) -> FloatArray:
        """Return each sample's expert policy `[M, len(states), A]`."""
        return np.asarray(np.exp(self.log_policies(states)))

    def predictive_policy(self, annotator: str | None = None) -> FloatArray:
        """Return the chance of each expert action `[S, A]`, averaged over the posterior; of one annotator if named.

        Examples
        --------
        >>> from journeyman import Demonstration, infer, make_world
        >>> world = make_world("brown-two-state")
        >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
        >>> posterior.predictive_policy().round(3).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
        """
        parts = [self.mean(np.exp(self.log_policies(states, annotator))) for states in self.state_chunks()]
        return np.concatenate(parts)

    def expert_at(self, sample: int, annotator: str | None = None) -> ExpertModel:
        """Return the expert of one sample, with nothing unknown; of the first annotator, unless one is named."""
        space = self.problem.expert_space
        if space.size == 0:
            return self.problem.expert
        group = 0 if annotator is None else space.group_of(annotator)
        own = space.of_group(self.expert_parameters[sample : sample + 1], group)[0]
        return self.problem.expert.with_parameters(own)  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def mean_solution(self) -> Solution:
        """Solution for the posterior-mean reward: its policy has the largest expected return."""
        if not self.is_large:
            return solve(self.problem.mdp, self.mean_reward())
        start = self.weights.astype(self.values.dtype) @ self.values
        return solve(self.problem.mdp, self.mean_reward(), initial_values=start, tol=LARGE_TOLERANCE)

    @cached_property
    def accuracy(self) -> Accuracy:
        """Bounds on the numerical error of `values`, and what they rest on."""
        return accuracy_of(self.problem.mdp, self.rewards, self.values, self.reward_errors())

    def reward_errors(self) -> FloatArray:
        """Return bounds on the rounding of the rewards, in their shape: large parts may cancel in them."""
        model = self.problem.reward_model
        terms = (abs(model.features) @ np.abs(self.theta).T).T + np.abs(model.offset)
        longest = int(np.diff(model.features.indptr).max(initial=0))
        return np.asarray(2.0**-52 * (1 + longest) * terms).reshape(self.rewards.shape)

    @property
    def tie_margins(self) -> FloatArray:
        """`[M, S]` how far below the best of its state an action still counts as optimal: the error of a difference."""
        if self.is_large:
            return np.broadcast_to(2.0 * self.value_errors[:, None], self.values.shape)
        return 2.0 * self.accuracy.values

    def mean_tie_margins(self) -> FloatArray:
        """Return the posterior mean of `tie_margins`, `[S]`."""
        if self.is_large:
            return np.full(self.problem.mdp.num_states, 2.0 * float(self.weights @ self.value_errors))
        return np.asarray(self.weights @ self.tie_margins)

    def gaps(self, states: IntArray, q: FloatArray) -> FloatArray:
        """Return V*(s) - Q*(s, a) `[M, N, A]`, given q `[M, N, A]` of N states.

        Exactly 0 where it is no larger than its numerical error; infinite where an action does not exist.
        """
        gaps = q.max(axis=2, keepdims=True) - q
        return np.where(gaps <= self.tie_margins[:, states, None], 0.0, gaps)

    def optimal_actions(self, states: ArrayLike | None = None) -> BoolArray:
        """Return which actions are optimal, ties included, `[M, len(states), A]`."""
        mdp = self.problem.mdp
        chosen = np.arange(mdp.num_states) if states is None else mdp.state_indices(states)
        return np.asarray(self.gaps(chosen, self.q(chosen)) == 0.0)

    def optimal_action_probabilities(self) -> FloatArray:
        """Return P[a is optimal in s] `[S, A]`; with ties a row may sum to more than one.

        Examples
        --------
        >>> from journeyman import Demonstration, infer, make_world
        >>> world = make_world("brown-two-state")
        >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
        >>> posterior.optimal_action_probabilities().round(3).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
        """
        return np.concatenate([self.mean(self.gaps(states, q) == 0.0) for states, q in self.q_chunks()])

    def optimal_set_probabilities(self, state: int) -> dict[frozenset[int], float]:
        """Return the probability of each set of actions being exactly the optimal ones in `state`; sums to one.

        Examples
        --------
        >>> from journeyman import Demonstration, infer, make_world
        >>> world = make_world("brown-two-state")
        >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
        >>> chances = posterior.optimal_set_probabilities(0)
        >>> {tuple(sorted(best)): round(chance, 3) for best, chance in chances.items()}
        {(1,): 0.5, (0,): 0.5}
        """
        is_optimal = self.optimal_actions([state])[:, 0]
        sets, index = np.unique(is_optimal, axis=0, return_inverse=True)
        totals = np.bincount(index.ravel(), weights=self.weights, minlength=len(sets))
        return {
            frozenset(np.flatnonzero(mask).tolist()): float(total) for mask, total in zip(sets, totals, strict=True)
        }

    def resample(self, rng: np.random.Generator, size: int) -> "Posterior":
        """Return `size` equally weighted samples, drawn systematically; `groups` says where they come from.

        Examples
        --------
        >>> from journeyman import Demonstration, infer, make_world
        >>> world = make_world("brown-two-state")
        >>> posterior = infer(world.problem, Demonstration.annotation(1, 0), method="enumerate")
        >>> import numpy as np
        >>> posterior.resample(np.random.default_rng(0), 10).num_samples
        10
        """
        return self.at(systematic_resample(rng, self.weights, size))

    def at(self, chosen: IntArray) -> "Posterior":
        """Return some of the samples, by number, equally weighted, with all that is known of each."""
        return replace(
            self,
            theta=self.theta[chosen],
            weights=np.full(len(chosen), 1.0 / len(chosen)),
            values=self.values[chosen],
            chains=None,
            sample_stats={},
            groups=None if self.origins is None else self.origins[chosen],
            expert_parameters=self.expert_parameters[chosen],
            expert_values=None if self.expert_values is None else self.expert_values[chosen],
        )

    def to_arviz(self, **options: Any) -> Any:
        """Return the samples as ArviZ data: InferenceData before ArviZ 1.0, DataTree from 1.0 on.

        Options: include_reward, num_draws, seed, as in `arviz_export.to_arviz`.
        """
        from journeyman.inference.arviz_export import to_arviz

        return to_arviz(self, **options)


def pooled_chains(runs: Sequence[Posterior]) -> Posterior:
    """Return the chains of independent runs of one method as one posterior."""
    first, shapes = runs[0], [run.chains for run in runs]
    assert all(shape is not None and shape == shapes[0] for shape in shapes) and first.chains is not None
    num_samples = sum(run.num_samples for run in runs)
    return replace(
        first,
        theta=np.concatenate([run.theta for run in runs]),
        weights=np.full(num_samples, 1.0 / num_samples),
        values=np.concatenate([run.values for run in runs]),
        expert_parameters=np.concatenate([run.expert_parameters for run in runs]),
        expert_values=(None if first.expert_values is None else np.concatenate([run.acted_values for run in runs])),
        chains=(len(runs) * first.chains[0], first.chains[1]),
        sample_stats={},
        diagnostics=replace(
            first.diagnostics, warnings=tuple(dict.fromkeys(warning for run in runs for warning in run.warnings))
        ),
    )


def expert_fields(
    problem: Problem, positions: FloatArray, values: FloatArray, num_threads: int | None = None
) -> dict[str, Any]:
    """Return the fields of a Posterior that positions `[M, D + E]` and the values that experts act on there give.

    Those are optimal values `[M, S]`, or soft ones `[M, G * S]`: then the optimal ones are solved for. The positions of
    a Discrete prior are its atoms.
    """
    if known_beta(problem.expert) is not None:
        return {"values": values}
    of_reward, of_expert = problem.split(positions)
    theta = of_reward if problem.prior.is_discrete else continuous(problem.prior).from_unconstrained(of_reward)
    return solved_fields(problem, theta, problem.expert_space.natural(of_expert), values, num_threads)


def solved_fields(
    problem: Problem, theta: FloatArray, parameters: FloatArray, values: FloatArray, num_threads: int | None = None
) -> dict[str, Any]:
    """Return the same, from theta `[M, D]` and parameters of the expert `[M, E]`."""
    if not is_soft(problem):
        return {"values": values, "expert_parameters": parameters}
    optimal = solve_batch(problem.mdp, problem.reward_model.reward(theta), num_threads=num_threads).values
    return {"values": optimal, "expert_parameters": parameters, "expert_values": acted_on(problem, values)}


def checked_posterior(posterior: Any) -> Posterior:
    """Return a Posterior as it is; refuse anything else."""
    if not isinstance(posterior, Posterior):
        raise InputError(f"posterior must be a Posterior, got {type(posterior).__name__}. Make one with infer().")
    return posterior
