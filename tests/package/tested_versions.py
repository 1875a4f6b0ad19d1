"""The versions that the tests ran with: `make constraints` writes them into constraints.txt.

Run as a script it prints the installed version of every package that journeyman, its extras and its tests need, by name
alone: where a package came from is nobody else's matter.
"""

import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
HEADER = """\
# Versions that the tests are run with, on Python {0}. Made by `make constraints`.
# Use them:  pip install -c constraints.txt 'journeyman[all]'
"""


def direct_requirements() -> list[Requirement]:
    """Return what pyproject.toml asks for: the core, every extra and the tests."""
    extras = PROJECT["project"]["optional-dependencies"]
    lists = [PROJECT["project"]["dependencies"], *extras.values(), PROJECT["dependency-groups"]["test"]]
    found = [Requirement(text) for texts in lists for text in texts]
    return [requirement for requirement in found if requirement.name != "journeyman"]


def needed_versions(wanted: Iterable[Requirement]) -> dict[str, str]:
    """Return the installed version of every package that is wanted, and of what these need in turn."""
    found, waiting, seen = {}, list(wanted), set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in ("", *sorted(requirement.extras)):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            found[name] = version(name)
            inner = [Requirement(text) for text in requires(name) or ()]
            waiting += [one for one in inner if one.marker is None or one.marker.evaluate({"extra": extra})]
    return dict(sorted(found.items()))


def main() -> None:
    """Print constraints.txt."""
    try:
        versions = needed_versions(direct_requirements())
    except PackageNotFoundError as error:
        sys.exit(f"{error.name} is not installed here. Run: make constraints")
    print(HEADER.format(f"{sys.version_info.major}.{sys.version_info.minor}"), end="")
    print("\n".join(f"{name}=={installed}" for name, installed in versions.items()))


if __name__ == "__main__":
    main()
