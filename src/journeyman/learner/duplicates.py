"""Duplicates: data that are attached a second time, as when a file is imported twice.

Answers to questions are never duplicates: whoever asks again gets a new answer, even if it is the same one. Nor is one
action that is attached again: an expert may well do the same twice. Data that are attached are duplicates of what is
there already if

- a run of them stands there already, next to each other in the same order, of `LONG` steps or more; or of more than one
  step, if it is all of the new ones, or all that was attached before: a file that was imported before, perhaps with
  more at its end now, or one path that was entered before;
- all of them, of `LONG` steps or more in all, stand there already in whatever order;
- demonstrations of `LONG` steps or more, with half of all new steps or more, stand there already, or one of `VERY_LONG`
  steps or more: animals that know their way walk shorter ones again and again;
- a demonstration has the same time stamp as one that is there, to the second;
- the new ones themselves are the same twice, one half after the other: a file that was written twice.

The same: steps, final state and end are equal, and annotator and time stamp are, where both have one. Who asks to leave
out what is there already leaves out every demonstration that has a match of its own there (`find_matches`).
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from journeyman.demonstrations import Demonstration
from journeyman.learner.records import AnswerId
from journeyman.mdp import FiniteMDP
from journeyman.wording import counted

LONG, VERY_LONG = 10, 50  # steps
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
    matches = find_matches(known, given)
    num_steps = sum(map(len, given))
    if len(matches) == len(given) and (num_steps >= LONG or (len(given) == 1 and num_steps > 1)):
        return matches
    found: dict[int, AnswerId | None] = {**_runs(known, given)}
    num_long = sum(len(given[number]) for number in matches if len(given[number]) >= LONG)
    enough = LONG if 2 * num_long >= num_steps else VERY_LONG
    for number, answer in matches.items():
        item, stamp = given[number], given[number].timestamp
        is_stamped = answer is not None and stamp is not None and known[answer].timestamp == stamp
        if answer is None or len(item) >= enough or is_stamped:
            found.setdefault(number, answer)
    return dict(sorted(found.items()))


def find_matches(known: Mapping[AnswerId, Demonstration], given: Sequence[Demonstration]) -> dict[int, AnswerId | None]:
    """Return which of the `given` demonstrations have a match of their own among the known ones, by their number.

    Those with the same time stamp are matched first. Where the given are the same twice, those of the second half match
    those of the first, which is None.
    """
    ids, places = list(known), _places(known)
    found: dict[int, AnswerId | None] = {}
    taken: set[int] = set()
    for needs_stamp in (True, False):
        for number, item in enumerate(given):
            if number in found or (needs_stamp and item.timestamp is None):
                continue
            for place in places.get(item.steps, ()):
                other = known[ids[place]]
                is_match = is_same(item, other) and (not needs_stamp or item.timestamp == other.timestamp)
                if place not in taken and is_match:
                    taken.add(place)
                    found[number] = ids[place]
                    break
    half = len(given) // 2
    is_long = sum(map(len, given)) >= 2 * LONG and len({item.steps for item in given}) > 1
    if is_long and 2 * half == len(given) == half + _common(given[half:], given):
        found |= {number: None for number in range(half, len(given)) if number not in found}
    return found


def _places(known: Mapping[AnswerId, Demonstration]) -> dict[object, list[int]]:
    """Return at which places steps stand."""
    places: dict[object, list[int]] = {}
    for place, item in enumerate(known.values()):
        places.setdefault(item.steps, []).append(place)
    return places


def _runs(known: Mapping[AnswerId, Demonstration], given: Sequence[Demonstration]) -> dict[int, AnswerId | None]:
    """Return the given demonstrations that are part of a run of known ones, and which these are."""
    ids, items = list(known), list(known.values())
    num_attached = sum(isinstance(answer, str) for answer in ids)
    pairs: dict[object, list[int]] = {}
    for place, (one, other) in enumerate(pairwise(items)):
        pairs.setdefault((one.steps, other.steps), []).append(place)
    found: dict[int, AnswerId | None] = {}
    number = 0
    while number < len(given) - 1:
        candidates = pairs.get((given[number].steps, given[number + 1].steps), ())
        runs = [(_common(items[place:], given[number:]), place) for place in candidates]
        size, place = max(runs, default=(0, 0), key=lambda run: run[0])
        is_all = size == len(given) or size == num_attached
        if size > 1 and (is_all or sum(map(len, given[number : number + size])) >= LONG):
            found |= {number + i: ids[place + i] for i in range(size)}
        number += max(size, 1) if number in found else 1
    return found


def _common(items: Sequence[Demonstration], others: Sequence[Demonstration]) -> int:
    """Return how many of the first demonstrations are the same."""
    for size, (one, other) in enumerate(zip(items, others, strict=False)):
        if not is_same(one, other):
            return size
    return min(len(items), len(others))


def duplicates_message(found: Mapping[int, AnswerId | None], given: Sequence[Demonstration], mdp: FiniteMDP) -> str:
    """Return what to say about data that were refused."""
    named = [
        f"demonstration {number} ({counted(len(given[number]), 'step')} from state "
        f"{mdp.state_name(given[number].start_state)}), "
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
