"""The paper's experiments: their sweeps, at the scale that is wanted."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from journeyman.checks import known_name
from journeyman.experiment import Choice, Sweep, sweep_from_toml

SPECS = Path(__file__).parent / "specs"
INFERENCE = ("smc", "chains")
CHAINS = {"num_chains": 1, "num_warmup": 100, "thin": 2, "target_accept": 0.8}  # as the paper has them
RECORDED: dict[str, dict[str, Any]] = {  # what their results were identified by in release 0.1.0
    "policywalk": {"sampler": "nuts"},
    "valuewalk": {"jumps": "refract", "jacobian": True},
}
UNSET = dict.fromkeys(("num_chains", "num_warmup", "num_draws", "thin", "target_accept"))


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments: what it is, and what its Markov chains are here.

    The jail has NUTS over rewards, the others HMC over values with refraction where the determinant jumps and the exact
    Jacobian; their lengths are the paper's.
    """

    summary: str
    method: str
    num_draws: int
    preset: str

    def chains(self) -> Choice:
        """Return the Markov chains, which start from scratch after every answer."""
        recorded = {**RECORDED[self.method], **UNSET, "preset": f"published-{self.preset}"}
        return Choice(self.method, "chains", {**CHAINS, "num_draws": self.num_draws}, recorded)


EXPERIMENTS: dict[str, Experiment] = {
    "jail": Experiment("structured 6x6 grid with a jail, trajectories", "policywalk", 200, "jail"),
    "random-10x10": Experiment("random 10x10 grid, two initial states, annotations", "valuewalk", 1000, "10x10"),
    "random-8x8": Experiment("random 8x8 grid, annotations", "valuewalk", 500, "8x8"),
    "random-8x8-trajectories": Experiment("random 8x8 grid, trajectories of 5", "valuewalk", 500, "8x8"),
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
        "smc", or "chains": Markov chains of the paper's lengths, from scratch after every answer.
    num_seeds
        Instances, if not as many as the scale says.
    """
    known_name(name, EXPERIMENTS, "an experiment")
    known_name(inference, INFERENCE, "inference")
    size = SCALES[known_name(scale, SCALES, "a scale")]
    text = (SPECS / f"{name}{'-beyond' if beyond else ''}.toml").read_text("utf-8")
    experiment, sweep = EXPERIMENTS[name], sweep_from_toml(text)
    choice = experiment.chains() if inference == "chains" else Choice("smc", "smc", size.smc)
    return sweep.with_changes(
        seeds=tuple(range(size.num_seeds if num_seeds is None else num_seeds)),
        steps=min(sweep.steps, size.num_steps),
        inference=(choice,),
    )
