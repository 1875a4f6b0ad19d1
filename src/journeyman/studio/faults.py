"""What is wrong with a request, for people: which field, what it must be, and what came instead."""

from collections.abc import Mapping, Sequence
from typing import Any

from journeyman.studio.schemas import STUDY_NAME

WHOLE = "must be a whole number, written without quotes"
MODEL = 'must be a JSON object such as {{"question": 0}}, sent as application/json'
FIELDS = {  # that may be of several kinds: each kind has a complaint of its own, which nobody wants to read
    "action": 'must be an action: its number, such as 0, or its label, such as "left"',
    "answer": 'must be the number of an answer, or "attached-0" and so on for attached data',
    "epsilon": 'must be a number above 0, or a share of at most 100% such as "5%"',
    "steps": "must be a list of steps, each a state and an action such as [3, 0]",
}
WORDS = {
    "missing": "must be given. Add it",
    "extra_forbidden": "is not known here. Leave it out",
    "int_type": WHOLE,
    "int_parsing": WHOLE,
    "int_from_float": WHOLE,
    "int_parsing_size": "must be a smaller whole number",
    "float_type": "must be a number, written without quotes",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be text, in quotes",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "literal_error": "must be {expected}",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": 'must be an object such as {{"name": "value"}}',
    "model_type": MODEL,
    "model_attributes_type": MODEL,
}
UNREADABLE = (
    "The request must be JSON that can be read, but its lists are too deep or a number is too long. Send an object "
    'such as {"question": 0}.'
)
KINDS = frozenset({"int", "float", "str", "bool", "list", "dict"})  # names of kinds, between those of fields
MOST_SHOWN = 40  # characters of what came


def explained(errors: Sequence[Mapping[str, Any]]) -> tuple[str | None, str]:
    """Return the field that is wrong, and a sentence that says what it must be, from what pydantic found."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return None, f"The request must be JSON, but it is not: {_reason(first)}. Send an object such as {{}}."
    if first["type"] == "missing" and tuple(first["loc"]) == ("body",):
        return None, 'The request must have a body: JSON such as {"question": 0}, sent as application/json.'
    path = [part for part in first["loc"] if part not in ("body", "query", "path", "header") and _is_name(part)]
    field = ".".join(map(str, path)) or None
    return field, f"{field or 'The request'} {_words(str(path[0]) if path else '', first)}{_got(first)}."


def _is_name(part: Any) -> bool:
    """Whether a part of a place is that of a field or entry, not the name of a kind that was tried."""
    return isinstance(part, int) or not (part in KINDS or "-" in part or "[" in part)


def _reason(error: Mapping[str, Any]) -> str:
    position = error["loc"][-1]
    reason = str(error.get("ctx", {}).get("error", "it cannot be read"))
    where = f" (character {position})" if isinstance(position, int) else ""
    return f"{reason[:1].lower()}{reason[1:]}{where}"


def _words(field: str, error: Mapping[str, Any]) -> str:
    if field in FIELDS and error["type"] not in ("missing", "extra_forbidden"):
        return FIELDS[field]
    context = error.get("ctx", {})
    if STUDY_NAME in str(context.get("pattern", "")):
        return "must be 1 to 64 letters, digits, -, _ or . and begin with a letter or digit"
    if error["type"] == "value_error":
        return str(error["msg"]).removeprefix("Value error, ")
    found = WORDS.get(error["type"])
    return found.format(**context) if found else f"is not valid: {error['msg']}"


def _got(error: Mapping[str, Any]) -> str:
    """Return what came instead, in short and in ASCII, since it may be anything."""
    given = error.get("input")
    if error["type"] in ("missing", "extra_forbidden") or not isinstance(given, str | int | float | bool | None):
        return ""
    shown = {True: "true", False: "false"}[given] if isinstance(given, bool) else "null" if given is None else None
    try:
        text = shown or ascii(given)
    except ValueError:  # a number of thousands of digits
        return ""
    return f", got {text if len(text) <= MOST_SHOWN else f'{text[:MOST_SHOWN]}...'}"
