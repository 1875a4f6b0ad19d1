"""Answers as people type them: an action, or STATE:ACTION for every step; by label or by number."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from journeyman.errors import InputError

if TYPE_CHECKING:
    from journeyman.demonstrations import Demonstration
    from journeyman.learner import Query
    from journeyman.mdp import FiniteMDP

ENDED = ("terminated", "truncated")


def parse_state(mdp: "FiniteMDP", text: str) -> int:
    """Return the state that a label or a number means."""
    return _index(text, mdp.state_labels, mdp.num_states, "a state")


def parse_action(mdp: "FiniteMDP", text: str) -> int:
    """Return the action that a label or a number means."""
    return _index(text, mdp.action_labels, mdp.num_actions, "an action")


def _index(text: str, labels: tuple[str, ...] | None, size: int, what: str) -> int:
    if labels and text in labels:
        return labels.index(text)
    if text.isdecimal() and int(text) < size:
        return int(text)
    from journeyman.checks import suggestion

    hint = suggestion(text, labels[:20]) if labels else f"Example: {size - 1}."
    raise InputError(f"{what} must be a label or a number in 0..{size - 1}, got {text!r}. {hint}")


def parse_steps(mdp: "FiniteMDP", texts: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return STATE:ACTION texts as steps."""
    steps = []
    for text in texts:
        state, separator, action = text.rpartition(":")
        if not separator:
            raise InputError(f"a step must be written as STATE:ACTION, got {text!r}. Example: home:right or 0:2")
        steps.append((parse_state(mdp, state), parse_action(mdp, action)))
    return tuple(steps)


def parse_demonstration(
    mdp: "FiniteMDP", texts: Sequence[str], final: str | None, ended: str | None
) -> "Demonstration":
    """Return typed steps as a demonstration: one step alone is an annotation."""
    from journeyman.demonstrations import Demonstration

    steps = parse_steps(mdp, texts)
    if not steps:
        raise InputError("a demonstration must have at least one step, got none. Example: home:right lane:up")
    final_state = None if final is None else parse_state(mdp, final)
    if ended is None:
        is_annotation = len(steps) == 1 and final_state is None
        is_over = final_state is not None and bool(mdp.terminal[final_state])
        ended = "annotation" if is_annotation else "terminated" if is_over else "truncated"
    elif ended not in ENDED:
        raise InputError(f"ended must be one of {', '.join(ENDED)}, got {ended!r}. Leave it out for one action.")
    return Demonstration(steps[0][0], steps, final_state, ended)


def parse_answer(
    mdp: "FiniteMDP", query: "Query", texts: Sequence[str], final: str | None, ended: str | None
) -> "Demonstration":
    """Return what was typed as the answer to a query."""
    from journeyman.demonstrations import Demonstration

    is_plain = query.kind == "state" and len(texts) == 1 and final is None and ended is None
    if is_plain and not (":" in texts[0] and texts[0] not in (mdp.action_labels or ())):
        return Demonstration.annotation(query.state, parse_action(mdp, texts[0]))
    return parse_demonstration(mdp, texts, final, ended)
