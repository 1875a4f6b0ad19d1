"""The page of `journeyman demo`: learners side by side, then the full report on one of them."""

from functools import partial
from typing import Any

from journeyman.report.drawing.cells import drawn_once
from journeyman.report.drawing.maps import world_figure
from journeyman.report.html.page import (
    Markup,
    bullets,
    contents,
    document,
    element,
    folded_table,
    join,
    paragraph,
    picture,
    section,
)
from journeyman.report.learning.comparison import Comparison, comparison_sentences
from journeyman.report.learning.figures import progress_figure, score_map_figure
from journeyman.report.learning.page import CONTENTS, learning_sections
from journeyman.report.learning.section_asking import LINES
from journeyman.report.learning.section_trusting import footer, tiles, verdict_box
from journeyman.report.learning.sentences import short_place
from journeyman.report.world.summary import summarise_world
from journeyman.wording import percent


def comparison_report(comparison: Comparison, next_steps: tuple[str, ...] = ()) -> str:
    """Return learners side by side, and the report on the one that finished first (else the first), as a page.

    Parameters
    ----------
    next_steps
        Commands to try next.
    """
    world = comparison.world
    best = comparison.finished_first or next(iter(comparison.summaries))
    summary = comparison.summaries[best]
    title = f"{listed_names(comparison)} in {world.name}"
    return document(
        f"{title}: journeyman demo",
        element("h1", title),
        paragraph(
            "An expert knows what is good in this world; the learners know only how the world works. Each asks "
            "where its own rule says, and stops when its policy is probably nearly as good as the best.",
            class_="lead",
        ),
        verdict_box(summary),
        tiles(summary),
        contents((("race", "side by side"), ("world", "the world"), *CONTENTS)),
        race_section(comparison),
        world_section(comparison),
        element("h2", f"What {best} learned", class_="part"),
        learning_sections(summary, truth=world.true_parameters),
        section("next", "What to try next", bullets(element("code", step) for step in next_steps))
        if next_steps
        else "",
        footer(),
    )


def listed_names(comparison: Comparison) -> str:
    """Return the names of the learners, as in a title."""
    return " against ".join(comparison.summaries)


@drawn_once
def race_figure(comparison: Comparison) -> Any:
    """Return how the beliefs of all learners changed."""
    return progress_figure(comparison.summaries)


def race_section(comparison: Comparison) -> Markup:
    """Return how the learners did, turn by turn."""
    maps = [
        picture(
            partial(score_map_figure, summary),
            alt=f"Where {name} would ask next, and where it asked before.",
            caption=f"{name}: what it thinks the next question is worth in each state.",
        )
        for name, summary in comparison.summaries.items()
    ]
    return section(
        "race",
        "Side by side",
        bullets(comparison_sentences(comparison)),
        picture(
            partial(race_figure, comparison),
            alt=" ".join(comparison_sentences(comparison)),
            caption=f"{LINES} The true regret is known here because the expert is simulated.",
        ),
        turn_table(comparison),
        element("div", *maps, class_="sides"),
    )


def turn_table(comparison: Comparison) -> Markup:
    """Return where each learner asked, and what it believed after."""
    mdp = comparison.world.problem.mdp
    header = ["step"]
    for name in comparison.summaries:
        header += [f"{name} asked in state", "chance of too much regret", "expected regret", "true regret"]
    by_step: dict[int, dict[str, list[str]]] = {}
    for turn in comparison.turns:
        place = "nothing yet" if turn.state is None else short_place(mdp, turn.state)
        belief = turn.belief
        by_step.setdefault(turn.step, {})[turn.name] = [
            f"{place}; finished" if turn.is_finished else place,
            "?" if belief.failure_chance is None else percent(belief.failure_chance),
            "?" if belief.expected_regret is None else f"{belief.expected_regret:.2g}",
            f"{turn.true_regret:.2g}",
        ]
    rows = [
        [step, *(cell for name in comparison.summaries for cell in entries.get(name, ["", "", "", ""]))]
        for step, entries in by_step.items()
    ]
    numeric = [column for column in range(len(header)) if column % 4 != 1]
    return folded_table(header, rows, "Turn by turn.", numeric=numeric)


def world_section(comparison: Comparison) -> Markup:
    """Return a picture of the world and of the truth, which no learner sees."""
    summary = summarise_world(comparison.world)
    return section(
        "world",
        "The world, with the truth that no learner sees",
        join(
            picture(
                lambda: world_figure(summary),
                alt=f"The world {comparison.world.name}: its true reward and the optimal policy.",
                caption="The true reward and what is optimal. Learners know the dynamics, and what the prior says.",
            )
        ),
    )
