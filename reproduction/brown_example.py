"""The counter-example to ActiveVaR (Brown et al. 2018): s0 pays 2 or -2 and leads to s1, which pays 10 or -10.

The paper leaves the discount open: its formulas are taken at 0.9, as in its experiments.
"""

from dataclasses import replace

import numpy as np

from journeyman.acquisition import score
from journeyman.apprentice import expected_return, regrets, sample_values
from journeyman.inference import Posterior
from reproduction.comparison import EXACT, PRINTED, Comparison, compared, prior_of, state_name

EXAMPLE, PLACE = "ActiveVaR (Brown)", "Appendix A"
NOISELESS = 50.0  # a beta with which answers leave no doubt


def brown_comparisons(discount: float = 0.9) -> tuple[Comparison, ...]:
    """Compare the values at risk, the regret before and after a question, and what PAC-EIG asks."""
    return (*_brown_value_at_risk(discount), *_brown_regret(discount), *_brown_information(discount))


def _brown_value_at_risk(discount: float) -> tuple[Comparison, ...]:
    posterior = prior_of("brown-two-state", discount=discount)
    at_random = score(posterior, "active_var", tail=0.1, policy=np.full((2, 2), 0.5))
    fixed = score(posterior, "active_var", tail=0.1)
    worst = min(float(sample_values(posterior, [a, b])[:, 0].min()) for a in (0, 1) for b in (0, 1))
    deterministic = "A deterministic apprentice loses nothing or twice as much."
    return (
        compared(
            EXAMPLE,
            "worst return from s0",
            PLACE,
            -12.0,
            worst,
            f"-(2 + 10 gamma), which is -12 only without discounting; gamma is {discount:g} here.",
        ),
        compared(EXAMPLE, "ActiveVaR in s0, random apprentice", PLACE, 2 + 10 * discount, float(at_random.values[0])),
        compared(EXAMPLE, "ActiveVaR in s1, random apprentice", PLACE, 10.0, float(at_random.values[1])),
        compared(EXAMPLE, "ActiveVaR in s0", PLACE, 2 + 10 * discount, float(fixed.values[0]), deterministic),
        compared(EXAMPLE, "ActiveVaR in s1", PLACE, 10.0, float(fixed.values[1]), deterministic),
        compared(EXAMPLE, "asks in", PLACE, "s0", state_name(fixed), "For gamma above 0.8."),
        compared(
            EXAMPLE,
            "asks in, quantile 0.95",
            PLACE,
            "s0",
            state_name(score(posterior, "active_var", tail=0.05)),
            "As in the paper's experiments. Quantiles above 0.5 and up to 0.75 would ask in s1.",
        ),
    )


def _brown_regret(discount: float) -> tuple[Comparison, ...]:
    posterior = prior_of("brown-two-state", discount=discount, beta=NOISELESS)
    lookahead = score(posterior, "expected_regret")
    before = float(lookahead.details["expected_regret"])
    after = before - lookahead.values
    known = _told_about_s1(posterior)
    return (
        compared(
            EXAMPLE,
            "expected regret before",
            PLACE,
            6 + 10 * discount,
            before,
            "A slip: half of (2 + 10 gamma) and half of 10 are 6 + 5 gamma.",
        ),
        compared(EXAMPLE, "expected regret after asking s0", PLACE, 5 + 5 * discount, float(after[0])),
        compared(EXAMPLE, "expected regret after asking s1", PLACE, 1.0, float(after[1])),
        compared(EXAMPLE, "asking lowers it most in", PLACE, "s1", state_name(lookahead)),
        compared(
            EXAMPLE,
            "largest regret after asking s1, random in s0",
            PLACE,
            1.0,
            float(regrets(known, [[0.5, 0.5], [1.0, 0.0]]).max()),
        ),
        compared(
            EXAMPLE,
            "largest regret after asking s1",
            PLACE,
            1.0,
            float(regrets(known, expected_return(known)).max()),
            'The paper\'s "for any epsilon > 1" needs an apprentice that acts at random in s0; else it is epsilon > 2.',
        ),
    )


def _told_about_s1(posterior: Posterior) -> Posterior:
    """Return the posterior once it is known that action 0 is right in s1."""
    is_possible = posterior.theta[:, 2] > 0
    weights = posterior.weights[is_possible]
    return replace(
        posterior,
        theta=posterior.theta[is_possible],
        values=posterior.values[is_possible],
        weights=weights / weights.sum(),
    )


def _brown_information(discount: float) -> tuple[Comparison, ...]:
    noisy = prior_of("brown-two-state", discount=discount)
    sharp = prior_of("brown-two-state", discount=discount, beta=NOISELESS)
    large = score(noisy, "pac_eig", epsilon=300.0, **PRINTED)
    small, exact = (score(posterior, "pac_eig", epsilon=0.01, **PRINTED) for posterior in (noisy, sharp))
    return (
        compared(EXAMPLE, "PAC-EIG asks in, large epsilon", PLACE, "s1", state_name(large)),
        compared(
            EXAMPLE,
            "PAC-EIG of s1 less that of s0, small epsilon (nats)",
            PLACE,
            0.0,
            float(small.values[1] - small.values[0]),
            f"The printed form does not depend on epsilon here: {small.values[0]:.3f} and {small.values[1]:.3f} nats "
            "with beta 1.",
        ),
        compared(EXAMPLE, "the same without noise", PLACE, 0.0, float(exact.values[1] - exact.values[0])),
        compared(
            EXAMPLE,
            "epsilon above which s0 tells nothing, edges (1/2, 1)",
            PLACE,
            None,
            _silencing_epsilon(noisy),
            "(1 - gamma) epsilon / 2 exceeds the gap of 4 in s0: so a large epsilon works as the paper says with these "
            "edges.",
        ),
    )


def _silencing_epsilon(posterior: Posterior, low: float = 1.0, high: float = 1000.0) -> float:
    """Return the epsilon from which PAC-EIG, local and without occupancy, is 0 in s0, by bisection."""
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        is_silent = score(posterior, "pac_eig", epsilon=middle, occupancy=False).values[0] < EXACT
        low, high = (low, middle) if is_silent else (middle, high)
    return high
