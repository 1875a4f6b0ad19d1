"""Numbers of pages and of the README are those that benchmarks and examples left in the repository."""

import csv
import json
import re
import subprocess
import sys

import pytest
from docs.blocks import ROOT, table

from bench import _record

README = ROOT / "README.md"
RESULTS = ROOT / "examples" / "labyrinth" / "results"
KEPT = {row["command"]: row["result"] for row in _record.kept()}


def test_the_table_is_made_from_what_was_kept():
    text = _record.PAGE.read_text("utf-8")
    assert _record.page(text, _record.kept()) == text


def test_the_readme_says_what_was_measured():
    posterior = KEPT["posterior --world random-8x8"]
    fastest = min(ratio for ratio, _ in posterior["ratio_by_form"].values())
    measured = [posterior["ratio"], fastest, KEPT["step"]["ratio_fastest_form"], KEPT["scale"]["ratio"]]
    speed = README.read_text("utf-8").split("### How fast")[1].split("|")[0]
    assert [int(number) for number in re.findall(r"\*\*(\d+)\*\*", speed)] == [round(ratio) for ratio in measured]
    ratio, spread = _record.ratio_words(posterior).partition(";")[0].split(" ", 1)
    assert f"**{ratio}** times" in speed and spread in speed, spread


def rows_of(page, heading, width):
    """Yield the cells of the first table of numbers below a heading that has so many columns."""
    below = (ROOT / "docs" / page).read_text("utf-8").split(heading)[1]
    for line in re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)[0].splitlines()[2:]:
        cells = [cell.strip(" `") for cell in line.strip("|").split("|")]
        assert len(cells) == width
        yield cells


def is_rounded(text, value):
    """Whether a number as it is written is the value, rounded to its digits."""
    digits = len(text.partition(".")[2])
    return abs(float(text) - value) <= 0.5001 * 10.0**-digits


def test_the_table_of_acquisition_functions_is_what_was_measured():
    measured = KEPT["acquisition"]["milliseconds"]
    rows = list(rows_of("acquisition.md", "## How fast", 3))
    assert len(rows) > 8
    for name, *times in rows:
        for kind, time in zip(("state", "trajectory"), times, strict=True):
            assert time == "-" or is_rounded(time, measured[f"{name} {kind}"]), (name, kind)


def test_the_tables_of_scale_are_what_was_measured():
    measured = KEPT["scale"]
    for cells, row in zip(rows_of("scale.md", "Processor seconds on one thread", 6), measured["rows"], strict=True):
        near, cold, each = row["gradient_seconds"], row["gradient_cold_seconds"], row["batch_seconds"] / 32
        assert float(cells[0]) == round(row["states"], -3) and float(cells[1]) == row["discount"]
        assert all(
            map(is_rounded, [*cells[2:5], cells[5].removesuffix(" GB")], [cold, near, each, row["peak_gigabytes"]])
        )
    (seconds,) = [
        cells[1:] for cells in rows_of("scale.md", "`infer` with 20 demonstrations", 7) if cells[0] == "seconds"
    ]
    assert all(map(is_rounded, seconds, measured["infer_seconds"].values()))


def test_ratios_are_written_with_their_range_and_with_the_fastest_form():
    ratio_words = _record.ratio_words
    assert ratio_words({"ratio": 1019.3}) == "1,020"
    assert ratio_words({"ratio": [15.71, 15.4, 53.06]}) == "15.7 (15.4 to 53.1)"
    assert ratio_words({"ratio": 2.0, "ratio_range": [1, 3.0], "ratio_fastest_form": 0.5}) == (
        "2 (1 to 3); fastest form: 0.5"
    )
    forms = {"one": [9.0, 1.0], "two": [7.0, 2.0]}
    assert ratio_words({"ratio": 9.0, "ratio_by_form": forms, "ratio_fastest_form": 8.0}) == "9; fastest form: 7"


def bench_prints(*command):
    """Return the lines that a benchmark prints from the table that it keeps."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_page_of_certificates_has_the_table_of_honesty():
    printed = bench_prints("bench/honesty.py", "--markdown")
    assert "\n".join(printed) in (ROOT / "docs" / "certificate.md").read_text("utf-8")


def test_the_page_of_certificates_has_the_table_of_answers():
    result = json.loads(bench_prints("bench/answers.py")[-1])
    *rows, together = table("docs/certificate.md", "world", "instances")
    names = {"10x10, two initial states": "10x10", "8x8, uniform starts": "8x8"}
    assert len(rows) == len(result["worlds"])
    for name, *cells in rows:
        found = result["worlds"][names.get(name, name.removesuffix(" generator"))]
        old, new = found["0.1.0"], found["today"]
        assert cells == [
            str(found["num_seeds"]), f"{old['mean_answers']:.1f}", f"{new['mean_answers']:.1f}", ratio_of(found),
            *(f"{rule['certified']:.0%}".replace("%", " %") for rule in (old, new)),
            *(f"{rule['num_wrong']} of {rule['num_certified']}" for rule in (old, new)),
        ], name  # fmt: skip
    assert together[4] == ratio_of(result)


def ratio_of(found):
    """Return a ratio with its interval, as the page has it."""
    return "{:.2f} ({:.2f} to {:.2f})".format(found["ratio"], *found["ratio_interval"])


@pytest.mark.parametrize(
    ("heading", "file", "left_out"),
    [
        ("model", "comparison.csv", []),
        ("model with memory", "memory/comparison.csv", ["chance", "empirical policy"]),
    ],
)
def test_the_page_of_comparisons_has_the_tables_of_the_labyrinth(heading, file, left_out):
    lines = (RESULTS / file).read_text("utf-8").splitlines()
    kept = [row for row in csv.DictReader(lines) if row["model"] not in left_out]
    for (name, *cells), row in zip(table("docs/comparison.md", heading), kept, strict=True):
        bits, share, evidence = (cell.strip("*") for cell in cells)
        evidence, _, error = evidence.partition(" ± ")
        assert is_rounded(bits, float(row["bits"])) and is_rounded(share, float(row["share"])), name
        assert is_rounded(evidence, float(row["log_evidence"])), name
        assert is_rounded(error or "0", float(row["log_evidence_error"])), name
