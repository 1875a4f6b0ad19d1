"""Make the page of what journeyman stands on (dependencies.md): `python docs/trust/dependencies.py`.

From the metadata of the packages that are installed here: what each extra asks for, under which licence, and who keeps
it. Nothing is looked up on the network.
"""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = HERE.parents[1] / "pyproject.toml"
HEAD = """# What journeyman stands on

Made by `docs/trust/dependencies.py` from the metadata of installed packages. These are the direct dependencies, with
the extra that asks for each; `constraints.txt` has the versions that were tested, theirs included.

`make audit` asks a public database for known vulnerabilities of everything that is installed, and fails if there are
any, or if a package could not be looked up. It needs the network, so no test runs it. Where this page was made no such
database could be reached: **none of the packages were looked up**, so nothing is said here about known vulnerabilities.

**What is checked without a network.** Ruff's security rules (flake8-bandit) run in `make lint`. Nothing is ever
unpickled or evaluated from a file: a test scans the source for it (`tests/trust/test_code.py`), and arrays are read
with `allow_pickle=False`. Sweeps on several processes, and on Dask, send Python objects to their *own* workers by
pickle, as Python does; so a Dask scheduler must be one that you trust.

| package | for | licence | who keeps it |
|---|---|---|---|
"""


def wanted() -> dict[str, str]:
    """Return the names of direct dependencies, and what each is for."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    lists = {"always": project["dependencies"], **project["optional-dependencies"]}
    found: dict[str, list[str]] = {}
    for extra, requirements in lists.items():
        for requirement in requirements:
            name = re.match(r"[\w.-]+", requirement)[0].lower()
            if name != "journeyman":
                found.setdefault(name, []).append(extra)
    return {name: ", ".join(extras) for name, extras in sorted(found.items())}


def licence(about) -> str:
    """Return the licence in short: as SPDX, as a classifier, or as words if there are few."""
    classifiers = [one.split(" :: ")[-1] for one in about.get_all("Classifier", []) if one.startswith("License ::")]
    words = (about.get("License") or "").strip()
    short = words if words and len(words) < 60 and "\n" not in words else ""
    return about.get("License-Expression") or short or ", ".join(classifiers) or "see its page"


def keeper(about) -> str:
    """Return who keeps a package, without addresses: a person, else the place of its source."""
    people = about.get("Author") or about.get("Maintainer") or ""
    if not people:
        people = re.sub(r"\s*<[^>]*>", "", about.get("Author-email") or about.get("Maintainer-email") or "").strip('"')
    people = people.replace('"', "").split("\n")[0]
    if people and "@" not in people:
        return people if len(people) < 80 else f"{people.split(',')[0]} and others"
    links = [one.partition(", ")[2] for one in about.get_all("Project-URL", [])] + [about.get("Home-page") or ""]
    return next((re.sub(r"https?://", "", one).rstrip("/") for one in links if "github.com" in one), "see its page")


def page() -> str:
    """Return the page."""
    lines = []
    for name, extras in wanted().items():
        try:
            about = metadata(name)
        except PackageNotFoundError:
            raise SystemExit(f"{name} must be installed. Run make test once, then this again.") from None
        lines.append(f"| {about['Name']} | {extras} | {licence(about)} | {keeper(about)} |\n")
    return HEAD + "".join(lines)


if __name__ == "__main__":
    (HERE / "dependencies.md").write_text(page(), encoding="utf-8")
