"""Memory: how much there is, and whether what is about to be allocated will fit.

A machine that runs out of memory ends the process without a word, after minutes of work. So large arrays are forecast,
and refused before they are allocated, with what to do instead.
"""

import os
from pathlib import Path

from journeyman.errors import InputError

MEMINFO = Path("/proc/meminfo")
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
USABLE = 0.9  # of what is free: other things allocate as well


def available_memory() -> int | None:
    """Return the bytes that this process may still allocate, or None where that cannot be known.

    It is what the system calls available, or what a control group (a container, a batch system) leaves, if less.
    """
    known = [
        found for found in (_free_in_system(), *(_left_in_group(*paths) for paths in CGROUPS)) if found is not None
    ]
    return min(known) if known else None


def check_memory(size: float, what: str, advice: str) -> None:
    """Refuse work that needs more memory than there is.

    Parameters
    ----------
    size
        Bytes that it will hold at once.
    what
        Needs them, as the subject of a sentence: "values of 1000 particles in 1000000 states".
    advice
        What to do instead, as a sentence.
    """
    free = available_memory()
    if free is not None and size > USABLE * free:
        raise InputError(f"{what} would take {_words(size)} of memory, and {_words(free)} are free. {advice}")


def _free_in_system() -> int | None:
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _left_in_group(limit_path: str, usage_path: str) -> int | None:
    try:
        limit, usage = Path(limit_path).read_text().strip(), int(Path(usage_path).read_text())
        return None if limit == "max" else max(0, int(limit) - usage)
    except (OSError, ValueError):
        return None


def _words(size: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size / 1e3:.3g} kB"
