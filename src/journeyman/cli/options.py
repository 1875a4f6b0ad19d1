"""What several commands share: options, KEY=VALUE texts as values, where a problem comes from, and how to print."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from journeyman.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from journeyman.problem import Problem
    from journeyman.worlds import World

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., None])


def pairs_option(name: str, what: str) -> Any:
    """Return the option that takes settings of something as KEY=VALUE, as often as need be."""
    return typer.Option(name, metavar="KEY=VALUE", help=f"Option of {what}; can be repeated.")


WorldName = Annotated[
    str, typer.Argument(metavar="WORLD", help="A name that [bold]journeyman worlds[/] lists, or gym:ID.")
]
WorldChoice = Annotated[
    str | None, typer.Option("--world", metavar="NAME", help="A world from [bold]journeyman worlds[/], or gym:ID.")
]
ProblemFile = Annotated[
    Path | None,
    typer.Option("--problem", metavar="FILE", help="A problem file, as [bold]journeyman init[/] writes one."),
]
WorldOptions = Annotated[list[str] | None, pairs_option("--world-set", "the world, such as beta=2")]
Inference = Annotated[
    str,
    typer.Option(
        "--inference", metavar="METHOD", help="enumerate, policywalk, smc, valuewalk, variational, or one of your own."
    ),
]
InferenceOptions = Annotated[
    list[str] | None, pairs_option("--inference-set", "the inference method, such as num_particles=500")
]
Acquisition = Annotated[
    str | None,
    typer.Option("--acquisition", metavar="NAME", help="Acquisition function; default: by goal and problem."),
]
AcquisitionOptions = Annotated[
    list[str] | None, pairs_option("--acquisition-set", "the acquisition function, such as edges=0,1")
]
Kind = Annotated[str, typer.Option("--kind", metavar="KIND", help="state: one action; trajectory: several.")]
Length = Annotated[
    int | None, typer.Option("--length", metavar="L", help="Maximum steps of a trajectory; default: the world's.")
]
StepCost = Annotated[
    float,
    typer.Option(
        "--step-cost", metavar="C",
        help="What each step of a trajectory after the first costs, where the first costs 1; above 0 queries may be "
        "shorter.",
    ),
]  # fmt: skip
Candidates = Annotated[
    list[str] | None,
    typer.Option(
        "--candidates", metavar="WHICH",
        help="States to rate when a question is chosen: 1000 (drawn at random for each question), occupancy:1000 "
        "(those that the apprentice visits most), or names of states, separated by commas; can be repeated. Default: "
        "all, or the 1000 most visited if there are more than 20,000.",
    ),
]  # fmt: skip
MaxSamples = Annotated[
    int,
    typer.Option(
        "--max-samples", metavar="N", help="Samples that a certificate may draw until it is decided; 0: none."
    ),
]
MaxSeconds = Annotated[
    float,
    typer.Option(
        "--max-seconds", metavar="S",
        help="How long a certificate may draw, a confirmation twice that; 0: as long as its samples take, which gives "
        "the same verdict on every machine. If it would hold, checking its model takes extra time.",
    ),
]  # fmt: skip
Epsilon = Annotated[
    str,
    typer.Option(
        "--epsilon",
        metavar="NUMBER",
        help="Regret that is too much: in units of the reward, or a share such as 5% of what the best policy gains "
        "over acting at random.",
    ),
]
Delta = Annotated[float, typer.Option("--delta", help="Acceptable chance of that.")]
Scope = Annotated[
    str,
    typer.Option("--scope", metavar="SCOPE", help="initial, or every_state: a guarantee wherever an episode starts."),
]
Goal = Annotated[str, typer.Option("--goal", help="policy: a certified policy; reward: to know the reward itself.")]
Picture = Annotated[
    Path | None, typer.Option("--png", metavar="FILE", help="Also draw a picture: .png, .svg, .pdf ...")
]
Scheduler = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Address of the Dask scheduler, such as tcp://10.0.0.1:8786.")
]
Threads = Annotated[int | None, typer.Option("--threads", metavar="N", help="Threads; default: all cores.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def help_texts(function: Callable[..., None]) -> dict[str, Any]:
    """Return the help of a command from its docstring, a line per paragraph; the last paragraph, examples, ends it."""
    *paragraphs, examples = [" ".join(part.split()) for part in (inspect.getdoc(function) or "").split("\n\n")]
    return {"help": "\n\n".join(paragraphs), "epilog": examples}


def add_command(app: typer.Typer, name: str | None = None) -> Callable[[CommandFunction], CommandFunction]:
    """Return a decorator that adds a function to a group as a command, with its docstring as help."""
    return lambda function: app.command(name, **help_texts(function))(function)


def parse_options(name: str, pairs: list[str] | None) -> dict[str, Any]:
    """Return KEY=VALUE texts as options of world `name`, each of the type of its default."""
    from journeyman.checks import check_options
    from journeyman.worlds import make_world, world_options

    if not pairs:
        return {}
    make_world(name)  # says what is wrong with the name
    defaults = world_options(name)
    texts = split_pairs(pairs, "--world-set beta=2")
    check_options(texts, defaults, f"world {name!r}")
    return {key: _option_value(key, text, defaults[key]) for key, text in texts.items()}


def _option_value(key: str, text: str, default: Any) -> Any:
    """Return the text of an option as a value of the type of its default; as JSON where that says no type."""
    kind = type(default)
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise InputError(f"option {key} must be true or false, got {text!r}. Example: --world-set {key}=false")
        return text.lower() == "true"
    try:
        if kind in (int, float, str):
            return kind(text)
        return json.loads(text)
    except (ValueError, RecursionError):
        if default is None:
            return text
        what = {int: "a whole number", float: "a number"}.get(kind, "a list")
        example = "2" if kind in (int, float) else json.dumps(default, default=str).replace(" ", "")
        raise InputError(f"option {key} must be {what}, got {text!r}. Example: --world-set {key}={example}") from None


def split_pairs(pairs: list[str], example: str) -> dict[str, str]:
    """Return KEY=VALUE texts as a dict; no key may come twice."""
    texts: dict[str, str] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator:
            raise InputError(f"a setting must be written as KEY=VALUE, got {pair!r}. Example: {example}")
        if key in texts:
            raise InputError(f"option {key} must be given once, got it twice. Remove one of them.")
        texts[key] = text
    return texts


def parse_settings(pairs: list[str] | None, example: str = "--inference-set num_particles=500") -> dict[str, Any]:
    """Return KEY=VALUE texts as options of a method: numbers, true or false where they read like it, else words."""
    settings: dict[str, Any] = {}
    for key, text in split_pairs(pairs or [], example).items():
        try:
            value = json.loads(text.lower() if text in ("True", "False") else text)
        except (ValueError, RecursionError):
            value = text
        settings[key] = value if isinstance(value, bool | int | float) else text
    return settings


def parse_scoring_options(pairs: list[str] | None) -> dict[str, Any]:
    """Return KEY=VALUE texts as options of a function: as `parse_settings`, and lists of numbers, and none."""
    parsed = parse_settings(pairs)
    for key, value in parsed.items():
        if value == "none":
            parsed[key] = None
        elif key == "edges":
            try:
                parsed[key] = tuple(float(part) for part in str(value).split(","))
            except ValueError:
                raise InputError(f"edges must be numbers between commas, got {value!r}. Example: edges=0,1") from None
    return parsed


def parse_candidates(texts: list[str] | None, problem: "Problem") -> Any:
    """Return what --candidates says: a number, "occupancy:N", or a list of states by name; None if it says nothing.

    A number alone says how many; "3,17" and "3," are lists of states.
    """
    if not texts:
        return None
    from journeyman.acquisition.candidates import check_candidates

    found: Any = []
    if len(texts) == 1 and texts[0].strip().isdecimal():
        found = int(texts[0])
    elif len(texts) == 1 and texts[0].strip().startswith("occupancy"):
        found = texts[0]
    else:
        names = problem.mdp.state_names
        for text in texts:  # a label may have a comma in it
            parts = [text] if names.knows(text) else [part for part in text.split(",") if part.strip()]
            found += [names.index(part) for part in parts]
    check_candidates(found, problem)
    return found


def chosen_world(world: str | None, problem: Path | None, options: list[str] | None, seed: int) -> "World":
    """Return a world by name, or one made of a problem file with a truth drawn from its prior."""
    from journeyman.worlds import World, make_world

    if (world is None) == (problem is None):
        got = "none" if world is None else "a file and a world"
        raise InputError(f"there must be one problem, got {got}. Say --problem problem.toml or --world NAME.")
    if world is not None:
        return make_world(world, seed, **parse_options(world, options))
    from journeyman.problem_files import load_problem
    from journeyman.worlds.world import world_rng

    assert problem is not None
    check_no_options(options)
    loaded = load_problem(problem)
    return World(problem.stem, seed, loaded, loaded.prior.sample(world_rng("problem-file", seed), 1)[0])


def check_no_options(options: list[str] | None) -> None:
    """Refuse options of a world where no world was chosen."""
    if options:
        raise InputError(f"--world-set must come with --world, got {options[0]!r} alone. Change the problem instead.")


def trajectory_length(world: "World", kind: str, length: int | None) -> int | None:
    """Return the length that was asked for, or that of the world's trajectories."""
    return world.max_length if kind == "trajectory" and length is None else length


def print_json(data: Any) -> None:
    """Print data as JSON that every parser accepts: no NaN, no infinity."""
    typer.echo(json.dumps(data, indent=2, allow_nan=False))


def say(as_json: bool, record: Any, words: str) -> None:
    """Print what was done: a record for programs, or words for people."""
    if as_json:
        print_json(record)
    else:
        typer.echo(words)


def show(as_json: bool, record_fn: Callable[[], Any], print_fn: "Callable[[Console], None]") -> None:
    """Print what was found: its record for programs, or for people what `print_fn` puts on the console."""
    if as_json:
        print_json(record_fn())
        return
    from rich.console import Console

    print_fn(Console())


def check_picture(path: Path | None) -> None:
    """Refuse a picture that cannot be written, before the long work."""
    from journeyman.report.drawing.maps import checked_picture_path

    if path is not None:
        checked_picture_path(path)


def save_picture(figure_fn: "Callable[[], Figure]", path: Path | None, as_json: bool) -> None:
    """Write a picture if one was asked for, and say so."""
    from journeyman.report.drawing.maps import save_figure

    if path is not None:
        save_figure(figure_fn(), path)
        typer.echo(f"Picture written to {path}", err=as_json)
