"""Where the numbers come from: the consolidated tables of the sweeps, and the table of the calibration programme."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pandas import DataFrame, concat, read_parquet

from journeyman.experiment.results import read_table, to_frame
from journeyman.experiment.statistics import common_instances, normalised_regret
from reproduction.experiments import EXPERIMENTS, SCALES
from reproduction.paper import PAPER_METHODS

NUM_SEEDS, NUM_STEPS = SCALES["paper"].num_seeds, SCALES["paper"].num_steps
FEW_STEPS = 50  # some cells were run so far only: most claims are about the steps until then
CHAINS, INDEPENDENT, VARIATIONAL = "-chains", "independent", "variational"
RESUME = "journeyman reproduce all --scale paper --tables reproduction/tables --out runs/reproduction-paper"
TITLES = {
    "jail": "jail, trajectories",
    "random-10x10": "10x10, two initial states, annotations",
    "random-8x8": "8x8, uniform initial states, annotations",
    "random-8x8-trajectories": "8x8, uniform initial states, trajectories of 5",
}


@dataclass(frozen=True, eq=False)
class Sources:
    """All results: tables of the experiments by name, those of Markov chains, and calibration records.

    `independent` has results on 8x8 grids whose terminal cells are drawn apart from the reward, `replay` those of runs
    with one thing changed (replay.py), `variational` those of variational inference inside active learning, and
    `answers` what both rules of certificates take (bench/answers.py), if they are there.

    Tables have two more columns, `normalised_regret` and, of the posterior's mean, `normalised_belief`: by the paper's
    methods, on instances that all of them have met.
    """

    tables: Mapping[str, DataFrame]
    chains: Mapping[str, DataFrame]
    calibration: Sequence[Mapping[str, Any]]
    independent: DataFrame | None = None
    replay: DataFrame | None = None
    variational: DataFrame | None = None
    answers: Sequence[Mapping[str, Any]] = ()

    def complete(self, name: str, methods: Sequence[str], num_steps: int = NUM_STEPS) -> DataFrame | None:
        """Return the rows of `methods` on the instances that all of them have finished; None if there is no such one.

        A cell is finished if it has so many steps; further ones are left out. By default it is all of the paper's
        scale: what is not in it was run to fewer.
        """
        table = self.tables.get(name)
        if table is not None:
            table = table[table.groupby("cell")["step"].transform("max") >= num_steps]
            table = table[table["step"] <= num_steps]
        if table is None or not set(methods) <= set(table["method"]):
            return None
        found = common_instances(table, methods)
        return None if found.empty else found

    def most_complete(self, name: str, methods: Sequence[str]) -> DataFrame | None:
        """Return the same with all steps, or with the first `FEW_STEPS` if that has more instances."""
        whole, first = self.complete(name, methods), self.complete(name, methods, FEW_STEPS)
        return first if num_instances(first) > num_instances(whole) else whole

    def paper_methods(self, name: str) -> list[str]:
        """Return the paper's methods in its experiment, in its order: nuPAC-EIG only where there are annotations."""
        kinds = PAPER_METHODS if self.has_annotations(name) else ("random", "action entropy", "Reward-EIG", "PAC-EIG")
        present = set(self.tables[name]["method"]) if name in self.tables else set()
        return [method for method in kinds if method in present]

    @staticmethod
    def has_annotations(name: str) -> bool:
        """Whether an experiment asks for single annotations."""
        return name in ("random-10x10", "random-8x8")

    def everything(self) -> DataFrame:
        """Return the rows of all cells with all steps, with the names of experiments in the column `experiment`."""
        parts = [
            table[table.groupby("cell")["step"].transform("max") >= NUM_STEPS].assign(experiment=name)
            for name, table in self.tables.items()
        ]
        return concat(parts, ignore_index=True)


def load_sources(tables: Path, calibration: Path, replay: Path | None = None, answers: Path | None = None) -> Sources:
    """Read all tables that are there; replays are no results of a sweep, so they lie elsewhere."""
    found: dict[str, DataFrame] = {}
    chains: dict[str, DataFrame] = {}
    for name in EXPERIMENTS:
        for ending, place in (("", found), (CHAINS, chains)):
            path = tables / f"{name}{ending}.parquet"
            if path.exists() and len(frame := to_frame(read_table(path))):
                place[name] = with_normalised_regret(frame)
    if not found:
        raise SystemExit(f"There are no tables in {tables}. Make them: {RESUME}")
    records = json.loads(calibration.read_text("utf-8")) if calibration.exists() else []
    apart, learning = (tables / f"{name}.parquet" for name in (INDEPENDENT, VARIATIONAL))
    lines = answers.read_text("utf-8").splitlines()[1:] if answers is not None and answers.exists() else []
    return Sources(
        found,
        chains,
        records,
        to_frame(read_table(apart)) if apart.exists() else None,
        read_parquet(replay) if replay is not None and replay.exists() else None,
        to_frame(read_table(learning)) if learning.exists() else None,
        [json.loads(line) for line in lines],
    )


def with_normalised_regret(table: DataFrame) -> DataFrame:
    """Return a table with the regret relative to that of the paper's methods in the first 32 steps, as in the paper."""
    reference = [method for method in PAPER_METHODS if method in set(table["method"])]
    if set(table["query"]) != {"state"}:
        reference = [method for method in reference if method != "nuPAC-EIG"]
    belief = table.assign(true_regret=table["expected_regret"])
    return table.assign(
        normalised_regret=normalised_regret(table, reference or None),
        normalised_belief=normalised_regret(belief, reference or None),
    )


def num_instances(table: DataFrame | None) -> int:
    """Return on how many seeds a table has results."""
    return 0 if table is None else int(table["seed"].nunique())
