"""`journeyman study ask`, `tell`, `attach`, `fail`, `abandon` and `undo`: asking, and answers as people type them.

A typed answer is an action, or STATE:ACTION for every step; by label or by number.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeyman.cli import options as opt
from journeyman.cli.importing import Columns, FromFile, check_one_source, read_one
from journeyman.cli.study.options import AllowDuplicates, Annotator, StudyFile, app
from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.demonstrations import Demonstration
    from journeyman.learner import Query
    from journeyman.mdp import FiniteMDP
    from journeyman.study import Study

ENDED = ("terminated", "truncated")

QueryId = Annotated[int, typer.Argument(metavar="QUERY", help="Number of the question.")]
FinalState = Annotated[str | None, typer.Option("--final", metavar="STATE", help="State after the last action.")]
Ended = Annotated[str | None, typer.Option(metavar="HOW", help="terminated, or truncated by a limit.")]


@contextmanager
def opened_to_change(file: Path) -> Iterator["Study"]:
    """Open a study; advice to call `undo` in Python is given as the command that does the same."""
    from journeyman.study import Study

    with Study.open(file) as study:
        try:
            yield study
        except InputError as error:
            advice = re.sub(r"\bundo\((\d+)\)", lambda call: f"`journeyman study undo {file} {call[1]}`", str(error))
            raise InputError(advice) from error


@opt.add_command(app)
def ask(
    file: StudyFile,
    batch: Annotated[int, typer.Option(metavar="K", help="How many questions to choose at once.")] = 1,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
) -> None:
    """Choose what to ask the expert next, and keep the question until it is answered.

    Questions that still wait are taken into account: what their answers will tell is not asked again.

    Examples: [bold]journeyman study ask my.study[/]; three that tell most together: [bold]journeyman study ask my.study
    --batch 3 --json[/].
    """
    from journeyman.cli.warmup import compile_at_first_use
    from journeyman.study import Study

    with Study.open(file, num_threads=threads) as study:
        compile_at_first_use()
        queries = study.ask_batch(batch)
        if as_json:
            opt.print_json([query.to_record() for query in queries])
            return
        for query in queries:
            typer.echo(f"Question {query.id}: {query.text}")
        others, annotators = len(study.pending) - len(queries), study.problem.expert_space.annotators
    example = "ACTION" if queries[0].kind == "state" else "STATE:ACTION STATE:ACTION ..."
    example += f" --by {'|'.join(annotators)}" if annotators else ""
    typer.echo(f"Answer with: journeyman study tell {file} {queries[0].id} {example}")
    if others:
        words = "older question still waits" if others == 1 else "older questions still wait"
        typer.echo(f"{others} {words}: journeyman study status {file}")


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
    """Tell the answer to a question; when this returns, it is kept.

    ANSWER is the action for a question about one state, and STATE:ACTION for every step of a trajectory; labels or
    numbers. A long trajectory need not be typed: --from reads its steps from a table, one row each.

    Examples: [bold]journeyman study tell my.study 0 right --by ada[/]; a trajectory: [bold]journeyman study tell
    my.study 1 house:right path:down --final lawn --ended truncated[/]; from a table with the columns state and action:
    [bold]journeyman study tell my.study 1 --from steps.csv[/].
    """
    with opened_to_change(file) as study:
        asked = study.ledger.find(query)
        check_one_source(answer, steps_from)
        if steps_from is None:
            told = parse_answer(study.problem.mdp, asked, answer or [], final, ended)
        else:
            told = read_one(steps_from, study.problem, columns, final, ended)
        study.tell(asked, told, annotator=by)
        count = len(study.demonstrations)
        stored = study.answers[asked.id].to_record()
    record = {"query": query, "demonstration": stored, "num_demonstrations": count}
    opt.say(as_json, record, f"Kept the answer to question {query}. Demonstrations so far: {count}.")


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
    """Add a demonstration that was never asked for; many of them at once: `journeyman study import`.

    One of several steps that is there already is refused, unless --allow-duplicates says that it was done twice.

    Examples: [bold]journeyman study attach my.study house:right path:right --final pond[/]; from a table with one row
    per step: [bold]journeyman study attach my.study --from steps.csv --columns state=place,action=move[/].
    """
    from journeyman.study import Study

    with Study.open(file) as study:
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
    """Take an answer back. Nothing is deleted: history keeps the answer and that it was taken back.

    Examples: [bold]journeyman study undo my.study 4[/] takes the answer to question 4 back, [bold]journeyman study undo
    my.study attached-0[/] a demonstration that was attached.
    """
    what: int | str = int(answer) if answer.isdecimal() else answer
    change(file, "undo", what, as_json, f"Answer {answer} no longer counts.")


def parse_demonstration(
    mdp: "FiniteMDP", texts: Sequence[str], final: str | None, ended: str | None
) -> "Demonstration":
    """Return STATE:ACTION texts as a demonstration: one step alone is an annotation."""
    from journeyman.checks import one_of
    from journeyman.demonstrations import Demonstration

    steps = []
    for text in texts:
        state, separator, action = text.rpartition(":")
        if not separator:
            raise InputError(f"a step must be written as STATE:ACTION, got {text!r}. Example: home:right or 0:2")
        steps.append((mdp.state_names.index(state), mdp.action_names.index(action)))
    if not steps:
        raise InputError("a demonstration must have at least one step, got none. Example: home:right lane:up")
    final_state = None if final is None else mdp.state_names.index(final)
    if ended is None:
        is_annotation = len(steps) == 1 and final_state is None
        is_over = final_state is not None and bool(mdp.terminal[final_state])
        ended = "annotation" if is_annotation else "terminated" if is_over else "truncated"
    else:
        one_of(ended, ENDED, "ended", "Leave it out for one action.")
    return Demonstration(steps[0][0], tuple(steps), final_state, ended)


def parse_answer(
    mdp: "FiniteMDP", query: "Query", texts: Sequence[str], final: str | None, ended: str | None
) -> "Demonstration":
    """Return what was typed as the answer to a query."""
    from journeyman.demonstrations import Demonstration

    is_plain = query.kind == "state" and len(texts) == 1 and final is None and ended is None
    if is_plain and not (":" in texts[0] and texts[0] not in (mdp.action_labels or ())):
        return Demonstration.annotation(query.state, mdp.action_names.index(texts[0]))
    return parse_demonstration(mdp, texts, final, ended)
