"""`journeyman demo`: the main job in one command, with a report to look at."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeyman.errors import MissingExtraError
from journeyman.storage.files import made_folder

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from journeyman.report.learning.comparison import Comparison, Turn

WORLD = "jail"
LEARNERS = {"PAC-EIG": "pac_eig", "action entropy": "action_entropy"}
EPSILON, DELTA = 0.1, 0.1
QUICK_PARTICLES, USUAL_PARTICLES = 600, 1000
NEXT_STEPS = (
    "journeyman demo --seed 1",
    "journeyman worlds show jail --seed 4",
    "journeyman scores random-10x10 --acquisition failure_chance --demonstrations 20 --ask best",
    "journeyman run --world random-8x8 --acquisition failure_chance --steps 40 --out runs/first",
    "journeyman init my-problem",
    "journeyman study --help",
)


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the report.")] = Path("journeyman-demo"),
    seed: Annotated[int, typer.Option(help="Which truth the prior draws: 0, 1, 2, ...")] = 4,
    steps: Annotated[int, typer.Option(help="Answers that each learner may ask for, at most.")] = 10,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer samples and answers, for a first look.")] = False,
) -> None:
    """Watch two learners ask a simulated expert; get a certificate and a report to look at.

    The world is a jail: a grid with a goal, three obstacles of unknown cost, and a cell that nobody leaves. PAC-EIG
    asks where the answer tells whether its policy is nearly right. Action entropy asks where the expert is least
    predictable: that is in the jail, where nothing can be learned. The report is one page without scripts, index.html,
    with its pictures beside it.

    Examples: [bold]journeyman demo[/] takes less than a minute, [bold]journeyman demo --seed 1 --steps 20[/] draws
    another truth and lets the learners ask longer, [bold]journeyman demo --quick[/] uses fewer samples.
    """
    from rich.console import Console

    from journeyman.cli.warmup import compile_at_first_use
    from journeyman.learner import ActiveLearner
    from journeyman.progress import progress_bar
    from journeyman.report.learning.comparison import compare
    from journeyman.worlds import make_world

    folder = made_folder(out, "the report", advice="Choose another with --out.")
    console = Console()
    world = make_world(WORLD, seed)
    options = {"num_particles": QUICK_PARTICLES if quick else USUAL_PARTICLES}
    learners = {
        name: ActiveLearner(
            world.problem, acquisition=key, epsilon=EPSILON, delta=DELTA, inference_options=options, seed=0
        )
        for name, key in LEARNERS.items()
    }
    introduce(console)
    compile_at_first_use()
    with progress_bar("Comparing", is_shown=False), TurnTable(console, list(learners)) as table:
        comparison = compare(world, learners, min(steps, 5) if quick else steps, on_turn=table.show)
    conclude(console, comparison)
    write_results(comparison, folder)
    console.print(f"\nThe report is in {folder / 'index.html'}: open it in a browser.", soft_wrap=True, markup=False)
    console.print("\nWhat to try next:")
    for command in NEXT_STEPS:
        console.print(f"  {command}", soft_wrap=True, highlight=False)


def introduce(console: "Console") -> None:
    """Say what will happen."""
    console.print(
        f"An expert knows what mud, water and lava cost in the world '{WORLD}'; two learners ask in turns what the "
        f"expert would do. Each wants a policy whose expected return is less than {EPSILON:g} below the best, with a "
        f"chance of at least {100 * (1 - DELTA):.0f} %. The very first run compiles for some ten seconds.\n"
    )


class TurnTable:
    """Shows the turns: a table that grows in a terminal, else a line per turn."""

    def __init__(self, console: "Console", names: list[str]) -> None:
        from rich.live import Live

        self.console, self.names = console, names
        self.turns: list[Turn] = []
        self.live = Live(console=console, get_renderable=self.table) if console.is_terminal else None

    def __enter__(self) -> "TurnTable":
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *problem: object) -> None:
        if self.live is not None:
            self.live.stop()

    def show(self, turn: "Turn") -> None:
        """Show one more turn."""
        self.turns.append(turn)
        if self.live is not None:
            self.live.refresh()
        else:
            asked, chance, regret = turn_words(turn)
            line = (
                f"step {turn.step:2d}  {turn.name:15s} {asked:16s} P[regret > eps] {chance:>6s}   "
                f"expected regret {regret:>7s}"
            )
            self.console.print(line, soft_wrap=True, highlight=False, markup=False)

    def table(self) -> "Table":
        """Return all turns so far, a row per step."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column("\nstep", justify="right")
        for name in self.names:
            table.add_column(f"{name}\nasks in", no_wrap=True)
            table.add_column(Text("P[regret\n> eps]"), justify="right")
            table.add_column("expected\nregret", justify="right")
        steps = sorted({turn.step for turn in self.turns})
        for step in steps:
            row = [str(step)]
            for name in self.names:
                found = [turn for turn in self.turns if (turn.name, turn.step) == (name, step)]
                row += turn_words(found[0]) if found else ["", "", ""]
            table.add_row(*row)
        if not steps:
            table.add_row("", "computing ...")
        return table


def turn_words(turn: "Turn") -> list[str]:
    """Return where a learner asked and whether that was enough, the chance of too much regret, and expected regret."""
    from journeyman.report.learning.sentences import shown_chance, shown_number

    place = "-" if turn.state is None else f"state {turn.state}"
    asked = f"{place}: done" if turn.is_finished else place
    return [asked, shown_chance(turn.belief.failure_chance), shown_number(turn.belief.expected_regret, ".2g")]


def conclude(console: "Console", comparison: "Comparison") -> None:
    """Print how it went, and the certificate in words."""
    from rich.text import Text

    from journeyman.apprentice.certificate_text import certificate_text
    from journeyman.report.learning.comparison import comparison_sentences

    console.print()
    for sentence in comparison_sentences(comparison):
        console.print(Text(f"- {sentence}"))
    best = comparison.finished_first or next(iter(comparison.summaries))
    summary = comparison.summaries[best]
    certificate = summary.confirmation or summary.certificate
    text = certificate_text(certificate, width=min(console.width, 100))
    console.print(Text.assemble("\n", (f"The certificate of {best}", "bold"), "\n", text))


def write_results(comparison: "Comparison", folder: Path) -> None:
    """Write the page, its pictures as files of their own, and the certificate as JSON."""
    from journeyman.report.drawing.maps import save_figure
    from journeyman.report.learning import comparison_report, write_page
    from journeyman.report.learning.comparison import race_figure
    from journeyman.report.learning.figures import apprentice_figure, reward_figure, score_map_figure

    write_page(comparison_report(comparison, NEXT_STEPS), folder / "index.html")
    best = comparison.summaries[comparison.finished_first or next(iter(comparison.summaries))]
    certificate = best.confirmation or best.certificate
    (folder / "certificate.json").write_text(f"{certificate.to_json()}\n", encoding="utf-8")
    try:
        figures = {
            "progress": race_figure(comparison),
            "reward-posterior": reward_figure(best),
            "apprentice": apprentice_figure(best),
            **{f"scores-{LEARNERS[name]}": score_map_figure(item) for name, item in comparison.summaries.items()},
        }
    except MissingExtraError as error:  # the page says so too, and has all the numbers
        typer.echo(f"No pictures: {error}", err=True)
        return
    for name, figure in figures.items():
        if figure is not None:
            save_figure(figure, folder / f"{name}.png")
