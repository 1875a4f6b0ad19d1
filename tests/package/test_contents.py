"""What is in the wheel and in the source archive."""

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes

import pytest
from package.tested_versions import PROJECT, ROOT

VERSION = PROJECT["project"]["version"]


def present_files():
    """Every file of the repository that git does not ignore, tracked or not."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True
    )
    if listed.returncode:
        pytest.skip("not a checkout of git, so nothing says which files belong to it")
    return {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the wheel and the source archive, as hatchling builds them from this tree."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    with zipfile.ZipFile(built / f"journeyman-{VERSION}-py3-none-any.whl") as archive:
        yield archive


def test_wheel_holds_every_file_of_the_package_and_no_other(wheel):
    expected = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "journeyman").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert found == expected
    assert {"journeyman/py.typed", "journeyman/studio/static/index.html", "journeyman/study/schema.sql"} <= found
    assert {name.rpartition(".")[2] for name in found if "/static/" in name} >= {"html", "css", "js", "svg"}


def test_wheel_says_what_it_is(wheel):
    folder = f"journeyman-{VERSION}.dist-info"
    metadata = message_from_bytes(wheel.read(f"{folder}/METADATA"))
    assert metadata["Version"] == VERSION
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["project"]["optional-dependencies"])
    assert wheel.read(f"{folder}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert b"journeyman = journeyman.__main__:main" in wheel.read(f"{folder}/entry_points.txt")


def test_source_archive_holds_the_repository(built):
    with tarfile.open(built / f"journeyman-{VERSION}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert not [name for name in names if "__pycache__" in name or name.startswith(".venv")]
    assert present_files() - names == set()
