"""What leaves a study: tidy tables (CSV, Parquet), JSON and NetCDF with labelled dimensions, by the file's ending.

`EXPORTS` says what there is, and to which endings it can be written. Every file is written whole or not at all.
"""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from journeyman.apprentice import Certificate
from journeyman.checks import one_of, share
from journeyman.demonstrations import Demonstration, as_demonstrations
from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.inference import Posterior
from journeyman.inference.arviz_export import write_netcdf
from journeyman.inference.tables import (
    LEVEL,
    WORDS,
    Report,
    Table,
    as_dataset,
    draws_table,
    is_whole,
    policy_table,
    posterior_table,
    predictive_table,
    reward_table,
)
from journeyman.learner.records import StepRecord
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.progress import progress_bar
from journeyman.storage.files import whole_file
from journeyman.study.formats import FORMATS, find_format, write_demonstrations
from journeyman.study.study import Study
from journeyman.study.writing import check_place, write_whole

HISTORY_COLUMNS = (
    "event", "name", "query", "state", "state_label", "score", "num_demonstrations", "entropy", "failure_chance",
    "expected_regret", "posterior_seconds", "acquisition_seconds", "warnings",
)  # fmt: skip
CERTIFICATE_COLUMNS = (
    "status", "holds", "epsilon", "delta", "confidence", "scope", "p_hat", "upper_bound", "effective_size",
    "num_samples", "num_looks", "ended_by", "policy_source", "mean_regret", "numerical_error",
)  # fmt: skip


class Work(NamedTuple):
    """What is to be exported: the study, the chance of intervals, and whether to show how far it is."""

    study: Study
    level: float = LEVEL
    is_shown: bool | None = False
    report_fn: Report = lambda done: None

    def posterior(self) -> Posterior:
        """Return what the study knows."""
        return self.study.posterior()

    def certificate(self) -> Certificate:
        """Return the certificate of its policy; drawing for it shows its own progress."""
        return self.study.certificate(progress=self.is_shown)

    def origin(self, what: str) -> dict[str, Any]:
        """Return what a file of numbers says about where they come from."""
        posterior = self.posterior()
        return {
            "format": f"journeyman-{what}-1",
            "method": posterior.method,
            "num_samples": posterior.num_samples,
            "num_demonstrations": len(self.study.demonstrations),
            "warnings": list(posterior.warnings),
        }


TABLES: dict[str, Callable[[Work], Table]] = {
    "posterior": lambda work: posterior_table(work.posterior(), work.level),
    "draws": lambda work: draws_table(work.posterior()),
    "reward": lambda work: reward_table(work.posterior(), work.level),
    "policy": lambda work: policy_table(work.posterior(), np.asarray(work.study.apprentice())),
    "predictive": lambda work: predictive_table(work.posterior(), work.level, report_fn=work.report_fn),
    "history": lambda work: history_table(work.study.history(), work.study.problem),
    "certificate": lambda work: certificate_table(work.certificate()),
}


def export_table(study: Study, what: str, *, level: float = LEVEL) -> Table:
    """Return what `write_export` puts into a table, as columns; `inference.tables.as_frame` makes it a DataFrame.

    Parameters
    ----------
    what
        A key of `TABLES`.
    level
        Posterior chance of the intervals.
    """
    one_of(what, TABLES, "what")
    return TABLES[what](Work(study, share(level, "level", "0.95 is usual.")))


def write_export(
    study: Study, what: str, path: str | Path, *, level: float = LEVEL, progress: bool | None = None
) -> None:
    """Write something that a study knows to a file, in the format of its ending, whole or not at all.

    Parameters
    ----------
    what
        A key of `EXPORTS`.
    path
        Its ending is one of `EXPORTS[what]`.
    level
        Posterior chance of the intervals.
    progress
        Whether to show how far it is, on the error stream.
    """
    path = Path(path)
    one_of(what, EXPORTS, "what")
    share(level, "level", "0.95 is usual.")
    write_fn = EXPORTS[what][checked_ending(path, EXPORTS[what], what)]
    check_place(path)  # before the work, not after it
    if path.suffix.lower() in NEEDS:
        require(*NEEDS[path.suffix.lower()])
    if what == "certificate":  # has a bar of its own
        write_fn(Work(study, level, progress), path, what)
        return
    words = "predictive chances" if what == "predictive" else what
    with progress_bar(f"Computing the {words}", is_shown=progress) as report_fn:
        write_fn(Work(study, level, False, report_fn), path, what)


def checked_ending(path: str | Path, endings: Iterable[str], what: str) -> str:
    """Return the ending of a file if it is one of `endings`; refuse any other: a file is what its name says."""
    suffix, known = Path(path).suffix.lower(), list(endings)
    if suffix not in known:
        listed = known[0] if len(known) == 1 else f"{', '.join(known[:-1])} or {known[-1]}"
        verb = "are" if what in ("demonstrations", "draws") else "is"
        raise InputError(
            f"the format must be clear from the ending of the file, got {str(path)!r}: {what} {verb} written to "
            f"{listed}. Example: {Path(path).stem or what}{known[0]}"
        )
    return suffix


# Formats


def write_table(table: Mapping[str, Sequence[Any]], path: str | Path) -> None:
    """Write columns as .csv (numbers in full, unknown ones empty) or .parquet (needs the extra `tables`)."""
    path = Path(path)
    check_place(path)
    if checked_ending(path, (".csv", ".parquet"), "a table") == ".csv":
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        write_whole(path, text.getvalue())
        return
    arrow, parquet = require("pyarrow", "tables"), require("pyarrow.parquet", "tables")
    columns = {}
    for name, values in table.items():  # a column of unknown values must still have a type
        is_number, is_unknown = is_whole(name, values), all(value is None for value in values)
        kind = arrow.int64() if is_number else arrow.string() if name in WORDS else arrow.float64()
        columns[name] = arrow.array(values, type=kind if is_unknown or is_number else None)
    with whole_file(path, "an export") as temporary:
        parquet.write_table(arrow.table(columns), temporary)


def write_json(record: Any, path: str | Path) -> None:
    """Write plain data as JSON, whole or not at all."""
    write_whole(Path(path), json.dumps(record, indent=2, allow_nan=False, ensure_ascii=False) + "\n")


def _table(work: Work, path: Path, what: str) -> None:
    write_table(TABLES[what](work), path)


def _rows(work: Work, path: Path, what: str) -> None:
    table = TABLES[what](work)
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    write_json(work.origin(what) | {"rows": rows}, path)


def _dataset(work: Work, path: Path, what: str) -> None:
    origin = {name: value for name, value in work.origin(what).items() if name != "warnings"}
    warnings = {"warnings": " | ".join(work.posterior().warnings)}  # NetCDF keeps no empty list
    write_netcdf(as_dataset(TABLES[what](work), work.study.problem, origin | warnings), path)


def _draws(work: Work, path: Path, what: str) -> None:
    write_netcdf(work.posterior().to_arviz(include_reward=True), path)


def _policy_record(work: Work, path: Path, what: str) -> None:
    """Write `policy[s]`, the action in state s, with labels, how sure each action is, and the certificate in short."""
    mdp, policy = work.study.problem.mdp, np.asarray(work.study.apprentice())
    chances = np.minimum(work.posterior().optimal_action_probabilities(), 1.0)
    certificate = work.certificate().to_record()
    record = work.origin(what) | {
        "apprentice": work.study.settings.apprentice,
        "policy": policy.tolist(),
        "states": [mdp.state_name(state) for state in range(mdp.num_states)],
        "actions": [mdp.action_name(action) for action in range(mdp.num_actions)],
        "chance_optimal": np.where(mdp.available, chances, 0.0).tolist(),
        "certificate": {name: certificate[name] for name in ("status", "epsilon", "delta", "upper_bound")},
    }
    write_json(record, path)


def _certificate_record(work: Work, path: Path, what: str) -> None:
    write_json(work.certificate().to_record(), path)


def _history_record(work: Work, path: Path, what: str) -> None:
    write_json({"format": "journeyman-history-1", "steps": [step.to_record() for step in work.study.history()]}, path)


Writer = Callable[[Work, Path, str], None]
NEEDS = {".parquet": ("pyarrow", "tables"), ".nc": ("xarray", "mcmc")}
EXPORTS: dict[str, dict[str, Writer]] = {
    "posterior": {".csv": _table, ".parquet": _table, ".json": _rows, ".nc": _draws},
    "draws": {".csv": _table, ".parquet": _table, ".nc": _draws},
    "reward": {".csv": _table, ".parquet": _table, ".json": _rows, ".nc": _dataset},
    "policy": {".csv": _table, ".parquet": _table, ".json": _policy_record, ".nc": _dataset},
    "predictive": {".csv": _table, ".parquet": _table, ".json": _rows, ".nc": _dataset},
    "history": {".csv": _table, ".parquet": _table, ".json": _history_record},
    "certificate": {".json": _certificate_record, ".csv": _table},
}


# Tables of what only a study has


def history_table(steps: Iterable[StepRecord], problem: Problem) -> Table:
    """Return a history as columns, one row per step from the start on."""
    rows = []
    for step in steps:
        query = step.query
        values = step.to_record() | {"event": step.number, "query": None, "warnings": " | ".join(step.warnings)}
        if query is not None:
            label = problem.mdp.state_labels[query.state] if problem.mdp.state_labels else None
            values |= {"query": query.id, "state": query.state, "state_label": label, "score": query.score}
        rows.append(values)
    return {name: [values.get(name) for values in rows] for name in HISTORY_COLUMNS}


def certificate_table(certificate: Certificate) -> Table:
    """Return a certificate in short as a table of one row; `epsilon` is a number, or a share such as "5%"."""
    record = certificate.to_record()
    words = {name: [" | ".join(record[name])] for name in ("reasons", "advice")}
    return {name: [record[name]] for name in CERTIFICATE_COLUMNS} | words


def export_demonstrations(
    demonstrations: Iterable[Demonstration],
    place: str | Path,
    problem: Problem,
    *,
    format: str | None = None,
    labels: bool = False,
    repeat_last: bool = False,
) -> None:
    """Write demonstrations as `write_demonstrations` does, and JSON with labels, too, if `labels` says so.

    Tables (.csv, .tsv, .parquet) have labels wherever the problem has them; JSON has numbers unless labels are asked
    for. `read_demonstrations` takes both.
    """
    listed, mdp = as_demonstrations(demonstrations), problem.mdp
    chosen = find_format(format, place)
    if labels and not chosen.is_table:
        raise InputError(f"labels must go to a table or to JSON, got {str(place)!r}. Leave them out, or say .csv.")
    if labels and not (mdp.state_labels or mdp.action_labels):
        raise InputError("labels must exist to be written, got a problem without any. Leave out the labels.")
    if not labels or chosen not in (FORMATS["json"], FORMATS["jsonl"]):
        write_demonstrations(listed, place, problem, format=format, repeat_last=repeat_last)
        return
    records = [json.dumps(_named_record(item, mdp), ensure_ascii=False) for item in listed]
    is_list = chosen is FORMATS["json"]
    text = "[\n" + ",\n".join(records) + "\n]\n" if is_list else "".join(f"{line}\n" for line in records)
    packed = gzip.compress(text.encode("utf-8"), mtime=0) if Path(place).suffix.lower() == ".gz" else text
    write_whole(Path(place), packed)


def _named_record(item: Demonstration, mdp: FiniteMDP) -> dict[str, Any]:
    """Return a demonstration as plain data, with labels where there are any."""

    def named(index: int, labels: tuple[str, ...] | None) -> int | str:
        return labels[index] if labels else index

    record = item.to_record() | {
        "start_state": named(item.start_state, mdp.state_labels),
        "steps": [[named(state, mdp.state_labels), named(action, mdp.action_labels)] for state, action in item.steps],
    }
    return record | ({} if item.final_state is None else {"final_state": named(item.final_state, mdp.state_labels)})
