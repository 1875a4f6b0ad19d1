"""Finding: one thing that was looked at."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["good", "notable", "bad"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: in which part, what, how it is, in words, and what to do if that is not good.

    "notable" is what works, but less well than it might; "bad" is what gives wrong results, or none.
    """

    part: str
    name: str
    state: State
    words: str
    advice: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)
