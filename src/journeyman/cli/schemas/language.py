"""Words to write JSON Schemas (draft 2020-12) with: every value has a description, every record has fixed keys."""

from typing import Any

Schema = dict[str, Any]


def number(description: str) -> Schema:
    """A number; JSON knows no NaN and no infinity."""
    return {"type": "number", "description": description}


def whole(description: str) -> Schema:
    """A whole number."""
    return {"type": "integer", "description": description}


def text(description: str) -> Schema:
    """A text."""
    return {"type": "string", "description": description}


def truth(description: str) -> Schema:
    """True or false."""
    return {"type": "boolean", "description": description}


def word(description: str, *choices: str) -> Schema:
    """One of some words."""
    return {"enum": list(choices), "description": description}


def many(item: Schema, description: str, *, size: int | None = None) -> Schema:
    """A list; of `size` entries, if it is given."""
    sizes = {} if size is None else {"minItems": size, "maxItems": size}
    return {"type": "array", "items": item, **sizes, "description": description}


def record(description: str, optional: tuple[str, ...] = (), /, **fields: Schema) -> Schema:
    """A record with these keys and no others; all must be there but those of `optional`."""
    return {
        "type": "object",
        "properties": fields,
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
        "description": description,
    }


def mapping(value: Schema, description: str) -> Schema:
    """An object whose keys depend on the problem, such as names of parameters; all values are alike."""
    return {"type": "object", "additionalProperties": value, "description": description}


def anything(description: str) -> Schema:
    """Any JSON value: what it is depends on a plugin or an option."""
    return {"description": description}


def either(description: str, *schemas: Schema) -> Schema:
    """A value of one of several kinds."""
    return {"anyOf": list(schemas), "description": description}


def ref(name: str, description: str) -> Schema:
    """A record that several commands print: a key of `SHARED`."""
    return {"$ref": f"#/$defs/{name}", "description": description}


def maybe(schema: Schema) -> Schema:
    """The same, or null where it is not known or does not apply."""
    description = schema.get("description", "")
    rest = {key: value for key, value in schema.items() if key != "description"}
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [rest, {"type": "null"}], "description": description}
