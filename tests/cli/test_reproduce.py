from pathlib import Path

import pytest
from cli.test_worlds import run  # noqa: F401

from journeyman.cli.reproduce import checkout
from journeyman.errors import InputError

ROOT = Path(__file__).parents[2]


def test_failure_modes_are_printed(run, tmp_path):  # noqa: F811
    code, out, err = run("reproduce", "failure-modes", "--out", str(tmp_path / "out"))
    assert code == 0
    assert "6 + 5" in out or "10.5" in out  # the expected regret of Brown's example, where the paper has a slip
    assert err.count("Written: ") == 2


@pytest.mark.parametrize(("arguments", "hint"), [
    (("jial",), "Did you mean 'jail'?"),
    (("jail", "--scale", "papr"), "Did you mean 'paper'?"),
    (("jail", "--inference", "chain"), "Did you mean 'chains'?"),
    (("failure-modes", "--inference", "chain"), "Did you mean 'chains'?"),
    (("failure-modes", "--executor", "dask"), "executor 'dask' must know its scheduler"),
    (("jail", "--workers", "0"), "the number of workers must be a whole number of at least 1"),
    (("jail", "--seeds", "0"), "seeds must be a whole number of at least 1"),
    (("jail", "--scale", "smoke", "--executor", "dsk"), "executor must be one of local, dask"),
    (("jail", "--scale", "smoke", "--tables", "nowhere"), "tables must be a folder with Parquet files"),
    (("figure-1", "--format", "bmp"), "a format of pictures must be one that exists, got 'bmp'"),
])  # fmt: skip
def test_mistakes(run, tmp_path, monkeypatch, arguments, hint):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    code, _, err = run("reproduce", *arguments)
    assert code == 1
    assert hint in err
    assert "Traceback" not in err


def test_a_checkout_is_found_from_any_folder_in_it_and_its_absence_is_said(tmp_path):
    assert checkout(ROOT / "docs") == checkout(tmp_path, ROOT / "src" / "journeyman" / "cli") == ROOT
    (tmp_path / "reproduction").mkdir()
    with pytest.raises(InputError, match=r"must be run in a checkout.*clone the repository"):
        checkout(tmp_path / "reproduction", tmp_path)
