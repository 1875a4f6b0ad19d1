"""`journeyman doctor` says what is good, and finds what is broken on purpose."""

import json
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest
from cli.test_worlds import run  # noqa: F401

from journeyman import doctor
from journeyman.doctor import kernels, machine
from journeyman.study import Study
from journeyman.worlds import make_world


@pytest.fixture
def study(tmp_path):
    """A study with one answer and one question that waits."""
    path = tmp_path / "my.study"
    with Study.create(
        path, make_world("jail").problem, inference_options={"num_particles": 100}, num_threads=1
    ) as kept:
        kept.tell(kept.ask(), 0)
        kept.ask()
    return path


def by_name(findings):
    return {(finding.part, finding.name): finding for finding in findings}


def test_kernels_agree_with_their_twins():
    found = doctor.examine_kernels()
    assert len(found) == len(kernels.COMPARISONS)
    assert {finding.state for finding in found} == {"good"}, found


@pytest.mark.slow
def test_a_wrong_kernel_is_found(monkeypatch):
    honest = kernels.evaluate_policy
    monkeypatch.setattr(kernels, "evaluate_policy", lambda *given: honest(*given) * (1.0 + 1e-5))
    found = by_name(doctor.examine_kernels()[4:5])["kernels", "values of a policy"]
    assert found.state == "bad" and "rounding would explain" in found.words and "warmup" in found.advice


def test_a_kernel_that_fails_hides_no_other(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(kernels, "values_in_single", broken)
    monkeypatch.setattr(kernels, "COMPARISONS", kernels.COMPARISONS[3:5])
    single, policy = doctor.examine_kernels()
    assert single.state == "bad" and "no such instruction" in single.words
    assert policy.state == "good"


def test_the_twin_is_no_copy_of_what_it_checks():
    reward = np.arange(12.0)
    values, (mdp, chances) = kernels.plain_values(reward), kernels.small_mdp()
    q = reward[:, None] + mdp.discount * chances @ values
    np.testing.assert_allclose(values, q.max(axis=1), atol=1e-10)


def test_extras_that_are_missing_are_named_with_the_command(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(machine, "distribution", missing)
    found = by_name(doctor.examine_machine())["extras", "plot"]
    assert found.state == "notable" and "matplotlib" in found.words
    assert found.advice == "If you want it: pip install 'journeyman[plot]'."
    assert machine.packages_of("tables") == ["pandas", "pyarrow"]


def test_kernels_that_are_not_compiled_are_bad(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert by_name(doctor.examine_machine())["environment", "NUMBA_DISABLE_JIT"].state == "bad"


def test_a_study_in_order(run, study):  # noqa: F811
    before = study.read_bytes()
    code, out, _ = run("doctor", str(study), "--quick", "--json")
    record = json.loads(out)
    assert code == 0 and record["is_well"]
    words = {finding["name"]: finding["words"] for finding in record["findings"] if finding["part"] == "study"}
    assert words["answers"] == "1 answer, 0 taken back; 1 question unanswered"
    assert "checksums agree" in words["events"]
    assert study.read_bytes() == before


def test_a_damaged_study_is_bad(run, study):  # noqa: F811
    data = bytearray(study.read_bytes())
    half = len(data) // 2
    data[half : half + 4096] = bytes(4096)
    study.write_bytes(bytes(data))
    code, out, err = run("doctor", str(study), "--quick")
    assert code == 1 and "BAD" in out and "Traceback" not in out + err
    assert "study recover" in out


def test_what_lies_beside_a_study_is_named(study):
    beside = study.with_name(study.name + "-journal")
    beside.write_bytes(b"")
    found = by_name(doctor.examine_study(study))["study", beside.name]
    assert found.state == "notable" and "Never delete" in found.advice


def test_no_study_at_all(run, tmp_path):  # noqa: F811
    other = tmp_path / "notes.txt"
    other.write_text("hello")
    for path in (other, tmp_path / "none.study"):
        code, out, err = run("doctor", str(path), "--quick")
        assert code == 1 and "BAD" in out and "Traceback" not in out + err
