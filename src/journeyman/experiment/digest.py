"""Digest of a table: a hash of its values, whatever the form that they are stored in, by which damage is noticed."""

import hashlib
from typing import TYPE_CHECKING, Any

from journeyman.extras import require

if TYPE_CHECKING:
    import pyarrow as pa


def digest_of(table: "pa.Table") -> str:
    """Return a hash of the names, types and values of all columns, in their order."""
    found = hashlib.sha256()
    for name in table.column_names:
        found.update(f"{name} {table.num_rows} ".encode())
        for part in _parts(table[name]):
            found.update(part)
    return found.hexdigest()


def _parts(column: Any) -> list[bytes]:
    """Return what a column holds as bytes: which values are missing, and the others; words once, and where they are."""
    pa = require("pyarrow", "tables")
    kind, parts = column.type, []
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
        column = column.cast(pa.string()).combine_chunks().dictionary_encode()
        parts = ["\0".join(str(word) for word in column.dictionary.to_pylist()).encode()]
        column = column.indices
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    missing, values = column.is_null().cast(pa.int8()), column.fill_null(0)
    return [*parts, missing.to_numpy().tobytes(), values.to_numpy().tobytes()]
