"""PAC-EIG: what an answer tells about whether the apprentice is nearly right.

The apprentice pi does in each state what is most likely optimal. E has one component per state and action: the bucket
of the immediate regret relative to that action,

    R(s, a) = max(0, Q*(s, a) - Q*(s, pi(s))),

times the discounted occupancy nu(s) of the apprentice if `occupancy` is set (nuPAC-EIG). Buckets are cut at `edges`, in
units of (1 - discount) epsilon. The paper's formula has joint components, edges (0, 1) and no occupancy: with a finite
number of samples it equals Reward-EIG, because hardly two samples agree on all components. See docs/pac-eig.md.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from journeyman.acquisition.information import NO_INFORMATION, rate_information, state_chunks
from journeyman.acquisition.scores import Partition, Rating, ScoringContext, packed, refined
from journeyman.apprentice.policies import most_likely_optimal
from journeyman.apprentice.regret import regret_unit, regrets
from journeyman.checks import float_array, one_of
from journeyman.errors import InputError
from journeyman.inference.posterior import Posterior
from journeyman.mdp import occupancy as occupancy_of
from journeyman.mdp.policies import VISIT_TOLERANCE, checked_policies
from journeyman.types import FloatArray, IntArray

COMPONENTS = ("local", "joint")
EDGES = (0.5, 1.0)
IR_EDGES = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
NO_CHANCE = 1e-9  # of a large regret: smaller than any limit of a certificate, and than what an answer could show
MAX_HALVINGS = 20


def rate_pac_eig(
    posterior: Posterior,
    context: ScoringContext,
    *,
    components: str = "local",
    edges: Sequence[float] = EDGES,
    occupancy: bool = True,
    policy: ArrayLike | None = None,
    estimator: str = "chain",
) -> Rating:
    """Rate what an answer tells about the correctness of the apprentice, I(tau; E), in nats.

    While all scores are 0 although some sample gives the apprentice a regret of epsilon or more, the edges are halved:
    many small regrets can add up to a large one (`details["num_halvings"]` says how often).

    Parameters
    ----------
    components
        "local": only the components of the state that is asked about (of a trajectory: of each state as it is visited),
        a lower bound on the joint information, and the one that the theorem's proof uses. "joint": all components.
    edges
        Ascending, in units of (1 - discount) epsilon. 0 stands for "any regret at all". One edge makes two buckets,
        (0, 1) the paper's three, more approximate the information about the regret itself.
    occupancy
        Whether regret is weighted by how often the apprentice comes by.
    policy
        `[S]` apprentice; default: `most_likely_optimal`.
    estimator
        Of trajectory queries, as in `reward_eig`.
    """
    one_of(components, COMPONENTS, "components", "Leave it out for 'local'.")
    if not isinstance(occupancy, bool | np.bool_):
        raise InputError(f"occupancy must be True or False, got {occupancy!r}. Leave it out for the default.")
    unit = (1.0 - posterior.problem.mdp.discount) * context.epsilon
    limits = unit * checked_edges(edges)
    mdp = posterior.problem.mdp
    chosen = most_likely_optimal(posterior) if policy is None else checked_policies(mdp, policy)
    visits = occupancy_of(mdp, chosen, tolerance=VISIT_TOLERANCE)
    factors = visits if occupancy else np.ones(mdp.num_states)

    @cache  # only known where all scores are 0: in large worlds it takes seconds
    def can_fail() -> bool:
        lost = regrets(posterior, chosen, visits) / regret_unit(posterior, context.epsilon)
        return bool((posterior.weights @ (lost >= context.epsilon)) > NO_CHANCE)

    for num_halvings in range(MAX_HALVINGS + 1):
        scaled = limits / 2.0**num_halvings
        partition = regret_partition(posterior, context, chosen, factors, scaled, is_joint=components == "joint")
        rating = rate_information(posterior, context, partition, estimator=estimator)
        if rating.values.max() > NO_INFORMATION or limits[0] == 0.0 or not can_fail():
            break
    details = {
        "edges": (scaled / unit).tolist(),
        "num_halvings": num_halvings,
        "num_configurations": int(partition.num_labels.max()),
        "num_samples": posterior.num_samples,
    }
    warnings = (*rating.warnings, *_warnings(rating.values, num_halvings))
    return Rating(rating.values, rating.standard_error, details, warnings, rating.again_fn)


def rate_ir_eig(
    posterior: Posterior,
    context: ScoringContext,
    *,
    components: str = "local",
    edges: Sequence[float] = IR_EDGES,
    occupancy: bool = False,
    policy: ArrayLike | None = None,
    estimator: str = "chain",
) -> Rating:
    """Rate what an answer tells about immediate regret in fine buckets, in nats: `pac_eig` with other defaults.

    Options as in `pac_eig`; edges (0, 1/4, 1/2, 1, 2, 4), no occupancy.
    """
    return rate_pac_eig(
        posterior, context, components=components, edges=edges, occupancy=occupancy, policy=policy, estimator=estimator
    )


def checked_edges(edges: Sequence[float]) -> FloatArray:
    """Return bucket edges if they are finite, ascending and not negative."""
    array = float_array(edges, "edges")
    if array.ndim != 1 or not array.size or not np.isfinite(array).all() or array[0] < 0 or (np.diff(array) <= 0).any():
        raise InputError(
            f"edges must be finite, ascending and at least 0, got {edges!r}. Example: (0.5, 1), in units of "
            "(1 - discount) epsilon."
        )
    return array


def regret_partition(
    posterior: Posterior,
    context: ScoringContext,
    policy: IntArray,
    factors: FloatArray,
    limits: FloatArray,
    *,
    is_joint: bool,
) -> Partition:
    """Return classes of samples that agree on the buckets of factors(s) R(s, a): of each state, or of all at once.

    limits are the upper ends of all buckets but the last; a regret at a limit lies above it. Local classes of states
    that no query can visit are all one.
    """
    mdp, num_samples = posterior.problem.mdp, posterior.num_samples
    joint = np.zeros(num_samples, dtype=np.int64)
    unit = regret_unit(posterior, context.epsilon)[:, None]
    wanted = np.arange(mdp.num_states) if is_joint or context.kind == "trajectory" else context.states
    places = None
    if posterior.is_large and len(wanted) < mdp.num_states:  # rows for these states only
        places = np.zeros(mdp.num_states, dtype=np.int64)
        places[wanted] = np.arange(len(wanted))
    num_rows = mdp.num_states if places is None else len(wanted)
    local = np.zeros((1 if is_joint else num_rows, num_samples), dtype=np.int64)
    for _, states in state_chunks(posterior, wanted[factors[wanted] > 0.0]):
        q, margins = posterior.q(states), posterior.tie_margins[:, states]
        for offset, state in enumerate(states.tolist()):
            regret = q[:, offset] - q[:, offset, [policy[state]]]
            regret = np.where(
                regret > margins[:, [offset]], factors[state] * regret / unit, -1.0
            )  # equal: below every limit
            labels = packed(np.searchsorted(limits, regret, side="right"), len(limits) + 1)
            if not is_joint:
                local[state if places is None else places[state]] = labels
            elif labels.max() > 0 and joint.max() < num_samples - 1:
                joint = refined(joint, labels)
    return Partition(joint[None]) if is_joint else Partition(local, places=places)


def _warnings(values: FloatArray, num_halvings: int) -> tuple[str, ...]:
    if num_halvings == 0:
        return ()
    if values.max() <= NO_INFORMATION:
        return (
            "no answer tells anything about the apprentice's regret, although that may be epsilon or more. "
            "Make more states queryable, or ask by 'expected_regret'.",
        )
    times = "once" if num_halvings == 1 else f"{num_halvings} times"
    return (
        f"all scores were 0 although the regret may be epsilon or more: the edges were halved {times}. "
        "Many small regrets add up here.",
    )
