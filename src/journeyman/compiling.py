"""When kernels are compiled, where compiled code is kept, and what is said about it.

Numba compiles a kernel when it is first called, and keeps the code beside the source (or in a folder of the user's, or
in NUMBA_CACHE_DIR) for later processes.
"""

import sys
from pathlib import Path
from typing import Any

from numba.core import event
from numba.core.caching import FunctionCache


def can_keep() -> bool:
    """Whether there is a folder to keep compiled code in: else kernels are compiled again in every process."""
    try:
        FunctionCache(can_keep)
    except RuntimeError:  # numba's answer if it finds none
        return False
    return True


CACHE = can_keep()


def has_kept(kernel: Any) -> bool:
    """Whether compiled code of a kernel, of this version of its file or another, was kept by some process before."""
    folder = kernel.stats.cache_path
    return folder is not None and any(Path(folder).glob(f"*.{kernel.py_func.__name__}-*.nbi"))


class CompilationCount(event.Listener):  # type: ignore[misc]
    """Counts what is compiled, and says so once if it takes a while and somebody watches."""

    def __init__(self) -> None:
        self.num_compiled = 0
        self.is_silent = False

    def on_start(self, event: Any) -> None:
        """Take note of a function that is about to be compiled."""
        if not event.data["dispatcher"].py_func.__module__.startswith("journeyman."):
            return  # of numba or of another package: part of one of ours, or not ours to announce
        if self.num_compiled == 0 and not self.is_silent and sys.stderr is not None and sys.stderr.isatty():
            again = "once" if CACHE else "in every process: there is no folder to keep it in, set NUMBA_CACHE_DIR"
            print(f"journeyman is compiling, for some seconds ({again}) ...", file=sys.stderr)
        self.num_compiled += 1

    def on_end(self, event: Any) -> None:
        """Do nothing."""


COMPILATION = CompilationCount()
event.register("numba:compile", COMPILATION)
