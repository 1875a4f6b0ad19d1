"""`journeyman study ask`, `tell`, `attach`, `fail`, `abandon`, `undo` and `correct`: questions and their answers."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeyman.cli import options as opt
from journeyman.cli.importing import Columns, FromFile, check_one_source, read_one
from journeyman.cli.study.options import AllowDuplicates, Annotator, StudyFile, app, opened_to_change

if TYPE_CHECKING:
    from journeyman.learner import Query
    from journeyman.study import Study

QueryId = Annotated[int, typer.Argument(metavar="QUERY", help="Number of the question.")]
FinalState = Annotated[str | None, typer.Option("--final", metavar="STATE", help="State after the last action.")]
Ended = Annotated[str | None, typer.Option(metavar="HOW", help="terminated, or truncated by a limit.")]


@opt.add_command(app)
def ask(
    file: StudyFile,
    new: Annotated[bool, typer.Option("--new", help="Choose another question even if some still wait.")] = False,
    batch: Annotated[
        int, typer.Option(metavar="K", help="How many questions should wait at once (with --new: how many to choose).")
    ] = 1,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
) -> None:
    """Show the questions that wait for an answer, or choose what to ask the expert next.

    A question is kept until it is answered: ask again to read it again. --batch K chooses more until K wait; --new
    chooses K more in any case. What the answers to waiting questions will tell is not asked again. If it is known that
    the certificate already holds, this is said: then no more answers are needed. --json prints the waiting questions as
    a list, or with --new the new ones.

    Examples: [bold]journeyman study ask my.study[/]; three that tell most together: [bold]journeyman study ask my.study
    --batch 3 --json[/]; one more: [bold]journeyman study ask my.study --new[/].
    """
    from journeyman.cli.warmup import compile_at_first_use
    from journeyman.learner.asking import checked_batch

    with opened_to_change(file, threads) as study:
        older = len(study.pending)
        missing = checked_batch(batch) - (0 if new else older)
        if missing > 0:
            compile_at_first_use()
            queries = study.ask_batch(missing, progress=sys.stderr.isatty())
        else:
            queries = study.pending
        shown = queries if new else study.pending
        if as_json:
            opt.print_json([query.to_record() for query in shown])
            return
        certainty = certainty_words(file, study, is_known=missing > 0)
        if certainty:
            typer.echo(certainty)
        for query in shown:
            typer.echo(f"Question {query.id}: {query.text}")
        typer.echo(answer_with(file, study, shown[0]))
    if missing <= 0:
        words = "This question waits" if older == 1 else f"These {older} questions wait"
        typer.echo(f"{words} for an answer. To ask another: journeyman study ask {file} --new")
    elif new and older:
        words = "older question still waits" if older == 1 else "older questions still wait"
        typer.echo(f"{older} {words}: journeyman study ask {file}")


def answer_with(file: Path, study: "Study", query: "Query") -> str:
    """Return how to answer a question."""
    annotators = study.problem.expert_space.annotators
    example = "ACTION" if query.kind == "state" else "STATE:ACTION STATE:ACTION ..."
    example += f" --by {'|'.join(annotators)}" if annotators else ""
    return f"Answer with: journeyman study tell {file} {query.id} {example}"


def certainty_words(file: Path, study: "Study", *, is_known: bool) -> str:
    """Return what is known about the certificate without computing it, or "" if nothing speaks for it.

    is_known: whether the posterior is at hand, so that its own estimate may be looked at.
    """
    verdict, settings = study.verdict(), study.settings
    more = f"journeyman study certify {file}"
    if verdict is not None and verdict.is_confirmed and not verdict.is_doubtful:
        return f"The certificate holds already: no more answers are needed for it. See: {more}"
    if verdict is not None and verdict.is_doubtful:
        return f"The certificate holds, but the model is doubtful. See: journeyman study doubts {file}"
    if verdict is not None:
        return f"The certificate holds, but is not confirmed yet. To do that: {more}"
    if not is_known or settings.goal != "policy" or not study.demonstrations:
        return ""
    from journeyman.apprentice.regret import failures_of
    from journeyman.wording import about_chance, percent

    failures = failures_of(study.posterior(), study.apprentice(), settings.epsilon, settings.scope)
    chance = min(1.0, float(study.posterior().mean(failures.is_failing)))
    if chance > settings.delta:
        return ""
    return (
        f"The chance of failure is {about_chance(chance, settings.delta)}, within the limit of "
        f"{percent(settings.delta, 3)}: the certificate may hold by now. See: {more}"
    )


@opt.add_command(app)
def tell(
    file: StudyFile,
    query: QueryId,
    answer: Annotated[list[str] | None, typer.Argument(metavar="ANSWER", help="Action, or STATE:ACTION steps.")] = None,
    final: FinalState = None,
    ended: Ended = None,
    by: Annotator = None,
    steps_from: FromFile = None,
    columns: Columns = None,
    as_json: opt.AsJson = False,
) -> None:
    """Tell the answer to a question; when this returns, it is kept. Says which question waits next.

    ANSWER is the action for a question about one state, and STATE:ACTION for every step of a trajectory; labels or
    numbers. A long trajectory need not be typed: --from reads its steps from a table, one row each.

    Examples: [bold]journeyman study tell my.study 0 right --by ada[/]; a trajectory: [bold]journeyman study tell
    my.study 1 house:right path:down --final lawn --ended truncated[/]; from a table with the columns state and action:
    [bold]journeyman study tell my.study 1 --from steps.csv[/].
    """
    from journeyman.study.typed import parse_answer

    with opened_to_change(file) as study:
        asked = study.ledger.find(query)
        check_one_source(answer, steps_from)
        if steps_from is None:
            told = parse_answer(study.problem.mdp, asked, answer or [], final, ended)
        else:
            told = read_one(steps_from, study.problem, columns, final, ended)
        study.tell(asked, told, annotator=by)
        count, pending = len(study.demonstrations), study.pending
        stored = study.answers[asked.id].to_record()
        words = f"Kept the answer to question {query}. Demonstrations so far: {count}.\n"
        if pending:
            words += f"Next, question {pending[0].id}: {pending[0].text}\n{answer_with(file, study, pending[0])}"
        else:
            words += f"Next: journeyman study ask {file}"
    following = pending[0].to_record() if pending else None
    record = {"query": query, "demonstration": stored, "num_demonstrations": count, "next": following}
    opt.say(as_json, record, words)


@opt.add_command(app)
def attach(
    file: StudyFile,
    steps: Annotated[list[str] | None, typer.Argument(metavar="STEP", help="STATE:ACTION, in order.")] = None,
    final: FinalState = None,
    ended: Ended = None,
    by: Annotator = None,
    steps_from: FromFile = None,
    columns: Columns = None,
    allow_duplicates: AllowDuplicates = False,
    as_json: opt.AsJson = False,
) -> None:
    """Add a demonstration that was never asked for; for many at once: `journeyman study import`.

    A demonstration of several steps that is already there is refused, unless --allow-duplicates says that it was done
    twice.

    Examples: [bold]journeyman study attach my.study house:right path:right --final pond[/]; from a table with one row
    per step: [bold]journeyman study attach my.study --from steps.csv --columns state=place,action=move[/].
    """
    from journeyman.study.typed import parse_demonstration

    with opened_to_change(file) as study:
        check_one_source(steps, steps_from)
        if steps_from is None:
            demonstration = parse_demonstration(study.problem.mdp, steps or [], final, ended)
        else:
            demonstration = read_one(steps_from, study.problem, columns, final, ended)
        (answer,) = study.attach(demonstration, annotator=by, allow_duplicates=allow_duplicates)
        stored = study.answers[answer].to_record()
    opt.say(as_json, {"answer": answer, "demonstration": stored}, f"Kept as {answer}.")


def change(file: Path, name: str, what: Any, as_json: bool, words: str) -> None:
    """Do something to a study that needs no more than a name for it, and say so."""
    with opened_to_change(file) as study:
        getattr(study, name)(what)
        record = study.overview().to_record()
    opt.say(as_json, record, words)


@opt.add_command(app)
def fail(file: StudyFile, query: QueryId, as_json: opt.AsJson = False) -> None:
    """Say that a question gets no answer for now; its state may be asked about again.

    Example: [bold]journeyman study fail my.study 4[/].
    """
    change(file, "fail", query, as_json, f"Question {query} failed. Its state may be asked about again.")


@opt.add_command(app)
def abandon(file: StudyFile, query: QueryId, as_json: opt.AsJson = False) -> None:
    """Say that a question cannot be answered; its state is not asked about again.

    Example: [bold]journeyman study abandon my.study 4[/].
    """
    change(file, "abandon", query, as_json, f"Question {query} is abandoned. Its state is not asked about again.")


@opt.add_command(app)
def undo(
    file: StudyFile,
    answer: Annotated[str, typer.Argument(metavar="ANSWER", help="Number of the question, or attached-N.")],
    as_json: opt.AsJson = False,
) -> None:
    """Take back an answer. Nothing is deleted: the history keeps the answer, and that it was taken back.

    Examples: [bold]journeyman study undo my.study 4[/] takes back the answer to question 4, [bold]journeyman study undo
    my.study attached-0[/] a demonstration that was attached.
    """
    change(file, "undo", answer_id(answer), as_json, f"Answer {answer} no longer counts.")


@opt.add_command(app)
def correct(
    file: StudyFile,
    answer: Annotated[str, typer.Argument(metavar="QUERY", help="Number of the question, or attached-N.")],
    right: Annotated[list[str], typer.Argument(metavar="ANSWER", help="Action, or STATE:ACTION steps.")],
    final: FinalState = None,
    ended: Ended = None,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who answered, if that changes too.")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Change the answer to a question, which stays the same question; or data that were attached.

    ANSWER is typed as for tell. Who answered stays as it was, unless --by says otherwise. Nothing is deleted: the
    history keeps both answers. A question whose answer was taken back, or that failed, gets an answer after all.

    Examples: [bold]journeyman study correct my.study 4 left[/]; attached data: [bold]journeyman study correct my.study
    attached-0 house:right path:down --final lawn[/].
    """
    from journeyman.study.typed import is_action, parse_answer, parse_demonstration

    what = answer_id(answer)
    with opened_to_change(file) as study:
        mdp, ledger = study.problem.mdp, study.ledger
        before = ledger.answers.get(what)
        new: Any
        if isinstance(what, int):
            new = parse_answer(mdp, ledger.find(what), right, final, ended)
        elif is_action(mdp, right) and final is None and ended is None:
            new = right[0]
        else:
            new = parse_demonstration(mdp, right, final, ended)
        study.correct(what, new, annotator=by)
        stored = study.answers[what].to_record()
    old = None if before is None else before.to_record()
    name = f"question {what}" if isinstance(what, int) else what
    opt.say(as_json, {"answer": what, "before": old, "demonstration": stored}, f"Corrected the answer to {name}.")


def answer_id(text: str) -> int | str:
    """Return the id of an answer: the number of a question, or attached-N."""
    return int(text) if text.isdecimal() else text
