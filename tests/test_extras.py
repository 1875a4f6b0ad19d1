import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from package.tested_versions import needed_versions
from packaging.requirements import Requirement

from journeyman.errors import JourneymanError, MissingExtraError
from journeyman.extras import PURPOSE_OF_EXTRA, require

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]


def calls_of_require():
    """Every module that the package asks for with an extra, and that extra."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "require":
                arguments = [one.value for one in node.args if isinstance(one, ast.Constant)]
                if len(arguments) == 2:
                    yield tuple(arguments)


CALLS = sorted(set(calls_of_require()))


class Absent:
    """An importer that knows a package only as one that is not there."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


@pytest.fixture
def hide(monkeypatch):
    """Return a function that makes a package look as if it were not installed."""

    def hide_package(package):
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [Absent(package), *sys.meta_path])

    return hide_package


@pytest.fixture(scope="module")
def distributions():
    """Which distributions bring a package; looked up once, since that reads every list of files."""
    return packages_distributions()


def test_require_returns_the_module_itself():
    assert require("json.decoder", "plot") is sys.modules["json.decoder"]


def test_missing_package_names_its_extra():
    with pytest.raises(MissingExtraError) as caught:
        require("no_such_package.part", "plot")
    assert str(caught.value) == (
        "no_such_package is needed for pictures but is not installed. Install it with: pip install 'journeyman[plot]'."
    )
    assert isinstance(caught.value, JourneymanError)
    assert isinstance(caught.value, ImportError)


def test_broken_package_raises_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency") as caught:
        require("broken_package", "plot")
    assert not isinstance(caught.value, MissingExtraError)


def test_every_extra_of_the_project_has_a_purpose():
    assert set(PURPOSE_OF_EXTRA) == set(EXTRAS) - {"all"}


def test_every_extra_is_asked_for_somewhere():
    assert {extra for _, extra in CALLS} == set(PURPOSE_OF_EXTRA)


@pytest.mark.parametrize(("module", "extra"), CALLS)
def test_an_extra_brings_what_is_asked_for_in_its_name(distributions, module, extra):
    brought = needed_versions([Requirement(text) for text in EXTRAS[extra]])
    bringers = distributions[module.partition(".")[0]]
    assert {name.lower().replace("_", "-") for name in bringers} & brought.keys()
    assert require(module, extra) is sys.modules[module]


@pytest.mark.parametrize(("module", "extra"), CALLS)
def test_what_is_absent_is_said_with_the_command_that_brings_it(hide, module, extra):
    package = module.partition(".")[0]
    hide(package)
    with pytest.raises(MissingExtraError, match=rf"^{package} is needed for .* pip install 'journeyman\[{extra}\]'\.$"):
        require(module, extra)


def test_all_brings_every_extra_but_those_for_other_libraries():
    (everything,) = map(Requirement, EXTRAS["all"])
    assert everything.name == "journeyman"
    assert everything.extras == set(PURPOSE_OF_EXTRA) - {"gym", "minari"}
