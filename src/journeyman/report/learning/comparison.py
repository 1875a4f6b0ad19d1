"""Learners side by side: they ask the expert of a world in turns; the page of `journeyman demo` shows how it went."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from journeyman.checks import whole_number
from journeyman.errors import InputError
from journeyman.learner import Learner, StepRecord
from journeyman.learner.simulate import answered_steps
from journeyman.once import once_for_each
from journeyman.report.drawing.maps import world_figure
from journeyman.report.drawing.marks import states_without_preference
from journeyman.report.html import (
    Markup,
    bullets,
    contents,
    document,
    element,
    folded_table,
    paragraph,
    picture,
    section,
)
from journeyman.report.learning.figures import progress_figure, score_map_figure
from journeyman.report.learning.page import CONTENTS, learning_sections
from journeyman.report.learning.section_knowing import LINES
from journeyman.report.learning.section_trusting import footer, tiles, verdict_box
from journeyman.report.learning.sentences import short_place, shown_chance, shown_number
from journeyman.report.learning.summary import LearningSummary, summarise_learning
from journeyman.report.world.summary import summarise_world
from journeyman.wording import counted
from journeyman.worlds import World


class Turn(NamedTuple):
    """One answer to one learner: where it asked (None before the first), its belief then, and whether it is done."""

    name: str
    step: int
    state: int | None
    belief: StepRecord
    true_regret: float
    is_finished: bool


@dataclass(frozen=True, eq=False)
class Comparison:
    """Learners that have taken turns.

    summaries
        One per learner, by name, with true regrets.
    turns
        All turns, in order.
    idle_queries
        By name: how many queries were put in states where every action is equally good, so that no answer tells
        anything.
    """

    world: World
    summaries: Mapping[str, LearningSummary]
    turns: tuple[Turn, ...]
    idle_queries: Mapping[str, int]

    @property
    def finished_first(self) -> str | None:
        """Name of the learner that needed fewest answers to finish; None if none did."""
        done = {name: summary for name, summary in self.summaries.items() if summary.is_finished}
        return min(done, key=lambda name: done[name].num_demonstrations) if done else None


def compare(
    world: World,
    learners: Mapping[str, Learner],
    steps: int,
    *,
    seed: int = 0,
    on_turn: Callable[[Turn], None] | None = None,
) -> Comparison:
    """Let learners ask the expert of a world in turns, each until it is finished or has asked `steps` times.

    Parameters
    ----------
    learners
        New ones, by name; they are changed.
    seed
        Of the expert's noise: the n-th answer in a state is the same for all.
    on_turn
        Called after every turn, and once per learner before the first.
    """
    steps = whole_number(steps, "steps", 1, "It is the number of answers that each may ask for.")
    if not learners:
        raise InputError("a comparison must have at least one learner, got none. Give some by name.")
    turns: list[Turn] = []

    def take(name: str, step: int) -> None:
        learner = learners[name]
        belief, regret = learner.history()[-1], world.regret(learner.apprentice())
        state = None if belief.query is None else belief.query.state
        turns.append(Turn(name, step, state, belief, regret, learner.is_finished()))
        if on_turn is not None:
            on_turn(turns[-1])

    expert = world.make_expert(seed)
    loops = {name: answered_steps(learner, expert) for name, learner in learners.items()}
    for name in learners:
        take(name, 0)
    for step in range(1, steps + 1):
        for name, learner in learners.items():
            if not learner.is_finished():
                next(loops[name])
                take(name, step)
    title = f"{world.name}, seed {world.seed}"
    summaries = {
        name: summarise_learning(learner, title, true_regrets=[turn.true_regret for turn in turns if turn.name == name])
        for name, learner in learners.items()
    }
    is_idle = states_without_preference(world.problem.mdp, summarise_world(world).optimal)
    idle = {name: sum(bool(is_idle[query.state]) for query in learner.queries) for name, learner in learners.items()}
    return Comparison(world, summaries, tuple(turns), idle)


def comparison_sentences(comparison: Comparison) -> tuple[str, ...]:
    """Say how each learner did, one sentence or two each."""
    return tuple(_outcome(comparison, name) for name in comparison.summaries)


def _outcome(comparison: Comparison, name: str) -> str:
    summary = comparison.summaries[name]
    count = summary.num_demonstrations
    answers = counted(count, "answer")
    text = (
        f"{name} is finished after {answers}: its certificate holds"
        if summary.is_finished
        else f"{name} has no certificate after {answers}"
    )
    text += f", and its policy truly loses {summary.true_regrets[-1]:.2g} in return"
    idle = comparison.idle_queries[name]
    if count and idle:
        states, times = np.unique([item.query.state for item in summary.asked], return_counts=True)
        where = short_place(summary.problem.mdp, int(states[times.argmax()]))
        text += (
            f". It asked {idle} of {count} times where every action is equally good, mostly in state {where}: there "
            "the expert's choice is as random as can be, and tells nothing"
        )
    return f"{text}."


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
    title = f"{' against '.join(comparison.summaries)} in {world.name}"
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


@once_for_each
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
            shown_chance(belief.failure_chance),
            shown_number(belief.expected_regret, ".2g"),
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
        picture(
            lambda: world_figure(summary),
            alt=f"The world {comparison.world.name}: its true reward and the optimal policy.",
            caption="The true reward and what is optimal. Learners know the dynamics, and what the prior says.",
        ),
    )
