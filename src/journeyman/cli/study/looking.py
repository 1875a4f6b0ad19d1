"""`journeyman study status`, `certify`, `doubts`, `forecast` and `report`: how far a study is."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeyman.cli import options as opt
from journeyman.cli.study.options import StudyFile, app, computing_advice, opened_to_look

if TYPE_CHECKING:
    from journeyman.study import Study

NOT_HELD, DOUBTFUL = 3, 4  # exit codes
PATIENCE = 10.0  # seconds that somebody who looks may wait for a certificate


@opt.add_command(app)
def status(
    file: StudyFile,
    quick: Annotated[bool, typer.Option("--quick", help="Count only; no inference.")] = False,
    max_seconds: opt.MaxSeconds = PATIENCE,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
) -> None:
    """Show what is in a study: waiting questions, answers, and how sure the learner is.

    The belief is computed if needed, which may take a few seconds; --quick only counts.

    Examples: [bold]journeyman study status my.study[/]; for scripts: [bold]journeyman study status my.study --quick
    --json[/].
    """
    with opened_to_look(file, threads, max_seconds) as study:
        record = study.overview().to_record() | {"belief": None if quick else belief_record(study)}
        advice = [] if quick else computing_advice(file, study, record["belief"]["warnings"])
    if as_json:
        opt.print_json(record)
        return
    print_status(file, record)
    for line in advice:
        typer.echo(line)


def belief_record(study: "Study") -> dict[str, Any]:
    """Return the certificate in short, how well the reward is known if that is the goal, and what is doubtful."""
    from journeyman.apprentice.epsilon import epsilon_record

    verdict = study.verdict()  # who has looked before knows what a full check of the model says
    certify_fn = study.certificate if verdict is None else study.quick_certificate
    certificate = certify_fn(progress=sys.stderr.isatty())
    criticism = certificate.criticism or study.criticism(is_full=False)
    posterior = study.posterior()
    status, reasons = certificate.status, list(criticism.reasons)
    if verdict is not None and verdict.is_doubtful and not criticism.is_doubtful:
        status = "doubtful" if status == "holds" else status
        reasons = [f"a full check found that (journeyman study doubts {study.path} says why)"]
    return {
        "certificate": status,
        "epsilon": epsilon_record(certificate.epsilon),
        "delta": certificate.delta,
        "failure_chance": certificate.p_hat,
        "upper_bound": certificate.upper_bound,
        "expected_regret": certificate.mean_regret,
        "cautions": list(certificate.cautions),
        "reward": knowledge_record(study) if study.settings.goal == "reward" else None,
        "model": {
            "is_doubtful": bool(reasons),
            "is_full": criticism.is_full,
            "log_evidence_against": criticism.log_evidence,
            "reasons": reasons,
            "advice": list(criticism.advice),
        },
        "log_evidence": posterior.log_evidence,
        "log_evidence_error": posterior.log_evidence_error,
        "warnings": list(posterior.warnings),
    }


def knowledge_record(study: "Study") -> dict[str, Any]:
    """Return how well the reward is known, for studies whose goal is the reward."""
    known = study.knowledge()
    return {
        "is_known": known.is_enough,
        "widest_interval": float(known.widths.max()),
        "level": study.settings.goal_options.get("level", 0.95),
        "information": known.information,
    }


def print_status(file: Path, record: dict[str, Any]) -> None:
    """Print a status."""
    from journeyman.wording import counted

    typer.echo(f"{file}, made {record['created_at']} by {record['created_by']}")
    typer.echo(
        f"Questions: {record['num_queries']} asked, {record['num_done']} answered, {len(record['pending'])} waiting, "
        f"{record['num_failed']} failed, {record['num_abandoned']} abandoned."
    )
    typer.echo(
        f"Answers that count: {counted(record['num_demonstrations'], 'demonstration')} of "
        f"{counted(record['num_steps'], 'action')} "
        f"({record['num_attached']} attached); {record['num_undone']} taken back."
    )
    for query in record["pending"]:
        typer.echo(f"Waiting, question {query['id']}: {query['text']}")
    belief = record["belief"]
    if belief is not None:
        from journeyman.apprentice.epsilon import checked_epsilon, epsilon_words, regret_words

        epsilon = checked_epsilon(belief["epsilon"])
        status, model = belief["certificate"], belief["model"]
        words = "holds, but the model is doubtful" if status == "doubtful" else status
        typer.echo(
            f"Certificate: {words}. Chance of losing {epsilon_words(epsilon)} or more: about "
            f"{belief['failure_chance']:.3g}, at most {belief['upper_bound']:.3g} (limit {belief['delta']:g}). "
            f"Expected regret {regret_words(belief['expected_regret'], epsilon)}."
        )
        if status in ("holds", "doubtful"):
            for caution in belief["cautions"]:
                typer.echo(f"But {caution}.")
        if model["is_doubtful"]:
            typer.echo(f"The model is DOUBTFUL: {'; '.join(model['reasons'])}.")
            typer.echo(f"More about it, and what to try: journeyman study doubts {file}")
        if status not in ("holds", "doubtful"):
            typer.echo(f"How many more answers it may take: journeyman study forecast {file}")
        if belief["reward"] is not None:
            known = belief["reward"]
            words = "known well enough" if known["is_known"] else "not known well enough yet"
            typer.echo(
                f"Goal: the reward is {words}. The widest {known['level']:.0%} interval of its parameters is "
                f"{known['widest_interval']:.3g}; the best next answer would tell {known['information']:.3g} nats."
            )
        for warning in belief["warnings"]:
            typer.echo(f"Warning: {warning}")


@opt.add_command(app)
def certify(
    file: StudyFile,
    max_seconds: opt.MaxSeconds = PATIENCE,
    accept_doubtful: Annotated[
        bool, typer.Option("--accept-doubtful", help="Exit code 0 also if it holds but the model is doubtful.")
    ] = False,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
) -> None:
    """Say whether the policy is good enough, in words, and what that rests on.

    If the certificate holds, it is confirmed once on a fresh, longer posterior, since it may hold the first time by
    luck, and the model of the expert is checked. If it stays undecided within --max-seconds, more seconds may save the
    expert an answer. Exit code 0 if it holds and is confirmed, 3 if not, 4 if it holds and is confirmed, but the model
    is doubtful: the answers do not fit what it assumes.

    Example: [bold]journeyman study certify my.study[/]; with more time: [bold]journeyman study certify my.study
    --max-seconds 120[/]; in a script: [bold]journeyman study certify my.study --max-seconds 0 --json >
    certificate.json[/].
    """
    with opened_to_look(file, threads, max_seconds) as study:
        is_shown = sys.stderr.isatty()
        certificate = study.certificate(progress=is_shown)
        confirmation = study.confirmation(progress=is_shown) if certificate.holds_if_model_is_right else None
        is_confirmed = confirmation is not None and confirmation.holds_if_model_is_right
        shown = certificate if confirmation is None else confirmation
        advice = computing_advice(file, study, [shown.text()])
    if as_json:
        opt.print_json(
            {"is_confirmed": is_confirmed and shown.holds, "is_confirmed_if_model_is_right": is_confirmed}
            | shown.to_record()
        )
    else:
        typer.echo("\n".join([shown.text(), *([""] if advice else []), *advice]))
        if confirmation is not None:
            words = "It was confirmed" if is_confirmed else "It held at first, but was NOT confirmed"
            words = (
                f"If the model is right: {words[0].lower()}{words[1:]}" if not shown.holds and is_confirmed else words
            )
            typer.echo(f"\n{words} on a fresh, longer posterior.")
    if not is_confirmed:
        raise typer.Exit(NOT_HELD)
    if shown.status == "doubtful" and not accept_doubtful:
        raise typer.Exit(DOUBTFUL)


@opt.add_command(app)
def doubts(
    file: StudyFile,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out rivals that need inference: other betas, a change of mind.")
    ] = False,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
) -> None:
    """Say what speaks against the model of the expert, and what to try instead.

    Rivals of the model are tried: an expert with another beta, one who lapses, has habits or changed their mind,
    another prior. If they predict the answers much better than the model, or if answers contradict each other, the
    model is doubtful, and so is any certificate. That happens to a model that is right in at most 5 % of all cases.
    Exit code 0 if nothing speaks against the model, 4 if it is doubtful.

    Examples: [bold]journeyman study doubts my.study[/]; quicker: [bold]journeyman study doubts my.study --quick[/].
    """
    with opened_to_look(file, threads) as study:
        found = study.criticism(is_full=not quick)
    opt.say(as_json, found.to_record(), found.text())
    if found.is_doubtful:
        raise typer.Exit(DOUBTFUL)


@opt.add_command(app)
def forecast(
    file: StudyFile,
    runs: Annotated[int, typer.Option(metavar="N", help="How often the rest is simulated.")] = 20,
    limit: Annotated[int, typer.Option(metavar="N", help="Answers after which a simulation is stopped.")] = 100,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
) -> None:
    """Say how many more answers it may take until the certificate holds.

    The rest of the study is simulated again and again, each time with an expert whose reward is drawn from what is
    believed now. Each simulation may take as long as the rest of a study: minutes for large problems. The study is not
    changed.

    Examples: [bold]journeyman study forecast my.study[/]; rougher and quicker: [bold]journeyman study forecast my.study
    --runs 5 --limit 50[/].
    """
    with opened_to_look(file, threads) as study:
        found = study.forecast(num_runs=runs, limit=limit, progress=sys.stderr.isatty())
        doubt = study.criticism(is_full=False)
    words = found.text()
    if doubt.is_doubtful:
        words += f"\nThis takes the model for right, which is DOUBTFUL: {'; '.join(doubt.reasons)}."
    opt.say(as_json, found.to_record() | {"is_model_doubtful": doubt.is_doubtful}, words)


@opt.add_command(app)
def report(
    file: StudyFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="PAGE", help="Where to write; default: beside the study, ending in .html."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the report; default: the name of the study.")] = None,
    forecast: Annotated[
        int,
        typer.Option(
            metavar="N", help="Also say how many more answers it may take, from N simulations (takes minutes)."
        ),
    ] = 0,
    max_seconds: opt.MaxSeconds = PATIENCE,
    threads: opt.Threads = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON; write a page only if --out is given.")
    ] = False,
) -> None:
    """Write a report: what was asked and why, what was learned, what cannot be known, and the certificate.

    The report is one HTML file without scripts: open it in a browser, print it, or send it. It also works for problems
    without a grid. The study is not changed.

    Examples: [bold]journeyman study report my.study[/] writes my.html beside the study, [bold]journeyman study report
    my.study -o report.html --title 'Maze 3, mouse 12'[/] writes elsewhere, [bold]journeyman study report my.study
    --json[/] prints the numbers for scripts.
    """
    from journeyman.report.learning import checked_page_path, learning_report, write_page
    from journeyman.report.learning.page import learning_record
    from journeyman.report.learning.summary import summarise_learning
    from journeyman.study import Study

    page = checked_page_path(file.parent / f"{file.stem}.html" if out is None else out)  # before the work, not after it
    with Study.open(file, num_threads=threads, max_seconds=max_seconds or None, read_only=True) as study:
        found = study.forecast(num_runs=forecast, progress=sys.stderr.isatty()) if forecast else None
        summary = summarise_learning(study.learner(), title or file.stem, forecast=found)
    if not as_json or out is not None:
        write_page(learning_report(summary), page)
        typer.echo(f"Report written to {page}", err=as_json)
    if as_json:
        opt.print_json(learning_record(summary))
