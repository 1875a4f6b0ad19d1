"""Bias of entropy estimates on normal distributions; --write keeps the table in docs/entropy-bias.md."""

import argparse

from _measure import environment, finish, show  # first: before numpy

# isort: split
from pathlib import Path

import numpy as np

from journeyman.inference.entropy import gaussian_entropy, knn_entropy

DIMENSIONS, SIZES, NUM_REPEATS = (3, 16, 64), (250, 1000), 20
ESTIMATES = {"k nearest neighbours": knn_entropy, "Gaussian": gaussian_entropy}
PAGE = Path(__file__).parents[1] / "docs" / "entropy-bias.md"
TEXT = """# How far entropy estimates are off

Estimate minus truth in nats, mean and standard deviation over {repeats} sets of independent draws of a normal
distribution. The k-nearest-neighbour estimate (Kozachenko-Leonenko, k = 5) is too large in many dimensions: neighbours
are far away, and the density falls off within that distance. The Gaussian estimate is too small: the determinant of a
covariance estimated from few draws is, and its expected error is known: half the sum over i < D of
digamma((M - 1 - i) / 2) - log((M - 1) / 2). Chains have fewer effective draws than draws, which makes both worse, and a
posterior that is not normal has a smaller entropy than the normal with its covariance. Where there is a log evidence
(`smc`, `enumerate`), `posterior_entropy` uses it instead: the error of
H = log Z - E[log p(D | theta)] - E[log p(theta)] is that of two means and of log Z.

| dimensions | draws | {names} |
|---:|---:|{rules}|
{rows}

Made by `python bench/entropy_bias.py --write`.
"""


def biases(estimate_fn, dimension: int, size: int) -> np.ndarray:
    truth = 0.5 * dimension * np.log(2.0 * np.pi * np.e)
    rng = np.random.default_rng([dimension, size])
    return np.array([estimate_fn(rng.standard_normal((size, dimension))) - truth for _ in range(NUM_REPEATS)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the table in docs/entropy-bias.md")
    arguments = parser.parse_args()
    rows, result = [], {}
    for dimension in DIMENSIONS:
        for size in SIZES:
            cells = []
            for name, estimate_fn in ESTIMATES.items():
                bias = biases(estimate_fn, dimension, size)
                cells.append(f"{bias.mean():+.2f} ± {bias.std(ddof=1):.2f}")
                result[f"{name}, {dimension}, {size}"] = round(float(bias.mean()), 3)
            rows.append((str(dimension), str(size), *cells))
    show("Estimate minus truth, in nats", ("dimensions", "draws", *ESTIMATES), rows)
    if arguments.write:
        text = TEXT.format(
            repeats=NUM_REPEATS,
            names=" | ".join(ESTIMATES),
            rules="|".join("---:" for _ in ESTIMATES),
            rows="\n".join(f"| {' | '.join(row)} |" for row in rows),
        )
        PAGE.write_text(text, "utf-8")
    finish({"bias": result, "environment": environment("numpy", "scipy")})


if __name__ == "__main__":
    main()
