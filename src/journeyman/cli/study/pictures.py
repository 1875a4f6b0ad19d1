"""`journeyman study scores` and `plot`: what the next question is worth, and the figures of the report as files."""

from pathlib import Path
from typing import Annotated

import typer

from journeyman.cli import options as opt
from journeyman.cli.study.looking import PATIENCE
from journeyman.cli.study.options import StudyFile, app, opened_to_look
from journeyman.errors import InputError

FORMATS = ("svg", "pdf", "png")


@opt.add_command(app)
def scores(
    file: StudyFile,
    top: Annotated[int, typer.Option(metavar="N", help="How many questions to list, best first; 0: all.")] = 12,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="PICTURE", help="Also draw them: .svg, .pdf, .png ...")
    ] = None,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
) -> None:
    """Show how much a question about each state is worth now, best first.

    The scores are those by which [bold]journeyman study ask[/] would choose. Nothing is asked, and the study is not
    changed. States that may not be asked about, or were abandoned, have no score.

    Examples: [bold]journeyman study scores my.study[/]; all of them, and a picture: [bold]journeyman study scores
    my.study --top 0 -o scores.svg[/]; for scripts: [bold]journeyman study scores my.study --json[/].
    """
    from journeyman.checks import whole_number
    from journeyman.report.scores import ScoreMap, print_scores, score_figure, score_record

    whole_number(top, "--top", 0, "0 lists all questions.")
    opt.check_picture(out)
    with opened_to_look(file, threads) as study:
        found = ScoreMap.of_learner(study.learner(), file.stem)
    num_rows = top or len(found.order)
    opt.show(as_json, lambda: score_record(found), lambda console: print_scores(console, found, num_rows))
    opt.save_picture(lambda: score_figure(found), out, as_json)


@opt.add_command(app)
def plot(
    file: StudyFile,
    what: Annotated[
        list[str] | None,
        typer.Option("--what", metavar="NAME", help="Which figure (see --list); can be repeated. Default: all."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PLACE",
            help="A file for one figure, such as policy.pdf, or a folder; default: a folder beside the study.",
        ),
    ] = None,
    format: Annotated[
        str | None, typer.Option(metavar="NAME", help="svg, pdf or png; default: by the ending, else svg.")
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="Say which figures there are, and draw none.")] = False,
    max_seconds: opt.MaxSeconds = PATIENCE,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
) -> None:
    """Draw the figures of the report into files: SVG, PDF or PNG.

    Problems with a grid are drawn on it, others as graphs. A folder is created if needed; files of the same name in it
    are replaced. The study is not changed. The figure evidence takes as long as a certificate; all others are quick.

    Examples: [bold]journeyman study plot my.study[/] writes all figures to my-figures/; [bold]journeyman study plot
    my.study --what policy -o policy.pdf[/] writes one; [bold]journeyman study plot my.study --what reward --what
    uncertainty --format png[/] writes two; [bold]journeyman study plot my.study --list[/] names them.
    """  # fmt: skip
    from journeyman.report.drawing.maps import save_figure
    from journeyman.report.learning.figures import FIGURES
    from journeyman.report.learning.summary import summarise_belief, summarise_learning

    if show_list:
        words = {name: figure.what for name, figure in FIGURES.items()}
        opt.say(as_json, words, "\n".join(f"{name:<12} {text}" for name, text in words.items()))
        return
    places = figure_places(file, what or list(FIGURES), out, format)
    with opened_to_look(file, threads, max_seconds) as study:
        summarise_fn = summarise_learning if any(FIGURES[name].needs_check for name in places) else summarise_belief
        summary = summarise_fn(study.learner(), file.stem)
    written, empty = [], []
    for name, place in places.items():
        figure = FIGURES[name].draw_fn(summary)
        if figure is None:
            empty.append(name)
            continue
        place.parent.mkdir(exist_ok=True)
        save_figure(figure, place)
        written.append(str(place))
    lines = [f"Picture written to {place}" for place in written]
    lines += [f"Nothing to draw yet: {name}" for name in empty]
    opt.say(as_json, {"files": written, "empty": empty}, "\n".join(lines))


def figure_places(study: Path, names: list[str], out: Path | None, format: str | None) -> dict[str, Path]:
    """Return the file of each figure: the one that was named, or one per figure in a folder; refuse what cannot be."""
    from journeyman.checks import one_of
    from journeyman.extras import require
    from journeyman.report.learning.figures import FIGURES

    require("matplotlib.figure", "plot")
    for name in names:
        one_of(name, FIGURES, "--what", "Say --list to see what each of them shows.")
    if format is not None:
        one_of(format, FORMATS, "--format", "Leave it out to go by the ending of the file.")
    if not study.is_file():
        raise InputError(f"the study must exist, got {str(study)!r}. Make one with: journeyman study new {study}")
    ending = "" if out is None or out.is_dir() else out.suffix[1:].lower()
    place = study.with_name(f"{study.stem}-figures") if out is None else out
    if ending:
        one_of(ending, FORMATS, f"the ending of {place.name!r}", "A folder has no ending.")
        if len(names) > 1:
            raise InputError(
                f"several figures must go to a folder, got the file {str(place)!r}. Say --what for one of "
                f"{', '.join(names)}, or name a folder."
            )
        if format not in (None, ending):
            raise InputError(f"--format must be that of the file, got {format!r} for {place.name!r}. Leave it out.")
        folder = place.parent
        places = {names[0]: place}
    else:
        if place.exists() and not place.is_dir():
            raise InputError(f"figures must go to a folder, got the file {str(place)!r}. Name another place.")
        folder = place.parent
        places = {name: place / f"{name}.{format or 'svg'}" for name in names}
    if not folder.is_dir():
        raise InputError(f"the folder of a picture must exist, got {str(folder)!r}. Create it first.")
    return places
