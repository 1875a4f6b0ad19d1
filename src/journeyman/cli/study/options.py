"""The group `journeyman study`: what its commands share, how they open a study, and `new`, which makes one."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeyman.cli import options as opt
from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.study import Study

HELP = """Work with a study: a learner that is kept in one file.

Ask what to show the expert next, tell the answer, see how far you are, and get a certificate. What was told is kept \
even if the machine crashes; several people and programs may use one file at once.
"""
EPILOG = (
    "Example: [bold]journeyman study new my.study --problem problem.toml[/], [bold]journeyman study ask my.study[/], "
    "[bold]journeyman study tell my.study 0 right[/], [bold]journeyman study certify my.study[/]. "
    "Exit codes: 0 done, 1 an error that is explained, 2 a wrong option, 3 from certify: does not hold (yet), 4 "
    "from certify and doubts: the model is doubtful."
)

app = typer.Typer(rich_markup_mode="rich", no_args_is_help=True, help=HELP, epilog=EPILOG)
StudyFile = Annotated[Path, typer.Argument(metavar="FILE", help="The study, such as my.study.")]
Annotator = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who answered, unless the data say so.")]
AllowDuplicates = Annotated[
    bool, typer.Option("--allow-duplicates", help="Count data even if they are already there: they were done twice.")
]


@contextmanager
def opened_to_change(file: Path, num_threads: int | None = None) -> Iterator["Study"]:
    """Open a study that will be changed; advice to call a method in Python is given as the command that does it."""
    from journeyman.study import Study

    with Study.open(file, num_threads=num_threads) as study:
        try:
            yield study
        except InputError as error:
            raise type(error)(in_commands(str(error), file)) from error


def in_commands(text: str, file: Path) -> str:
    """Return a message with calls of methods as commands: undo(0) is `journeyman study undo FILE 0`."""
    command = f"`journeyman study {{}} {file}"
    text = re.sub(r"\bundo\(([\w-]+)\)", lambda call: f"{command.format('undo')} {call[1]}`", text)
    text = re.sub(
        r"\b(correct|tell)\(([\w-]+), \.\.\.\)", lambda call: f"{command.format(call[1])} {call[2]} ANSWER`", text
    )
    return re.sub(
        r"\bclone\((\w+)=\.\.\.\)", lambda call: f"{command.format('clone')} NEW.study --set {call[1]}=VALUE`", text
    )


def computing_advice(file: Path, study: "Study", texts: Iterable[str]) -> list[str]:
    """Return the commands that do what warnings and certificates advise: more computing, or other settings."""
    settings, said = study.settings, " ".join(" ".join(texts).split())
    defaults = settings.method.defaults | {"max_samples": settings.max_samples}
    wanted = re.findall(r"\b[Rr]aise (\w+)(?: or (\w+))?", said) + [("num_particles", "")] * ("more particles" in said)
    names = dict.fromkeys(name for pair in wanted for name in pair if name in defaults)
    now = defaults | settings.sized_options | settings.computing
    lines = [
        f"To do so: journeyman study set {file} {name}={2 * now[name]}" for name in names if isinstance(now[name], int)
    ]
    if "more time (max_seconds)" in said:
        lines.append(f"To give it more time: journeyman study certify {file} --max-seconds 60")
    if "accept more regret" in said:
        lines.append(f"For another epsilon: journeyman study clone {file} NEW.study --set epsilon=VALUE")
    return lines


def opened_to_look(file: Path, num_threads: int | None = None, max_seconds: float = 0.0) -> "Study":
    """Open a study that will not be changed.

    It is opened for writing where that is allowed, so that a posterior which had to be computed is kept; a study that
    is write-protected, lies in such a folder, or has several names, is only read. A limit of 0 seconds is none.
    """
    from journeyman.study import Study
    from journeyman.study.database import several_names

    is_protected = os.path.isfile(file) and (
        not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)) or several_names(file) is not None
    )
    return Study.open(file, num_threads=num_threads, max_seconds=max_seconds or None, read_only=is_protected)


@opt.add_command(app)
def new(
    file: StudyFile,
    problem: opt.ProblemFile = None,
    world: opt.WorldChoice = None,
    world_set: opt.WorldOptions = None,
    acquisition: opt.Acquisition = None,
    acquisition_set: opt.AcquisitionOptions = None,
    inference: opt.Inference = "smc",
    inference_set: opt.InferenceOptions = None,
    epsilon: opt.Epsilon = "0.1",
    delta: opt.Delta = 0.1,
    scope: opt.Scope = "initial",
    max_samples: opt.MaxSamples = 16_000,
    kind: opt.Kind = "state",
    length: Annotated[int | None, typer.Option(metavar="L", help="Maximum steps of a trajectory.")] = None,
    step_cost: opt.StepCost = 0.0,
    candidates: opt.Candidates = None,
    goal: opt.Goal = "policy",
    seed: Annotated[int, typer.Option(help="Seed of the learner and of the world.")] = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Make a new study from a problem file, or from one of the worlds.

    Defaults suit a first study: ask for single actions, stop when the policy loses less than epsilon with probability 1
    - delta. Settings that only cost computing can be changed later (`journeyman study set`), others in a copy with the
    same data (`journeyman study clone`).

    Examples: [bold]journeyman study new my.study --problem problem.toml --epsilon 0.5[/]. [bold]journeyman study new
    jail.study --world jail --seed 3 --kind trajectory --length 10[/]. [bold]journeyman study new grid.study --world
    random-grid --world-set size=4 --inference-set num_particles=500[/].
    """
    from journeyman.study import Study

    made = opt.chosen_world(world, problem, world_set, seed).problem
    chosen: dict[str, Any] = dict(
        acquisition=acquisition, acquisition_options=opt.parse_scoring_options(acquisition_set),
        inference=inference, inference_options=opt.parse_settings(inference_set),
        epsilon=epsilon, delta=delta, scope=scope, max_samples=max_samples, kind=kind, length=length,
        step_cost=step_cost, goal=goal, seed=seed, candidates=opt.parse_candidates(candidates, made),
    )  # fmt: skip
    with Study.create(file, made, **chosen) as study:
        record = {"file": str(file)} | study.overview().to_record()
    size = f"{made.mdp.num_states} states, {int(made.queryable.sum())} of them may be asked about"
    opt.say(as_json, record, f"Made {file}: {size}.\nNext: journeyman study ask {file}")
