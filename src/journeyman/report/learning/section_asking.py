"""Sections of a report on the questions: what was asked and why, and how the answers changed the belief."""

from journeyman.report.html.page import Markup, folded_table, paragraph, section
from journeyman.report.html.pictures import picture
from journeyman.report.learning.figures import SMALLEST, progress_figure, score_map_figure
from journeyman.report.learning.sentences import answer_words, change_sentence, goal_sentence, place_words
from journeyman.report.learning.summary import LearningSummary, Point
from journeyman.wording import counted, percent

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
    settings = summary.settings
    return section(
        "course",
        "How the belief changed",
        paragraph(change_sentence(summary)),
        picture(
            lambda: progress_figure({settings.acquisition: summary.course}, settings.epsilon, settings.delta),
            alt=f"Lines over the steps. {change_sentence(summary)}",
            caption=LINES,
        ),
        course_table(summary.course, settings.epsilon),
    )


def course_table(course: tuple[Point, ...], epsilon: float) -> Markup:
    """Return the numbers behind the lines."""
    has_truth = any(point.true_regret is not None for point in course)
    header = ["step", "answers", f"chance of a regret of {epsilon:.4g} or more", "expected regret", "entropy (nats)"]
    header += ["true regret"] if has_truth else []
    rows = [
        [
            step,
            point.num_demonstrations,
            "?" if point.failure_chance is None else percent(point.failure_chance),
            "?" if point.expected_regret is None else f"{point.expected_regret:.3g}",
            "?" if point.entropy is None else f"{point.entropy:.2f}",
            *(["?" if point.true_regret is None else f"{point.true_regret:.3g}"] if has_truth else []),
        ]
        for step, point in enumerate(course)
    ]
    caption = "The belief before any answer, and after each step: an answer that came, or was taken back."
    return folded_table(header, rows, caption, numeric=range(len(header)))
