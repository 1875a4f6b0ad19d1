"""Prints digests of what every sampler gives, in a process whose memory is laid out by chance.

    python determinism_worker.py SALT THREADS

SALT: of the sizes of arrays that lie between ours, so that they begin at other addresses in every process.
"""

import hashlib
import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np


def digest(posterior):
    parts = (posterior.theta, posterior.weights, posterior.values)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:16]


def main(salt, num_threads):
    rng = np.random.default_rng(salt)
    between = [np.empty(int(rng.integers(1, 400)), dtype=np.int8) for _ in range(3000)]
    del between[::2]
    warnings.simplefilter("ignore")
    from journeyman.demonstrations import Demonstration
    from journeyman.experts import Boltzmann
    from journeyman.inference import infer
    from journeyman.learner import ActiveLearner
    from journeyman.problem import Problem
    from journeyman.rewards import Normal, PerState
    from journeyman.study import Study
    from journeyman.worlds import make_world

    found = {}
    chains = {"num_warmup": 40, "num_draws": 40, "num_chains": 2}
    for size in (2, 3):
        plain = make_world("random-grid", 1, size=size, terminals="independent").problem
        states = np.flatnonzero(plain.queryable)
        told = [Demonstration.annotation(int(states[i % len(states)]), i % 5) for i in range(8)]
        unknown = Boltzmann.from_record({"beta": {"lognormal": [1.0, 1.0]}})
        unsure = Problem(plain.mdp, PerState(plain.mdp), Normal(plain.mdp.num_states), unknown)
        for name, problem, method, options in (
            ("smc", plain, "smc", {"num_particles": 150}),
            ("hmc", plain, "policywalk", {"sampler": "hmc", **chains}),
            ("nuts", plain, "policywalk", chains),
            ("valuewalk", plain, "valuewalk", chains),
            ("unknown beta, smc", unsure, "smc", {"num_particles": 150}),
            ("unknown beta, hmc", unsure, "policywalk", {"sampler": "hmc", **chains}),
        ):
            posterior = infer(problem, told, method, seed=4, num_threads=num_threads, **options)
            found[f"{name}, {size}x{size}"] = digest(posterior)
    settings = {"seed": 2, "inference_options": {"num_particles": 150}}
    learner = ActiveLearner(plain, num_threads=num_threads, **settings)
    asked = []
    for number in range(3):
        query = learner.ask()
        asked.append(query.state)
        learner.tell(query, number)
    found["learner"] = [asked, digest(learner.posterior())]
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder) / "s.study", []
        Study.create(path, plain, num_threads=num_threads, **settings).close()
        for number in range(3):  # closed and opened again before each question
            with Study.open(path, num_threads=num_threads) as study:
                query = study.ask()
                again.append(query.state)
                study.tell(query, number)
        with Study.open(path, num_threads=num_threads) as study:
            found["study"] = [again, digest(study.posterior())]
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
