"""What every command with `--json` prints, as JSON Schemas (draft 2020-12).

To describe a new command, add an entry to the dict of its group, by its full name without "journeyman": STUDIES in
studies.py, MODELS in models.py or SWEEPS in sweeps.py, in the words of language.py. Then write docs/json.md again:
`python -m journeyman.cli.schemas.page > docs/json.md`, and add a line that runs it to tests/cli/test_json.py.
"""

from collections.abc import Iterator
from typing import Any

from journeyman.checks import known_name
from journeyman.cli.schemas.language import Schema
from journeyman.cli.schemas.models import MODELS
from journeyman.cli.schemas.shared import SHARED
from journeyman.cli.schemas.studies import FILES, STUDIES
from journeyman.cli.schemas.sweeps import SWEEPS

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SCHEMAS: dict[str, Schema] = MODELS | STUDIES | SWEEPS  # of what commands print
DOCUMENTS: dict[str, Schema] = SCHEMAS | FILES  # and of files that `study export` writes


def schema_of(name: str) -> Schema:
    """Return the whole schema of a command ("study status") or a file ("study export --what policy")."""
    schema = DOCUMENTS[known_name(name, DOCUMENTS, "a command with --json")]
    return {"$schema": DRAFT, "title": f"journeyman {name}", **schema} | (
        {"$defs": {key: SHARED[key] for key in SHARED if key in _used(schema)}} if _used(schema) else {}
    )


def references(schema: Any) -> Iterator[str]:
    """Yield the names of shared records that a schema refers to, not those that these refer to."""
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].rpartition("/")[2]
        for value in schema.values():
            yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


def _used(schema: Schema) -> set[str]:
    """Return the names of all shared records that a schema needs."""
    found: set[str] = set()
    waiting = list(references(schema))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += references(SHARED[name])
    return found


__all__ = ["DOCUMENTS", "FILES", "SCHEMAS", "SHARED", "references", "schema_of"]
