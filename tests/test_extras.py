import sys
import tomllib
from pathlib import Path

import pytest

from journeyman.errors import JourneymanError, MissingExtraError
from journeyman.extras import PURPOSE_OF_EXTRA, require


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
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    extras = tomllib.loads(pyproject.read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(PURPOSE_OF_EXTRA) == set(extras) - {"all"}
