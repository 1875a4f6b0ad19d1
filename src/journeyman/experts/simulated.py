"""The simulated expert: it knows the true reward, and answers as its model says.

Its noise is reproducible from its seed. A `Query` of a learner is answered by (seed, state, visit): the n-th answer at
a state is the same whoever asks and whatever else was asked, so that methods that are compared meet the same expert,
and a resumed run continues as if it had not stopped. A bare state is a new question each time: the expert counts those
itself, on a stream of their own, so that none of its answers is a copy of another. A new expert counts from the start.
"""

import copy
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from journeyman.checks import one_of, whole_number
from journeyman.demonstrations import Demonstration, action_counts
from journeyman.errors import InputError
from journeyman.experts.models import ExpertModel, as_expert_model
from journeyman.experts.space import ExpertSpace
from journeyman.mdp import FiniteMDP, q_values, sample_episode, solve
from journeyman.mdp.episodes import draw_action, single_state
from journeyman.mdp.soft import solve_soft
from journeyman.types import FloatArray

KINDS = ("state", "trajectory")
MAX_RELATIVE_ERROR = 1e-6  # of the values that an expert may act on
COUNTED = 1  # end of the key of answers that the expert counts itself


@runtime_checkable
class AnyQuestion(Protocol):
    """What the expert reads of a question; a learner's `Query` has all of it."""

    @property
    def state(self) -> int:
        """Where to start."""

    @property
    def visit(self) -> int:
        """How often this state was asked about before."""

    @property
    def kind(self) -> str:
        """One of `KINDS`."""

    @property
    def length(self) -> int | None:
        """Most actions of a trajectory."""

    @property
    def id(self) -> int | None:
        """Number of the query."""


class Question(NamedTuple):
    """A question with its place in the expert's noise; learners ask with `Query` instead.

    visit: how often this state was asked about before; kind: "state" (one action) or "trajectory", of at most length
    actions; id: noted in the answer.
    """

    state: int
    visit: int = 0
    kind: str = "state"
    length: int | None = None
    id: int | None = None


def questions_at(states: Iterable[int], *, kind: str = "state", length: int | None = None) -> tuple[Question, ...]:
    """Return questions at these states in order, with the visits of each counted."""
    visits: Counter[int] = Counter()
    asked = []
    for state in states:
        asked.append(Question(state, visits[state], kind, length))
        visits[state] += 1
    return tuple(asked)


def _known_models(model: ExpertModel, parameters: ArrayLike | None) -> tuple[tuple[ExpertModel, ...], tuple[str, ...]]:
    """Return a model with nothing unknown for each annotator, and their names; one model if there are none."""
    space = ExpertSpace(model)
    if space.size == 0:
        if parameters is not None and np.size(parameters):
            raise InputError(f"parameters must be left out for an expert without unknown ones, got {parameters!r}.")
        return (model,), ()
    given = np.zeros(0) if parameters is None else np.asarray(parameters, dtype=np.float64)
    if given.shape != (space.size,):
        raise InputError(
            f"a simulated expert must know itself: parameters must be {', '.join(space.names)}, got "
            f"{'none' if parameters is None else given.shape}. Give parameters=[...], one number for each."
        )
    own = [space.of_group(given[None], group)[0] for group in range(space.num_groups)]
    return tuple(model.with_parameters(one) for one in own), space.annotators  # type: ignore[attr-defined]


def _averaged(log_policies: list[FloatArray]) -> FloatArray:
    """Return the logarithm of the average of chances."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.mean(np.exp(log_policies), axis=0)))


class SimulatedExpert:
    """An expert that acts on known optimal values.

    Parameters
    ----------
    mdp
        The dynamics it lives in.
    reward
        Its true reward, `[S]` or `[S, A]`.
    model
        How actions follow from values: an ExpertModel, or a number for `Boltzmann(number)`.
    seed
        Of its noise.
    parameters
        `[E]` what the model leaves unknown, in the order of `ExpertSpace(model).names`. With annotators each answer is
        by one of them, any with the same chance, and says by whom.

    Attributes
    ----------
    q, values
        Optimal action values `[S, A]` and values `[S]`.
    policy, log_policy
        Chances `[S, A]` of its actions, and their logarithms; of annotators on average.
    models
        How each annotator acts, with nothing unknown: one model where there are none.

    Examples
    --------
    >>> from journeyman import FiniteMDP
    >>> ring = FiniteMDP.from_function(
    ...     lambda state, action: [(1.0, (state + action) % 3)], num_states=3, num_actions=2, discount=0.5
    ... )
    >>> from journeyman import SimulatedExpert
    >>> expert = SimulatedExpert(ring, [0.0, 0.0, 1.0], 4.0)
    >>> expert.policy.argmax(axis=1).tolist()
    [1, 1, 0]
    """

    def __init__(
        self,
        mdp: FiniteMDP,
        reward: ArrayLike,
        model: ExpertModel | float,
        *,
        seed: int = 0,
        parameters: ArrayLike | None = None,
    ) -> None:
        self.mdp, self.model = mdp, as_expert_model(model)
        self.models, self.annotators = _known_models(self.model, parameters)
        self.seed = whole_number(seed, "seed", 0)
        solution = solve(mdp, reward)
        if not solution.error_bound <= MAX_RELATIVE_ERROR * (1.0 + np.abs(solution.values).max()):
            raise InputError(
                f"the expert's values must be known within {MAX_RELATIVE_ERROR:g} of their size, "
                f"got a bound of {solution.error_bound:.3g}. Use a discount further from 1."
            )
        self.reward, self.q, self.values = solution.rewards, solution.q, solution.values
        each = [np.asarray(known.log_policy(self._acted_on(known))) for known in self.models]
        self.log_policy: FloatArray = each[0] if len(each) == 1 else _averaged(each)
        self.policy: FloatArray = np.exp(self.log_policy)
        self._policies = [self.policy] if len(each) == 1 else [np.exp(one) for one in each]
        for array in (self.reward, self.q, self.values, self.log_policy, self.policy):
            array.setflags(write=False)
        self._asked: Counter[int] = Counter()

    def _acted_on(self, model: ExpertModel) -> FloatArray:
        """Return the action values that a model acts on: optimal ones, or soft ones."""
        if getattr(model, "values", "optimal") != "soft":
            return self.q
        soft = solve_soft(self.mdp, self.reward[None], [model.beta], num_threads=1)  # type: ignore[attr-defined]
        return np.asarray(q_values(self.mdp, self.reward[None], soft)[0])

    def with_seed(self, seed: int) -> "SimulatedExpert":
        """Return the same expert with other noise, and without a memory of what it was asked."""
        other = copy.copy(self)
        other.seed, other._asked = whole_number(seed, "seed", 0), Counter()
        return other

    def demonstrate(
        self, question: AnyQuestion | int, *, kind: str | None = None, length: int | None = None
    ) -> Demonstration:
        """Answer one question.

        Parameters
        ----------
        question
            A `Query` (or `Question`), or a state. The same query gets the same answer; the same state gets a new one,
            counted by this object: a new one starts again, so ask with the query to be safe after a restart.
        kind
            Of a question that is a state. "state" (the default): one action; "trajectory": up to `length` actions,
            ended early by a terminal state.
        """
        if isinstance(question, AnyQuestion):
            if kind is not None or length is not None:
                raise InputError(
                    f"kind and length must be those of the query, got kind={kind!r}, length={length!r}. "
                    "Leave them out, or give the state alone."
                )
            key = (single_state(self.mdp, question.state), whole_number(question.visit, "visit", 0))
            return self._answer(key, question.kind, question.length, question.id)
        state = single_state(self.mdp, question)
        answer = self._answer((state, self._asked[state], COUNTED), "state" if kind is None else kind, length, None)
        self._asked[state] += 1
        return answer

    def _answer(self, key: tuple[int, ...], kind: str, length: int | None, query_id: int | None) -> Demonstration:
        start = key[0]
        one_of(kind, KINDS, "kind", "Leave it out for 'state'.")
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))
        policy, who = self.policy, None
        if self.annotators:
            number = int(rng.integers(len(self.annotators)))
            policy, who = self._policies[number], self.annotators[number]
        if kind == "state":
            action = draw_action(rng, policy[start])
            return Demonstration.annotation(start, action, query_id=query_id, annotator=who)
        length = whole_number(
            length, "the length of a trajectory query", 1, "Say how many steps: --length 5 (length=5)."
        )
        episode = sample_episode(rng, self.mdp, policy, start, max_steps=length)
        ended = "terminated" if episode.is_terminated else "truncated"
        return Demonstration(start, episode.steps, episode.final_state, ended, query_id, who)

    def answers(
        self, states: ArrayLike, *, kind: str = "state", length: int | None = None
    ) -> tuple[Demonstration, ...]:
        """Answer a question at each of these states, in order: every answer is a new one.

        They are counted by this object: a new one starts again. Ask with queries to be safe after a restart.
        """
        listed = self.mdp.state_indices(states).tolist()
        return tuple(self.demonstrate(state, kind=kind, length=length) for state in listed)

    def log_likelihood(self, demonstrations: Iterable[Demonstration] | Demonstration) -> float:
        """Return the log probability of the demonstrated actions; transitions cancel and are left out."""
        counts = action_counts(demonstrations, self.mdp.num_states, self.mdp.num_actions)
        used = counts > 0
        return float((counts[used] * self.log_policy[used]).sum())
