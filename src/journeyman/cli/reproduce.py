"""`journeyman reproduce`: the paper's experiments, figures and tables, run again."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from journeyman.cli import options as opt
from journeyman.errors import InputError


def reproduce(
    part: Annotated[str, typer.Argument(metavar="PART", help="Which part of the paper, or all.")],
    scale: Annotated[str, typer.Option(help="smoke, quick or paper.")] = "quick",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the results; default: runs/reproduction-SCALE.")
    ] = None,
    inference: Annotated[
        str, typer.Option(help="smc, or chains: Markov chains of the paper's lengths, from scratch after every answer.")
    ] = "smc",
    seeds: Annotated[
        int | None, typer.Option(help="Instances of each world; default: as many as the scale has.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes, one core each; default: all cores.")] = None,
    executor: Annotated[str, typer.Option(help="local, or dask for a cluster.")] = "local",
    scheduler: opt.Scheduler = None,
    tables: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Tables of an earlier run: what they hold is not run again.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Retry cells that failed.")] = False,
    picture: Annotated[str, typer.Option("--format", help="Format of the figures: png, svg or pdf.")] = "png",
) -> None:
    """Run the paper's experiments again, and draw its figures.

    PART is one of figure-1, jail, random-10x10, random-8x8, random-8x8-trajectories, failure-modes, bounds, timing,
    all. Scales: smoke (a minute, to see that it runs), quick (4 instances of 40 answers, minutes), paper (16 instances
    of 150 answers, hours). Stop it at any time, and run the same command again to resume: finished cells are never
    repeated.

    Examples: [bold]journeyman reproduce failure-modes[/] prints the paper's counter-examples in seconds.
    [bold]journeyman reproduce random-10x10 --scale quick --workers 2[/] compares all methods on the 10x10 grid.
    [bold]journeyman reproduce jail --scale paper --inference chains --seeds 2[/] samples with Markov chains, from
    scratch after every answer. [bold]journeyman reproduce all --scale paper --executor dask --scheduler
    tcp://HOST:8786[/] uses a cluster.
    """
    from journeyman.checks import whole_number
    from journeyman.storage.workers import check_executor
    from journeyman.threads import default_num_threads

    root = str(checkout(Path.cwd(), Path(__file__).resolve().parent))
    if root not in sys.path:
        sys.path.insert(0, root)  # the folder reproduction/ is not in the installed package
    from reproduction.experiments import SCALES
    from reproduction.run import Plan, reproduce as run_plan

    if seeds is not None:
        whole_number(seeds, "seeds", 1, "It is the number of instances of each world.")
    if workers is not None:
        whole_number(workers, "the number of workers", 1)
    check_executor(executor, scheduler)
    folder = out or Path("runs") / f"reproduction-{scale}"
    plan = Plan(part, folder, scale, inference, seeds, (picture,))
    if plan.experiments:
        typer.echo(
            f"Scale {scale}: {plan.num_instances} instances of {SCALES[scale].num_steps} answers. Results are kept in "
            f"{folder}; run the same command again to resume after an interruption.",
            err=True,
        )
    try:
        done = run_plan(
            plan,
            tables=tables,
            say=typer.echo,
            num_workers=default_num_threads() if workers is None else workers,
            executor=executor,
            scheduler=scheduler,
            retry_failed=retry_failed,
        )
    except KeyboardInterrupt:
        typer.echo(f"Stopped. What is done is kept in {folder}; run the same command again to resume.", err=True)
        raise typer.Exit(130) from None
    for path in done.paths:
        typer.echo(f"Written: {path}", err=True)
    if done.num_failed:
        typer.echo(
            f"{done.num_failed} cells failed; their tracebacks are in {folder / 'failures'}. "
            "Try them again with --retry-failed.",
            err=True,
        )
        raise typer.Exit(1)


def checkout(*starts: Path) -> Path:
    """Return the checkout of journeyman that one of some folders lies in: the current one, and that of the package."""
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / "reproduction" / "experiments.py").is_file() and (folder / "src" / "journeyman").is_dir():
                return folder
    raise InputError(
        "`journeyman reproduce` must be run in a checkout of journeyman, since the paper's experiments are not in the "
        f"installed package, got the folder {str(starts[0])!r}. Unpack the source distribution or clone the "
        "repository, and run the same command there."
    )
