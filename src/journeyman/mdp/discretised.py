"""Discretised: the origin of dynamics on points that stand for a continuous world."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from journeyman.mdp.lattice import Lattice
from journeyman.mdp.origin import ORIGINS
from journeyman.wording import percent, plain_number


class GridWarning(UserWarning):
    """A certificate holds on a grid of points, and says nothing of the continuous world that they stand for."""


@dataclass(frozen=True, eq=False)
class Discretised:
    """Where the transitions of a discretised world come from, and how far off they are.

    Parameters
    ----------
    lattice
        The points.
    repeat
        Steps of the continuous world per decision.
    num_samples
        Draws of the noise that transitions average over; None if the world is deterministic.
    clipped
        Share of the transitions that leave the box, and are held at its border.
    error
        Estimate of how much the regret of a policy differs from that in the continuous world, in units of the reward;
        None if it was not estimated.
    return_error
        The same for the return of a policy, which is mostly off by more: regrets are differences of returns.
    level
        Share of the rewards for which errors are at most that.
    """

    lattice: Lattice
    repeat: int = 1
    num_samples: int | None = None
    clipped: float = 0.0
    error: float | None = None
    return_error: float | None = None
    level: float | None = None

    @property
    def grid_words(self) -> str:
        """The points in words: "a grid of 41 x 31 points"."""
        return f"a grid of {' x '.join(map(str, self.lattice.sizes.tolist()))} points"

    @property
    def assumption(self) -> str:
        """What a certificate assumes: that the grid stands for the world; with the estimated error, if there is one."""
        known = f"the continuous world is what it becomes on {self.grid_words}"
        noise = "" if self.num_samples is None else f", with noise averaged over {self.num_samples} draws"
        held = f", held at its bounds in {percent(self.clipped, 2)} of the steps" if self.clipped else ""
        if self.error is None:
            return f"{known}{noise}{held}; how far off that is was not estimated"
        returns = "" if self.return_error is None else f" and returns by up to about {self.return_error:.2g}"
        among = "" if self.level is None else f", for {percent(self.level, 3)} of the rewards"
        return (
            f"{known}{noise}{held}; estimated by refinement, regrets in the continuous world differ from those on the "
            f"grid by up to about {self.error:.2g}{returns}{among}"
        )

    def caution(self, epsilon: float) -> str:
        """Return why a claim about a regret of `epsilon`, in units of the reward, is about the grid alone; "" if not.

        That is so if the estimated error is as large as that, and if there is no estimate.
        """
        only = f"this is about {self.grid_words} alone and DOES NOT CARRY OVER to the continuous world"
        if self.error is None:
            return (
                f"{only}: how far regrets there differ was not estimated. Estimate it with "
                "journeyman.continuous.grid_error(discretisation, posterior), and certify error.stated_by(posterior)"
            )
        if self.error < epsilon:
            return ""
        return (
            f"{only}: regrets there differ by up to about {self.error:.2g}, which is not below epsilon, "
            f"{plain_number(epsilon)}. Use more points, or a larger epsilon"
        )

    def to_record(self) -> dict[str, Any]:
        """Return the origin as arrays of numbers and words, by name."""
        lattice = self.lattice
        record: dict[str, Any] = {
            "low": lattice.low,
            "high": lattice.high,
            "sizes": lattice.sizes,
            "periodic": lattice.periodic,
            "scheme": lattice.scheme,
            "repeat": self.repeat,
            "clipped": self.clipped,
        }
        optional = {name: getattr(self, name) for name in ("num_samples", "error", "return_error", "level")}
        return record | {name: value for name, value in optional.items() if value is not None}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return what `to_record` took apart."""
        arrays = {name: np.asarray(value) for name, value in record.items()}
        lattice = Lattice(
            arrays["low"],
            arrays["high"],
            arrays["sizes"],
            arrays["periodic"].astype(bool),
            str(arrays["scheme"].item()),
        )
        own = ("repeat", "clipped", "num_samples", "error", "return_error", "level")
        return cls(lattice, **{name: arrays[name].item() for name in own if name in arrays})


ORIGINS.register("discretised", Discretised)
