"""`journeyman study new`, `ask`, `tell`, `attach`, `fail`, `abandon` and `undo`: making one, asking and answering."""

from pathlib import Path
from typing import Annotated, Any

import typer

from journeyman.cli.options import InferenceOptions, Threads, WorldOptions, parse_settings
from journeyman.cli.printing import print_json
from journeyman.cli.study.options import Annotator, AsJson, StudyFile, app, find_problem, say_done

NEW_HELP = """Make a new study from a problem file, or from one of the worlds.

The settings are fixed for the life of the study. Defaults suit a first study: ask for single actions, stop when the \
policy loses less than epsilon with probability 1 - delta.
"""
NEW_EPILOG = (
    "Examples: [bold]journeyman study new my.study --problem problem.toml --epsilon 0.5[/]. "
    "[bold]journeyman study new jail.study --world jail --seed 3 --kind trajectory --length 10[/]. "
    "[bold]journeyman study new grid.study --world random-grid --world-set size=4 --inference-set num_particles=500[/]."
)
ASK_HELP = """Choose what to ask the expert next, and keep the question until it is answered.

Questions that still wait are taken into account: what their answers will tell is not asked again.
"""
TELL_HELP = """Tell the answer to a question; when this returns, it is kept.

ANSWER is the action for a question about one state, and STATE:ACTION for every step of a trajectory; labels or numbers.
"""
ATTACH_HELP = """Add a demonstration that was never asked for; many of them at once: `journeyman study import`."""

QueryId = Annotated[int, typer.Argument(metavar="QUERY", help="Number of the question.")]
FinalState = Annotated[str | None, typer.Option("--final", metavar="STATE", help="State after the last action.")]
Ended = Annotated[str | None, typer.Option(metavar="HOW", help="terminated, or truncated by a limit.")]


@app.command(help=NEW_HELP, epilog=NEW_EPILOG)
def new(
    file: StudyFile,
    problem: Annotated[Path | None, typer.Option(metavar="FILE", help="Your problem.toml.")] = None,
    world: Annotated[str | None, typer.Option(metavar="NAME", help="Or a world, to try it out.")] = None,
    world_set: WorldOptions = None,
    acquisition: Annotated[str | None, typer.Option(metavar="NAME", help="How questions are chosen.")] = None,
    inference: Annotated[str, typer.Option(metavar="METHOD", help="Inference method.")] = "smc",
    inference_set: InferenceOptions = None,
    epsilon: Annotated[float, typer.Option(help="Regret that is too much, in units of the reward.")] = 0.1,
    delta: Annotated[float, typer.Option(help="Chance of it that you accept.")] = 0.1,
    scope: Annotated[str, typer.Option(help="initial, or every_state: a guarantee wherever one starts.")] = "initial",
    kind: Annotated[str, typer.Option(metavar="KIND", help="state: one action; trajectory: several.")] = "state",
    length: Annotated[int | None, typer.Option(metavar="L", help="Most steps of a trajectory.")] = None,
    goal: Annotated[str, typer.Option(help="policy, or reward: stop when the reward itself is known.")] = "policy",
    seed: Annotated[int, typer.Option(help="Of the learner, and of the world.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Make the file, and say what comes next."""
    from journeyman.study import Study

    chosen: dict[str, Any] = dict(
        acquisition=acquisition, inference=inference, inference_options=parse_settings(inference_set or []),
        epsilon=epsilon, delta=delta, scope=scope, kind=kind, length=length, goal=goal, seed=seed,
    )  # fmt: skip
    with Study.create(file, find_problem(problem, world, world_set or [], seed), **chosen) as study:
        if as_json:
            print_json({"file": str(file)} | study.overview().to_record())
            return
        num_states = study.problem.mdp.num_states
    typer.echo(f"Made {file}: {num_states} states, {int(study.problem.queryable.sum())} of them may be asked about.")
    typer.echo(f"Next: journeyman study ask {file}")


@app.command(
    help=ASK_HELP,
    epilog="Examples: [bold]journeyman study ask my.study[/]; three that tell most together: "
    "[bold]journeyman study ask my.study --batch 3 --json[/].",
)
def ask(
    file: StudyFile,
    batch: Annotated[int, typer.Option(metavar="K", help="How many questions to choose at once.")] = 1,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Print the next questions."""
    from journeyman.study import Study

    with Study.open(file, num_threads=threads) as study:
        queries = study.ask_batch(batch)
        if as_json:
            print_json([query.to_record() for query in queries])
            return
        for query in queries:
            typer.echo(f"Question {query.id}: {query.text}")
        others = len(study.pending) - len(queries)
    example = "ACTION" if queries[0].kind == "state" else "STATE:ACTION STATE:ACTION ..."
    typer.echo(f"Answer with: journeyman study tell {file} {queries[0].id} {example}")
    if others:
        words = "older question still waits" if others == 1 else "older questions still wait"
        typer.echo(f"{others} {words}: journeyman study status {file}")


@app.command(
    help=TELL_HELP,
    epilog="Examples: [bold]journeyman study tell my.study 0 right --by ada[/]; a trajectory: "
    "[bold]journeyman study tell my.study 1 house:right path:down --final lawn --ended truncated[/].",
)
def tell(
    file: StudyFile,
    query: QueryId,
    answer: Annotated[list[str], typer.Argument(metavar="ANSWER", help="Action, or STATE:ACTION steps.")],
    final: FinalState = None,
    ended: Ended = None,
    by: Annotator = None,
    as_json: AsJson = False,
) -> None:
    """Store the answer."""
    from journeyman.cli.study.answers import parse_answer
    from journeyman.study import Study

    with Study.open(file) as study:
        asked = study.ledger.find(query)
        study.tell(asked, parse_answer(study.problem.mdp, asked, answer, final, ended), annotator=by)
        count = len(study.demonstrations)
        stored = study.answers[asked.id].to_record()
    say_done(as_json, {"query": query, "demonstration": stored, "num_demonstrations": count},
             f"Kept the answer to question {query}. Demonstrations so far: {count}.")  # fmt: skip


@app.command(
    help=ATTACH_HELP,
    epilog="Example: [bold]journeyman study attach my.study house:right path:right --final pond[/].",
)
def attach(
    file: StudyFile,
    steps: Annotated[list[str], typer.Argument(metavar="STEP", help="STATE:ACTION, in order.")],
    final: FinalState = None,
    ended: Ended = None,
    by: Annotator = None,
    as_json: AsJson = False,
) -> None:
    """Store the demonstration."""
    from journeyman.cli.study.answers import parse_demonstration
    from journeyman.study import Study

    with Study.open(file) as study:
        (answer,) = study.attach(parse_demonstration(study.problem.mdp, steps, final, ended), annotator=by)
        stored = study.answers[answer].to_record()
    say_done(as_json, {"answer": answer, "demonstration": stored}, f"Kept as {answer}.")


def change(file: Path, name: str, what: Any, as_json: bool, words: str) -> None:
    """Do something to a study that needs no more than a name for it, and say so."""
    from journeyman.study import Study

    with Study.open(file) as study:
        getattr(study, name)(what)
        record = study.overview().to_record()
    say_done(as_json, record, words)


@app.command(
    help="Say that no answer comes to a question now; its state may be asked about again.",
    epilog="Example: [bold]journeyman study fail my.study 4[/].",
)
def fail(file: StudyFile, query: QueryId, as_json: AsJson = False) -> None:
    """Close a question."""
    change(file, "fail", query, as_json, f"Question {query} failed. Its state may be asked about again.")


@app.command(
    help="Say that a question cannot be answered; its state is not asked about again.",
    epilog="Example: [bold]journeyman study abandon my.study 4[/].",
)
def abandon(file: StudyFile, query: QueryId, as_json: AsJson = False) -> None:
    """Close a question for good."""
    change(file, "abandon", query, as_json, f"Question {query} is abandoned. Its state is not asked about again.")


@app.command(
    help="Take an answer back. Nothing is deleted: history keeps the answer and that it was taken back.",
    epilog="Examples: [bold]journeyman study undo my.study 4[/] takes the answer to question 4 back, "
    "[bold]journeyman study undo my.study attached-0[/] a demonstration that was attached.",
)
def undo(
    file: StudyFile,
    answer: Annotated[str, typer.Argument(metavar="ANSWER", help="Number of the question, or attached-N.")],
    as_json: AsJson = False,
) -> None:
    """Take an answer out of the posterior."""
    what: int | str = int(answer) if answer.isdecimal() else answer
    change(file, "undo", what, as_json, f"Answer {answer} no longer counts.")
