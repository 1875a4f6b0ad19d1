"""The `journeyman` command: one small file per command group, put together in `app`.

A command file imports what is slow to import (numba, scipy, matplotlib, ...) inside its functions,
so that `journeyman --help` answers at once.
"""
