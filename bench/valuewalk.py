"""ValueWalk beside PolicyWalk: effective draws per second, and what leaving the Jacobian out does.

    python bench/valuewalk.py [--quick]

Grids with independent terminal cells, 20 and 60 annotations. Effective draws are those of the worst parameter (the
smaller of bulk and tail), per second of processor time with warm-up. Bias is the difference of posterior means from
long chains of PolicyWalk, in posterior standard deviations: root mean square and largest over parameters, beside what
Monte-Carlo error alone would give.
"""

import argparse
import time

import _measure  # before NumPy
import numpy as np

from journeyman.inference import infer
from journeyman.worlds import make_world

METHODS = {
    "policywalk, hmc": ("policywalk", {"sampler": "hmc"}),
    "policywalk, nuts": ("policywalk", {}),
    "valuewalk": ("valuewalk", {}),
    "valuewalk, jumps in the accept step": ("valuewalk", {"jumps": "accept"}),
    "valuewalk, no Jacobian": ("valuewalk", {"jacobian": False}),
}


def main() -> None:
    """Measure, print the table and the line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="8x8 with 20 annotations and short chains only")
    arguments = parser.parse_args()
    cases = [(8, 20)] if arguments.quick else [(4, 20), (8, 20), (8, 60)]
    num_draws, num_reference = (500, 2000) if arguments.quick else (2000, 20_000)
    rows: list[tuple[str, ...]] = []
    rates: dict[tuple[int, int, str], float] = {}
    biases: dict[tuple[int, int, str], float] = {}
    for size, count in cases:
        world = make_world("random-grid", 0, size=size, terminals="independent")
        states = np.random.default_rng(1).choice(np.flatnonzero(world.problem.queryable), count)
        data = world.problem, world.make_expert(5).answers(states)
        reference = infer(*data, "policywalk", sampler="hmc", num_draws=num_reference, seed=9)
        for label, (method, options) in METHODS.items():
            infer(*data, method, num_draws=10, num_warmup=10, **options)  # compiles
            begin = time.process_time()
            draws = num_draws if "accept" not in label else num_draws // 10  # every trajectory takes 1000 steps
            posterior = infer(*data, method, num_draws=draws, seed=1, **options)
            seconds = time.process_time() - begin
            found = posterior.diagnostics
            effective = min(found.ess_bulk or 0.0, found.ess_tail or 0.0)
            off = (posterior.mean_parameters() - reference.mean_parameters()) / reference.parameter_std()
            rates[size, count, label], biases[size, count, label] = effective / seconds, float(np.abs(off).max())
            numbers = (
                f"{effective / seconds:.0f}",
                f"{effective / found.num_gradients * 1e5:.0f}",
                f"{found.acceptance:.2f}",
                f"{np.sqrt(np.mean(off**2)):.3f}",
                f"{np.abs(off).max():.2f}",
                f"{1 / np.sqrt(max(effective, 1.0)):.3f}",
            )
            rows.append((f"{size}x{size}, {count}", label, *numbers))
    columns = ("grid, answers", "method", "ESS/s", "ESS per 1e5 grad.", "acceptance", "bias rms", "max", "noise rms")
    _measure.show("Value space beside parameter space", columns, rows)
    size, count = cases[-1]
    accepting, without = list(METHODS)[-2:]
    _measure.finish(
        {
            "ratio": rates[size, count, "valuewalk"] / rates[size, count, "policywalk, hmc"],
            "ratio_to_accept": {f"{s}x{s}, {n}": rates[s, n, "valuewalk"] / rates[s, n, accepting] for s, n in cases},
            "largest_bias_without_jacobian": {f"{s}x{s}, {n}": biases[s, n, without] for s, n in cases},
        }
    )


if __name__ == "__main__":
    main()
