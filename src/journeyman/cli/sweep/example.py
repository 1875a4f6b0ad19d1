"""`journeyman sweep init`: write a small comparison, commented, ready to be changed."""

from pathlib import Path
from typing import Annotated

import typer

from journeyman.cli.sweep.opening import command
from journeyman.errors import InputError

HELP = """Write an example of a sweep, to change into your own.

Every key is there, with a comment. It compares four methods on eight small grids, and runs as it is in about a \
minute. A file that exists is never overwritten, unless you say --force.
"""
EPILOG = "Example: [bold]journeyman sweep init sweep.toml[/], then [bold]journeyman sweep run sweep.toml[/]."

EXAMPLE = """\
# A sweep for journeyman: every world x query x inference x acquisition x seed below is a cell, one simulated run.
# Run it (about a minute):    journeyman sweep run {name}
# What came out, in numbers:  journeyman sweep table {name}
# And in figures:             journeyman sweep plot {name}
# You may change this file at any time and run it again: only cells that are new are run.
# Every key is explained in docs/sweep.md.

name = "first comparison"    # for titles
steps = 24                   # answers of the expert per cell; more of them continue cells that are finished
seeds = 8                    # instances of each world: 0 to 7; or a list, such as [0, 1, 7]

# Names that `journeyman worlds` lists; with options: a table, and a label of your own for the results.
worlds = [
    {{name = "random-grid", label = "5x5", options = {{size = 5, num_initial = 2}}}},
    # "random-8x8",
    # "jail",
]

# How to choose what to ask: names of docs/acquisition.md. All of them meet the same instances and the same expert.
acquisitions = [
    "random",
    {{name = "active_var", label = "ActiveVaR"}},
    {{name = "reward_eig", label = "Reward-EIG"}},
    {{name = "pac_eig", label = "nuPAC-EIG"}},
    # {{name = "pac_eig", label = "PAC-EIG", options = {{edges = [0.0, 1.0], occupancy = false}}}},
]

# How the posterior is computed. Fewer particles are faster and less exact; leave this out for the default.
inference = [{{name = "smc", label = "smc", options = {{num_particles = 500}}}}]

# What is asked for. Not every acquisition can rate trajectories; you are told before anything is run.
queries = ["state"]          # one action in a state; or {{kind = "trajectory", length = 5}}

epsilon = 0.5                # regret that is too much, in units of the reward
delta = 0.1                  # chance of it that is acceptable

# What is measured after every answer; default: all of these.
# metrics = ["entropy", "truth", "true_regret", "believed_regret", "certificate"]
# num_histories = 64         # sampled trajectories per state, where scores are sampled
"""


def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="Where to write.")] = Path("sweep.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write the example, and say what to do next."""
    from journeyman.storage.files import made_folder, whole_file

    if file.exists() and not force:
        raise InputError(
            f"an example must go to a new file, got {str(file)!r}, which exists. Choose another, or --force."
        )
    made_folder(file.parent, "an example")
    with whole_file(file, "an example") as temporary:
        temporary.write_text(EXAMPLE.format(name=file), encoding="utf-8")
    typer.echo(f"Wrote {file}")
    typer.echo(f"Next: {command('run', file, None)}")
