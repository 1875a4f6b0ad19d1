"""`journeyman compare`: which model of an expert explains demonstrations best, and who of several people is odd."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeyman.cli import options as opt
from journeyman.cli.importing import Columns, Separator, SkipImpossible, read_noted
from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.demonstrations import Demonstration
    from journeyman.problem import Problem

ORDINALS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "tenth": 10}
FOLDS = 5
FITS = "fits.jsonl"


def compare(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM", help="A problem file, as journeyman init writes one.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Demonstrations: .csv, .jsonl, .parquet ...")],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary", metavar="PART=A,B",
            help="Values of a part of the model; all combinations are compared. Parts: reward (state, state_action, "
            "as_given), beta and lapse (a number, or unknown), values (optimal, soft), discount, prior_scale (a "
            "factor), memory (none, last_action, visited:STATE, visited:STATE:UNTIL, entered:STATE:UNTIL, or several "
            "joined by +).",
        ),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also", metavar="PART=VALUE",
            help="One more change to each of these, such as beta=unknown; separate several at once by commas.",
        ),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="WHICH", help="Predict these demonstrations from all others: every-fifth, every-7, or 0,3,8."
        ),
    ] = None,
    folds: Annotated[
        int | None, typer.Option(metavar="K", help="Without --test: predict each of K parts from the rest; default: 5.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="annotator", help="Compare the people who gave the demonstrations, not models."),
    ] = None,
    columns: Columns = None,
    separator: Separator = None,
    skip_impossible: SkipImpossible = False,
    inference: opt.Inference = "smc",
    inference_set: opt.InferenceOptions = None,
    seed: Annotated[int, typer.Option(help="Seed of the sampling.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Keep tables, figure and finished fits here; run again to resume or to add variants."
        ),
    ] = None,
    png: opt.Picture = None,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
) -> None:  # fmt: skip
    """Compare models of an expert on the same demonstrations, and say which explains them best.

    Every variant of the problem is fitted, and predicts demonstrations that it was not fitted to. The table shows bits
    per free decision (where several actions are available), which share that is of what a stationary policy can
    explain, and the log evidence with its error; chance and the smoothed empirical policy are shown beside them.

    With --by annotator it compares people: fits of each alone, of all as one, and of all with one reward but a beta and
    a lapse of their own. Those whose answers do not fit those of the others are named.

    Examples: [bold]journeyman compare problem.toml data.csv --vary beta=4,unknown --vary reward=state,state_action
    --folds 5[/] compares four models. [bold]journeyman compare problem.toml data.csv --vary reward=state,state_action
    --also beta=unknown --also lapse=unknown --also values=soft --test every-fifth --out comparison[/] makes three
    changes to each of two models, and keeps tables and a figure. [bold]journeyman compare problem.toml data.csv --by
    annotator[/] says who differs, and by how much. [bold]journeyman compare problem.toml runs.csv.gz --columns
    state=node,action=move,demonstration=bout[/] reads a table with other columns.
    """
    from journeyman.cli.warmup import compile_at_first_use
    from journeyman.criticism.comparison import compare_models
    from journeyman.criticism.variants import model_variants
    from journeyman.report.models import comparison_figure, print_comparison

    opt.check_picture(png)
    loaded, demonstrations = read_inputs(problem, data, columns, separator, skip_impossible)
    if by is not None:
        check_by(by, {"--vary": vary, "--also": also, "--test": test, "--folds": folds})
        people(loaded, demonstrations, f"Annotators of {data.name}", inference, inference_set, seed, out, png, threads,
               as_json)  # fmt: skip
        return
    variants = model_variants(loaded, parsed_grid(vary), [parsed_changes(text) for text in also or []])
    chosen = opt.parse_settings(inference_set)
    if test is not None and folds is not None:
        raise InputError("what is predicted must be --test or --folds, got both. Leave out one of them.")
    num_folds = FOLDS if folds is None else folds
    numbers = None if test is None else test_numbers(test, len(demonstrations))
    folder = made_out(out)
    compile_at_first_use()
    try:
        found = compare_models(
            variants, loaded.in_world(demonstrations), test=numbers, folds=num_folds, method=inference, seed=seed,
            num_threads=threads, progress=sys.stderr.isatty(), results=None if folder is None else folder / FITS,
            **chosen,
        )  # fmt: skip
    except KeyboardInterrupt:
        stopped(folder)
    title = f"{len(variants)} models of {problem.stem}, {data.name}"
    opt.show(as_json, found.to_record, lambda console: print_comparison(console, found, title))
    if folder is not None:
        write_comparison(found, folder, title, as_json)
    opt.save_picture(lambda: comparison_figure(found, title), png, as_json)


def check_by(by: str, others: dict[str, Any]) -> None:
    """Refuse to compare by what there is not, and people and models at once."""
    from journeyman.checks import one_of

    one_of(by, ("annotator",), "--by", "Say --by annotator.")
    given = [name for name, value in others.items() if value]
    if given:
        raise InputError(f"--by must come alone, got {given[0]} too. Compare people or models, one after the other.")


def people(
    problem: "Problem",
    demonstrations: "tuple[Demonstration, ...]",
    title: str,
    inference: str,
    inference_set: list[str] | None,
    seed: int,
    out: Path | None,
    png: Path | None,
    threads: int | None,
    as_json: bool,
) -> None:
    """Compare annotators, and print, keep and draw what was found."""
    from journeyman.cli.warmup import compile_at_first_use
    from journeyman.criticism.annotators import compare_annotators
    from journeyman.report.annotators import annotators_csv, annotators_figure, print_annotators

    chosen, folder = opt.parse_settings(inference_set), made_out(out)
    compile_at_first_use()
    found = compare_annotators(
        problem, demonstrations, method=inference, seed=seed, num_threads=threads, progress=sys.stderr.isatty(),
        **chosen,
    )  # fmt: skip
    opt.show(as_json, found.to_record, lambda console: print_annotators(console, found, title))
    if folder is not None:
        write_json(found.to_record(), folder / "annotators.json")
        write_text(annotators_csv(found), folder / "annotators.csv")
        draw_if_possible(lambda: annotators_figure(found, title), folder / "annotators", as_json)
        typer.echo(f"Tables are in {folder}", err=as_json)
    opt.save_picture(lambda: annotators_figure(found, title), png, as_json)


def read_inputs(
    problem: Path, data: Path, columns: list[str] | None, separator: str | None, skip_impossible: bool
) -> "tuple[Problem, tuple[Demonstration, ...]]":
    """Return the problem and the demonstrations; refuses none."""
    from journeyman.problem_files import load_problem

    loaded = load_problem(problem)
    found = read_noted(data, loaded, columns, separator, skip_impossible)
    if not found:
        raise InputError(f"there must be demonstrations to compare models on, got none in {data.name}. Add some.")
    return loaded, found


def parsed_grid(pairs: list[str] | None) -> dict[str, list[str]]:
    """Return PART=A,B texts as lists of words by part."""
    texts = opt.split_pairs(pairs or [], "--vary beta=4,unknown")
    return {key: [word.strip() for word in text.split(",") if word.strip()] for key, text in texts.items()}


def parsed_changes(text: str) -> dict[str, str]:
    """Return "beta=unknown,lapse=0.1" as a dict."""
    return opt.split_pairs([part.strip() for part in text.split(",")], "--also beta=unknown")


def test_numbers(text: str, size: int) -> list[int]:
    """Return the demonstrations that --test means: every-fifth are 0, 5, 10 and so on."""
    word = text.removeprefix("every-")
    if word != text:
        step = ORDINALS.get(word) or (int(word) if word.isdigit() else 0)
        if step < 2:
            raise InputError(
                f"--test every-N must have a number of at least 2 or one of {', '.join(ORDINALS)}, got {text!r}. "
                "Example: --test every-fifth"
            )
        return list(range(0, size, step))
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InputError(
            f"--test must be every-fifth, every-7, or numbers of demonstrations such as 0,3,8, got {text!r}. "
            "Leave it out for --folds."
        ) from None


def made_out(out: Path | None) -> Path | None:
    """Return the folder that results go to, made if need be."""
    from journeyman.storage.files import made_folder

    return None if out is None else made_folder(out, "results")


def stopped(folder: Path | None) -> Any:
    """Say what is left of a comparison that was interrupted."""
    kept = "Nothing was kept; say --out to resume next time." if folder is None else f"Finished fits are in {folder}."
    typer.echo(f"Stopped. {kept}", err=True)
    raise typer.Exit(130) from None


def write_comparison(found: Any, folder: Path, title: str, as_json: bool) -> None:
    """Write tables as CSV and JSON, and the figure, as SVG and PNG if matplotlib is there."""
    from journeyman.report.models import comparison_csv, comparison_figure, demonstrations_csv

    write_json(found.to_record(), folder / "comparison.json")
    write_text(comparison_csv(found), folder / "comparison.csv")
    write_text(demonstrations_csv(found), folder / "demonstrations.csv")
    draw_if_possible(lambda: comparison_figure(found, title), folder / "comparison", as_json)
    typer.echo(f"Tables are in {folder}", err=as_json)


def write_json(record: Any, path: Path) -> None:
    """Write JSON that every parser accepts."""
    import json

    write_text(json.dumps(record, indent=2, allow_nan=False) + "\n", path)


def write_text(text: str, path: Path) -> None:
    """Write a file whole or not at all."""
    from journeyman.storage.files import whole_file

    with whole_file(path, "a table") as temporary:
        temporary.write_text(text, "utf-8")


def draw_if_possible(figure_fn: Any, stem: Path, as_json: bool) -> None:
    """Write a figure as .svg and .png; without matplotlib, say what is missing."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        typer.echo("No figure: pip install 'journeyman[plot]' to have one.", err=True)
        return
    from journeyman.report.drawing.maps import save_figure

    figure = figure_fn()
    for ending in (".svg", ".png"):
        save_figure(figure, stem.with_suffix(ending))
        typer.echo(f"Picture written to {stem.with_suffix(ending)}", err=as_json)
