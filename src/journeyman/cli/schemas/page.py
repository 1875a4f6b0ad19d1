"""The page docs/json.md, made from the schemas: `python -m journeyman.cli.schemas.page > docs/json.md`."""

from collections.abc import Iterator

from journeyman.cli.schemas import FILES, SCHEMAS, SHARED
from journeyman.cli.schemas.language import Schema
from journeyman.wording import JSON_KINDS

TITLE = """# JSON for scripts

With `--json` a command prints one JSON document on standard output, and nothing else there; progress and warnings go to
standard error, and exit codes are [the usual ones](cli.md). What is infinite or not a number is `null`. States, actions
and questions are numbers from 0. A dot leads into a record, `[]` into a list, `{}` into an object whose keys depend on
the problem. A key with a question mark may be missing; all others are always there.

The same as JSON Schema (draft 2020-12), for validators and code generators: `journeyman schema study status`. This page
is made from these schemas (`python -m journeyman.cli.schemas.page > docs/json.md`). Tests check both, and what the
commands print. Keys may be added in any version; the change log says when one is removed or changes its meaning.
"""


def json_markdown() -> str:
    """Return the page."""
    parts = [TITLE]
    parts += [section(f"journeyman {name}", schema) for name, schema in SCHEMAS.items()]
    parts.append("## Files of `study export`\n\nWhat is written to a file that ends in `.json`.\n")
    parts += [section(name, schema) for name, schema in FILES.items()]
    parts.append("## Shared records\n")
    parts += [section(name, schema) for name, schema in SHARED.items()]
    return "\n".join(parts)


def section(title: str, schema: Schema) -> str:
    """Return a document: what it is, and a row for every key."""
    rows = [f"| `{place}` | {kind} | {words} |" for place, kind, words in entries(schema)]
    table = ["| key | value | meaning |", "|---|---|---|", *rows, ""] if rows else []
    is_plain = schema.get("type") == "object"
    words = schema["description"].rstrip(".") + ("." if is_plain else f": {kind_of(schema)}.")
    return "\n".join([f"## {title}", "", words, "", *table])


def entries(schema: Schema, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield (key, kind of value, meaning) of all keys of a schema and of the records within it."""
    for option in schema.get("anyOf", ()):
        yield from entries(option, place)
    if "items" in schema:
        yield from entries(schema["items"], f"{place}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from entries(schema["additionalProperties"], f"{place}{{}}")
    for name, value in schema.get("properties", {}).items():
        inner = f"{place}.{name}" if place else name
        mark = "" if name in schema["required"] else "?"
        yield f"{inner}{mark}", kind_of(value).replace("|", "\\|"), value["description"].replace("|", "\\|")
        yield from entries(value, inner)


def kind_of(schema: Schema, *, is_many: bool = False) -> str:
    """Return what a value is, or what several are, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "enum" in schema:
        return " or ".join(f"`{value}`" if value else "empty" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind_of(option, is_many=is_many) for option in schema["anyOf"]))
    if "type" not in schema:
        return "anything"
    types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    words = [JSON_KINDS[name][is_many] for name in types]
    if "items" in schema:
        words[0] += f" of {grouped(schema['items'])}"
    elif isinstance(schema.get("additionalProperties"), dict):
        words[0] = f"object of {grouped(schema['additionalProperties'])}"
    return " or ".join(words)


def grouped(schema: Schema) -> str:
    """Return what several values are, in brackets where these are words with an "or"."""
    words = kind_of(schema, is_many=True)
    return f"({words})" if " or " in words and words != JSON_KINDS["boolean"][1] else words


if __name__ == "__main__":
    print(json_markdown(), end="")
