"""Does the time of inference grow smoothly with the world? Slippery grids of 100 to 4096 states, 8 features.

    python bench/cliff.py [--repeats 1] [--states 100,225,484]

20 demonstrations of a simulated expert, method "smc" with its defaults, discount 0.95, one thread. "cliff" is the
largest ratio of processor times between neighbouring sizes; 0.1.0 took 74 to 80 s for 484 states ("speedup" is 77
over ours).
"""

import argparse
import sys
import time
from pathlib import Path

import _measure
import numpy as np

from journeyman.inference import infer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from inference.features import answers, feature_grid  # noqa: E402

STATES = (100, 225, 484, 961, 2025, 4096)
BEFORE = 77.0  # seconds of 0.1.0 for 484 states


def measured(num_states: int, repeats: int) -> dict[str, float]:
    """Return the least processor time of some runs, and what the last of them did."""
    problem = feature_grid(round(num_states**0.5), 8, discount=0.95)
    demonstrations = answers(problem, 20)
    seconds = []
    for seed in range(repeats):
        begin = time.process_time()
        posterior = infer(problem, demonstrations, seed=seed, num_threads=1)
        seconds.append(time.process_time() - begin)
    found = posterior.diagnostics
    return {
        "states": num_states,
        "seconds": round(min(seconds), 2),
        "stages": found.num_rejuvenations or 0,
        "evaluations": found.num_gradients,
        "acceptance": round(found.acceptance or 0.0, 2),
        "log_evidence": round(posterior.log_evidence or 0.0, 2),
    }


def main() -> None:
    """Measure all sizes, print a table and a line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--states", default=",".join(map(str, STATES)))
    options = parser.parse_args()
    infer(feature_grid(8, 8), answers(feature_grid(8, 8), 3), num_particles=200, num_threads=1)  # compiles
    rows = [measured(int(states), options.repeats) for states in options.states.split(",")]
    for row in rows:
        print("  ".join(f"{name} {value:>8}" for name, value in row.items()))
    times = np.array([row["seconds"] for row in rows])
    own = {int(row["states"]): row["seconds"] for row in rows}
    cliff = float((times[1:] / times[:-1]).max()) if len(times) > 1 else None
    speedup = round(BEFORE / own[484], 1) if 484 in own else None
    _measure.console.print_json(data={"cliff": cliff, "ratio": speedup, "seconds": own})


if __name__ == "__main__":
    main()
