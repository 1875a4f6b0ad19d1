"""What speaks against the model of the expert, for people who know neither the model nor statistics.

The same findings as `criticism` has for researchers, in other words: places as the page names them, no names of
classes, and numbers only as far as anybody can picture them.
"""

from typing import Any

import numpy as np

from journeyman.criticism import Criticism
from journeyman.criticism.check import ALARM, WORTH_A_LOOK
from journeyman.mdp import FiniteMDP
from journeyman.report.drawing.situations import place_words
from journeyman.wording import counted, listed

MOST_TIMES = 1000.0  # that anybody can picture
MOST_NAMED = 3  # contradictions
HEADLINES = {
    "unknown": "There are no answers yet: nothing speaks for the model or against it.",
    "fits": "Nothing speaks against the model.",
    "doubtful": "The model is doubtful: the answers do not fit what it assumes.",
}
RIVALS = {
    "rationality": "somebody who is more, or less, careful than is assumed",
    "lapse": "somebody who now and then acts at random",
    "habit": "somebody who has habits of their own in some places",
    "change": "somebody whose mind changed on the way",
    "prior": "somebody to whom places are worth more, or less, than is assumed",
}
ADVICE = {
    "rationality": "Whoever set this study up could let the learner find out how careful the answers are.",
    "lapse": "Whoever set this study up could let the learner expect a slip now and then.",
    "habit": "Is there something that you decide by and that the page does not show? Tell whoever set this study up.",
    "change": "If you came to see the task differently on the way, take back or correct the early answers.",
    "prior": "Whoever set this study up could allow for larger or smaller rewards.",
    "contradiction": "Look at these answers in the history: take back or correct what was a slip. If both are meant, "
    "leave them.",
}

UNITS = {  # of scores
    "nats": " Nats are a unit of information: 0.7 of them answer one question of yes or no.",
    "reward": " It is counted in reward: what the answer is expected to be worth.",
}


def model_record(criticism: Criticism, mdp: FiniteMDP) -> dict[str, Any]:
    """Return whether the model fits the answers, in words for the page."""
    status = "unknown" if criticism.num_answers == 0 else "doubtful" if criticism.is_doubtful else "fits"
    known = status != "unknown"
    return {
        "status": status,
        "headline": HEADLINES[status],
        "sentences": [*_reasons(criticism, mdp), _evidence(criticism)] if known else [],
        "advice": _advice(criticism, mdp) if status == "doubtful" else [],
    }


def _evidence(criticism: Criticism) -> str:
    """Return how strong the evidence is, beside what would be an alarm."""
    times, actions = times_words(criticism.log_evidence), counted(criticism.num_answers, "action")
    return f"After {actions}, other explanations fit {times} as well as the model; {ALARM:.0f} times would be an alarm."


def times_words(log_gain: float) -> str:
    """Return a factor as people can picture it: "less than half", "about 3 times", "more than 1000 times"."""
    factor = float(np.exp(min(log_gain, 50.0)))
    if factor > MOST_TIMES:
        return f"more than {MOST_TIMES:.0f} times"
    if factor < 0.5:
        return "less than half"
    return f"about {factor:.1f} times" if factor < 10.0 else f"about {factor:.0f} times"


def _reasons(criticism: Criticism, mdp: FiniteMDP) -> list[str]:
    found = [f"{criticism.failure[:1].upper()}{criticism.failure[1:]}."] if criticism.failure else []
    if criticism.is_surprising:
        found.append(f"The answers look more like those of {RIVALS[criticism.rivals[0].kind]}.")
    for item in criticism.contradictions[:MOST_NAMED]:
        given = listed([f"{name} {how_often(count)}" for name, count in item.counts[:2]])
        found.append(f"At {place_words(mdp, item.state)} the answers were {given}: hardly one and the same mind.")
    more = len(criticism.contradictions) - MOST_NAMED
    return [*found, f"So it is at {counted(more, 'more place')}."] if more > 0 else found


def _advice(criticism: Criticism, mdp: FiniteMDP) -> list[str]:
    kinds = [criticism.rivals[0].kind] if criticism.is_surprising else []
    found = [ADVICE[kind] for kind in (*kinds, *(["contradiction"] if criticism.contradictions else []))]
    if criticism.is_surprising and criticism.annotators:
        people = listed(criticism.annotators[:4])
        found.insert(0, f"{people} are taken for one person. Whoever set this study up could tell them apart.")
    if criticism.is_surprising and criticism.deviations and criticism.deviations[0].chance < WORTH_A_LOOK:
        item = criticism.deviations[0]
        expected = "hardly any" if item.expected < 0.5 else f"about {item.expected:.0f}"
        found.append(
            f"Strangest of all: {item.action_name} at {place_words(mdp, item.state)}, {item.observed} of "
            f"{counted(item.num_answers, 'answer')} there, where {expected} was to be expected. Look at the history: "
            "correct what was a slip."
        )
    return found


def how_often(count: int) -> str:
    """Return how often something happened: "once", "twice", "3 times"."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
