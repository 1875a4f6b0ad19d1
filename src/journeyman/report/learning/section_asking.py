"""Sections of a report on the questions: what was asked and why, and how the answers changed the belief."""

from journeyman.report.html import Markup, element, folded_table, paragraph, picture, section
from journeyman.report.learning.figures import SMALLEST, progress_figure, score_map_figure
from journeyman.report.learning.sentences import (
    answer_words,
    change_sentence,
    goal_sentence,
    place_words,
    shown_chance,
    shown_number,
)
from journeyman.report.learning.summary import LearningSummary
from journeyman.wording import counted

LINES = (
    "Dashed: delta, the chance that is acceptable, and epsilon, the regret that is too much. "
    f"Regrets below {SMALLEST:g} are drawn at {SMALLEST:g}."
)


def asked_section(summary: LearningSummary) -> Markup:
    """Return what was asked and why, with the map of the next question."""
    mdp = summary.problem.mdp
    rows = [
        (item.query.id, place_words(mdp, item.query.state), item.why, answer_words(mdp, item.answer), item.status)
        for item in summary.asked
    ]
    header = ("query", "asked in state", "why there", "answer", "status")
    notes = []
    if summary.num_attached:
        notes.append(f"Without being asked for came {counted(summary.num_attached, 'demonstration')}.")
    if summary.num_undone:
        notes.append(f"Taken back, and counted no more: {counted(summary.num_undone, 'answer')}.")
    best = "" if summary.scores is None else place_words(mdp, summary.scores.best_state())
    return section(
        "asked",
        "What was asked, and why",
        paragraph(goal_sentence(summary)),
        folded_table(header, rows, "Queries in the order of asking.", numeric=(0,))
        if rows
        else paragraph("Nothing yet."),
        *(paragraph(note) for note in notes),
        picture(
            lambda: score_map_figure(summary),
            alt=f"Score of the next question in every state; the highest is state {best}.",
            caption=f"What the next question would be worth in each state. The best place to ask is {best}.",
        ),
    )


def course_section(summary: LearningSummary) -> Markup:
    """Return how the belief changed with every answer."""
    return section(
        "course",
        "How the belief changed",
        paragraph(change_sentence(summary)),
        picture(
            lambda: progress_figure({summary.settings.acquisition: summary}),
            alt=f"Lines over the steps. {change_sentence(summary)}",
            caption=LINES,
        ),
        course_table(summary),
        "" if summary.forecast is None else element("h3", "How many more answers it may take"),
        "" if summary.forecast is None else paragraph(summary.forecast.text()),
    )


def course_table(summary: LearningSummary) -> Markup:
    """Return the numbers behind the lines."""
    truths = summary.true_regrets
    chance = f"chance of a regret of {summary.settings.epsilon:.4g} or more"
    header = ["step", "answers", chance, "expected regret", "entropy (nats)", *(["true regret"] if truths else [])]
    rows = [
        [
            number,
            step.num_demonstrations,
            shown_chance(step.failure_chance),
            shown_number(step.expected_regret, ".3g"),
            shown_number(step.entropy, ".2f"),
            *([f"{truths[number]:.3g}"] if truths else []),
        ]
        for number, step in enumerate(summary.course)
    ]
    caption = "The belief before any answer, and after each step: an answer that came, or was taken back."
    return folded_table(header, rows, caption, numeric=range(len(header)))
