import csv
import platform

import numpy as np
import pytest
from experiment.statistics.made_results import made_results

from journeyman.errors import InputError
from reproduction.timing_table import Machine, processor_name, this_machine, timing_rows, write_timing

MACHINE = Machine("a processor", 2, "Linux", (("Python", "3.11"),))


def seconds(posterior, acquisition):
    whole = [2 * (p + np.nan_to_num(a)) for p, a in zip(posterior, acquisition, strict=True)]  # as much for measuring
    return {"posterior_seconds": posterior, "acquisition_seconds": acquisition, "cpu_seconds": whole}


def results():
    """Step 0 has a posterior (the prior) and no question; it counts for hours, not for a step."""
    return made_results(
        {
            ("random", 0): seconds([36.0, 1.0, 2.0, 3.0], [np.nan, 0.0, 0.0, 0.0]),
            ("PAC-EIG", 0): seconds([0.0, 2.0, 4.0, 6.0], [np.nan, 0.1, 0.2, 0.3]),
        },
        query="trajectory-20",
    )


def test_a_line_by_hand():
    (row,) = timing_rows(results())
    assert (row.world, row.query, row.inference) == ("jail", "trajectory-20", "smc")
    assert (row.num_cells, row.num_steps) == (2, 6)
    assert (row.posterior_median, row.posterior_mean) == (pytest.approx(2.5), pytest.approx(3.0))
    assert (row.acquisition_median, row.acquisition_mean) == (pytest.approx(0.05), pytest.approx(0.1))
    assert row.cpu_mean == pytest.approx(2 * (3 + 0.1))
    assert row.core_hours == pytest.approx(2 * (36 + 6 + 12 + 0.6) / 3600)
    assert row.paper_seconds == 5.0
    assert row.speed_up == pytest.approx(5 / 3)


@pytest.mark.parametrize(("world", "paper"), [("jail", 5.0), ("random-10x10", 300.0), ("random-8x8", None)])
def test_the_papers_seconds_go_with_the_name_of_the_world(world, paper):
    table = made_results({("random", 0): seconds([1.0, 0.5], [np.nan, 0.0])}, world="a label", world_name=world)
    (row,) = timing_rows(table)
    assert row.paper_seconds == paper
    assert row.speed_up == (None if paper is None else pytest.approx(paper / 0.5))


def test_files(tmp_path):
    written = write_timing(tmp_path, results(), MACHINE)
    names = ["timing.md", "timing.csv", "timing-methods.csv", "timing-machine.csv"]
    assert [path.name for path in written.paths] == names
    (row,) = csv.DictReader(written.paths[1].read_text("utf-8").splitlines())
    assert float(row["posterior mean"]) == pytest.approx(3.0)
    assert float(row["times faster"]) == pytest.approx(5 / 3)
    methods = {row["method"]: row for row in csv.DictReader(written.paths[2].read_text("utf-8").splitlines())}
    assert float(methods["PAC-EIG"]["choice median"]) == pytest.approx(0.2)
    assert float(methods["random"]["posterior p95"]) == pytest.approx(2.9)
    assert "All together: 0.0303 core-hours" in written.text  # twice 54.6 s
    assert "3072 thread-hours" in written.text
    note = "less than 0.03 s on average in 1 of 2 lines. Slowest: PAC-EIG on jail (trajectory-20, smc), 0.2 s."
    assert note in " ".join(written.text.split())
    assert "a processor" in written.text


def test_this_machine_has_no_name():
    machine = this_machine()
    assert machine.num_cpus >= 1
    assert dict(machine.versions)["numpy"] == np.__version__
    assert dict(machine.versions)["Python"] == platform.python_version()
    if len(platform.node()) > 3:
        assert platform.node() not in str(machine)


def test_model_of_the_processor(tmp_path):
    described = tmp_path / "cpuinfo"
    described.write_text("processor : 0\nmodel name\t: Example CPU @ 2 GHz\nmodel name\t: another\n")
    assert processor_name(described) == "Example CPU @ 2 GHz"
    described.write_text("processor : 0\n")
    assert processor_name(described) == (platform.processor() or "unknown")
    assert processor_name(tmp_path / "missing") == (platform.processor() or "unknown")


def test_a_table_without_times_is_refused(tmp_path):
    with pytest.raises(InputError, match="must have the column 'posterior_seconds'"):
        write_timing(tmp_path, results().drop(columns="posterior_seconds"))


def test_results_without_steps_are_refused(tmp_path):
    with pytest.raises(InputError, match="timing needs results of steps after 0"):
        write_timing(tmp_path, results()[lambda table: table["step"] == 0])
