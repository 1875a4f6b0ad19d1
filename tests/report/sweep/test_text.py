"""How a sweep reads in the terminal: numbers first, then their texts."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from journeyman.errors import InputError
from journeyman.experiment import CellStatus, SweepReport, sweep_from_toml
from journeyman.report.sweep import summary as sweep_summary, text as sweep_text
from journeyman.report.sweep.summary import Mean, Progress, checked_steps, milestones, progress_by_method, summary_rows

SWEEP = sweep_from_toml("""
name = "forms [of] PAC-EIG"
steps = 10
seeds = 2
worlds = ["jail", {name = "random-grid", label = "4x4", options = {size = 4}}]
queries = ["state", {kind = "trajectory", length = 5}]
acquisitions = ["random", {name = "pac_eig", label = "[red]PAC[/red]"}]
""")
NAN = float("nan")


def printed(print_fn, *arguments, width=80, **options):
    """Return what a function prints, without spaces at the ends of lines."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_fn(console, *arguments, **options)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def results(**columns):
    """Return a tidy table of two methods, three seeds and steps 0 to 2, with some columns changed."""
    rows = [
        {"world": "w", "query": "state", "inference": "smc", "method": method, "seed": seed, "step": step}
        for seed in range(3)
        for method in ("b", "a")
        for step in range(3)
    ]
    table = pd.DataFrame(rows).assign(
        world_name="jail",
        entropy_evidence=NAN,
        entropy_knn=table_values(0.5),
        entropy_gaussian=NAN,
        true_regret=table_values(1.0),
        failure_chance=table_values(0.1),
        certificate_holds=pd.array([step == 2 and seed > 0 for seed in range(3) for _ in "ba" for step in range(3)]),
    )
    return table.assign(**columns)


def table_values(scale):
    """Return seed + 10 step, times a scale, and twice that for method "a"."""
    return [
        scale * (seed + 10 * step) * (1 + (method == "a")) for seed in range(3) for method in "ba" for step in range(3)
    ]


def test_milestones_are_the_last_step_and_round_numbers_well_before_it():
    assert [milestones(steps) for steps in (1, 2, 3, 24, 40, 150)] == [
        (1,), (1, 2), (1, 2, 3), (5, 10, 24), (10, 20, 40), (50, 100, 150),
    ]  # fmt: skip


def test_steps_are_sorted_and_within_the_sweep():
    assert checked_steps([5, 0, 5], 10) == (0, 5)
    assert checked_steps([], 10) == milestones(10)
    for step in (-1, 11):
        with pytest.raises(InputError, match=f"a step must be from 0 to 10, the steps of the sweep, got {step}"):
            checked_steps([step], 10)


def test_summary_by_hand():
    rows = summary_rows(results(), [0, 2])
    assert [(row.step, row.method, row.n, row.num_certified) for row in rows] == [
        (0, "b", 3, 0), (0, "a", 3, 0), (2, "b", 3, 2), (2, "a", 3, 2),
    ]  # fmt: skip
    # Seeds 0, 1, 2 at step 2: 20, 21, 22, whose standard deviation is 1; method "a" has twice that.
    assert rows[2].true_regret == pytest.approx((21.0, 1.0 / np.sqrt(3.0)))
    assert rows[3].true_regret == pytest.approx((42.0, 2.0 / np.sqrt(3.0)))
    assert rows[3].failure_chance == pytest.approx((4.2, 0.2 / np.sqrt(3.0)))
    assert rows[3].entropy == pytest.approx((21.0, 1.0 / np.sqrt(3.0)))
    assert rows[3].entropy_estimate == "entropy_knn"


def test_what_was_not_measured_is_a_dash_and_null():
    nothing = {"entropy_knn": NAN, "true_regret": NAN, "certificate_holds": pd.array([None] * 18, dtype="boolean")}
    rows = summary_rows(results(**nothing), [1])
    assert rows[0].num_certified is None
    assert rows[0].entropy_estimate is None
    record = json.loads(json.dumps(rows[0].to_record(), allow_nan=False))
    assert record["true_regret"] == {"mean": None, "standard_error": None}
    line = next(
        line for line in printed(sweep_text.print_summary, rows, 0.1).splitlines() if line.startswith("   1  b")
    )
    assert line.split() == ["1", "b", "3", "-", "-", "1.10", "±", "0.06", "-"]


def test_summary_says_which_estimate_and_that_n_differs():
    table = results()
    uneven = table[~((table["seed"] == 2) & (table["method"] == "a"))]
    text = " ".join(printed(sweep_text.print_summary, summary_rows(uneven, [1]), 0.25).split())
    assert text.startswith("w, single annotations, smc")
    assert "Entropy by the estimate: 5 nearest neighbours." in text
    assert "n differs between methods" in text
    assert "> 0.25]" in text
    even = " ".join(printed(sweep_text.print_summary, summary_rows(table, [1]), 0.25).split())
    assert "n differs" not in even


@pytest.mark.parametrize(
    ("means", "texts"),
    [
        ([(57.856, 0.667), (3.2, 1.43)], ["57.86 ± 0.67", "3.20 ± 1.43"]),
        ([(0.984, 0.0103), (0.5, 0.02)], ["0.984 ± 0.010", "0.500 ± 0.020"]),
        ([(5123.0, 412.3), (17.3, 2.5)], ["5123.0 ± 412.3", "17.3 ± 2.5"]),
        ([(57.3, 12.1), (2.04, 0.04)], ["57.30 ± 12.10", "2.04 ± 0.04"]),
        ([(57.3, 12.1), (1.4, 0.0), (0.0, 0.0)], ["57.30 ± 12.10", "1.40 ± 0.00", "0"]),
        ([(5123.0, 412.3), (170.3, 25.0)], ["5123 ± 412", "170 ± 25"]),
        ([(1e-9, 1e-9)], ["0.0000 ± 0.0000"]),  # not exactly 0, which has no decimals
        ([(0.0, 0.0), (1.5, 0.25)], ["0", "1.50 ± 0.25"]),
        ([(0.0, NAN)], ["0"]),
        ([(3.3912, NAN), (0.02, NAN)], ["3.39", "0.02"]),
        ([(NAN, NAN), (float("inf"), NAN)], ["-", "+inf"]),
    ],
)
def test_means_have_as_many_decimals_as_their_errors_deserve(means, texts):
    assert sweep_text.mean_texts([Mean(*mean) for mean in means]) == texts


def test_a_sweep_in_words():
    words = "16 cells (2 worlds x 2 kinds of query x 2 acquisitions x 2 seeds) of 10 answers"
    assert sweep_text.describe_sweep(SWEEP) == words
    small = SWEEP.with_changes(
        worlds=SWEEP.worlds[:1], queries=SWEEP.queries[:1], acquisitions=SWEEP.acquisitions[:1], seeds=(7,), steps=1
    )
    assert sweep_text.describe_sweep(small) == "1 cell (1 world x 1 acquisition x 1 seed) of 1 answer"
    assert len(SWEEP.cells()) == 16
    assert sweep_text.cell_name(small, small.cells()[0]) == "jail seed 7, random"
    assert sweep_text.cell_name(SWEEP, SWEEP.cells()[3]) == "jail seed 0, trajectory-5, [red]PAC[/red]"


def statuses(*given):
    """Return statuses of the cells of the sweep: those that are given, then waiting ones."""
    cells = SWEEP.cells()
    known = [CellStatus(cell, *state) for cell, state in zip(cells, given, strict=False)]
    return [*known, *(CellStatus(cell, "waiting", 0) for cell in cells[len(known) :])]


def test_progress_by_method_counts():
    found = progress_by_method(statuses(("finished", 10), ("failed", 3, "E: no"), ("finished", 12)))
    assert len(found) == 8
    assert list(found.values())[:4] == [Progress(1, 0, 2), Progress(0, 1, 2), Progress(1, 0, 2), Progress(0, 0, 2)]
    assert sum(progress.num_cells for progress in found.values()) == 16


def test_status_text_and_narrow_terminals():
    states = [("finished", 12), ("failed", 3, "E: [x] " + "very " * 100 + "long"), ("begun", 5), ("running", 2)]
    text = printed(sweep_text.print_status, SWEEP, statuses(*states), Path("out"))
    assert text.startswith("forms [of] PAC-EIG: 16 cells")
    assert "answers   20  of 160: 12 %" in text  # 10 + 3 + 5 + 2: more than the steps of the sweep do not count
    assert "jail seed 0, trajectory-5, [red]PAC[/red]: 2 of 10 answers kept" in text
    assert "1 cell failed\n  jail seed 0, state, [red]PAC[/red]: E: [x] very" in text
    assert "long" not in text  # the error is cut
    assert "jail, state  jail, trajectory-5  4x4, state\n" in text
    narrow = printed(sweep_text.print_status, SWEEP, statuses(*states), Path("out"), width=40)
    assert narrow.count("\nmethod ") > text.count("\nmethod ") == 2
    assert max(map(len, (line for line in narrow.splitlines() if "/failures/" not in line))) <= 40


def test_long_lists_are_cut_unless_all_cells_are_wanted():
    failed = statuses(*[("failed", 0, f"E: number {number}") for number in range(7)])
    text = printed(sweep_text.print_status, SWEEP, failed, Path("out"))
    assert text.count("traceback: out/failures/") == 5
    assert "and 2 more, in out/failures" in text
    running = printed(sweep_text.print_status, SWEEP, statuses(*[("running", 1)] * 7), Path("out"))
    assert "  and 2 more" in running
    listed = printed(sweep_text.print_status, SWEEP, failed, Path("out"), lists_all=True)
    assert listed.count("traceback: out/failures/") == 7
    assert all(cell.id in listed for cell in SWEEP.cells())


def test_status_record_lists_what_is_of_interest():
    some = statuses(("finished", 10), ("failed", 3, "E: no"), ("running", 4))
    record = sweep_summary.status_record(SWEEP, some, Path("out"), lists_all=False)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert [cell["status"] for cell in record["cells"]] == ["failed", "running"]
    assert record["cells"][0]["failure"] == f"out/failures/{SWEEP.cells()[1].id}.json"
    assert record["cells"][1]["error"] is None
    assert record["counts"] == {"finished": 1, "running": 1, "begun": 0, "waiting": 13, "failed": 1}
    assert len(sweep_summary.status_record(SWEEP, some, Path("out"), lists_all=True)["cells"]) == 16


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (SweepReport(16, 16, 16, (), 30.0), "complete finished 16 of 16 cells in this run 16 time 30 s"),
        (SweepReport(16, 16, 0, (), 0.1), "complete finished 16 of 16 cells in this run none time 0 s"),
        (
            SweepReport(16, 14, 4, ("x", "y"), 7200.0),
            "not complete finished 14 of 16 cells in this run 4; 10 by earlier or other runs failed 2 time 2.0 h",
        ),
    ],
)
def test_how_a_run_ended(report, expected):
    assert " ".join(printed(sweep_text.print_run, SWEEP, report).split()) == f"forms [of] PAC-EIG: {expected}"
