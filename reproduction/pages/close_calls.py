"""Close calls: which wrong choice a regret comes from, and how many answers it takes to see that it is one.

Exact, from the true reward: for each state and each action that is not best there, the regret of a policy that is
optimal but for that choice. A regret that is found among them, or is the sum of two, comes from these choices.
"""

import math
from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np
from pandas import DataFrame

from journeyman.mdp import evaluate_policy
from journeyman.types import FloatArray
from journeyman.worlds import World, make_world
from reproduction.pages.numbers import NumberTable, value_text

ERROR = 0.05
TIE_TOLERANCE = 1e-9
MATCH = 1e-4  # relative: compact tables keep seven digits
NEARLY = 0.05  # relative: pairs of choices that may add up; one changes how often the other is met


def wrong_choices(world: World) -> DataFrame:
    """Return all single wrong choices that cost something: state, action, regret, gap, and answers to see it."""
    q, values, terminal = world.expert.q, world.expert.values, world.problem.mdp.terminal
    tolerance = TIE_TOLERANCE * (1.0 + float(np.abs(q[np.isfinite(q)]).max()))
    best, gaps = q.argmax(axis=1), values[:, None] - q
    rows = []
    for state, action in np.argwhere(np.isfinite(gaps) & (gaps > tolerance) & ~terminal[:, None]).tolist():
        regret = regret_of(world, [{"state": state, "action": action}])
        if regret > tolerance:
            log_odds = world.problem.beta * (q[state] - values[state])
            answers = answers_to_tell(log_odds, int(best[state]), action)
            rows.append((state, action, regret, float(gaps[state, action]), answers))
    return DataFrame(rows, columns=["state", "action", "regret", "gap", "num_answers"])


def answers_to_tell(log_odds: FloatArray, first: int, second: int) -> float:
    """Return how many answers in a state it takes at least to say which of two actions the expert likes better.

    With fewer, whoever has to say whether these two are swapped, each being as likely before, errs more often than
    `ERROR`: after n answers the chance is at least BC^(2n) / 4, where BC is the overlap of both laws of answers.
    """
    chances = np.exp(log_odds - log_odds.max())
    chances = chances / chances.sum()
    lost = float((math.sqrt(chances[first]) - math.sqrt(chances[second])) ** 2)  # 1 - BC
    if lost in (0.0, 1.0):
        return math.inf if lost == 0.0 else 1.0
    return max(1.0, math.log(1.0 / (4.0 * ERROR)) / (-2.0 * math.log1p(-lost)))


def close_calls(table: DataFrame, name: str, methods: tuple[str, ...], step: int) -> DataFrame:
    """Return where the largest regret from a step on comes from, per method and instance that has some."""
    late = table[(table["step"] >= step) & (table["true_regret"] > 0.0)]
    largest = late.groupby(["method", "seed"], observed=True)["true_regret"].max()
    left = DataFrame(
        [
            {"method": method, "seed": int(seed), "true_regret": float(regret)}
            for method in methods
            if method in largest
            for seed, regret in largest[method].sort_index().items()
        ],
        columns=["method", "seed", "true_regret"],
    )
    worlds = {seed: make_world(name, seed) for seed in left["seed"].unique()}
    choices = {seed: wrong_choices(world) for seed, world in worlds.items()}
    pairs = zip(left["seed"], left["true_regret"], strict=True)
    rows = [_choice(worlds[seed], choices[seed], regret) for seed, regret in pairs]
    columns = ["state", "gap", "num_answers"]
    return left.join(DataFrame(rows, columns=columns, index=left.index)).assign(step=step)


def _choice(world: World, choices: DataFrame, regret: float) -> tuple[float, float, float]:
    """Return the choice that costs so much, or the costlier one of two that do so together; NaN if there is none."""
    small = choices[choices["regret"] <= regret * (1.0 + NEARLY)].sort_values("regret", ascending=False)
    rows = small.to_dict("records")
    for some in (*((row,) for row in rows), *combinations(rows, 2)):
        total = sum(row["regret"] for row in some)
        if len(some) == 2 and abs(total / regret - 1.0) < NEARLY:
            total = regret_of(world, some)
        if abs(total / regret - 1.0) < MATCH:
            return float(some[0]["state"]), some[0]["gap"], some[0]["num_answers"]
    return math.nan, math.nan, math.nan


def regret_of(world: World, choices: Iterable[Mapping[str, float]]) -> float:
    """Return the regret of a policy that is optimal but for some choices."""
    policy = world.expert.q.argmax(axis=1)
    for choice in choices:
        policy[int(choice["state"])] = int(choice["action"])
    mdp = world.problem.mdp
    return float(mdp.initial @ (world.expert.values - evaluate_policy(mdp, policy, world.reward)))


def close_call_table(name: str, frame: DataFrame, step: int) -> NumberTable:
    """Return the frame for a page."""
    return NumberTable(
        name,
        f"Where the largest true regret from step {step} on comes from: the state whose choice is wrong (the costlier "
        "of two; none if there are more), by how much the values of the two actions differ, and how many answers it "
        f"takes at least, from that state alone, to say which is better with an error of at most {ERROR:.0%}",
        frame,
        {
            "method": "method",
            "seed": "seed",
            "true regret": "true_regret",
            "state": "state",
            "gap of values": "gap",
            "answers, at least": lambda row: value_text(float(np.ceil(row["num_answers"]))),
        },
    )
