"""What a prior implies: what the best policy earns under rewards drawn from it, what is at stake, and where it goes.

What is at stake under a reward is the gap, in expected return from the initial states, between the best policy and
doing one of the available actions at random, always. The apprentice of a reward is its best policy, which does any of
the best actions where several are; its visits are discounted, as its return is.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from journeyman.mdp import FiniteMDP, occupancy
from journeyman.mdp.policies import evaluate_policy_batch
from journeyman.problem import Problem
from journeyman.problem_files.rewards import parameter_title
from journeyman.types import BoolArray, FloatArray
from journeyman.wording import listed, percent, plain_number

MOST = (0.05, 0.5, 0.95)  # quantiles that are shown: for most rewards, and in the middle
MAX_WALKS, MAX_WALKED_STATES = 50, 20_000  # apprentices whose visits are counted, and states up to which they are
MAX_GROUPS, MAX_PARAMETERS = 6, 6
MAX_DRAWN = 4_000_000  # numbers that are drawn for the ranges of parameters
LARGE, SMALL = 0.5, 0.005  # epsilon as a part of what is at stake
OFTEN = 0.25
ELSEWHERE = "elsewhere"


class Range(NamedTuple):
    """A number over rewards of the prior: its 5 % quantile, median and 95 % quantile."""

    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: FloatArray) -> "Range":
        """Return the range of `[M]` numbers."""
        return cls(*np.quantile(values, MOST).tolist())

    def words(self) -> str:
        """Return the range for people: "2.1 (between 0.3 and 5 for most rewards)"."""
        return f"{_number(self.middle)} (between {_number(self.low)} and {_number(self.high)} for most rewards)"


class Visits(NamedTuple):
    """How much of its time the apprentice spends at some states, averaged over rewards of the prior.

    at_random: the same for one who acts at random; sought: part of the rewards under which the apprentice is
    there more than that.
    """

    name: str
    share: float
    at_random: float
    sought: float


@dataclass(frozen=True, eq=False)
class Implications:
    """What a prior implies.

    Parameters
    ----------
    parameters
        Name, 2.5 % and 97.5 % quantile of each parameter under the prior.
    returns
        Of the best policy, from the initial states.
    at_stake
        How much more that is than acting at random earns.
    epsilon
        The regret that would be too much, in units of the reward, or if `is_share` a part of what is at stake.
    epsilon_share
        Epsilon as a part of what is typically at stake; None where nothing is.
    random_is_enough
        Part of the rewards under which acting at random loses less than epsilon.
    visits
        Where apprentices go: terrains, features, or the states where they are most.
    visited
        What `visits` are: "terrain", "feature" or "state".
    """

    parameters: tuple[tuple[str, float, float], ...]
    returns: Range
    at_stake: Range
    epsilon: float
    is_share: bool
    epsilon_share: float | None
    random_is_enough: float
    visits: tuple[Visits, ...]
    visited: str

    def to_record(self) -> dict[str, Any]:
        """Return what the prior implies as plain data for JSON."""
        return {
            "parameters": [{"name": name, "low": low, "high": high} for name, low, high in self.parameters],
            "returns": self.returns._asdict(),
            "at_stake": self.at_stake._asdict(),
            "epsilon": self.epsilon,
            "epsilon_is_share": self.is_share,
            "epsilon_share": self.epsilon_share,
            "random_is_enough": self.random_is_enough,
            "visited": self.visited,
            "visits": [one._asdict() for one in self.visits],
        }


def implications_of(
    problem: Problem,
    rng: np.random.Generator,
    rewards: FloatArray,
    values: FloatArray,
    is_best: BoolArray,
    epsilon: float,
    is_share: bool,
) -> Implications:
    """Return what a prior implies, from rewards drawn from it, their values `[M, S]` and best actions `[M, S, A]`."""
    mdp = problem.mdp
    at_random = mdp.available / mdp.available.sum(axis=1, keepdims=True)
    returns = values @ mdp.initial
    at_stake = np.maximum(returns - evaluate_policy_batch(mdp, at_random, rewards) @ mdp.initial, 0.0)
    typical = float(np.median(at_stake))
    limit = epsilon * at_stake if is_share else np.full(len(at_stake), epsilon)
    share = epsilon if is_share else (epsilon / typical if typical > 0.0 else None)
    visits, visited = _visits(problem, at_random, is_best[:MAX_WALKS])
    return Implications(
        parameters=_parameters(problem, rng),
        returns=Range.of(returns),
        at_stake=Range.of(at_stake),
        epsilon=epsilon,
        is_share=is_share,
        epsilon_share=share,
        random_is_enough=float((at_stake < limit).mean()),
        visits=visits,
        visited=visited,
    )


def _parameters(problem: Problem, rng: np.random.Generator) -> tuple[tuple[str, float, float], ...]:
    model = problem.reward_model
    size = int(np.clip(MAX_DRAWN // max(1, model.num_parameters), 20, 4000))
    low, high = np.quantile(problem.prior.sample(rng, size), [0.025, 0.975], axis=0)
    names = [parameter_title(i, model, problem.mdp) for i in range(model.num_parameters)]
    return tuple(zip(names, low.tolist(), high.tolist(), strict=True))


def _visits(problem: Problem, at_random: FloatArray, is_best: BoolArray) -> tuple[tuple[Visits, ...], str]:
    """Return how much of their time apprentices spend where, the most visited states first if there are no terrains."""
    mdp = problem.mdp
    if mdp.num_states > MAX_WALKED_STATES:
        return (), "state"
    groups, visited = _groups(problem)  # [S * A, G]
    policies = is_best / is_best.sum(axis=2, keepdims=True)
    shares = np.array([_shares(mdp, policy, groups) for policy in policies])
    usual = _shares(mdp, at_random, groups)
    sought = (shares > usual * (1.0 + 1e-9)).mean(axis=0)
    means = shares.mean(axis=0)
    names = _group_names(problem, visited)
    found = [Visits(*one) for one in zip(names, means.tolist(), usual.tolist(), sought.tolist(), strict=True)]
    if visited == "state":
        found = sorted(found, key=lambda one: -one.share)[:MAX_GROUPS]
    return tuple(found), visited


def _shares(mdp: FiniteMDP, policy: FloatArray, groups: Any) -> FloatArray:
    """Return which part of its discounted time a policy `[S, A]` spends in each group `[S * A, G]`."""
    time = occupancy(mdp, policy)
    return np.asarray((time[:, None] * policy).ravel() @ groups) / float(time.sum())


def _group_names(problem: Problem, visited: str) -> list[str]:
    mdp, model = problem.mdp, problem.reward_model
    if visited == "feature":
        return [*(model.parameter_name(i) for i in range(model.num_parameters)), ELSEWHERE]
    if visited == "terrain":
        assert mdp.grid is not None and mdp.grid.kinds is not None
        return list(dict.fromkeys(mdp.grid.kinds))
    return [mdp.state_name(s) if mdp.state_labels else f"state {s}" for s in range(mdp.num_states)]


def _groups(problem: Problem) -> tuple[Any, str]:
    """Return what belongs to which terrain, feature or state, sparse `[S * A, G]`, and which of the three it is."""
    from scipy import sparse

    mdp, model = problem.mdp, problem.reward_model
    if model.kind == "features":
        has = (model.features != 0).astype(np.float64)
        nowhere = sparse.csr_array((np.asarray(has.sum(axis=1)).reshape(-1, 1) == 0).astype(np.float64))
        has = sparse.hstack([has, nowhere], format="csr")
        rows = np.repeat(np.arange(mdp.num_states), mdp.num_actions) if model.is_state_only else slice(None)
        return has[rows], "feature"
    kinds = None if mdp.grid is None else mdp.grid.kinds
    if kinds is not None and len(set(kinds)) > 1:
        numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
        column, visited = np.array([numbers[kind] for kind in kinds]), "terrain"
    else:
        column, visited = np.arange(mdp.num_states), "state"
    column = np.repeat(column, mdp.num_actions)
    entries = (np.ones(column.size), (np.arange(column.size), column))
    return sparse.csr_array(entries, shape=(column.size, int(column.max()) + 1)), visited


def implication_lines(found: Implications) -> list[tuple[str, str]]:
    """Return what a prior implies as (title, sentence) pairs."""
    lines = [
        ("Prior", _prior_words(found)),
        (
            "Returns",
            f"the best policy earns {found.returns.words()}, which is {found.at_stake.words()} more than acting "
            "at random: that is at stake",
        ),
        ("Epsilon", _epsilon_words(found)),
    ]
    return lines + ([("Apprentice", _visit_words(found))] if found.visits else [])


def _prior_words(found: Implications) -> str:
    low, high = (np.array([one[i] for one in found.parameters], dtype=np.float64) for i in (1, 2))
    lowest, highest = float(low.mean()), float(high.mean())
    width = highest - lowest
    is_same = max(np.ptp(low), np.ptp(high)) <= 0.2 * width  # quantiles of draws have an error
    outside = f"What lies outside, such as a goal worth {_example(lowest, highest)}, would surprise it"
    if is_same:
        what = "each of them" if len(found.parameters) > 1 else found.parameters[0][0]
        return f"expects {what} between {_number(lowest)} and {_number(highest)} (95 %). {outside}"
    if len(found.parameters) <= MAX_PARAMETERS:
        each = [f"{name} between {_number(a)} and {_number(b)}" for name, a, b in found.parameters]
        return f"expects {listed(each)} (95 % each). What lies outside would surprise it"
    return (
        f"expects all between {_number(float(low.min()))} and {_number(float(high.max()))}, each in a range of its own "
        "(95 %). What lies outside would surprise it"
    )


def _epsilon_words(found: Implications) -> str:
    if found.is_share:
        size = _number(found.epsilon * found.at_stake.middle)
        return f"{percent(found.epsilon, 3)} of what is at stake: typically {size} in units of the reward"
    if found.epsilon_share is None:
        return f"{_number(found.epsilon)}, where nothing is at stake: every policy is as good as any other"
    size = (
        "large"
        if found.epsilon_share > LARGE
        else "small"
        if found.epsilon_share < SMALL
        else "neither small nor large"
    )
    return f"{_number(found.epsilon)} is {percent(found.epsilon_share, 2)} of what is typically at stake: {size}"


def _visit_words(found: Implications) -> str:
    shown = [f"{one.name} {percent(one.share)} ({percent(one.at_random)})" for one in found.visits[:MAX_GROUPS]]
    more = f" and {len(found.visits) - MAX_GROUPS} more" if len(found.visits) > MAX_GROUPS else ""
    where = "most of the time at" if found.visited == "state" else "at"
    return (
        f"the best policy of a reward drawn from the prior is {where} {', '.join(shown)}{more}; in brackets, one who "
        "acts at random"
    )


def implication_warnings(found: Implications, problem: Problem) -> list[str]:
    """Return what is unusual about a prior and epsilon, with advice."""
    warnings = []
    if found.at_stake.high <= 0.0:
        warnings.append("Nothing is at stake from the initial states: every policy earns the same under this prior.")
    elif not found.is_share and (
        (found.epsilon_share is not None and found.epsilon_share > LARGE) or found.random_is_enough > OFTEN
    ):
        warnings.append(
            f"Epsilon = {_number(found.epsilon)} is large: under {percent(found.random_is_enough)} of the rewards of "
            "this prior acting at random loses less than that, so that a certificate would say little. Use a "
            "smaller one, or a share: --epsilon 5%."
        )
    elif not found.is_share and found.epsilon_share is not None and found.epsilon_share < SMALL:
        warnings.append(
            f"Epsilon = {_number(found.epsilon)} is small, {percent(found.epsilon_share, 2)} of what is typically at "
            "stake: a certificate may need very many answers. Use a larger one, or a share: --epsilon 5%."
        )
    return warnings + _neglected(found, problem)


def _neglected(found: Implications, problem: Problem) -> list[str]:
    """Say which terrains end episodes although the prior does not know whether that is good."""
    kinds = None if problem.mdp.grid is None else problem.mdp.grid.kinds
    if kinds is None or problem.reward_model.kind != "features":
        return []
    ends = {kind for kind, is_end in zip(kinds, problem.mdp.terminal, strict=True) if is_end}
    ends -= {kind for kind, is_end in zip(kinds, problem.mdp.terminal, strict=True) if not is_end}
    unsure = {name: (low, high) for name, low, high in found.parameters if low < 0.0 < high}
    return [
        f"The prior does not know whether {one.name} is good: under {percent(1.0 - one.sought)} of its rewards the "
        "best policy keeps away from it (it pays once, other cells at every step). If you know, say so, for example "
        f"mean = {{ {_key(one.name)} = {_example(*unsure[one.name])}, others = 0.0 }} in [prior]."
        for one in found.visits
        if one.name in ends and one.name in unsure and one.sought < 1.0 - OFTEN
    ]


def _example(low: float, high: float) -> str:
    """Return a round number that is well outside of a range."""
    return plain_number(float(f"{4.0 * max(abs(low), abs(high)):.1g}"))


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else f'"{name}"'


def _number(value: float) -> str:
    return plain_number(float(f"{value:.2g}")) if abs(value) >= 1e-4 else "0"
