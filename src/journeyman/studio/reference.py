"""The tables in docs/studio-api.md, made from the OpenAPI schema of the application.

They lie between two marks in the page; the prose around them is written by hand. To make them again:
`python -m journeyman.studio.reference docs/studio-api.md`.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from journeyman.errors import InputError
from journeyman.wording import JSON_KINDS

Schema = dict[str, Any]
START = "<!-- made by: python -m journeyman.studio.reference docs/studio-api.md -->"
END = "<!-- end of what is made -->"
UNDER = "/api/studies/{study}/"
NO_LIMIT = 10**9  # limits from here on only guard the server
LIMITS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "and below"}
SIZES = {"maxLength": "at most {} characters", "maxItems": "at most {}", "maxProperties": "at most {}"}


def with_tables(page: str, schema: Schema) -> str:
    """Return a page with what is between its marks made from a schema."""
    if page.count(START) != 1 or page.count(END) != 1:
        raise InputError(f"the page must have each of these lines once: {START} and {END}. Put them where tables go.")
    before, _, rest = page.partition(START)
    return f"{before}{START}\n\n{tables(schema)}\n{END}{rest.partition(END)[2]}"


def tables(schema: Schema) -> str:
    """Return the tables of routes, of what is sent, and of the records that come back."""
    routes = [f"| {' | '.join(route_row(schema, *route))} |" for route in operations(schema)]
    sent = [f"| `{name}` | {kind} | {words} |" for name, kind, words in sent_rows(schema)]
    back = [f"| `{name}` | {words} | {keys} |" for name, words, keys in record_rows(schema)]
    return "\n".join(
        [
            "| route | parameters | body | reply | what |", "|---|---|---|---|---|", *routes, "",
            "### What is sent", "", "| parameter or field | value | meaning |", "|---|---|---|", *sent, "",
            "### What comes back", "", "| record | what | keys |", "|---|---|---|", *back, "",
        ]
    )  # fmt: skip


def operations(schema: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Yield (method, path, operation) of all routes."""
    for path, found in schema["paths"].items():
        for method, operation in found.items():
            yield method.upper(), path, operation


def route_row(schema: Schema, method: str, path: str, operation: Schema) -> tuple[str, ...]:
    """Return a route: its parameters and fields, those with a ? may be left out; how it succeeds; and what it does."""
    given = [f"`{name}`" for name, parameter in parameters(operation) if parameter["in"] != "path"]
    fields = [f"`{name}`" for name, _ in body_fields(schema, operation) if "." not in name]
    replies = [reply(status, found) for status, found in operation["responses"].items() if status < "400"]
    return f"`{method} {short(path)}`", ", ".join(given), ", ".join(fields), ", ".join(replies), words_of(operation)


def short(path: str) -> str:
    """Return a path as the page shows it: without what all paths of a study begin with."""
    return f"/{path.removeprefix(UNDER)}" if path.startswith(UNDER) else path


def reply(status: str, found: Schema) -> str:
    """Return how a route succeeds: its status, and the record or the types of what it returns."""
    content = found.get("content", {})
    record = content.get("application/json", {}).get("schema")
    kinds = kind_of(record) if record else choice(f"`{kind}`" for kind in content) if content else ""
    return f"{status} {kinds}".rstrip()


def parameters(operation: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the parameters of a route by the names that the page shows: {name} in paths, Name in headers."""
    for parameter in operation.get("parameters", ()):
        name, where = parameter["name"], parameter["in"]
        shown = {"path": f"{{{name}}}", "header": name.title()}.get(where, name)
        yield f"{shown}{'' if parameter['required'] else '?'}", parameter


def body_fields(schema: Schema, operation: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the fields of the body of a route, and of the records within it."""
    if "requestBody" in operation:
        yield from fields(schema, operation["requestBody"]["content"]["application/json"]["schema"])


def fields(schema: Schema, value: Schema, place: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield the fields of a record and of the records within it, by their places."""
    for option in (value, *value.get("anyOf", ())):
        if "$ref" in option:
            record = component(schema, option)
            for name, inner in record["properties"].items():
                yield f"{place}{name}{'' if name in record.get('required', ()) else '?'}", inner
                yield from fields(schema, inner, f"{place}{name}.")


def component(schema: Schema, value: Schema) -> Schema:
    """Return the record that a value refers to."""
    found: Schema = schema["components"]["schemas"][value["$ref"].rpartition("/")[2]]
    return found


def sent_rows(schema: Schema) -> list[tuple[str, str, str]]:
    """Return (name, kind of value, meaning) of all that is sent, each once."""
    rows: dict[tuple[str, str, str], None] = {}
    for _, _, operation in operations(schema):
        for name, parameter in parameters(operation):
            kind = kind_of(parameter["schema"]).removesuffix(" or null")
            rows[name, kind, words_of(parameter)] = None
        for name, value in body_fields(schema, operation):
            kind = re.sub(r"`[A-Z]\w*`", "record", kind_of(value))  # its fields have rows of their own
            rows[name, kind, words_of(value)] = None
    return list(rows)


def record_rows(schema: Schema) -> Iterator[tuple[str, str, str]]:
    """Yield (name, what it is, its keys) of all records that come back, the ones within another after it."""
    replies = [
        (status, content["schema"])
        for _, _, operation in operations(schema)
        for status, found in operation["responses"].items()
        for content in found.get("content", {}).values()
        if "schema" in content
    ]
    waiting = [value for _, value in sorted(replies, key=lambda one: one[0] >= "400")]
    seen: set[str] = set()
    while waiting:
        for name in references(waiting.pop(0)):
            if name not in seen:
                seen.add(name)
                record = schema["components"]["schemas"][name]
                values = record["properties"]
                keys = [f"`{key}` {kind_of(value)}" for key, value in values.items()]
                yield name, words_of(record), "; ".join(keys)
                waiting[:0] = values.values()


def references(value: Schema) -> Iterator[str]:
    """Yield the names of the records in a value."""
    if "$ref" in value:
        yield value["$ref"].rpartition("/")[2]
    for inner in (*value.get("anyOf", ()), *value.get("prefixItems", ()), value.get("items")):
        if isinstance(inner, dict):
            yield from references(inner)


def words_of(value: Schema) -> str:
    """Return what something means, in one line."""
    if "description" not in value:
        raise InputError(f"every route, parameter, field and record must have a description, got {value}. Add one.")
    return " ".join(value["description"].split()).replace("|", "\\|")


def kind_of(value: Schema, *, is_many: bool = False) -> str:
    """Return what a value is, or what several are, in words, with its limits and its default."""
    if "$ref" in value:
        return f"`{value['$ref'].rpartition('/')[2]}`"
    if "prefixItems" in value:
        return f"({', '.join(map(kind_of, value['prefixItems']))})"
    if "anyOf" in value:
        words = choice(kind_of(option, is_many=is_many) for option in value["anyOf"])
    elif "enum" in value:
        words = choice(f"`{option}`" for option in value["enum"])
    elif "items" in value:
        words = f"{JSON_KINDS['array'][is_many]} of {grouped(value['items'])}"
    elif "additionalProperties" in value:
        words = f"object of {grouped(value['additionalProperties'])}"
    else:
        words = JSON_KINDS[value["type"]][is_many]
    default = value.get("default")
    return f"{words}{limits(value)}" + ("" if default in (None, {}) else f"; default `{str(default).lower()}`")


def choice(options: Iterable[str]) -> str:
    """Return "a, b or c", each once."""
    *others, last = dict.fromkeys(options)
    return f"{', '.join(others)} or {last}" if others else last


def grouped(value: Schema) -> str:
    """Return what several values are, in brackets where these are words with an "or"."""
    words = kind_of(value, is_many=True)
    return f"({words})" if "anyOf" in value else words


def limits(value: Schema) -> str:
    """Return the limits of a value, in words."""
    words = [f" {text} {value[key]:g}" for key, text in LIMITS.items() if value.get(key, NO_LIMIT) < NO_LIMIT]
    sizes = [f" ({text.format(value[key])})" for key, text in SIZES.items() if key in value]
    return "".join([*words, *sizes])


def main() -> None:
    """Write the tables of the page that the command line names again."""
    from journeyman.studio.app import Options, make_app

    path = Path(sys.argv[1])
    schema = make_app(None, Options(has_worker=False)).openapi()
    path.write_text(with_tables(path.read_text("utf-8"), schema), "utf-8")


if __name__ == "__main__":
    main()
