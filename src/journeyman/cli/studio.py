"""`journeyman studio`: a page where a human expert teaches, served from this machine."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from journeyman.cli import options as opt
from journeyman.errors import InputError, JourneymanError

if TYPE_CHECKING:
    from collections.abc import Callable

    from journeyman.study import Study


def studio(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The study; created if needed, with --world or --problem.")
    ] = None,
    world: opt.WorldChoice = None,
    problem: opt.ProblemFile = None,
    world_set: opt.WorldOptions = None,
    seed: Annotated[int, typer.Option(help="Seed of the learner and of the world.")] = 0,
    kind: opt.Kind = "state",
    length: opt.Length = None,
    epsilon: opt.Epsilon = "0.1",
    delta: opt.Delta = 0.1,
    inference_set: opt.InferenceOptions = None,
    annotator: Annotated[
        str | None, typer.Option("--annotator", metavar="NAME", help="Who answers on the page that is opened.")
    ] = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", help="Default: 8765, or the next one that is free; 0: any.")
    ] = None,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines in, by an address that --host names.")
    ] = False,
    known_as: Annotated[
        list[str] | None,
        typer.Option("--known-as", metavar="NAME", help="A name by which others reach this machine; can be repeated."),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option("--pictures", metavar="FOLDER", help="Pictures of states: files named by label or number."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    new_token: Annotated[
        bool, typer.Option("--new-token", help="Make a new address; the old one stops working.")
    ] = False,
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="N", help="Threads of the learner; default: all cores but one.")
    ] = None,
) -> None:
    """Open a page on which an expert answers the questions that matter, and everyone sees what is learned.

    Arrow keys or clicks are answers; every answer is kept in the study file before it is acknowledged, and the next
    question is there at once. The page also shows what is known: where an answer would help most, the reward, the
    apprentice's policy, how far off the certificate is. Several people can answer at once, each with the printed
    address and &annotator=NAME. Stop with Ctrl-C at any time: the same command resumes where you were, and open pages
    reconnect.

    With --world or --problem a study is made in the current folder, or continued if it is there and has the same
    problem; with nothing given, the page lets you make one. Only this machine can open the page, by an address that
    holds a secret token. --host with another address also needs --allow-remote: then anybody who can reach this
    machine and has the address can read and answer, and what is sent is not encrypted. --known-as adds names by which
    they may reach it.

    Examples: [bold]journeyman studio --world jail[/]; [bold]journeyman studio --problem maze/problem.toml --annotator
    ada[/]; [bold]journeyman studio my.study --port 9000 --no-browser[/]; runs instead of single actions:
    [bold]journeyman studio --world jail --kind trajectory[/]; a lab: [bold]journeyman studio my.study --host 0.0.0.0
    --allow-remote[/].
    """
    check_can_serve(host, port, pictures, allow_remote=allow_remote)
    settings: dict[str, Any] = {
        "kind": kind, "epsilon": epsilon, "delta": delta, "inference_options": opt.parse_settings(inference_set),
        "seed": seed,
    }  # fmt: skip
    place = study_place(file, world, problem, seed)
    serving = Serving(host, port, annotator, tuple(known_as or ()), pictures, threads, not no_browser)
    study = serve_studio(
        place,
        lambda: None if place is None else opened(place, world, problem, world_set, seed, length, settings),
        serving,
        is_new_token=new_token,
    )
    if study is not None:
        typer.echo(f"Stopped. To continue: journeyman studio {study.path}")


class Serving(NamedTuple):
    """Where a studio is served, and to whom."""

    host: str
    port: int | None
    annotator: str | None
    known_as: tuple[str, ...]
    pictures: Path | None
    num_threads: int | None
    has_browser: bool


def check_can_serve(host: str, port: int | None, pictures: Path | None, *, allow_remote: bool) -> None:
    """Refuse what cannot be served, before anything is made."""
    from journeyman.extras import require

    for module in ("fastapi", "uvicorn"):
        require(module, "studio")
    from journeyman.studio.serving import is_loopback

    if not is_loopback(host) and not allow_remote:
        raise InputError(
            f"the studio must be told to let other machines in, got --host {host} alone. Add --allow-remote if "
            "everybody who reaches this machine and has the address may read and answer, unencrypted; or leave --host "
            "out."
        )
    if pictures is not None and not pictures.is_dir():
        raise InputError(f"--pictures must be a folder, got {str(pictures)!r}. Name one that exists.")
    if port is not None and not 0 <= port <= 65535:
        raise InputError(f"--port must lie in 0..65535, got {port}. Leave it out for the usual one.")


def serve_studio(
    place: Path | None, open_fn: "Callable[[], Study | None]", serving: Serving, *, is_new_token: bool
) -> "Study | None":
    """Serve a study, or a folder of them, until the server is stopped; return the study."""
    from journeyman.studio import create_app
    from journeyman.studio.serving import Doorway, TokenFile, address_of, bound_socket, is_loopback, names_of, serve

    keeper = TokenFile(Path.cwd() if place is None else place, is_new=is_new_token)
    doorway = None
    try:
        with bound_socket(serving.host, serving.port) as listening:  # first: nothing is made where it cannot be served
            study = open_fn()
            app = create_app(
                study,
                token=keeper.token,
                hosts=(*names_of(serving.host), *serving.known_as),
                folder=Path.cwd() if place is None else place.resolve().parent,
                lists_folder=place is None,
                pictures=serving.pictures,
                num_threads=serving.num_threads,
            )
            address = address_of(listening, serving.host, keeper.token, serving.annotator)
            say_where(address, is_remote=not is_loopback(serving.host), is_kept=keeper.is_kept)
            if serving.has_browser:
                doorway = Doorway(address)
                doorway.open()
            serve(app, listening)
    finally:
        if doorway is not None:
            doorway.close()
        keeper.close()
    return study


def say_where(address: str, *, is_remote: bool, is_kept: bool) -> None:
    """Print the address to open, alone on a line, and what is to be known about it."""
    if is_remote:
        typer.echo("Other machines can open this page: whoever has the address can read and answer, unencrypted.")
    if not is_kept:
        typer.echo("The token could not be kept for next time: pages must be opened anew after a restart.")
    typer.echo("Open this address in a browser (Ctrl-C stops; nothing that was acknowledged is lost):")
    typer.echo(address)
    sys.stdout.flush()


def study_place(file: Path | None, world: str | None, problem: Path | None, seed: int) -> Path | None:
    """Return the file of the study; None where nothing was named, so that the page asks."""
    if world is not None and problem is not None:
        raise InputError("there must be one problem, got a file and a world. Say --problem FILE or --world NAME.")
    if file is not None:
        return file
    if problem is not None:
        stem = problem.resolve().parent.name if problem.stem == "problem" else problem.stem
        return Path(f"{stem or 'problem'}.study")
    if world is not None:
        safe = world.replace(":", "-").replace("/", "-")
        return Path(f"{safe}.study" if seed == 0 else f"{safe}-{seed}.study")
    return None


def opened(
    place: Path,
    world: str | None,
    problem: Path | None,
    world_set: list[str] | None,
    seed: int,
    length: int | None,
    settings: dict[str, Any],
) -> "Study":
    """Open a study that is there, or make it, and say which."""
    from journeyman.study import Study
    from journeyman.wording import counted

    if place.exists() or (world is None and problem is None):
        study = Study.open(place)
        try:
            check_problem(study, problem)
            check_settings(study, length, settings, other_options(study, world, world_set, seed))
        except JourneymanError:
            study.close()
            raise
        typer.echo(f"Continuing {place}: {counted(len(study.demonstrations), 'answer')} so far.")
        return study
    chosen = opt.chosen_world(world, problem, world_set, seed)
    length = opt.trajectory_length(chosen, settings["kind"], length)
    study = Study.create(place, chosen.problem, length=length, **settings)
    typer.echo(f"Made {place}: {chosen.problem.mdp.num_states} states.")
    return study


def check_problem(study: "Study", file: Path | None) -> None:
    """Refuse a problem file that says something else than the study which is there already was made from."""
    from journeyman.problem_files import is_same_problem, load_problem

    if file is not None and not is_same_problem(load_problem(file), study.problem):
        raise InputError(
            f"{study.path} must be continued with the problem that it was made from, got another one in {str(file)!r}. "
            f"To continue it: journeyman studio {study.path}. For a new study: journeyman studio NEW.study --problem "
            f"{file}"
        )


def other_options(study: "Study", world: str | None, world_set: list[str] | None, seed: int) -> list[str]:
    """Return the options of a world that make another one than that of a study; none if they make the same."""
    from journeyman.problem_files import is_same_problem

    if not world_set:
        return []
    if world is None:
        opt.check_no_options(world_set)
    is_same = is_same_problem(opt.chosen_world(world, None, world_set, seed).problem, study.problem)
    return [] if is_same else list(world_set)


def check_settings(study: "Study", length: int | None, wanted: dict[str, Any], others: list[str]) -> None:
    """Refuse settings that a study which is there already does not have."""
    from journeyman.apprentice.epsilon import checked_epsilon, epsilon_record

    kept, usual = study.settings, {"kind": "state", "epsilon": 0.1, "delta": 0.1, "length": None}
    given = {name: wanted[name] for name in ("kind", "delta")} | {"length": length}
    given["epsilon"] = epsilon_record(checked_epsilon(wanted["epsilon"]))
    for name, value in given.items():
        found = epsilon_record(kept.epsilon) if name == "epsilon" else getattr(kept, name)
        if value not in (usual[name], found):
            raise InputError(
                f"{study.path} must be continued with its own settings, got --{name} {value}, where it has {found}. "
                "Leave it out, or name another file for a new study."
            )
    options = wanted["inference_options"]
    others = others + [name for name, value in options.items() if kept.inference_options.get(name) != value]
    if others:
        raise InputError(
            f"{study.path} must be continued with its own settings, got {others[0]!r}. Leave it out, or name another "
            "file for a new study."
        )
