"""What the commands of `journeyman sweep` print with `--json`."""

from journeyman.cli.schemas.language import Schema, either, many, maybe, number, record, text, truth, whole, word

GROUP: dict[str, Schema] = dict(
    world=text("Label of the world"),
    query=text("Label of the kind of query"),
    inference=text("Label of the inference method"),
    method=text("Label of the acquisition function"),
)
MEAN: dict[str, Schema] = dict(
    mean=maybe(number("Over instances")), standard_error=maybe(number("Of the mean; null for one instance"))
)
RUN = record(
    "How the run ended.",
    name=text("Of the sweep"),
    out=text("Folder of the results"),
    num_cells=whole("Cells of the sweep"),
    num_finished=whole("Cells that have their results now"),
    num_new=whole("Cells that this run finished"),
    failed=many(text("Its id"), "Cells that failed and have no results"),
    seconds=number("That it took"),
    is_complete=truth("Whether every cell has its results"),
)

SWEEPS: dict[str, Schema] = {
    "sweep run": RUN,
    "sweep resume": RUN,
    "sweep status": record(
        "How far the sweep is.",
        name=text("Of the sweep"),
        out=text("Folder of the results"),
        steps=whole("Answers of each cell"),
        num_cells=whole("Cells of the sweep"),
        counts=record(
            "Cells by status",
            finished=whole("That have their results"),
            running=whole("That run now"),
            begun=whole("That were begun and stopped"),
            waiting=whole("That were not begun"),
            failed=whole("That failed"),
        ),
        methods=many(
            record(
                "One",
                **GROUP,
                num_finished=whole("Its cells that have their results"),
                num_failed=whole("Its cells that failed"),
                num_cells=whole("Its cells"),
            ),
            "How far each method is",
        ),
        cells=many(
            record(
                "One",
                cell=text("Its id"),
                **GROUP,
                seed=whole("Of the instance"),
                status=word("How it stands", "finished", "running", "begun", "waiting", "failed"),
                num_steps=whole("Answers so far"),
                error=maybe(text("Why it failed")),
                failure=maybe(text("File with the traceback")),
            ),
            "Cells that run or failed; with --cells all",
        ),
    ),
    "sweep table": either(
        "Means, or the file that was written.",
        record(
            "Means over instances",
            name=text("Of the sweep"),
            epsilon=number("Regret that is too much"),
            rows=many(
                record(
                    "One",
                    **GROUP,
                    step=whole("After this number of answers"),
                    n=whole("Instances that are finished"),
                    entropy_estimate=maybe(text("Which estimate of the entropy")),
                    entropy=record("Of the posterior, in nats", **MEAN),
                    true_regret=record("Of the policy", **MEAN),
                    failure_chance=record("Estimated chance that the regret is epsilon or more", **MEAN),
                    num_certified=maybe(whole("Instances whose certificate holds; null if nobody looked")),
                ),
                "By method and step",
            ),
        ),
        record("With --to", file=text("What was written"), num_rows=whole("Its rows")),
    ),
    "sweep plot": record("What was drawn.", files=many(text("A path"), "Figures that were written")),
}
