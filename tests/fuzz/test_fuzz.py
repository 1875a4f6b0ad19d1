"""Spoilt inputs of every parser, route and command give a value or a refusal in words: see harness.py."""

import pytest
from fuzz import harness
from fuzz.targets import TARGETS


def assert_nothing_broke(num_inputs, seed):
    broken = []

    def note(record, findings):
        broken.extend(f"{record['parser']} {seed} {index}: {words}" for index, words in findings)

    records = harness.run(num_inputs, seed, report_fn=note)
    assert not broken, "\n".join(broken)
    assert [record["parser"] for record in records] == list(TARGETS)
    for record in records:
        assert record["values"] + record["refused"] + record["stopped"] == record["inputs"]


def test_spoilt_inputs_are_refused_in_words():
    assert_nothing_broke(harness.NUM_QUICK, seed=100)


@pytest.mark.slow
def test_many_spoilt_inputs_are_refused_in_words():
    assert_nothing_broke(harness.NUM_SLOW, seed=101)


def test_the_harness_finds_what_is_broken(monkeypatch):
    """A value, a refusal, a bug and a hang are told apart, and an input follows from its number alone."""
    import os

    from fuzz.targets import Target

    from journeyman.errors import InputError

    cases = [{"a.toml": b"x = 1\n"}]

    def read(folder, case):
        text = (folder / "a.toml").read_bytes()
        if text == b"hang":
            while True:
                pass
        if text == b"refuse":
            raise InputError("x must be y, got z.")
        if text == b"bug":
            raise KeyError("x")

    target = Target(cases, read)
    monkeypatch.setattr(harness, "SECONDS", 0.2)
    place, before = harness.Path(harness.tempfile.mkdtemp()) / "case", os.getcwd()
    found = [harness.outcome(target, place, {"a.toml": text}) for text in (b"1", b"refuse", b"bug", b"hang")]
    assert found[:2] == ["value", "refused"]
    assert found[2].startswith("finding: KeyError") and found[3].startswith("finding: more than 0.2 s")
    assert os.getcwd() == before
    assert all(harness.case_of("a", target, 1, i) == harness.case_of("a", target, 1, i) for i in range(20))
    assert len({str(harness.case_of("a", target, 1, i)) for i in range(20)}) > 10
