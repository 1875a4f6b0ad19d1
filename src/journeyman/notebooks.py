"""What notebooks show of an object.

The pictures and tables are made in `journeyman.report.notebook`, which is below all that can be shown. It is found by
its name, when a notebook asks for the first one.
"""

from importlib import import_module


def html_of(thing: object) -> str:
    """Return what a notebook shows of an object that `journeyman.report.notebook` can draw, as HTML."""
    return str(import_module("journeyman.report.notebook").html_of(thing))
