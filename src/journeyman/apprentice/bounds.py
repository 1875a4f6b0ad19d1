"""Bounds on what asking can need at most, before any answer: how much an answer tells, and how many it takes.

As long as the policy that is most likely optimal is not probably approximately correct, some state's answer tells at
least

    EIG_min = min(1 / A, delta / ((A - 1) N)) ((1 - exp(-beta threshold)) / (2 A (A - 1)))^2   nats

about E, the ternary immediate regrets ("correct", "approximately", "not correct"), where "not correct" is a regret of
at least the threshold. E holds at most h_max = log(3) S A (A - 1) nats, so that at most h_max / EIG_min answers are
needed in expectation. For delta up to 1/2 the minimum is its second term, which gives the published

    EIG_min = delta (1 - exp(-beta (1 - discount) epsilon))^2 / (4 A^2 (A - 1)^3 S).

N and the threshold come from one argument: the total regret is the sum over states of nu(s) * immediate regret(s), so a
regret of epsilon needs an immediate regret of epsilon / (sum of nu) in one of the states with nu(s) > 0. Hence N may be
the number of states that the policy visits at all (published: all S), and the threshold epsilon / (sum of nu)
(published: (1 - discount) epsilon, since the sum is at most 1 / (1 - discount)).
"""

import math
from typing import Any, NamedTuple

from journeyman.apprentice.epsilon import absolute_epsilon
from journeyman.checks import positive, real_number, share, whole_number
from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP
from journeyman.mdp.validation import checked_discount
from journeyman.types import BoolArray


def eig_min(
    num_states: int,
    num_actions: int,
    beta: float,
    discount: float,
    epsilon: float,
    delta: float,
    *,
    support: int | None = None,
    visits: float | None = None,
) -> float:
    """Return the least information, in nats, of the best answer while the policy is not approximately correct.

    Parameters
    ----------
    num_states, num_actions
        S and A. One action leaves nothing to learn: infinity.
    beta
        Rationality of the expert.
    epsilon, delta
        Of the guarantee that does not hold yet.
    support
        Number of states that the apprentice can visit at all; default all.
    visits
        Largest discounted number of steps of an episode, the sum of nu; default 1 / (1 - discount).
    """
    _check_sizes(num_states, num_actions)
    delta = share(delta, "delta", "It is the chance of failure you accept.")
    count = num_states if support is None else checked_support(support, num_states)
    longest = 1.0 / (1.0 - checked_discount(discount))
    steps = longest if visits is None else checked_visits(visits, longest)
    threshold = absolute_epsilon(epsilon, "bounds") / steps
    rationality = positive(beta, "beta", "Larger means closer to optimal.")
    if num_actions == 1:
        return math.inf
    distance = -math.expm1(-rationality * threshold) / (2.0 * num_actions * (num_actions - 1))
    return min(1.0 / num_actions, delta / ((num_actions - 1) * count)) * distance**2


def h_max(num_states: int, num_actions: int) -> float:
    """Return the largest entropy, in nats, of the immediate regrets of all policies, whatever the prior."""
    _check_sizes(num_states, num_actions)
    return math.log(3.0) * num_states * num_actions * (num_actions - 1)


def expected_steps(information: float, entropy: float) -> float:
    """Return the expected number of answers that suffice, if each tells `information` of `entropy` nats."""
    if not information > 0.0 or not entropy >= 0.0:
        raise InputError(
            f"information must be positive and entropy at least 0, got {information} and {entropy}. "
            "Use eig_min and h_max."
        )
    return 0.0 if entropy == 0.0 else entropy / information


def finite_horizon_visits(discount: float, horizon: int) -> float:
    """Return the discounted number of steps of an episode of at most `horizon` steps."""
    whole_number(horizon, "horizon", 1, "It counts the actions of an episode.")
    return -math.expm1(horizon * math.log(checked_discount(discount))) / (1.0 - discount)


def states_within_effective_horizon(mdp: FiniteMDP) -> BoolArray:
    """Return `[S]` the states that can be reached within 1 / (1 - discount) steps: the paper's heuristic for N.

    Not a bound: regret that lies further away is overlooked.
    """
    return mdp.reachable(within=math.ceil(1.0 / (1.0 - mdp.discount) - 1e-9))


class Bound(NamedTuple):
    """One form of the bound.

    Parameters
    ----------
    name
        Of the form: "published", "support", "horizon", "support and horizon" or "heuristic".
    explanation
        What it counts, in words.
    is_valid
        Whether it is proved.
    num_states
        What it counts as the number of states.
    threshold
        Regret of a single step that is too much: epsilon over the largest number of steps that count.
    eig_min
        Least information, in nats, of the best answer while the policy is not approximately correct.
    expected_steps
        Expected number of answers that suffice.
    """

    name: str
    explanation: str
    is_valid: bool
    num_states: int
    threshold: float
    eig_min: float
    expected_steps: float

    def to_record(self) -> dict[str, Any]:
        """Return plain data; infinite information (nothing to learn) becomes None."""
        return self._asdict() | {"eig_min": self.eig_min if math.isfinite(self.eig_min) else None}


def all_bounds(
    num_states: int,
    num_actions: int,
    beta: float,
    discount: float,
    epsilon: float,
    delta: float,
    *,
    support: int | None = None,
    horizon: int | None = None,
    near_states: int | None = None,
) -> list[Bound]:
    """Return the published bound, the tighter ones that the given numbers allow, and the paper's heuristic.

    Parameters
    ----------
    support
        Number of states that the apprentice can visit.
    horizon
        Most steps of an episode. If episodes are cut off by a clock, states are (time, state) pairs: count those.
    near_states
        States within 1 / (1 - discount) steps of the initial ones, for the heuristic.
    """
    longest = 1.0 / (1.0 - checked_discount(discount))
    visits = None if horizon is None else finite_horizon_visits(discount, horizon)
    entropy = h_max(num_states, num_actions)

    def bound(name: str, explanation: str, is_valid: bool, count: int | None, steps: float | None) -> Bound:
        information = eig_min(num_states, num_actions, beta, discount, epsilon, delta, support=count, visits=steps)
        threshold = epsilon / (longest if steps is None else steps)
        answers = expected_steps(information, entropy)
        return Bound(name, explanation, is_valid, count or num_states, threshold, information, answers)

    found = [bound("published", "for any prior: all states, endless episodes", True, None, None)]
    if support is not None:
        words = f"only the {support} states that the apprentice can visit"
        found.append(bound("support", words, True, support, None))
    if visits is not None:
        words = f"episodes of at most {horizon} steps"
        found.append(bound("horizon", words, True, None, visits))
    if support is not None and visits is not None:
        found.append(bound("support and horizon", "both of these", True, support, visits))
    if near_states is not None:
        words = (
            f"only the {near_states} states within {math.ceil(longest - 1e-9)} steps: not proved, and wrong in places"
        )
        found.append(bound("heuristic", words, False, near_states, visits))
    return found


def checked_support(support: int, num_states: int) -> int:
    """Return a number of states, at most all of them."""
    count = whole_number(support, "the number of states that count", 1)
    if count > num_states:
        raise InputError(
            f"the number of states that count must be at most all {num_states}, got {count}. Leave it out for all."
        )
    return count


def checked_visits(visits: float, longest: float) -> float:
    """Return a discounted number of steps, at most that of an endless episode."""
    steps = real_number(visits, "visits")
    if not 0.0 < steps <= longest * (1.0 + 1e-9):
        raise InputError(
            f"visits must be positive and at most 1 / (1 - discount) = {longest:.6g}, got {steps}. "
            "Leave it out for that."
        )
    return steps


def _check_sizes(num_states: int, num_actions: int) -> None:
    whole_number(num_states, "the number of states", 1)
    whole_number(num_actions, "the number of actions", 1)
