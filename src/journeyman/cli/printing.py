"""What commands print for scripts."""

import json
from typing import Any

import typer


def print_json(data: Any) -> None:
    """Print data as JSON that every parser accepts: no NaN, no infinity."""
    typer.echo(json.dumps(data, indent=2, allow_nan=False))
