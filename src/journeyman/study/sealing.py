"""Seals: checksums of what a study file holds besides its events, which have a chain of their own."""

import hashlib


def seal_of(*parts: str | bytes | int | None) -> str:
    """Return a checksum of some parts: no other parts have the same, and no change of a bit leaves it as it is."""
    found = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        found.update(f"{len(data)}|".encode() + data)
    return found.hexdigest()[:16]
