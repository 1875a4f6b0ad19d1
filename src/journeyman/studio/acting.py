"""What a person can do: operations on a draft, which the writer of a session stores, several at a time.

Every operation checks first and changes the draft after that, so that one that is refused leaves it as it was. Doing
the same again does nothing: a page that did not hear the answer may send it once more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError
from journeyman.learner import Event, Query
from journeyman.learner.ledger import (
    Ledger,
    abandon_event,
    action_index,
    correct_event,
    fail_event,
    tell_event,
    undo_event,
)
from journeyman.mdp import FiniteMDP
from journeyman.mdp.episodes import draw_next_state
from journeyman.report.drawing.situations import outcomes, place_words
from journeyman.studio.desks import NOBODY, Draft, Step
from journeyman.study.study import this_second

AssignFn = Callable[[Draft, str], None]  # puts a question on the desk of a person, if there is one to be had
WALKING = 17  # purpose of the random numbers of moves
MOST_LISTED = 10  # actions that a message lists


class Refused(InputError):
    """Something that cannot be done now; `hint` says to programs which request would help."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class Conflict(Refused):
    """What is asked for does not fit what is there: somebody was quicker, or it is another question's turn."""


class Missing(Refused):
    """What is asked for is not there."""


def one_action(query: int) -> Conflict:
    """Return the refusal of a run where one action is asked for."""
    return Conflict(f"question {query} asks for one action, not for a run. Answer it by one.", "POST answer")


@dataclass(frozen=True)
class Done:
    """What an operation did: which answer it was about, whether it had been done before, and the step of a run."""

    answer: int | str | None = None
    repeated: bool = False
    step: Step | None = None
    number: int = 0


def by(person: str) -> str | None:
    """Return who answered, as a demonstration says it."""
    return None if person == NOBODY else person


def last_answer(ledger: Ledger, person: str) -> int | None:
    """Return the question that this person answered last, of those whose answers count."""
    answers, own = ledger.answers, by(person)
    found = (key for key in reversed(list(answers)) if isinstance(key, int) and answers[key].annotator == own)
    return next(found, None)


def signed(event: Event, person: str) -> Event:
    """Return an event that says who did it: an answer may be taken back or corrected by others than its author."""
    return event if person == NOBODY else replace(event, payload={**event.payload, "by": person})


def asked(draft: Draft, query: int) -> Query:
    """Return a question, or say that there is none of this number."""
    if not 0 <= query < len(draft.ledger.queries):
        raise Missing(f"there is no question {query}. Answer the one that waits for you.", "GET question")
    return draft.find(query)


def _held(draft: Draft, person: str, query: int) -> Query:
    found = asked(draft, query)
    if query not in draft.on_desk(person):
        status = draft.ledger.statuses[query]
        words = {"done": "is answered already", "abandoned": "is said to have no answer"}.get(
            status, "is not on your desk"
        )
        raise Conflict(f"question {query} must be yours for that, but it {words}. Go on with yours.", "GET question")
    return found


def _kept(draft: Draft, person: str, query: Query, demonstration: Demonstration) -> None:
    """Keep an answer, whether its question waits or was asked again, and clear the desk of it."""
    keep_fn = tell_event if draft.ledger.statuses[query.id] == "waiting" else correct_event
    event = keep_fn(draft.ledger, query.id, demonstration, annotator=by(person), timestamp=this_second())
    draft.do(event if event.name == "tell" else signed(event, person))
    draft.take_off(person, query.id)


def _is_given(draft: Draft, person: str, query: int, steps: Sequence[tuple[int, int]]) -> bool:
    """Whether this very answer was kept before; another one in its place is a conflict."""
    given = draft.ledger.answers.get(query)
    if given is None:
        return False
    if given.annotator == by(person) and tuple(given.steps) == tuple(tuple(step) for step in steps):
        return True
    raise Conflict(
        f"question {query} has another answer already. To change it, correct it in the history.", "POST correct"
    )


def possible(mdp: FiniteMDP, state: int, action: int | str) -> int:
    """Return the number of an action, or say what can be done in a state instead."""
    chosen = action_index(mdp, action)
    if 0 <= chosen < mdp.num_actions and mdp.available[state, chosen]:
        return chosen
    choices = [f"{one} ({mdp.action_name(one)})" for one in np.flatnonzero(mdp.available[state]).tolist()]
    shown = ", ".join(choices[:MOST_LISTED]) + (" ..." if len(choices) > MOST_LISTED else "")
    raise InputError(f"an action must be possible at {place_words(mdp, state)}: {shown}; got {action!r}.")


def answer(assign_fn: AssignFn, person: str, query: int, action: int | str, comment: str | None) -> Callable[..., Done]:
    """Return the operation that answers a question with one action."""

    def do(draft: Draft) -> Done:
        found = asked(draft, query)
        chosen = possible(draft.ledger.problem.mdp, found.state, action)
        is_repeated = _is_given(draft, person, query, [(found.state, chosen)])
        if not is_repeated:
            _held(draft, person, query)
            if found.kind != "state":
                raise Conflict(
                    f"question {query} asks for a run, not for one action. Walk it step by step, or send all steps.",
                    "POST step",
                )
            _kept(draft, person, found, Demonstration.annotation(found.state, chosen))
        if comment is not None:
            draft.say(query, person, comment)
        assign_fn(draft, person)
        return Done(query, is_repeated)

    return do


def demonstrate(assign_fn: AssignFn, person: str, query: int, given: dict[str, Any], comment: str | None) -> Any:
    """Return the operation that answers a question with a run which somebody did elsewhere, such as a robot."""

    def do(draft: Draft) -> Done:
        found = asked(draft, query)
        steps = tuple((int(state), int(action)) for state, action in given["steps"])
        is_repeated = _is_given(draft, person, query, steps)
        if not is_repeated:
            _held(draft, person, query)
            _check_steps(found, steps, given)
            ended = given["ended"] or ("annotation" if found.kind == "state" else "truncated")
            _kept(draft, person, found, Demonstration(found.state, steps, given["final_state"], ended))
        if comment is not None:
            draft.say(query, person, comment)
        assign_fn(draft, person)
        return Done(query, is_repeated)

    return do


def _check_steps(query: Query, steps: Sequence[tuple[int, int]], given: dict[str, Any]) -> None:
    """Refuse steps that do not answer a question, before anything looks at where they lead."""
    is_one = len(steps) == 1 and given["final_state"] is None and given["ended"] is None
    if query.kind == "state" and not is_one:
        raise InputError(
            f"question {query.id} asks for one action, not for a run. Send `action`, or `steps` with one step and "
            "neither `final_state` nor `ended`."
        )
    if steps[0][0] != query.state:
        raise InputError(f"steps must begin where question {query.id} does, in state {query.state}, got {steps[0][0]}.")
    if query.length is not None and len(steps) > query.length:
        raise InputError(
            f"a run must have at most {query.length} steps for question {query.id}, got {len(steps)}. Send the first "
            f"{query.length}."
        )


def drawn(mdp: FiniteMDP, seed: int, query: int, number: int, state: int, action: int) -> Step:
    """Do an action in the world: draw where it leads.

    The same step of the same question always leads to the same place, so that taking a step back and doing it again
    changes nothing.
    """
    rng = np.random.default_rng([WALKING, seed, query, number, state, action])
    found = draw_next_state(rng, mdp, state, action)
    (likeliest, chance), *others = outcomes(mdp, state, action)
    slipped = found != likeliest and (not others or others[0][1] < chance)
    return Step(state, action, found, slipped)


def step(
    assign_fn: AssignFn, seed: int, person: str, query: int, number: int, action: int | str
) -> Callable[..., Done]:
    """Return the operation that does one step of a run; the last one keeps the run as an answer."""

    def do(draft: Draft) -> Done:
        found, mdp = asked(draft, query), draft.ledger.problem.mdp
        chosen = action_index(mdp, action)
        steps = draft.desks.steps.get(query, ())
        given = draft.ledger.answers.get(query)
        if given is not None and given.annotator == by(person) and number < len(given.steps):
            state, before = given.steps[number]
            if before == chosen:  # the last step, sent again
                assign_fn(draft, person)
                return Done(query, True, drawn(mdp, seed, query, number, state, before), number)
        _held(draft, person, query)
        if found.kind != "trajectory":
            raise one_action(query)
        if number < len(steps) and steps[number].action == chosen:
            return Done(None, True, steps[number], number)
        if number != len(steps):
            raise Conflict(
                f"the next step must be number {len(steps)}, got {number}. Look at the steps so far.", "GET question"
            )
        here = steps[-1].next_state if steps else found.state
        assert here is not None  # a run that ended is kept
        chosen = possible(mdp, here, action)
        new = drawn(mdp, seed, query, number, here, chosen)
        walked = (*steps, new)
        is_over = new.next_state is None or bool(mdp.terminal[new.next_state])
        if is_over or len(walked) >= (found.length or 1):
            _kept(draft, person, found, _run(found, walked, is_over))
            assign_fn(draft, person)
            return Done(query, False, new, number)
        draft.walk(query, walked)
        return Done(None, False, new, number)

    return do


def _run(query: Query, steps: Sequence[Step], is_over: bool) -> Demonstration:
    ended = "terminated" if is_over else "truncated"
    return Demonstration(query.state, tuple((one.state, one.action) for one in steps), steps[-1].next_state, ended)


def undo_step(person: str, query: int, number: int) -> Callable[..., Done]:
    """Return the operation that takes the last step of a run back."""

    def do(draft: Draft) -> Done:
        _held(draft, person, query)
        steps = draft.desks.steps.get(query, ())
        if number == len(steps):
            return Done(None, True)
        if not steps:
            raise Conflict(
                f"question {query} must have a step to take back, but it has none. Do one first.", "POST step"
            )
        if number != len(steps) - 1:
            raise Conflict(f"only the last step can be taken back, number {len(steps) - 1}, got {number}.")
        draft.walk(query, steps[:-1])
        return Done()

    return do


def end(assign_fn: AssignFn, person: str, query: int) -> Callable[..., Done]:
    """Return the operation that ends a run where it is, and keeps it."""

    def do(draft: Draft) -> Done:
        found, steps = asked(draft, query), draft.desks.steps.get(query, ())
        given = draft.ledger.answers.get(query)
        is_repeated = given is not None and given.annotator == by(person) and query not in draft.on_desk(person)
        if not is_repeated:
            _held(draft, person, query)
            if found.kind != "trajectory":
                raise one_action(query)
            if not steps:
                raise Conflict(
                    f"a run must have a step before it can end, got none for question {query}. Do one first."
                )
            _kept(draft, person, found, _run(found, steps, False))
        assign_fn(draft, person)
        return Done(query, is_repeated)

    return do


def give_up(assign_fn: AssignFn, person: str, query: int, *, is_for_good: bool) -> Callable[..., Done]:
    """Return the operation that skips a question, or says that it cannot be answered."""

    def do(draft: Draft) -> Done:
        asked(draft, query)
        is_held, status = query in draft.on_desk(person), draft.ledger.statuses[query]
        wanted = "abandoned" if is_for_good else "failed"
        if not is_held and status != wanted:
            _held(draft, person, query)
        if is_held:
            if is_for_good:
                draft.do(abandon_event(draft.ledger, query))
            elif status == "waiting":
                draft.do(fail_event(draft.ledger, query))
            draft.take_off(person, query)
        assign_fn(draft, person)
        return Done(query, not is_held)

    return do


def comment(person: str, query: int, text: str) -> Callable[..., Done]:
    """Return the operation that notes what a person says about a question."""

    def do(draft: Draft) -> Done:
        asked(draft, query)
        draft.say(query, person, text)
        return Done(query)

    return do


def undo(assign_fn: AssignFn, person: str, wanted: int | str | None) -> Callable[..., Done]:
    """Return the operation that takes an answer back, by default this person's last; its question is asked again."""

    def do(draft: Draft) -> Done:
        chosen = wanted
        if chosen is None:
            chosen = last_answer(draft.ledger, person)
            if chosen is None:
                raise Conflict(
                    "there must be an answer of yours to take back, but there is none. To take back one of somebody "
                    "else, name it: the history has their numbers."
                )
        _check_answer(draft, chosen)
        is_repeated = chosen in draft.ledger.undone
        if not is_repeated:
            draft.do(signed(undo_event(draft.ledger, chosen), person))
            if isinstance(chosen, int):
                draft.put(person, (*(one for one in draft.on_desk(person) if one != chosen), chosen))
        assign_fn(draft, person)
        return Done(chosen, is_repeated)

    return do


def _check_answer(draft: Draft, wanted: int | str) -> None:
    if wanted not in draft.ledger.answers and wanted not in draft.ledger.undone:
        raise Missing(f"there is no answer {wanted!r}. The history lists them.", "GET history")


def correct(person: str, wanted: int | str, action: int | str) -> Callable[..., Done]:
    """Return the operation that puts another action in the place of one that was answered."""

    def do(draft: Draft) -> Done:
        _check_answer(draft, wanted)
        old, mdp = draft.ledger.answers.get(wanted), draft.ledger.problem.mdp
        if old is not None and old.ended != "annotation":
            raise Conflict("a run cannot be corrected by one action. Take it back, and walk it again.", "POST undo")
        asked_at = draft.find(wanted).state if isinstance(wanted, int) else None
        state = asked_at if old is None else old.start_state
        chosen = action_index(mdp, action) if state is None else possible(mdp, state, action)
        if old is not None and old.steps[0][1] == chosen:
            return Done(wanted, True)
        who = by(person) if old is None else None  # one that counts stays with who gave it
        event = correct_event(draft.ledger, wanted, chosen, annotator=who, timestamp=this_second())
        draft.do(signed(event, person))
        if isinstance(wanted, int) and wanted in draft.on_desk(person):
            draft.take_off(person, wanted)
        return Done(wanted)

    return do
