"""`journeyman infer`: what demonstrations tell about the reward of a world."""

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeyman.cli import options as opt
from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.demonstrations import Demonstration
    from journeyman.worlds import World


def infer(
    name: opt.WorldName,
    inference: opt.Inference = "smc",
    demonstrations: Annotated[
        int, typer.Option(metavar="N", help="How many demonstrations to ask for; 0 shows the prior.")
    ] = 20,
    seed: Annotated[
        int, typer.Option(help="Seed of the world, of what is asked and answered, and of the sampling.")
    ] = 0,
    kind: opt.Kind = "state",
    length: opt.Length = None,
    world_set: opt.WorldOptions = None,
    inference_set: opt.InferenceOptions = None,
    png: opt.Picture = None,
    netcdf: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the draws for ArviZ.")] = None,
    threads: opt.Threads = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Move particles and chains on the workers of a Dask scheduler."),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Ask the simulated expert of a world, and show what its answers tell about the reward.

    Questions are about random states. The posterior over rewards is shown as mean and standard deviation, beside the
    truth, which the inference never sees, with how many 95 % intervals contain it and how good the learned policy
    really is.

    Examples: [bold]journeyman infer random-8x8 --demonstrations 60 --png posterior.png[/] maps mean and uncertainty.
    [bold]journeyman infer jail --inference enumerate --demonstrations 5 --kind trajectory --length 8[/] asks for
    trajectories. [bold]journeyman infer random-grid --world-set size=4 --inference policywalk --inference-set
    sampler=hmc --netcdf draws.nc[/] saves the draws for ArviZ. [bold]journeyman infer random-grid --world-set size=40
    --scheduler tcp://10.0.0.1:8786[/] computes one large posterior on a cluster, with the same result.
    """
    from journeyman.cli.warmup import compile_at_first_use
    from journeyman.inference import INFERENCE, infer as infer_posterior
    from journeyman.inference.arviz_export import write_netcdf
    from journeyman.report.drawing.maps import posterior_map
    from journeyman.report.posterior.summary import posterior_record, print_posterior, summarise_posterior
    from journeyman.storage.spread import on_cluster
    from journeyman.wording import counted
    from journeyman.worlds import make_world

    INFERENCE.find(inference)
    chosen = opt.parse_settings(inference_set)
    check_places(png, netcdf)
    compile_at_first_use()
    world = make_world(name, seed, **opt.parse_options(name, world_set))
    answers = ask_at_random(world, demonstrations, seed, kind=kind, length=length)
    with nullcontext() if scheduler is None else on_cluster(scheduler):
        posterior = infer_posterior(
            world.problem, answers, inference, seed=seed, num_threads=threads, progress=sys.stderr.isatty(), **chosen
        )
    summary = summarise_posterior(world, answers, posterior)
    opt.show(as_json, lambda: posterior_record(summary), lambda console: print_posterior(console, summary))
    if netcdf is not None:
        write_netcdf(posterior.to_arviz(include_reward=True), netcdf)
        typer.echo(f"Draws written to {netcdf}", err=as_json)
    title = f"{world.name}, seed {seed}: reward after {counted(len(answers), 'demonstration')}, by {inference}"
    mean, std = posterior.mean_reward(), posterior.reward_std()
    opt.save_picture(lambda: posterior_map(world.problem, mean, std, title=title), png, as_json)


def ask_at_random(
    world: "World", num_demonstrations: int, seed: int, *, kind: str, length: int | None
) -> "tuple[Demonstration, ...]":
    """Return the expert's answers at states drawn uniformly from those that may be asked about."""
    import numpy as np

    from journeyman.checks import one_of, whole_number
    from journeyman.experts import KINDS, questions_at

    num_demonstrations = whole_number(num_demonstrations, "the number of demonstrations", 0, "0 shows the prior.")
    one_of(kind, KINDS, "kind", "Leave it out for single actions.")
    if kind == "state" and length is not None:
        raise InputError(f"only a trajectory has a length, got --length {length}. Add --kind trajectory.")
    queryable = np.flatnonzero(world.problem.queryable)
    if num_demonstrations and not queryable.size:
        raise InputError(
            f"a world must have states that can be asked about, got none with seed {world.seed}. Use another seed."
        )
    rng = np.random.default_rng([seed, 1])
    asked = rng.choice(queryable, num_demonstrations) if num_demonstrations else queryable[:0]
    questions = questions_at(asked.tolist(), kind=kind, length=opt.trajectory_length(world, kind, length))
    return tuple(map(world.make_expert(seed).demonstrate, questions))


def check_places(png: Path | None, netcdf: Path | None) -> None:
    """Refuse files that cannot be written, before the long work."""
    from journeyman.extras import require

    opt.check_picture(png)
    if netcdf is not None:
        require("arviz", "mcmc")
        if netcdf.is_dir():
            raise InputError(f"draws must go to a file, got the folder {str(netcdf)!r}. Add a file name.")
        if not netcdf.parent.is_dir():
            raise InputError(f"the folder of draws must exist, got {str(netcdf.parent)!r}. Create it first.")
    for path in (png, netcdf):
        if path is not None and not os.access(path if path.exists() else path.parent, os.W_OK):
            raise InputError(f"a file must go where it can be written, got {str(path)!r}. Choose another place.")
