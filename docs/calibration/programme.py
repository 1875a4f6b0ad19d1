"""What the calibration programme runs: every method on every world, and mutants that have to be caught."""

from typing import Any, NamedTuple

from journeyman.calibration import CalibrationSpec
from journeyman.inference import INFERENCE

GRID_8 = {"world": "random-grid", "world_options": {"size": 8, "terminals": "independent"}}
GRID_4 = {"world": "random-grid", "world_options": {"size": 4, "terminals": "independent"}}
PUBLISHED_8 = {"world": "random-grid", "world_options": {"size": 8, "terminals": "published"}}
JAIL = {"world": "jail"}
SHORT = {"num_warmup": 200, "num_draws": 250}  # chains; doubled where they are worth fewer than 99 draws
HMC = {"method": "policywalk", "method_options": {"sampler": "hmc"} | SHORT}
SMC = {"method": "smc"}
VALUEWALK = {"method": "valuewalk", "method_options": SHORT}
VARIATIONAL = {"method": "variational"}
NUM_REPLICATIONS, NUM_MUTANT_REPLICATIONS = 500, 200


class Configuration(NamedTuple):
    """One line of the table: what is run, on what, and what is expected of it."""

    key: str
    world: str
    label: str
    role: str  # "method", "baseline", "mutant" or "published"
    settings: dict[str, Any]

    @property
    def num_replications(self) -> int:
        """How many to run: fewer for what is wrong on purpose, since 100 show it already."""
        return NUM_REPLICATIONS if self.role in ("method", "baseline") else NUM_MUTANT_REPLICATIONS

    def spec(self) -> CalibrationSpec:
        """Return what one replication does."""
        return CalibrationSpec(**self.settings, num_demonstrations=20, seed=1)

    @property
    def is_available(self) -> bool:
        """Whether this version has the method, with these options."""
        method = INFERENCE.get(self.settings["method"])
        return method is not None and set(self.settings.get("method_options", {})) <= set(method.options)


CONFIGURATIONS = (
    Configuration("smc-8x8", "8x8", "smc", "method", GRID_8 | SMC),
    Configuration("policywalk-8x8", "8x8", "policywalk", "method", GRID_8 | HMC),
    Configuration("valuewalk-8x8", "8x8", "valuewalk", "method", GRID_8 | VALUEWALK),
    Configuration("variational-8x8", "8x8", "variational", "baseline", GRID_8 | VARIATIONAL),
    Configuration("smc-4x4", "4x4", "smc", "method", GRID_4 | SMC),
    Configuration("policywalk-4x4", "4x4", "policywalk", "method", GRID_4 | HMC),
    Configuration("valuewalk-4x4", "4x4", "valuewalk", "method", GRID_4 | VALUEWALK),
    Configuration("variational-4x4", "4x4", "variational", "baseline", GRID_4 | VARIATIONAL),
    Configuration("smc-jail", "jail", "smc", "method", JAIL | SMC),
    Configuration("policywalk-jail", "jail", "policywalk", "method", JAIL | HMC),
    Configuration(
        "enumerate-jail", "jail", "enumerate", "method",
        JAIL | {"method": "enumerate", "method_options": {"num_points": 2**14}},
    ),
    Configuration(
        "beta-doubled-8x8", "8x8", "policywalk, beta assumed twice too large", "mutant",
        GRID_8 | HMC | {"assumed_beta_factor": 2.0},
    ),
    Configuration(
        "weak-moves-8x8", "8x8", "smc, moves of one leapfrog step", "mutant",
        GRID_8 | {"method": "smc", "method_options": {"max_leapfrog": 1, "max_burn_in": 1}},
    ),
    Configuration(
        "no-jacobian-8x8", "8x8", "valuewalk, Jacobian left out", "mutant",
        GRID_8 | {"method": "valuewalk", "method_options": {"jacobian": False} | SHORT},
    ),
    Configuration("published-8x8", "8x8", "smc, published generator", "published", PUBLISHED_8 | SMC),
)  # fmt: skip
