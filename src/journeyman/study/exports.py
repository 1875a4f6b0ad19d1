"""What leaves a study besides demonstrations: the posterior for ArviZ, the policy and the certificate as JSON."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.inference.arviz_export import write_netcdf
from journeyman.study.study import Study
from journeyman.study.writing import check_place, write_text_whole

POLICY_FORMAT = "journeyman-policy-1"


def export_posterior(study: Study, path: str | Path) -> None:
    """Write the posterior, rewards included, as NetCDF for ArviZ. Needs the extra `mcmc`."""
    check_place(Path(path))  # before the work, not after it
    write_netcdf(study.posterior().to_arviz(include_reward=True), Path(path))


def policy_record(study: Study) -> dict[str, Any]:
    """Return the policy that we hand out as plain data, with labels and with what its certificate says."""
    mdp, policy = study.problem.mdp, np.asarray(study.apprentice())
    certificate = study.certificate()
    return {
        "format": POLICY_FORMAT,
        "apprentice": study.settings.apprentice,
        "policy": policy.tolist(),
        "states": [mdp.state_name(state) for state in range(mdp.num_states)],
        "actions": [mdp.action_name(action) for action in range(mdp.num_actions)],
        "num_demonstrations": len(study.demonstrations),
        "certificate": {
            "status": certificate.status,
            "epsilon": certificate.epsilon,
            "delta": certificate.delta,
            "upper_bound": certificate.upper_bound,
        },
    }


def export_policy(study: Study, path: str | Path) -> None:
    """Write the policy as JSON; `policy[s]` is the action in state s."""
    write_text_whole(Path(path), json.dumps(policy_record(study), indent=2, allow_nan=False) + "\n")


def export_certificate(study: Study, path: str | Path) -> None:
    """Write the certificate as JSON, with its assumptions."""
    write_text_whole(Path(path), study.certificate().to_json() + "\n")
