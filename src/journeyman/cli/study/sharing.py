"""`journeyman study set`, `clone`, `sheet` and `merge`: other settings, and answers from elsewhere."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeyman.cli import options as opt
from journeyman.cli.study.options import StudyFile, app, opened_to_change, opened_to_look
from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.learner import LearnerSettings

PARTS = {"inference": "inference_options", "acquisition": "acquisition_options", "goal": "goal_options"}


@opt.add_command(app, "set")
def set_settings(
    file: StudyFile,
    pairs: Annotated[list[str], typer.Argument(metavar="KEY=VALUE", help="Such as max_samples=64000.")],
    as_json: opt.AsJson = False,
) -> None:
    """Change settings that only cost computing: samples, particles, burn-in, budgets.

    These are max_samples, confirmation_factor and num_histories, and of the inference method: smc num_particles,
    chain_length, ess_threshold, stage_ess, acceptance, start_correlation, move_correlation, max_leapfrog, max_burn_in
    and lag; policywalk and valuewalk num_chains, num_warmup, num_draws, thin and target_accept; enumerate num_points;
    variational num_draws, max_iterations and tolerance. The VALUE default resets one. The history keeps the change;
    samples that depend on it are computed again when they are needed. For other settings: journeyman study clone.

    Examples: [bold]journeyman study set my.study max_burn_in=24[/]; [bold]journeyman study set my.study
    max_samples=64000 num_particles=4000[/].
    """
    parsed = opt.parse_settings(pairs, "journeyman study set my.study max_burn_in=24")
    changes = {name: None if value == "default" else value for name, value in parsed.items()}
    with opened_to_change(file) as study:
        study.change_settings(**changes)
        event = study.events[-1].payload
    words = [
        f"{name} is {shown(after)} now, it was {shown(event['before'][name])}."
        for name, after in event["changes"].items()
    ]
    opt.say(as_json, {"changes": event["changes"], "before": event["before"]}, "\n".join(words))


def shown(value: Any) -> str:
    """Return a value of a setting in words; None is the default."""
    return "at its default" if value is None else str(value)


@opt.add_command(app)
def clone(
    file: StudyFile,
    to: Annotated[Path, typer.Argument(metavar="NEW", help="The new study.")],
    pairs: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the new study; can be repeated."),
    ] = None,
    problem: Annotated[
        Path | None,
        typer.Option("--problem", metavar="FILE", help="Another problem file: the same states, other prior or beta."),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Make a study with the same data, and with other settings.

    KEY is a setting as journeyman study status --json lists them (epsilon, delta, scope, goal, kind, length, inference,
    acquisition, seed ...), or an option such as inference.num_particles, acquisition.edges or goal.width; the options
    of a method are dropped when another one is chosen. All questions and answers are copied, with their numbers,
    annotators and times; waiting questions still wait, as they were asked. The old study stays as it is, and sheets and
    copies of it can be merged into the new one.

    Examples: [bold]journeyman study clone my.study strict.study --set epsilon=0.05[/]; another method: [bold]journeyman
    study clone my.study chains.study --set inference=policywalk --set inference.num_draws=2000[/]; another prior or
    beta: [bold]journeyman study clone my.study other.study --problem other.toml[/].
    """
    from journeyman.problem_files import load_problem
    from journeyman.study import Study

    with opened_to_look(file) as study:
        try:
            chosen = changed_settings(study.settings, pairs)
            if isinstance(chosen.get("candidates"), str | int):
                chosen["candidates"] = opt.parse_candidates([str(chosen["candidates"])], study.problem)
            study.clone(to, problem=None if problem is None else load_problem(problem), **chosen)
        except InputError as error:
            advice = re.sub(r"--(length|kind) (\w+)", r"--set \1=\2", str(error))
            raise type(error)(advice) from error
    with Study.open(to, read_only=True) as made:
        overview = made.overview()
    record = {"file": str(to)} | overview.to_record()
    words = f"Made {to} with {overview.num_demonstrations} answers of {file}.\nNext: journeyman study status {to}"
    opt.say(as_json, record, words)


def changed_settings(settings: "LearnerSettings", pairs: list[str] | None) -> dict[str, Any]:
    """Return KEY=VALUE texts as settings: those of the learner, and options as PART.NAME on top of those there are."""
    from journeyman.checks import nearest

    texts = opt.split_pairs(pairs or [], "--set epsilon=0.05")
    values = opt.parse_scoring_options(pairs)
    fields = {name: value for name, value in values.items() if name in settings.__dataclass_fields__}
    if isinstance(fields.get("epsilon"), str):
        fields["epsilon"] = texts["epsilon"]
    for part, name in PARTS.items():
        if part in fields and fields[part] != getattr(settings, part):
            fields.setdefault(name, {})  # options of another method mean nothing here
    if fields.get("kind") == "state" and "length" not in fields:
        fields |= {"length": None, "step_cost": 0.0}
    for key in values:
        if key in settings.__dataclass_fields__ and key not in PARTS.values():
            continue
        part, _, name = key.partition(".")
        if part not in PARTS or not name:
            raise InputError(_unknown(key, settings, nearest(key, settings.__dataclass_fields__)))
        value = opt.parse_scoring_options([f"{name}={texts[key]}"])[name]
        options = fields.setdefault(PARTS[part], dict(getattr(settings, PARTS[part])))
        if value is None:
            options.pop(name, None)
        else:
            options[name] = value
    return fields


def _unknown(key: str, settings: "LearnerSettings", hint: str) -> str:
    for part in PARTS:
        known = settings.method.options if part == "inference" else ()
        if key in known:
            hint = f"It is an option of the inference method: --set inference.{key}=VALUE"
    if key in ("beta", "discount", "prior", "mean", "std", "slip", "lapse"):
        hint = f"{key} belongs to the problem: change it in a copy of the problem file, and say --problem COPY.toml"
    names = ", ".join(name for name in settings.__dataclass_fields__ if name not in PARTS.values())
    return (
        f"a setting must be one of {names}, or PART.OPTION with PART {', '.join(PARTS)}, got {key!r}. {hint}".rstrip()
    )


@opt.add_command(app)
def sheet(
    file: StudyFile,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="SHEET", help="What to write: a .csv table or .html form.")
    ],
    batch: Annotated[int, typer.Option(metavar="K", help="How many questions it should have at least.")] = 1,
    title: Annotated[str | None, typer.Option(help="Title of the form; default: the name of the study.")] = None,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
) -> None:
    """Write an answer sheet for the questions that wait, for an expert elsewhere.

    If fewer than K questions wait, more are asked first. A .csv sheet is a table: fill in the columns answer and
    annotator (actions by label or number; the steps of a trajectory as STATE:ACTION, between semicolons) and leave the
    rest as it is. An .html sheet is a form that works in any browser from the file, offline; it saves such a table.
    journeyman study merge takes the answers.

    Examples: [bold]journeyman study sheet my.study --batch 10 --out sheet.html[/]; a table: [bold]journeyman study
    sheet my.study -o sheet.csv[/].
    """
    with opened_to_change(file, threads) as study:
        queries = study.sheet(out, batch, title=title, progress=sys.stderr.isatty())
    from journeyman.wording import counted

    what = "Open it in a browser, or send it" if out.suffix.lower() == ".html" else "Fill in the column answer"
    words = (
        f"Wrote {counted(len(queries), 'question')} to {out}. {what}.\nThen: journeyman study merge {file} ANSWERS.csv"
    )
    if len({query.state for query in queries}) < len(queries):
        words += (
            "\nSome places are asked about more than once: an expert may err, and there another answer tells more than "
            "one elsewhere."
        )
    opt.say(as_json, {"file": str(out), "queries": [query.to_record() for query in queries]}, words)


@opt.add_command(app)
def merge(
    file: StudyFile,
    sources: Annotated[
        list[Path], typer.Argument(metavar="FROM", help="Filled-in sheets, copies of the study, or exports of these.")
    ],
    prefer: Annotated[
        str | None, typer.Option(metavar="WHOSE", help="ours or theirs: which counts where answers differ.")
    ] = None,
    allow_duplicates: Annotated[
        bool,
        typer.Option("--allow-duplicates", help="Count attached data even if both have them: they were done twice."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Take answers from sheets, or from copies of the study, each once; all or nothing.

    Answers are matched by question: its number and what it asks must agree. An answer that is already there is skipped.
    A question that was answered differently is a conflict: it is shown, and nothing is merged until --prefer says which
    answer counts. Questions that only a copy has asked are copied with their answers, and data that were attached to it
    are attached. Merging the same again changes nothing.

    Examples: [bold]journeyman study merge my.study sheet.csv[/]; to look first: [bold]journeyman study merge my.study
    colleague.study --dry-run[/]; where answers differ: [bold]journeyman study merge my.study colleague.study --prefer
    theirs[/].
    """
    with opened_to_change(file) as study:
        report = study.merge(sources, prefer=prefer, allow_duplicates=allow_duplicates, dry_run=dry_run)
        words = report.text(study.problem)
    opt.say(as_json, report.to_record(), words)
