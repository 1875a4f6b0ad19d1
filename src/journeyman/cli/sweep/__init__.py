"""`journeyman sweep`: compare methods on many instances, and keep everything as it comes."""

import typer

from journeyman.cli import options as opt
from journeyman.cli.sweep import results, run

HELP = """Run an experiment grid: worlds x acquisitions x inference x queries x seeds, on all cores or on a cluster.

A sweep is a small TOML file. Every combination in it is a cell: one simulated run. All methods \
meet the same instances and the same expert. Stop it at any time, kill it, change the file, run it again: finished \
cells are never repeated, and only what is missing is run.
"""
EPILOG = (
    "Example: [bold]journeyman sweep init sweep.toml[/] writes a sweep to start from, "
    "[bold]journeyman sweep run sweep.toml[/] runs it in about a minute, then "
    "[bold]journeyman sweep table sweep.toml[/] and [bold]journeyman sweep plot sweep.toml[/] show what came out."
)

app = typer.Typer(rich_markup_mode="rich", no_args_is_help=True, help=HELP, epilog=EPILOG)
opt.add_command(app)(run.init)
opt.add_command(app)(run.run)
app.command(
    "resume",
    help="Resume a sweep that was stopped: the same as [bold]journeyman sweep run[/], which always resumes.",
    epilog="Example: [bold]journeyman sweep resume sweep.toml[/].",
)(run.run)
opt.add_command(app)(results.status)
opt.add_command(app)(results.table)
opt.add_command(app)(results.plot)
