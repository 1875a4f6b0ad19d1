"""Claims 13 and 14, from the paper's appendices: nearest neighbours on 10x10, and what finer buckets would add."""

from collections.abc import Sequence
from typing import NamedTuple

from pandas import DataFrame, Series

from journeyman.acquisition import score
from journeyman.inference import infer
from journeyman.worlds import make_world
from reproduction.pages.claim import Claim, Outcome, Part, no_data
from reproduction.pages.comparing import MIN_INSTANCES
from reproduction.pages.numbers import NumberTable, interval_cell, short, with_interval
from reproduction.pages.sources import NUM_STEPS, TITLES, Sources
from reproduction.pages.steps import at_step, mean_row

BY, STEPS = 50, (10, 50, NUM_STEPS)
WORLDS = {"jail": 3, "random-8x8": 64, "random-10x10": 100}  # unknown rewards
ESTIMATES = {"nearest neighbours": "entropy_knn", "normal": "entropy_gaussian"}
TENTH, MARGINAL = 0.1, 1.1
NUM_FINER, NUM_ANSWERS, NUM_PARTICLES = 8, 20, 500


def entropy_claim(sources: Sources) -> Claim:
    """Return claim 13: the entropy by nearest neighbours on 10x10, against the one from the evidence."""
    title = "Entropy by nearest neighbours"
    paper = (
        "The entropy of the posterior is estimated by 5 nearest neighbours in the first two environments. On 10x10, "
        "with 100 unknown rewards, that was seen to struggle, so that a normal distribution with the covariance of the "
        "samples is used there."
    )
    frames = {name: error_frame(sources, name) for name in WORLDS}
    known = {name: frame for name, frame in frames.items() if frame is not None}
    parts = [
        _fails(known.get("random-10x10")),
        *(_is_fit(known.get(name), name) for name in ("jail", "random-8x8")),
        _is_better(known.get("random-10x10")),
    ]
    seeds = {name: int(frame["n"].max()) for name, frame in known.items()} or {"random-10x10": 0}
    rows = [row for frame in known.values() for row in frame.to_dict("records")]
    table = NumberTable(
        "claim-13-entropies",
        "Estimate of the entropy minus the one from the evidence, in nats, mean over the paper's methods and then over "
        "instances; beside it what Reward-EIG gains over random at that step",
        DataFrame(rows),
        {
            "experiment": "experiment",
            "unknown rewards": "num_rewards",
            "estimate": "estimate",
            "step": "step",
            "error (95 %)": interval_cell("mean", "low", "high"),
            "gain of Reward-EIG": "gain",
        },
    )
    note = "How both estimates are off for draws of normal distributions: [entropy bias](../entropy-bias.md)."
    quantities = {f"entropy {row['experiment']} {row['estimate']} {row['step']}": row["mean"] for row in rows}
    quantities |= {f"entropy {row['experiment']} gain {row['step']}": row["gain"] for row in rows}
    tables, notes = ((table,), (note,)) if rows else ((), ())
    return Claim(13, title, paper, tuple(parts), tables, notes, seeds, quantities)


def error_frame(sources: Sources, name: str) -> DataFrame | None:
    """Return how far both estimates are from the entropy by the evidence, at some steps."""
    methods = sources.paper_methods(name)
    table = sources.complete(name, methods) if {"random", "Reward-EIG"} <= set(methods) else None
    if table is None:
        return None
    rows = []
    for words, column in ESTIMATES.items():
        for step in STEPS:
            here = table[table["step"] == step]
            errors: Series = (here[column] - here["entropy_evidence"]).astype(float).groupby(here["seed"]).mean()
            random, best = (at_step(table, "entropy_evidence", method, step) for method in ("random", "Reward-EIG"))
            keys = {"experiment": name, "num_rewards": WORLDS[name], "estimate": words, "step": step}
            rows.append(keys | mean_row(errors) | {"gain": float((random - best).mean())})
    return DataFrame(rows)


def _row(frame: DataFrame | None, estimate: str) -> dict[str, float] | None:
    if frame is None or frame["n"].max() < MIN_INSTANCES:
        return None
    found: dict[str, float] = frame[(frame["estimate"] == estimate) & (frame["step"] == BY)].iloc[0].to_dict()
    return found


def _fails(frame: DataFrame | None) -> Part:
    statement = "on 10x10 nearest neighbours fail"
    criterion = f"at step {BY} they are off by more than Reward-EIG gains over random, by the whole 95 % interval"
    row = _row(frame, "nearest neighbours")
    if row is None:
        return no_data(statement, criterion)
    is_off = row["low"] > row["gain"] or row["high"] < -row["gain"]
    return Part(statement, criterion, _measured(row), Outcome.HOLDS if is_off else Outcome.FAILS)


def _is_fit(frame: DataFrame | None, name: str) -> Part:
    statement = f"where the paper uses them they are fit: {TITLES[name].split(',')[0]}"
    criterion = f"at step {BY} they are off by less than a tenth of what Reward-EIG gains over random"
    row = _row(frame, "nearest neighbours")
    if row is None:
        return no_data(statement, criterion)
    tenth = TENTH * row["gain"]
    is_fit, is_off = -tenth <= row["low"] and row["high"] <= tenth, row["low"] > tenth or row["high"] < -tenth
    outcome = Outcome.HOLDS if is_fit else Outcome.FAILS if is_off else Outcome.UNDECIDED
    return Part(statement, criterion, _measured(row), outcome)


def _is_better(frame: DataFrame | None) -> Part:
    statement = "on 10x10 the normal distribution does better"
    criterion = f"at step {BY} its error is smaller in size than that of nearest neighbours: intervals do not overlap"
    near, normal = (_row(frame, name) for name in ESTIMATES)
    if near is None or normal is None:
        return no_data(statement, criterion)
    largest = max(abs(normal["low"]), abs(normal["high"]))
    smallest = min(abs(near["low"]), abs(near["high"]))
    measured = with_interval(normal["mean"], normal["low"], normal["high"]) + " nats"
    return Part(statement, criterion, measured, Outcome.HOLDS if largest < smallest else Outcome.FAILS)


def _measured(row: dict[str, float]) -> str:
    return f"{with_interval(row['mean'], row['low'], row['high'])} nats, the gain is {short(row['gain'])}"


class Finer(NamedTuple):
    """Scores of a belief in nats by the buckets of PAC-EIG and by finer ones: the best, and the mean over states."""

    seed: int
    best_pac: float
    best_finer: float
    mean_pac: float
    mean_finer: float
    is_same_state: bool

    @property
    def ratio(self) -> float:
        """How many times as much the finer ones tell, on average over states."""
        return self.mean_finer / self.mean_pac


def finer_scores(num_seeds: int = NUM_FINER) -> list[Finer]:
    """Return what both tell about beliefs on 8x8, each after some answers in random states."""
    return [_finer(seed) for seed in range(num_seeds)]


def _finer(seed: int) -> Finer:
    world = make_world("random-8x8", seed)
    usable = world.problem.queryable.nonzero()[0]
    states = [int(usable[(7 * index + seed) % len(usable)]) for index in range(NUM_ANSWERS)]
    answers = world.make_expert(seed).answers(states)
    posterior = infer(world.problem, answers, "smc", num_particles=NUM_PARTICLES, seed=seed, num_threads=1)
    pac = score(posterior, "pac_eig", edges=(0.0, 1.0), occupancy=False).values[usable]
    finer = score(posterior, "ir_eig").values[usable]
    is_same = bool(pac.argmax() == finer.argmax())
    return Finer(seed, float(pac.max()), float(finer.max()), float(pac.mean()), float(finer.mean()), is_same)


def finer_claim(found: Sequence[Finer]) -> Claim:
    """Return claim 14: what finer buckets would add to PAC-EIG."""
    title = "IR-EIG"
    paper = (
        "Information about the immediate regret itself in fine buckets (IR-EIG) might in some cases be marginally more "
        "than that in the three buckets of PAC-EIG. (No number is given, and none of its experiments has it.)"
    )
    more, slight = "it is more", "and marginally so"
    never, little = (
        "on no instance less, and on one or more above",
        f"at most {MARGINAL - 1.0:.0%} more: whole interval",
    )
    if len(found) < MIN_INSTANCES:
        return Claim(14, title, paper, (no_data(more, never), no_data(slight, little)))
    ratios = Series([item.ratio for item in found])
    mean = mean_row(ratios)
    fits, breaks = mean["high"] <= MARGINAL, mean["low"] > MARGINAL
    measured = f"ratio {with_interval(mean['mean'], mean['low'], mean['high'])}, {short(ratios.min())} at least"
    parts = (
        Part(
            more,
            f"the mean score over states: {never}",
            measured,
            Outcome.HOLDS if ratios.min() >= 1.0 - 1e-9 and ratios.max() > 1.0 else Outcome.FAILS,
        ),
        Part(
            slight,
            f"the mean score over states: {little}",
            measured,
            Outcome.HOLDS if fits else Outcome.FAILS if breaks else Outcome.UNDECIDED,
        ),
    )
    table = NumberTable(
        "claim-14-buckets",
        f"Beliefs on 8x8 after {NUM_ANSWERS} answers: information in nats by the buckets (0, 1) of PAC-EIG and by the "
        "finer ones (0, 1/4, 1/2, 1, 2, 4) of IR-EIG, both local and without occupancy",
        DataFrame([{**item._asdict(), "ratio": item.ratio} for item in found]),
        {
            "seed": "seed",
            "best score": "best_pac",
            "finer": "best_finer",
            "mean score": "mean_pac",
            "finer mean": "mean_finer",
            "ratio": "ratio",
            "asks the same state": "is_same_state",
        },
    )
    same = sum(item.is_same_state for item in found)
    note = (
        "Finer buckets refine coarser ones, so that the information cannot be less; how much more is what was "
        f"measured. On {same} of {len(found)} beliefs both ask about the same state. Whole runs with IR-EIG were not "
        "made, so this says nothing about how well it learns."
    )
    return Claim(14, title, paper, parts, (table,), (note,), {})
