"""The paper's experiments: their sweeps, at the scale that is wanted."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from journeyman.experiment import Choice, Sweep, sweep_from_toml
from journeyman.experiment.suggestions import checked_name

SPECS = Path(__file__).parent / "specs"
INFERENCE = ("smc", "published")


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments: what it is, and the inference method and preset that the paper used there."""

    summary: str
    method: str
    preset: str


EXPERIMENTS: dict[str, Experiment] = {
    "jail": Experiment("structured 6x6 grid with a jail, trajectories", "policywalk", "published-jail"),
    "random-10x10": Experiment("random 10x10 grid, two initial states, annotations", "valuewalk", "published-10x10"),
    "random-8x8": Experiment("random 8x8 grid, annotations", "valuewalk", "published-8x8"),
    "random-8x8-trajectories": Experiment("random 8x8 grid, trajectories of 5", "valuewalk", "published-8x8"),
}


@dataclass(frozen=True)
class Scale:
    """How much of an experiment is run: instances, answers each, and options of SMC."""

    summary: str
    num_seeds: int
    num_steps: int
    smc: Mapping[str, Any]


SCALES: dict[str, Scale] = {
    "smoke": Scale("shows that it runs", 2, 3, {"num_particles": 200}),
    "quick": Scale("shows what to expect, in minutes", 4, 40, {"num_particles": 500, "ess_threshold": 0.3}),
    "paper": Scale("the published size, in hours", 16, 150, {"num_particles": 1000}),
}


def sweep_of(
    name: str, scale: str, *, beyond: bool = False, inference: str = "smc", num_seeds: int | None = None
) -> Sweep:
    """Return the sweep of an experiment: with the paper's methods, or with those beyond it.

    Parameters
    ----------
    name
        A key of `EXPERIMENTS`.
    scale
        A key of `SCALES`.
    inference
        "smc", or "published": the paper's Markov chain, from scratch after every answer.
    num_seeds
        Instances, if not as many as the scale says.
    """
    checked_name(name, EXPERIMENTS, "an experiment")
    checked_name(inference, INFERENCE, "inference")
    size = SCALES[checked_name(scale, SCALES, "a scale")]
    text = (SPECS / f"{name}{'-beyond' if beyond else ''}.toml").read_text("utf-8")
    experiment, sweep = EXPERIMENTS[name], sweep_from_toml(text)
    if inference == "published":
        choice = Choice(experiment.method, "published", {"preset": experiment.preset})
    else:
        choice = Choice("smc", "smc", size.smc)
    return sweep.with_changes(
        seeds=tuple(range(size.num_seeds if num_seeds is None else num_seeds)),
        steps=min(sweep.steps, size.num_steps),
        inference=(choice,),
    )
