"""Origin: where dynamics come from, if they are not simply known, and what that means for whoever relies on them."""

from typing import Any, Protocol, Self, runtime_checkable

from journeyman.errors import UnsupportedError
from journeyman.registry import Registry


@runtime_checkable
class Origin(Protocol):
    """Where the transitions of a FiniteMDP come from: data, or a finer world that they stand for."""

    @property
    def assumption(self) -> str:
        """What a certificate assumes about the transitions, as the end of "All of this assumes that ..."."""

    def to_record(self) -> dict[str, Any]:
        """Return the origin as arrays of numbers and words, by name."""

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return what `to_record` took apart."""


ORIGINS: Registry[type[Origin]] = Registry("an origin of dynamics", "journeyman.origins", type, {})


def origin_name(origin: Origin) -> str:
    """Return the name by which the class of an origin is registered."""
    for name, known in ORIGINS.usable():
        if type(origin) is known:
            return name
    cls = type(origin).__name__
    raise UnsupportedError(
        f"{ORIGINS.what} must be registered to be stored, got {cls}. "
        f'Call ORIGINS.register("{cls.lower()}", {cls}) first, or keep the learner in memory.'
    )


def check_simply_known(mdp: Any, what: str) -> None:
    """Refuse to make other dynamics of those with an origin, which would be lost, and with it what it warns of."""
    if mdp.origin is not None:
        raise UnsupportedError(
            f"{what} needs dynamics that are simply known, got some that are {origin_name(mdp.origin)}. "
            "Do it before that, to what they are made from."
        )
