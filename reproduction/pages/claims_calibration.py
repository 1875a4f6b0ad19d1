"""Claim 8: variational inference gives unreliable uncertainty, by the calibration programme."""

from pandas import DataFrame

from reproduction.pages.claim import Claim, Part, decided, no_data
from reproduction.pages.numbers import NumberTable, interval_cell, p_text
from reproduction.pages.sources import Sources

PAPER = (
    "A method by variational inference was tried as well; its uncertainty was unreliable for active learning. (No "
    "number is given.)"
)
SIGNIFICANCE, NOMINAL = 0.01, 0.95


def calibration_claim(sources: Sources) -> Claim:
    """Return claim 8."""
    title = "Variational inference"
    frame = _frame(sources)
    variational, exact = (frame[frame["role"] == role] for role in ("baseline", "method"))
    rejected = f"calibration is rejected (p < {SIGNIFICANCE}) in every world where it was run"
    narrow = "its 95 % credible intervals cover less than 95 % of truths, by the whole confidence interval, everywhere"
    passes = f"p >= {SIGNIFICANCE} for every other method in every world"
    if variational.empty or exact.empty:
        return Claim(8, title, PAPER, (no_data("its uncertainty is wrong", rejected),))
    parts = (
        Part(
            "its uncertainty is wrong",
            rejected,
            f"largest p {p_text(variational['p_value'].max())}, {len(variational)} worlds",
            decided(bool((variational["p_value"] < SIGNIFICANCE).all())),
        ),
        Part(
            "and too small",
            narrow,
            "coverage " + ", ".join(f"{row['world']}: {row['share']:.1%}" for row in variational.to_dict("records")),
            decided(bool((variational["high"] < NOMINAL).all())),
        ),
        Part(
            "which is the method's fault: exact methods pass on the same truths",
            passes,
            f"smallest p {p_text(exact['p_value'].min())}, {len(exact)} combinations of method and world",
            decided(bool((exact["p_value"] >= SIGNIFICANCE).all())),
        ),
    )
    table = NumberTable(
        "claim-08-calibration",
        "Simulation-based calibration after 20 annotations (from docs/calibration/table.json)",
        frame[frame["role"].isin(["baseline", "method"])],
        {
            "world": "world",
            "method": "method",
            "replications": "num_replications",
            "p": lambda row: p_text(row["p_value"]),
            "coverage of 95 % intervals": interval_cell("share", "low", "high"),
        },
    )
    note = "How it was measured, and methods that are wrong on purpose: [calibration](../calibration/README.md)."
    return Claim(8, title, PAPER, parts, (table,), (note,))


def _frame(sources: Sources) -> DataFrame:
    rows = []
    for record in sources.calibration:
        coverage = next(part for part in record["parameter_coverage"] if part["chance"] == NOMINAL)
        keys = ("world", "method", "role", "num_replications", "p_value", "is_calibrated")
        rows.append({key: record[key] for key in keys} | {key: coverage[key] for key in ("share", "low", "high")})
    return DataFrame(rows, columns=["world", "method", "role", "num_replications", "p_value", "is_calibrated",
                                    "share", "low", "high"])  # fmt: skip
