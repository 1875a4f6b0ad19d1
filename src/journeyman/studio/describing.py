"""Problems, questions and history as plain data: all that a page needs to draw and to say them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.acquisition import ACQUISITIONS
from journeyman.apprentice.epsilon import epsilon_words
from journeyman.demonstrations import Demonstration
from journeyman.learner import Query
from journeyman.mdp import FiniteMDP
from journeyman.mdp.layouts import drawing_kind, layout_of
from journeyman.mdp.memory import innermost, places_in, remembered_words
from journeyman.problem import Problem
from journeyman.report.drawing.situations import destination_words, outcomes, place_words
from journeyman.studio.acting import by
from journeyman.studio.desks import Step
from journeyman.studio.doubts import UNITS, how_often
from journeyman.studio.session import Session
from journeyman.study.typed import answer_words
from journeyman.wording import counted, percent

MOST_OUTCOMES = 40_000  # rows of transitions that a page gets
ARROWS = {"ArrowUp": (-1, 0), "ArrowDown": (1, 0), "ArrowLeft": (0, -1), "ArrowRight": (0, 1)}
NEARLY_ACROSS = 0.3  # cosine of the angle between an arrow and a neighbour that it still means
LETTERS = {"ArrowUp": "w", "ArrowDown": "s", "ArrowLeft": "a", "ArrowRight": "d"}
OTHER_KEYS = "bfgijklmoprtvy"  # of actions after the first ten; not those that a page uses for other things
PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}


def problem_record(problem: Problem, pictures: dict[int, Path]) -> dict[str, Any]:
    """Return a problem: what it looks like, what its places and actions are called, what they lead to."""
    mdp = problem.mdp
    world, states = innermost(mdp), range(mdp.num_states)
    kind = drawing_kind(world)
    grid = world.grid
    kinds = None if grid is None or grid.kinds is None else [grid.kinds[place] for place in places_in(mdp).tolist()]
    is_small = mdp.num_states * mdp.num_actions <= MOST_OUTCOMES
    moves = None if grid is None or grid.moves is None else grid.moves.tolist()
    return {
        "num_states": mdp.num_states,
        "num_actions": mdp.num_actions,
        "discount": mdp.discount,
        "drawing": kind if kind in ("grid", "graph") else "none",
        "states": {
            "names": [mdp.state_name(state) for state in states],
            "words": [place_words(mdp, state) for state in states],
            "places": places_in(mdp).tolist(),
            "terminal": mdp.terminal.tolist(),
            "initial": mdp.initial.tolist(),
            "queryable": problem.queryable.tolist(),
            "kinds": kinds,
            "remembered": None if mdp.memory is None else [remembered_words(mdp, state) for state in states],
            "pictures": [state in pictures for state in states] if pictures else None,
        },
        "actions": [
            {
                "action": action,
                "label": mdp.action_name(action),
                "move": None if moves is None else moves[action],
                "keys": _usual_keys(mdp, action),
            }
            for action in range(mdp.num_actions)
        ],
        "grid": None if grid is None else _grid_record(world),
        "graph": _graph_record(world) if kind == "graph" else None,
        "outcomes": [
            [outcomes(mdp, state, action) if mdp.available[state, action] else [] for action in range(mdp.num_actions)]
            for state in states
        ]
        if is_small
        else None,
    }


def _grid_record(world: FiniteMDP) -> dict[str, Any]:
    grid = world.grid
    assert grid is not None
    cells = grid.places.tolist()
    taken = {(row, column) for row, column in cells}
    walls = [[r, c] for r in range(grid.num_rows) for c in range(grid.num_columns) if (r, c) not in taken]
    return {
        "rows": grid.num_rows, "columns": grid.num_columns, "cells": cells, "walls": walls,
        "has_moves": grid.moves is not None,
    }  # fmt: skip


def _graph_record(world: FiniteMDP) -> dict[str, Any]:
    layout = layout_of(world)
    links = zip(layout.links.pairs.tolist(), layout.links.is_one_way.tolist(), strict=True)
    return {
        "places": layout.places.tolist(),
        "names": list(layout.names),
        "links": [{"from": first, "to": second, "one_way": one_way} for (first, second), one_way in links],
    }


def _usual_keys(mdp: FiniteMDP, action: int) -> list[str]:
    """Return the keys of an action wherever it is taken: by its move on a grid, and by its number."""
    keys = []
    world = innermost(mdp)
    if world.grid is not None and world.grid.moves is not None:
        moves = [tuple(move) for move in world.grid.moves.tolist()]
        if moves.count(moves[action]) == 1:
            for arrow, move in ARROWS.items():
                if moves[action] == move:
                    keys += [arrow, LETTERS[arrow]]
            if moves[action] == (0, 0):
                keys.append(" ")
    elif mdp.action_name(action).lower() in ("stay", "wait"):
        keys.append(" ")
    if mdp.num_actions <= 10:
        keys.append(str(action))
    elif action < len(OTHER_KEYS) + 10:
        keys.append(str(action) if action < 10 else OTHER_KEYS[action - 10])
    return keys


def action_records(mdp: FiniteMDP, state: int) -> list[dict[str, Any]]:
    """Return what can be done in a state, by which keys, and where that leads."""
    found = []
    for action in np.flatnonzero(mdp.available[state]).tolist():
        likeliest = outcomes(mdp, state, action)[0][0]
        found.append(
            {
                "action": action,
                "label": mdp.action_name(action),
                "keys": _usual_keys(mdp, action),
                "leads_to": likeliest,
                "words": destination_words(mdp, state, action),
            }
        )
    world = innermost(mdp)
    if world.grid is None and drawing_kind(world) == "graph":
        _add_directions(mdp, state, found)
    return found


def _add_directions(mdp: FiniteMDP, state: int, found: list[dict[str, Any]]) -> None:
    """Let arrow keys mean the neighbours that lie in their direction in the drawing of a graph, each at most one."""
    world, places = innermost(mdp), places_in(mdp)
    layout = layout_of(world)
    fits = []
    for i, record in enumerate(found):
        if record["leads_to"] is None or places[record["leads_to"]] == places[state]:
            continue
        across = layout.places[places[record["leads_to"]]] - layout.places[places[state]]
        length = float(np.hypot(*across))
        if length > 0.0:
            fits += [(float(across @ [right, -down]) / length, arrow, i) for arrow, (down, right) in ARROWS.items()]
    taken: set[Any] = set()
    for cosine, arrow, i in sorted(fits, reverse=True):
        if cosine > NEARLY_ACROSS and arrow not in taken and i not in taken:
            taken |= {arrow, i}
            found[i]["keys"] = [arrow, LETTERS[arrow], *found[i]["keys"]]


def question_record(session: Session, query: Query, person: str) -> dict[str, Any]:
    """Return a question as somebody is asked it, with the steps of its run so far."""
    mdp, ledger, events = session.problem.mdp, session.ledger, session.events
    steps = session.desks.steps.get(query.id, ())
    here = query.state if not steps or steps[-1].next_state is None else steps[-1].next_state
    ask = events[ledger.asks[query.id]].payload
    where = place_words(mdp, here)
    if query.kind == "trajectory":
        text = f"Start at {where}. What would you do?" if not steps else f"You are at {where}. What do you do next?"
    else:
        text = f"You are at {where}. What would you do?"
    is_again = ledger.statuses[query.id] != "waiting"
    return {
        "id": query.id,
        "number": _number(session, query.id),
        "kind": query.kind,
        "state": query.state,
        "length": query.length,
        "text": text,
        "place": place_words(mdp, query.state),
        "remembered": remembered_words(mdp, here),
        "why": f"{why_words(session, query)}{_repeated_words(session, query)}",
        "score": query.score if np.isfinite(query.score) else None,
        "unit": str(ask["scores"].get("unit", "")),
        "based_on": ask["scores"].get("based_on"),
        "num_answers": len(ledger.answers),
        "num_before": session.answered[query.state] - (query.id in ledger.answers),
        "is_again": is_again,
        "previous": _previous(session, query.id, person) if is_again else None,
        "here": here,
        "steps": [step_record(mdp, number, step) for number, step in enumerate(steps)],
        "is_over": False,
        "remaining": None if query.length is None else query.length - len(steps),
        "actions": action_records(mdp, here),
        "comment": session.desks.comments.get((query.id, person), ""),
    }


def _number(session: Session, query: int) -> int | None:
    """Return the number of an answer as the page counts: those that count, in the order in which they were given."""
    answers = session.ledger.answers
    if query in answers:
        return list(answers).index(query) + 1
    return len(answers) + 1 if session.ledger.statuses[query] == "waiting" else None


def _repeated_words(session: Session, query: Query) -> str:
    """Return why a place is asked about again; nothing if it has no other answer."""
    count = session.answered[query.state] - (query.id in session.ledger.answers)
    if count == 0:
        return ""
    times = how_often(count)
    behind = _behind(session, query)
    if behind > 1:
        return (
            f" This place was answered {times} before. It came again because the learner had not taken in the last "
            f"{behind} answers: you were quicker. Answer as you would now."
        )
    return (
        f" This place was answered {times} before. It is asked about again because people do not always do the same: "
        "one more answer here still tells more than one elsewhere. Answer as you would now."
    )


def _behind(session: Session, query: Query) -> int:
    """Return how many answers were there, but not taken in, when a question was chosen."""
    scores = session.events[session.ledger.asks[query.id]].payload["scores"]
    based_on = scores.get("based_on")
    return 0 if based_on is None else max(0, scores.get("num_answers", based_on) - based_on)


def why_words(session: Session, query: Query) -> str:
    """Return why a question was asked: what was known then, which stays true whatever is answered since."""
    scores = session.events[session.ledger.asks[query.id]].payload["scores"]
    based_on, median, unit = scores.get("based_on"), scores.get("median"), scores.get("unit", "")
    behind = _behind(session, query)
    late = "" if behind == 0 else f", while {behind} more {'was' if behind == 1 else 'were'} being taken in"
    after = "" if based_on is None else f" Chosen after {counted(based_on, 'answer')}{late}."
    if ACQUISITIONS.find(session.settings.acquisition).is_by_chance:
        return f"All places are asked about alike: chance decides.{after}"
    amount = f"score {query.score:.2g} {'of reward' if unit == 'reward' else unit}".rstrip()
    others = ""
    if median is not None and median < query.score:
        low = "about 0" if median < 1e-3 * query.score else f"below {median:.2g}"
        others = f"; half of the places are {low}"
    return (
        "Of all places, and given what is being asked elsewhere, an answer here is expected to tell the learner most "
        f"({amount}{others}).{after}"
    )


def _previous(session: Session, query: int, person: str) -> str | None:
    """Return the answer that was taken back, in words and by whom, if there was one."""
    for event in reversed(session.events):
        name, payload = event.name, event.payload
        if (name == "tell" and payload["query"] == query) or (name == "correct" and payload["answer"] == query):
            given = Demonstration.from_record(payload["demonstration"])
            who = "you" if given.annotator == by(person) else given.annotator or "somebody"
            return f"{answer_words(session.problem.mdp, _unsigned(given))} by {who}"
    return None


def step_record(mdp: FiniteMDP, number: int, step: Step) -> dict[str, Any]:
    """Return one step of a run, in numbers and words."""
    if step.next_state is None:
        where = "and it was over"
    elif places_in(mdp)[step.next_state] == places_in(mdp)[step.state]:
        where = "and stayed"
    else:
        where = f"to {place_words(mdp, step.next_state)}"
    slip = " (a slip)" if step.slipped else ""
    return {
        "number": number, "state": step.state, "action": step.action, "next_state": step.next_state,
        "intended": outcomes(mdp, step.state, step.action)[0][0], "slipped": step.slipped,
        "words": f"{mdp.action_name(step.action)}, {where}{slip}",
    }  # fmt: skip


def history_record(session: Session, person: str, limit: int, offset: int, *, is_own: bool) -> dict[str, Any]:
    """Return what was asked and answered, newest first."""
    ledger, mdp = session.ledger, session.problem.mdp
    keys: list[int | str] = [query.id for query in reversed(ledger.queries)]
    keys += [key for key in reversed(list(ledger.answers)) if isinstance(key, str)]
    keys += sorted((key for key in ledger.undone if isinstance(key, str)), reverse=True)
    if is_own:
        own = set(session.desks.queries.get(person, ()))
        keys = [
            key
            for key in keys
            if key in own or ((given := ledger.answers.get(key)) is not None and given.annotator == by(person))
        ]
    shown = keys[offset : offset + limit]
    holders = {query: name for name, queries in session.desks.queries.items() for query in queries}
    numbers = {key: number for number, key in enumerate(ledger.answers, start=1)}
    items = [_history_item(session, mdp, key, person, holders) | {"number": numbers.get(key)} for key in shown]
    return {"items": items, "total": len(keys), "more": offset + limit < len(keys)}


def _history_item(
    session: Session, mdp: FiniteMDP, key: int | str, person: str, holders: dict[int, str]
) -> dict[str, Any]:
    ledger = session.ledger
    given = ledger.answers.get(key)
    query = ledger.queries[key] if isinstance(key, int) else None
    status = "counts" if given is not None else "taken_back"
    if query is not None and given is None and key not in ledger.undone:
        status = {"waiting": "waiting", "failed": "skipped", "abandoned": "cannot"}[ledger.statuses[query.id]]
    elif query is not None and given is None and ledger.statuses[query.id] == "abandoned":
        status = "cannot"
    state = query.state if query is not None else given.start_state if given is not None else None
    comments = {name: text for (about, name), text in session.desks.comments.items() if about == key}
    is_one = given is not None and given.ended == "annotation"
    return {
        "id": key,
        "question": None if query is None else query.id,
        "state": state,
        "place": "" if state is None else place_words(mdp, state),
        "kind": query.kind if query is not None else "state" if is_one else "trajectory",
        "status": status,
        "answer": None if given is None else answer_words(mdp, _unsigned(given)),
        "action": given.steps[0][1] if given is not None and is_one else None,
        "steps": [] if given is None else [list(step) for step in given.steps],
        "final_state": None if given is None else given.final_state,
        "ended": None if given is None else given.ended,
        "annotator": _author(session, key, holders),
        "changed": _changed_words(session, key),
        "time": None if given is None or given.timestamp is None else given.timestamp.isoformat(),
        "comment": comments.get(person) or "; ".join(comments.values()),
        "why": "" if query is None else why_words(session, query),
        "can_undo": given is not None,
        "can_correct": is_one or (status == "taken_back" and query is not None and query.kind == "state"),
        "choices": _choices(mdp, state) if state is not None and (query is None or query.kind == "state") else [],
    }


def _author(session: Session, key: int | str, holders: dict[int, str]) -> str | None:
    """Return who gave an answer, also one that was taken back, or who has a question that was not answered."""
    given = session.ledger.answers.get(key)
    if given is not None:
        return given.annotator
    if key in session.authors or isinstance(key, str):
        return session.authors.get(key)
    return by(holders.get(key, ""))


def _changed_words(session: Session, key: int | str) -> str:
    """Return what happened to an answer after it was given, and by whom, where that is known."""
    what, who = session.changes.get(key, ("", None))
    words = {"undo": "taken back", "correct": "corrected"}.get(what, "")
    return f"{words} by {who}" if words and who and who != session.authors.get(key) else words


def _unsigned(given: Demonstration) -> Demonstration:
    return replace(given, annotator=None)


def _choices(mdp: FiniteMDP, state: int) -> list[dict[str, Any]]:
    return [
        {"action": action, "label": mdp.action_name(action)} for action in np.flatnonzero(mdp.available[state]).tolist()
    ]


def found_pictures(folder: Path | None, mdp: FiniteMDP) -> dict[int, Path]:
    """Return the pictures of states in a folder: files named by the label or the number of a state."""
    found: dict[int, Path] = {}
    if folder is None:
        return found
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in PICTURES and path.is_file() and mdp.state_names.knows(path.stem):
            found[mdp.state_names.index(path.stem)] = path
    return found


def explanations(session: Session) -> dict[str, str]:
    """Return what the numbers mean that a page shows before anything is known; those of a belief come with it."""
    settings = session.settings
    epsilon, sure = epsilon_words(settings.epsilon), percent(1.0 - settings.delta)
    return {
        "place": place_explanation(session.problem.mdp),
        "places": "How many different situations there are in this world.",
        "question": "The number that your answer will have, counted over all people. Steps are those of this run, and "
        "the most that it may have.",
        "why": "The score is what this answer was expected to tell the learner when the question was chosen, compared "
        "with the place in the middle of all places." + "".join(UNITS.values()),
        "answers": "How many answers count: those that were taken back are left out.",
        "goal": f"What is wanted of this study: to lose less than {epsilon} (epsilon) by following the apprentice, "
        f"compared with the best that can be done, with a chance of at least {sure} (one minus delta).",
        "length": "The most steps that one answer may have. You can end it earlier.",
        "history": "An answer: its number in the order of answering, what was done where, and who said so. "
        + place_explanation(session.problem.mdp),
    }


def place_explanation(mdp: FiniteMDP) -> str:
    """Return what the numbers in the name of a place mean."""
    world = innermost(mdp)
    if world.grid is not None:
        first = int(world.grid.places.min())
        return f"Rows are counted from the top, columns from the left; the first ones are number {min(first, 1)}."
    return "The name of a place, as the problem gives it." if world.state_labels else "Places have numbers, from 0 on."


def intro_words(session: Session) -> str:
    """Return what a study is about, for somebody who answers."""
    mdp = session.problem.mdp
    what = "one action at a time" if session.settings.kind == "state" else "runs of several steps"
    return (
        f"A learner wants to know what you would do in a world of {counted(mdp.num_states, 'place')}. It asks where "
        f"your answer helps most, for {what}. There are no right or wrong answers: do what you think is best."
    )
