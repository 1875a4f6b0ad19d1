"""Versions, threads, memory, and the folder of compiled code."""

import os
import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from pathlib import Path

from journeyman.doctor.findings import Finding
from journeyman.extras import PURPOSE_OF_EXTRA
from journeyman.resources import available_memory
from journeyman.threads import default_num_threads

CORE = ("numpy", "scipy", "numba")
LITTLE_MEMORY = 1e9
VARIABLES = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def examine_machine() -> list[Finding]:
    """Look at what is installed, and at what this process may use."""
    return [*_versions(), *_extras(), *_threads(), _memory(), *_caches(), *_variables()]


def _versions() -> Iterator[Finding]:
    yield Finding("versions", "journeyman", "good", version("journeyman"))
    machine = f"{platform.system()} {platform.machine()}"
    yield Finding(
        "versions", "Python", "good", f"{platform.python_version()}, {platform.python_implementation()}, {machine}"
    )
    for package in CORE:
        yield Finding("versions", package, "good", version(package))


def packages_of(extra: str) -> list[str]:
    """Return the names of the packages that an extra of journeyman installs, from its metadata."""
    found = []
    for text in requires("journeyman") or ():
        requirement, _, marker = text.partition(";")
        if re.search(rf"""extra\s*==\s*['"]{extra}['"]""", marker):
            found.append(re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0])
    return found


def _extras() -> Iterator[Finding]:
    for extra, purpose in PURPOSE_OF_EXTRA.items():
        present, missing = [], []
        for name in packages_of(extra):
            try:
                present.append(f"{name} {distribution(name).version}")
            except PackageNotFoundError:
                missing.append(name)
        if missing:
            words = f"not installed: {', '.join(missing)}; {purpose} cannot be had"
            yield Finding("extras", extra, "notable", words, f"If you want it: pip install 'journeyman[{extra}]'.")
        else:
            yield Finding("extras", extra, "good", f"{purpose}: {', '.join(present)}")


def _threads() -> Iterator[Finding]:
    from threadpoolctl import threadpool_info

    cores, usable = os.cpu_count() or 1, default_num_threads()
    words = f"{usable} of {cores} cores may be used" if usable < cores else f"all {cores} cores may be used"
    yield Finding("threads", "cores", "good", words)
    for library in threadpool_info():
        words = f"{library['internal_api']} {library.get('version') or ''}, {library['num_threads']} threads"
        yield Finding("threads", "linear algebra", "good", f"{words} ({Path(library['filepath']).name})")


def _memory() -> Finding:
    free = available_memory()
    if free is None:
        return Finding("memory", "free", "notable", "cannot be known here, so that nothing is refused for want of it")
    words = f"{free / 1e9:.1f} GB are free"
    if free < LITTLE_MEMORY:
        return Finding("memory", "free", "notable", words, "Close something, or give fewer particles.")
    return Finding("memory", "free", "good", words)


def _caches() -> Iterator[Finding]:
    from journeyman.compiling import CACHE, has_kept
    from journeyman.inference.kernels import dense_gradient
    from journeyman.mdp.kernels import value_iteration

    if not CACHE:
        advice = "Set NUMBA_CACHE_DIR to a folder that can be written."
        yield Finding("caches", "compiled code", "notable", "cannot be kept: each process compiles again", advice)
        return
    for what, kernel in (("solvers", value_iteration), ("inference", dense_gradient)):
        folder = Path(kernel.stats.cache_path)
        if not has_kept(kernel):
            yield Finding("caches", what, "notable", "not compiled yet: the first use waits", "Run: journeyman warmup")
            continue
        files = [file.stat() for file in folder.glob("*.nb[ic]")]
        words = f"{len(files)} files, {sum(file.st_size for file in files) / 1e6:.0f} MB, in {folder}"
        yield Finding("caches", what, "good", words)


def _variables() -> Iterator[Finding]:
    for name in VARIABLES:
        value = os.environ.get(name)
        if value is None:
            continue
        if name == "NUMBA_DISABLE_JIT" and value not in ("", "0"):
            words = f"is {value}: nothing is compiled, which takes a hundred times as long"
            yield Finding("environment", name, "bad", words, f"Unset {name}.")
        else:
            yield Finding("environment", name, "good", f"is {value}")
    if sys.flags.optimize:
        yield Finding("environment", "python -O", "notable", "asserts are off", "Run Python without -O.")
