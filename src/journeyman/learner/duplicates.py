"""Duplicates: data that are attached a second time, as when a file is imported twice.

Answers to questions are never duplicates: whoever asks again gets a new answer, even if it is the same one. Nor is one
action that is attached again: an expert may well do the same twice. Data that are attached are duplicates of what is
there already if

- all of them together, where they are more than one step, stand there already, next to each other in the same order: a
  file that was imported before, or one path that was entered before;
- a demonstration of `LONG` steps or more stands there already, or twice among the new ones: that hardly happens by
  chance, unless there is no choice;
- a demonstration has the same time stamp as one that is there, to the second.

The same: steps, final state and end are equal, and annotator and time stamp are, where both have one.
"""

from collections.abc import Mapping, Sequence

from journeyman.demonstrations import Demonstration
from journeyman.learner.records import AnswerId
from journeyman.wording import counted

LONG = 10  # steps
MOST_NAMED = 3  # duplicates that a message names


def is_same(one: Demonstration, other: Demonstration) -> bool:
    """Return whether two demonstrations may be records of the same thing."""
    return (
        (one.start_state, one.steps, one.final_state, one.ended)
        == (other.start_state, other.steps, other.final_state, other.ended)
        and (one.annotator is None or other.annotator is None or one.annotator == other.annotator)
        and (one.timestamp is None or other.timestamp is None or one.timestamp == other.timestamp)
    )


def find_duplicates(
    known: Mapping[AnswerId, Demonstration], given: Sequence[Demonstration]
) -> dict[int, AnswerId | None]:
    """Return which of the `given` demonstrations are duplicates, by their number.

    Of each: the id of the known one that it repeats, or None where it repeats an earlier one of the given.
    """
    ids, places = list(known), _places(known)
    repeated = _whole_run(known, given, ids, places)
    if repeated:
        return repeated
    found: dict[int, AnswerId | None] = {}
    taken: set[int] = set()
    earlier: dict[object, list[Demonstration]] = {}
    for number, item in enumerate(given):
        for place in places.get(item.steps, ()):
            other = known[ids[place]]
            is_stamped = item.timestamp is not None and item.timestamp == other.timestamp
            if place not in taken and (len(item) >= LONG or is_stamped) and is_same(item, other):
                taken.add(place)
                found[number] = ids[place]
                break
        else:
            before = earlier.setdefault(item.steps, [])
            if len(item) >= LONG and any(is_same(item, other) for other in before):
                found[number] = None
            before.append(item)
    return found


def _places(known: Mapping[AnswerId, Demonstration]) -> dict[object, list[int]]:
    """Return at which places steps stand."""
    places: dict[object, list[int]] = {}
    for place, item in enumerate(known.values()):
        places.setdefault(item.steps, []).append(place)
    return places


def _whole_run(
    known: Mapping[AnswerId, Demonstration],
    given: Sequence[Demonstration],
    ids: list[AnswerId],
    places: Mapping[object, list[int]],
) -> dict[int, AnswerId | None]:
    """Return the run of known demonstrations that repeats all of the given ones, if there is one."""
    if not given or sum(map(len, given)) < 2:
        return {}
    for first in places.get(given[0].steps, ()):
        run = ids[first : first + len(given)]
        if len(run) == len(given) and all(is_same(known[i], item) for i, item in zip(run, given, strict=True)):
            return dict(enumerate(run))
    return {}


def duplicates_message(found: Mapping[int, AnswerId | None], given: Sequence[Demonstration]) -> str:
    """Return what to say about data that were refused."""
    named = [
        f"demonstration {number} ({counted(len(given[number]), 'step')} from state {given[number].start_state}), "
        + ("which is in these data twice" if answer is None else f"which is there as {_name(answer)}")
        for number, answer in list(found.items())[:MOST_NAMED]
    ]
    more = len(found) - len(named)
    rest = f"; and {more} more" if more else ""
    return (
        f"data must not be there already, got {len(found)} of {len(given)} a second time: {'; '.join(named)}{rest}. "
        "Nothing was attached. Leave these out (import: --skip-duplicates), or, if they were really done twice, allow "
        "duplicates (--allow-duplicates, in Python allow_duplicates=True)."
    )


def _name(answer: AnswerId) -> str:
    return answer if isinstance(answer, str) else f"the answer to question {answer}"
