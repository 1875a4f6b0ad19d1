"""Disks that are full, fail, or cannot be written: said, with what to do; all that was stored before is kept."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from experiment.small import tiny_sweep
from faults.forking import environment, forker_of
from faults.matrix import attack
from study.tiny import SETTINGS, answer_one, tiny_problem

from journeyman.errors import InputError, StudyError
from journeyman.experiment import run_sweep, sweep_status
from journeyman.study import Study, exports

PROCESS = "faults.command_process"
forker = forker_of(PROCESS)
NOBODY = 65534


def mounted(place, *arguments):
    """Mount something, or skip the test where that is not allowed."""
    place.mkdir(exist_ok=True)
    if not shutil.which("mount") or subprocess.run(["mount", *arguments, str(place)], capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    return place


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 2 MB."""
    place = mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=2m", "tmpfs")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk, room):
    """Fill a disk but for so many bytes."""
    found = os.statvfs(disk)
    size = max(0, found.f_bavail * found.f_frsize - room)
    with (disk / "filler").open("wb") as file:
        file.write(bytes(size))


@attack("disk-full-study")
def test_a_study_on_a_full_disk(small_disk, times):
    rng, path = np.random.default_rng(times), small_disk / "a.study"
    Study.create(path, tiny_problem(), num_threads=1, **SETTINGS).close()
    for _ in range(times):
        with Study.open(path, num_threads=1) as study:
            before, told = set(study.answers), []
            fill(small_disk, int(rng.integers(0, 60_000)))
            with pytest.raises(StudyError, match=r"is full\. This was not stored, all before it is\. Free some space"):
                for _ in range(500):
                    told.append(answer_one(study))
            assert set(study.answers) == before | set(told)
        (small_disk / "filler").unlink()
        with Study.open(path, num_threads=1) as study:
            assert set(study.answers) == before | set(told)
            answer_one(study)
        path.unlink()
        Study.create(path, tiny_problem(), num_threads=1, **SETTINGS).close()


@attack("disk-full-export")
def test_exports_on_a_full_disk(small_disk, tmp_path, times):
    rng = np.random.default_rng(times)
    with Study.create(tmp_path / "a.study", tiny_problem(), num_threads=1, **SETTINGS) as study:
        for _ in range(3):
            answer_one(study)
        for _ in range(times):
            for name, what in (("draws.csv", "draws"), ("draws.parquet", "draws"), ("draws.nc", "posterior")):
                path = small_disk / name
                exports.write_export(study, what, path, progress=False)
                old = path.read_bytes()
                fill(small_disk, int(rng.integers(0, 4096)))
                with pytest.raises(InputError, match="must go where it can be written"):
                    exports.write_export(study, what, path, progress=False)
                assert path.read_bytes() == old
                (small_disk / "filler").unlink()
                path.unlink()
                assert list(small_disk.iterdir()) == []  # nothing half written is left


@attack("disk-full-output")
def test_output_on_a_full_disk(tmp_path, times):
    path = tmp_path / "a.study"
    with Study.create(path, tiny_problem(), num_threads=1, **SETTINGS) as study:
        query = study.ask()
    lines = (
        ["study", "tell", path, query.id, 0],
        ["study", "status", path],
        ["study", "ask", path, "--json"],
        ["worlds"],
    )
    for line in lines[:times]:
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-m", "journeyman", *map(str, line)],
                stdout=full, stderr=subprocess.PIPE, text=True, env=environment(),
            )  # fmt: skip
        assert done.returncode == 1
        assert "what is printed must go somewhere, but writing it failed: No space left" in done.stderr
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    with Study.open(path, read_only=True) as study:
        assert set(study.answers) == {query.id}


def answer_until_it_fails(path, room):
    """Answer questions in a process that may write no more than some bytes beyond a study; return what it says."""
    program = (
        "import resource, sys\nfrom study.tiny import answer_one\nfrom journeyman.study import Study\n"
        "with Study.open(sys.argv[1], num_threads=1) as study:\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))\n"
        "    try:\n        while True:\n            print(answer_one(study), flush=True)\n"
        "    except Exception as error:\n        print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(path), str(room)],
        capture_output=True, text=True, env=environment(),
    )  # fmt: skip
    assert done.stderr == ""
    *told, said = done.stdout.splitlines()
    return list(map(int, told)), said


@attack("io-error")
def test_errors_of_the_disk_are_not_called_damage(tmp_path, times):
    path = tmp_path / "a.study"
    Study.create(path, tiny_problem(), num_threads=1, **SETTINGS).close()
    assert resource.RLIMIT_FSIZE is not None
    for number in range(times):
        with Study.open(path, num_threads=1) as study:
            before = set(study.answers)
        told, said = answer_until_it_fails(path, path.stat().st_size - 4096 + 2048 * number)
        assert said.startswith("StudyError the disk must do what it is told, but reading or writing"), said
        assert "no damage to the study" in said and "recover" not in said
        with Study.open(path, num_threads=1) as study:
            assert set(study.answers) == before | set(told)


@pytest.fixture
def open_folder():
    """A folder that any user may enter: pytest's own are for one alone."""
    folder = Path(tempfile.mkdtemp(prefix="journeyman-"))
    folder.chmod(0o777)
    yield folder
    folder.chmod(0o777)
    shutil.rmtree(folder)


def as_plain_user(forker, folder, *commands):
    """Run commands as a user who may not do everything; return the exit code of each, and what was said."""
    log = folder.parent / f"{folder.name}.log"
    log.unlink(missing_ok=True)
    user = NOBODY if os.geteuid() == 0 else os.geteuid()
    lines = [list(map(str, words)) for words in commands]
    running = forker.start(PROCESS, log, folder=str(folder), acknowledged="", seed=[0], commands=lines, user=user)
    assert running.wait() == 0, running.text()
    text = running.text()
    log.unlink()
    return [int(line.split()[1]) for line in text.splitlines() if line.startswith("ended ")], text


@attack("read-only-file")
def test_a_study_that_may_be_written_again(forker, open_folder, times):
    path = open_folder / "a.study"
    with Study.create(path, tiny_problem(), num_threads=1, **SETTINGS) as study:
        query = study.ask()
    tell, status = ["study", "tell", path, query.id, 0], ["study", "status", path, "--threads", 1]
    path.chmod(0o444)
    codes, text = as_plain_user(forker, open_folder, status, tell)
    assert codes == [0, 1], text
    assert "must be in a place that can be written" in text and "Traceback" not in text
    path.chmod(0o666)
    codes, text = as_plain_user(forker, open_folder, status, tell, status)
    assert codes == [0, 0, 0], text


@attack("read-only-folder")
def test_a_folder_that_cannot_be_written(forker, open_folder, times):
    path, out = open_folder / "a.study", open_folder / "out"
    with Study.create(path, tiny_problem(), num_threads=1, **SETTINGS) as study:
        query = study.ask()
    path.chmod(0o666)
    sweep = tiny_sweep(steps=1)
    run_sweep(sweep, out, progress=False)
    before = path.read_bytes()
    open_folder.chmod(0o555)
    codes, text = as_plain_user(
        forker, open_folder,
        ["study", "status", path, "--threads", 1], ["study", "tell", path, query.id, 0],
        ["study", "export", path, open_folder / "answers.csv"],
        ["study", "new", open_folder / "b.study", "--world", "jail"],
        ["study", "backup", path, open_folder / "c.study"],
    )  # fmt: skip
    assert codes == [0, 1, 1, 1, 1], text
    assert "Traceback" not in text
    assert path.read_bytes() == before and sorted(file.name for file in open_folder.iterdir()) == ["a.study", "out"]
    assert all(status.status == "finished" for status in sweep_status(sweep, out))


def test_a_sweep_in_a_folder_that_cannot_be_written(tmp_path):
    place = mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=2m", "tmpfs")
    try:
        sweep = tiny_sweep(steps=1)
        run_sweep(sweep, place, progress=False)
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        assert all(status.status == "finished" for status in sweep_status(sweep, place))
        with pytest.raises(InputError, match=r"must go (to a folder that|where it) can be written"):
            run_sweep(tiny_sweep(steps=2), place, progress=False)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
