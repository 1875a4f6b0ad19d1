"""Answers as people type them, on the command line or in a sheet: an action, or STATE:ACTION for every step.

States and actions are given by label or by number.
"""

from collections.abc import Sequence

from journeyman.checks import one_of
from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.learner import Query
from journeyman.mdp import FiniteMDP

ENDED = ("terminated", "truncated")


def parse_demonstration(mdp: FiniteMDP, texts: Sequence[str], final: str | None, ended: str | None) -> Demonstration:
    """Return STATE:ACTION texts as a demonstration: one step alone is an annotation."""
    steps = []
    for text in texts:
        state, separator, action = text.rpartition(":")
        if not separator:
            raise InputError(f"a step must be written as STATE:ACTION, got {text!r}. Example: home:right or 0:2")
        steps.append((mdp.state_names.index(state), mdp.action_names.index(action)))
    if not steps:
        raise InputError("a demonstration must have at least one step, got none. Example: home:right lane:up")
    final_state = None if final is None else mdp.state_names.index(final)
    if ended is None:
        is_annotation = len(steps) == 1 and final_state is None
        is_over = final_state is not None and bool(mdp.terminal[final_state])
        ended = "annotation" if is_annotation else "terminated" if is_over else "truncated"
    else:
        one_of(ended, ENDED, "ended", "Leave it out for one action.")
    return Demonstration(steps[0][0], tuple(steps), final_state, ended)


def parse_answer(
    mdp: FiniteMDP, query: Query, texts: Sequence[str], final: str | None, ended: str | None
) -> Demonstration:
    """Return what was typed as the answer to a query."""
    if query.kind == "state" and final is None and ended is None and is_action(mdp, texts):
        return Demonstration.annotation(query.state, mdp.action_names.index(texts[0]))
    return parse_demonstration(mdp, texts, final, ended)


def is_action(mdp: FiniteMDP, texts: Sequence[str]) -> bool:
    """Whether what was typed is one action, not steps; a label may have a colon in it."""
    return len(texts) == 1 and not (":" in texts[0] and texts[0] not in (mdp.action_labels or ()))


def answer_words(mdp: FiniteMDP, answer: Demonstration, *, most: int = 6) -> str:
    """Return an answer as it would be typed, and by whom; long ones in short."""
    by = "" if answer.annotator is None else f" by {answer.annotator}"
    if answer.ended == "annotation":
        return f"{mdp.action_name(answer.steps[0][1])}{by}"
    steps = [f"{mdp.state_name(state)}:{mdp.action_name(action)}" for state, action in answer.steps]
    shown = steps if len(steps) <= most else [*steps[: most - 1], f"... ({len(steps)} steps)"]
    return f"{' '.join(shown)}{by}"
