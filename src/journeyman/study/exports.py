"""What leaves a study besides demonstrations: posterior for ArviZ, history as CSV, policy and certificate as JSON."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.inference.arviz_export import write_netcdf
from journeyman.study.study import Study
from journeyman.study.writing import check_place, write_whole

POLICY_FORMAT = "journeyman-policy-1"
HISTORY_COLUMNS = (
    "event", "name", "query", "state", "score", "num_demonstrations", "entropy", "failure_chance", "expected_regret",
    "posterior_seconds", "acquisition_seconds", "warnings",
)  # fmt: skip


def export_posterior(study: Study, path: str | Path) -> None:
    """Write the posterior, rewards included, as NetCDF for ArviZ. Needs the extra `mcmc`."""
    check_place(Path(path))  # before the work, not after it
    write_netcdf(study.posterior().to_arviz(include_reward=True), Path(path))


def export_policy(study: Study, path: str | Path) -> None:
    """Write the policy as JSON, with labels and its certificate; `policy[s]` is the action in state s."""
    mdp, policy = study.problem.mdp, np.asarray(study.apprentice())
    certificate = study.certificate()
    record = {
        "format": POLICY_FORMAT,
        "apprentice": study.settings.apprentice,
        "policy": policy.tolist(),
        "states": [mdp.state_name(state) for state in range(mdp.num_states)],
        "actions": [mdp.action_name(action) for action in range(mdp.num_actions)],
        "num_demonstrations": len(study.demonstrations),
        "certificate": {name: certificate.to_record()[name] for name in ("status", "epsilon", "delta", "upper_bound")},
    }
    write_json(record, path)


def export_certificate(study: Study, path: str | Path) -> None:
    """Write the certificate as JSON, with its assumptions."""
    write_json(study.certificate().to_record(), path)


def export_history(study: Study, path: str | Path) -> None:
    """Write the history as CSV, one row per step from the start on; what is not known is empty."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(HISTORY_COLUMNS)
    for step in study.history():
        query = step.query
        asked = {} if query is None else {"query": query.id, "state": query.state, "score": query.score}
        values = step.to_record() | {"event": step.number, "query": None, "warnings": " | ".join(step.warnings)} | asked
        table.writerow([values.get(name) for name in HISTORY_COLUMNS])
    write_whole(Path(path), text.getvalue())


def write_json(record: Any, path: str | Path) -> None:
    """Write plain data as JSON, whole or not at all."""
    write_whole(Path(path), json.dumps(record, indent=2, allow_nan=False) + "\n")


EXPORTS: dict[str, Callable[[Study, str | Path], None]] = {
    "posterior": export_posterior,
    "policy": export_policy,
    "certificate": export_certificate,
    "history": export_history,
}
