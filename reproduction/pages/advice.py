"""Evidence for choosing a function: ranks on the same instances, and who is not shown to be worse than the best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pandas import DataFrame

from journeyman.experiment.statistics.table import by_step
from reproduction.pages.comparing import ENTROPY, FAILURE, MIN_INSTANCES, REGRET, Difference, Measure, differences
from reproduction.pages.sources import NUM_SEEDS, NUM_STEPS, Sources, num_instances
from reproduction.paper import PAPER_METHODS

OURS = ("expected_regret", "regret_pac", "optimal_action_value")
CANDIDATES = (*PAPER_METHODS, *OURS)
BUDGETS = (10, 20, 30, 50, NUM_STEPS)
MIN_SEEDS = 3 * NUM_SEEDS // 4  # of a method beyond the paper's, to be compared: all go by common instances
OVERALL = 0  # as a budget: the average over all steps
GOALS = {"policy": (FAILURE, REGRET), "reward": (ENTROPY,)}


@dataclass(frozen=True)
class Choice:
    """The best function in one setting, for one measure and budget.

    Parameters
    ----------
    ranks
        Mean rank over instances by method, the best first.
    against
        The other methods minus the best on the same instances, in the order of ranks.
    """

    experiment: str
    measure: Measure
    budget: int
    n: int
    ranks: dict[str, float]
    against: tuple[Difference, ...]

    @property
    def best(self) -> str:
        """The method with the lowest mean rank."""
        return next(iter(self.ranks))

    @property
    def is_known(self) -> bool:
        """Whether there are instances enough for a statement."""
        return self.n >= MIN_INSTANCES

    @property
    def rivals(self) -> tuple[str, ...]:
        """Methods that are not shown to be worse than the best."""
        return tuple(item.method for item in self.against if not item.is_worse)

    @property
    def is_clear(self) -> bool:
        """Whether the best beats the runner-up: the 95 % interval of their difference lies above 0."""
        return self.is_known and bool(self.against) and self.against[0].is_worse


def all_choices(sources: Sources) -> list[Choice]:
    """Return the best function for each setting, measure and budget that has results."""
    found = []
    for name in sources.tables:
        for measure in (measure for measures in GOALS.values() for measure in measures):
            table = candidates_table(sources, name, measure)
            if table is not None:
                found += [choice(name, table, measure, budget) for budget in (OVERALL, *BUDGETS)]
    return found


def candidates(sources: Sources, name: str, measure: Measure) -> list[str]:
    """Return which methods are compared: the paper's in its experiment, and others that enough seeds have met.

    Our own functions are about the policy, and are not asked about the reward.
    """
    others = [method for method in CANDIDATES if method not in sources.paper_methods(name)]
    if measure == ENTROPY:
        others = [method for method in others if method not in OURS]
    enough = [method for method in others if num_instances(sources.complete(name, [method])) >= MIN_SEEDS]
    return [method for method in CANDIDATES if method in enough or method in sources.paper_methods(name)]


def candidates_table(sources: Sources, name: str, measure: Measure) -> DataFrame | None:
    """Return the rows of the candidates on the instances that all have finished."""
    return sources.complete(name, candidates(sources, name, measure))


def choice(name: str, table: DataFrame, measure: Measure, budget: int) -> Choice:
    """Rank the methods of a table at a step, or by their average over all steps."""
    wide = by_step(table, measure.column)
    values = wide.loc[:, 1:].mean(axis=1) if budget == OVERALL else wide[budget]
    by_method = values.droplevel(["world", "query", "inference"]).unstack("method")
    by_method = by_method[np.isfinite(by_method).all(axis=1)]
    ranks = by_method.round(9).rank(axis=1).mean().sort_values(kind="stable")
    against = _against(table, measure, budget, list(ranks.index))
    return Choice(name, measure, budget, len(by_method), {str(key): float(ranks[key]) for key in ranks.index}, against)


def _against(table: DataFrame, measure: Measure, budget: int, order: Sequence[str]) -> tuple[Difference, ...]:
    """Compare all methods with the first."""
    if len(order) < 2:
        return ()
    found = differences(table, measure, order[1:], order[0], steps=[] if budget == OVERALL else [budget])
    here = {item.method: item for item in found if item.span.startswith("average") == (budget == OVERALL)}
    return tuple(here[method] for method in order[1:])
