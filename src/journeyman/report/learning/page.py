"""The report on one learner: a page that needs no other file."""

from journeyman.report.html.page import Markup, contents, document, element, join, paragraph
from journeyman.report.learning.section_asking import asked_section, course_section
from journeyman.report.learning.section_knowing import actions_section, learned_section, limits_section
from journeyman.report.learning.section_trusting import (
    certificate_section,
    diagnostics_section,
    footer,
    tiles,
    verdict_box,
)
from journeyman.report.learning.summary import LearningSummary
from journeyman.types import FloatArray

CONTENTS = (
    ("certificate", "certificate"),
    ("actions", "policy"),
    ("learned", "reward"),
    ("limits", "not identifiable"),
    ("asked", "questions"),
    ("course", "belief over time"),
    ("diagnostics", "diagnostics"),
)


def learning_report(summary: LearningSummary) -> str:
    """Return the report on a learner as an HTML page."""
    mdp, model = summary.problem.mdp, summary.problem.reward_model
    lead = (
        f"What an expert wants in a world of {mdp.num_states} states and {mdp.num_actions} actions, learned from "
        f"{summary.num_demonstrations} demonstrations: a reward with {model.num_parameters} unknown parameters."
    )
    return document(
        f"{summary.name}: journeyman report",
        element("h1", summary.name),
        paragraph(lead, class_="lead"),
        verdict_box(summary),
        tiles(summary),
        contents(CONTENTS),
        learning_sections(summary),
        footer(),
    )


def learning_sections(summary: LearningSummary, truth: FloatArray | None = None) -> Markup:
    """Return the sections of a report; with the true parameters `[D]`, where they are known."""
    return join(
        certificate_section(summary),
        actions_section(summary),
        learned_section(summary, truth),
        limits_section(summary),
        asked_section(summary),
        course_section(summary),
        diagnostics_section(summary),
    )
