"""What the calibration programmes run: every method on every world, and mutants that have to be caught.

The second one has experts of whom not everything is known: what is not is drawn from its prior in each replication, and
ranked as the parameters of the reward are.
"""

from math import exp
from typing import Any, NamedTuple

from journeyman.calibration import CalibrationSpec
from journeyman.experts import Beta, Boltzmann, LogNormal
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
    wanted: int | None = None

    @property
    def num_replications(self) -> int:
        """How many to run: fewer for what is wrong on purpose, since 100 show it already."""
        usual = NUM_REPLICATIONS if self.role in ("method", "baseline") else NUM_MUTANT_REPLICATIONS
        return self.wanted or usual

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

LAPSE, PEOPLE = Beta(1, 9), ("anna", "ben")
EXPERT_8, EXPERT_4 = (GRID | {"expert": Boltzmann(LogNormal(2.0, 0.7), LAPSE)} for GRID in (GRID_8, GRID_4))
EXPERT_JAIL = JAIL | {"expert": Boltzmann(LogNormal(4.0, 0.7), LAPSE)}
SOFT_4 = GRID_4 | {"expert": Boltzmann(LogNormal(2.0, 0.7), LAPSE, values="soft")}
PEOPLE_JAIL = JAIL | {"expert": Boltzmann(LogNormal(4.0, 0.7), LAPSE, annotators=PEOPLE)}
EXPERTS = (
    Configuration("expert-smc-jail", "jail", "smc", "method", EXPERT_JAIL | SMC, 200),
    Configuration("expert-smc-4x4", "4x4", "smc", "method", EXPERT_4 | SMC, 200),
    Configuration("expert-smc-8x8", "8x8", "smc", "method", EXPERT_8 | SMC, 100),
    Configuration("expert-policywalk-jail", "jail", "policywalk", "method", EXPERT_JAIL | HMC, 100),
    Configuration("expert-policywalk-4x4", "4x4", "policywalk", "method", EXPERT_4 | HMC, 100),
    Configuration("soft-smc-4x4", "4x4", "smc, soft values", "method", SOFT_4 | SMC, 100),
    Configuration("people-smc-jail", "jail", "smc, two annotators", "method", PEOPLE_JAIL | SMC, 100),
    Configuration(
        "no-lapse-jail", "jail", "smc, lapses left out of the likelihood", "mutant",
        EXPERT_JAIL | SMC | {"assumed_expert": Boltzmann(LogNormal(4.0, 0.7))}, 100,
    ),
    Configuration(  # the density of beta taken for that of log beta: its median is off by exp(-sigma^2)
        "no-jacobian-jail", "jail", "smc, Jacobian of the prior of beta left out", "mutant",
        EXPERT_JAIL | SMC | {"assumed_expert": Boltzmann(LogNormal(4.0 * exp(-0.49), 0.7), LAPSE)}, 100,
    ),
    Configuration(
        "hard-for-soft-4x4", "4x4", "smc, soft values taken for optimal ones", "baseline",
        SOFT_4 | SMC | {"assumed_expert": Boltzmann(LogNormal(2.0, 0.7), LAPSE)}, 100,
    ),
)  # fmt: skip
