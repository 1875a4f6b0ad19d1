"""The report on one learner: a page that needs no other file, or its numbers as plain data for scripts."""

from typing import Any

import numpy as np

from journeyman.report.html import Markup, contents, document, element, join, paragraph
from journeyman.report.learning import section_knowing as knowing, section_trusting as trusting
from journeyman.report.learning.sentences import demonstrations_words, limits, open_parameters, verdict_sentences
from journeyman.report.learning.summary import LearningSummary
from journeyman.report.world.summary import without_nonfinite
from journeyman.types import FloatArray
from journeyman.wording import counted

CONTENTS = (
    ("certificate", "certificate"),
    ("model", "model"),
    ("actions", "policy"),
    ("learned", "reward"),
    ("limits", "not identifiable"),
    ("asked", "questions"),
    ("course", "belief over time"),
    ("diagnostics", "diagnostics"),
)
COURSE = ("num_demonstrations", "failure_chance", "expected_regret", "entropy")


def learning_report(summary: LearningSummary) -> str:
    """Return the report on a learner as an HTML page."""
    mdp, model = summary.problem.mdp, summary.problem.reward_model
    lead = (
        f"What an expert wants in a world of {mdp.num_states} states and {mdp.num_actions} actions, learned from "
        f"{demonstrations_words(summary)}: a reward with {counted(model.num_parameters, 'unknown parameter')}."
    )
    return document(
        f"{summary.name}: journeyman report",
        element("h1", summary.name),
        paragraph(lead, class_="lead"),
        trusting.verdict_box(summary),
        trusting.tiles(summary),
        contents(CONTENTS),
        learning_sections(summary),
        trusting.footer(),
    )


def learning_sections(summary: LearningSummary, truth: FloatArray | None = None) -> Markup:
    """Return the sections of a report; with the true parameters `[D]`, where they are known."""
    return join(
        trusting.certificate_section(summary),
        trusting.model_section(summary),
        knowing.actions_section(summary),
        knowing.learned_section(summary, truth),
        knowing.limits_section(summary),
        knowing.asked_section(summary),
        knowing.course_section(summary),
        trusting.diagnostics_section(summary),
    )


def learning_record(summary: LearningSummary) -> dict[str, Any]:
    """Return all numbers of a report as plain data for JSON; None for what is infinite or unknown."""
    mdp, found, certainty = summary.problem.mdp, summary.identifiability, summary.certainty
    knowledge, rewards = summary.parameters, summary.rewards
    record = {
        "name": summary.name,
        "is_finished": summary.is_finished,
        "verdict": list(verdict_sentences(summary)),
        "num_demonstrations": summary.num_demonstrations,
        "num_decisions": summary.num_decisions,
        "num_attached": summary.num_attached,
        "num_undone": summary.num_undone,
        "certificate": summary.certificate.to_record(),
        "confirmation": None if summary.confirmation is None else summary.confirmation.to_record(),
        "criticism": summary.criticism.to_record(),
        "asked": [
            item.query.to_record()
            | {
                "status": item.status,
                "why": item.why,
                "answer": None if item.answer is None else item.answer.to_record(),
            }
            for item in summary.asked
        ],
        "course": [
            {name: getattr(step, name) for name in COURSE}
            | {"true_regret": summary.true_regrets[i] if summary.true_regrets else None}
            for i, step in enumerate(summary.course)
        ],
        "forecast": None if summary.forecast is None else summary.forecast.to_record(),
        "apprentice": summary.apprentice.tolist(),
        "certainty": _rows(
            state=certainty.states,
            name=[mdp.state_name(int(state)) for state in certainty.states],
            action=certainty.actions,
            action_name=[mdp.action_name(int(action)) for action in certainty.actions],
            chance=certainty.chances,
            rival=certainty.rivals,
            rival_chance=certainty.rival_chances,
        ),
        "parameters": _rows(
            name=knowledge.names,
            mean=knowledge.mean,
            std=knowledge.std,
            interval=knowledge.intervals,
            prior_std=knowledge.prior_std,
            remaining=knowledge.remaining,
            share=knowledge.shares,
            share_interval=knowledge.share_intervals,
        ),
        "expert": [one._asdict() for one in summary.expert],
        "rewards": _rows(
            state=rewards.states,
            name=[mdp.state_name(int(state)) for state in rewards.states],
            action=[None] * len(rewards.mean) if rewards.actions is None else rewards.actions,
            mean=rewards.mean,
            std=rewards.std,
            interval=rewards.intervals,
        ),
        "level": knowledge.level,
        "num_directions_learned": found.num_learned,
        "num_directions": len(found.spreads),
        "num_invisible_directions": None if found.invisible is None else len(found.invisible),
        "limits": list(limits(summary)),
        "hardly_learned": [
            {"name": name, "remaining": share, "why": why} for name, share, why in open_parameters(summary)
        ],
        "unseen_states": np.flatnonzero(found.unseen).tolist(),
        "settings": summary.settings.to_record(),
        "warnings": list(summary.warnings),
    }
    plain: dict[str, Any] = without_nonfinite(record)
    return plain


def _rows(**columns: Any) -> list[dict[str, Any]]:
    """Return columns of equal length as a list of records."""
    plain = [column.tolist() if isinstance(column, np.ndarray) else list(column) for column in columns.values()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*plain, strict=True)]
