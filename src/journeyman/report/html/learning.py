"""The report on one learner: a page that needs no other file."""

from pathlib import Path

from journeyman.errors import InputError
from journeyman.report.html.asking import asked_section, course_section
from journeyman.report.html.knowing import actions_section, learned_section, limits_section
from journeyman.report.html.page import Markup, contents, document, element, join, paragraph
from journeyman.report.html.trusting import certificate_section, diagnostics_section, footer, tiles, verdict_box
from journeyman.report.learning_summary import LearningSummary
from journeyman.storage.files import whole_file
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


def checked_page_path(path: str | Path) -> Path:
    """Return the path of a page, if it can be that of one."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"a report must go to a file, got the folder {str(path)!r}. Add a file name.")
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"the name of a report must end in .html, got {path.name!r}. Rename it.")
    if not path.parent.is_dir():
        raise InputError(f"the folder of a report must exist, got {str(path.parent)!r}. Create it first.")
    return path


def write_page(page: str, path: str | Path) -> Path:
    """Write a page to a file, whole or not at all, and return its path."""
    path = checked_page_path(path)
    with whole_file(path, "a report") as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path
