"""`journeyman study export`, as a user types it."""

import csv
import json

import pytest
from cli.command import command

from journeyman.study.exports import EXPORTS


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run `journeyman` in a folder with a study of one demonstration."""
    monkeypatch.chdir(tmp_path)
    call = command(monkeypatch, capsys)
    for line in (
        "init",
        "study new my.study --problem problem.toml --inference-set num_particles=100",
        "study attach my.study house:right path:right --final pond --by ada",
    ):
        assert call(*line.split())[0] == 0
    return lambda line: call(*line.split())


def test_what_there_is_can_be_exported(run):
    from journeyman.cli.study.exporting import KINDS

    assert set(KINDS) == {"demonstrations", *EXPORTS}


def test_a_table_of_the_posterior_for_other_programs(run, tmp_path):
    """Tidy CSV for R: state, mean, sd, interval, by label; `post.csv` used to hold NetCDF."""
    code, out, err = run("study export my.study post.csv --what posterior --level 0.9 --threads 1")
    assert (code, out, err) == (0, "Wrote the posterior to post.csv\n", "")
    with (tmp_path / "post.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["state_label"] for row in rows[:3]] == ["house", "path", "pond"]
    assert all(float(row["low"]) < float(row["median"]) < float(row["high"]) for row in rows)
    assert {row["level"] for row in rows} == {"0.9"}


def test_a_table_of_the_policy(run, tmp_path):
    """`policy.csv` used to hold JSON."""
    assert run("study export my.study policy.csv --what policy")[0] == 0
    header, first, *_ = (tmp_path / "policy.csv").read_text().splitlines()
    assert header == "state,state_label,action,action_label,chance_optimal,probability,is_chosen"
    assert first.startswith("0,house,0,stay,")


def test_demonstrations_with_labels(run, tmp_path):
    assert run("study export my.study a.csv")[1] == "Wrote 1 demonstration to a.csv\n"
    assert (tmp_path / "a.csv").read_text().splitlines()[1:] == [
        "0,house,right,pond,truncated,,ada,",
        "0,path,right,pond,truncated,,ada,",
    ]
    assert run("study export my.study a.jsonl --labels")[0] == 0
    assert json.loads((tmp_path / "a.jsonl").read_text())["steps"] == [["house", "right"], ["path", "right"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("post.txt --what posterior", "posterior is written to .csv, .parquet, .json or .nc. Example: post.csv"),
        ("policy --what policy", "policy is written to .csv, .parquet, .json or .nc. Example: policy.csv"),
        ("history.nc --what history", "history is written to .csv, .parquet or .json"),
        ("draws.json --what draws", "draws are written to .csv, .parquet or .nc"),
        ("c.parquet --what certificate", "certificate is written to .json or .csv. Example: c.json"),
        ("a.xlsx", "the format must be clear from the ending of the file, got 'a.xlsx'"),
        ("p.csv --what policy --labels", "--labels must go with demonstrations, got it for the policy"),
        ("p.csv --what posterior --level 95", "level must lie strictly between 0 and 1, got 95"),
        ("p.csv --what rewards", "what must be one of demonstrations, posterior"),
    ],
)
def test_mistakes_are_messages_and_leave_no_file(run, tmp_path, line, message):
    code, out, err = run(f"study export my.study {line}")
    assert (code, out) == (1, "")
    assert message in err
    assert not (tmp_path / line.split()[0]).exists()
