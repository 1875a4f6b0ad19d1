"""What the library says of its work, for programs to read: a JSON object per line, and nothing unless asked for.

`journeyman --log-level info ...` writes it to the error stream; so does the variable JOURNEYMAN_LOG_LEVEL, which worker
processes inherit. In a program of your own, loggers are those of `logging`, below "journeyman": add a handler as usual,
and find the fields of an event in `record.fields`.
"""

import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from journeyman.errors import InputError

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
VARIABLE = "JOURNEYMAN_LOG_LEVEL"
ROOT = logging.getLogger("journeyman")
ROOT.addHandler(logging.NullHandler())


class JsonLines(logging.Formatter):
    """Events as JSON: time, level, where, event, process, and the fields of the event."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of an event."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "where": record.name,
            "event": record.getMessage(),
            "process": record.process,
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def start_logging(level: str) -> None:
    """Write events of a level, and those above it, to the error stream; of this process and of its workers."""
    name = level.strip().lower()
    if name not in LEVELS:
        raise InputError(f"the level of the log must be one of {', '.join(LEVELS)}, got {level!r}.")
    for handler in [handler for handler in ROOT.handlers if isinstance(handler.formatter, JsonLines)]:
        ROOT.removeHandler(handler)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    ROOT.addHandler(handler)
    ROOT.setLevel(LEVELS[name])
    ROOT.propagate = False
    os.environ[VARIABLE] = name


def log_event(where: str, event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Say that something happened; `where` is a part of the library, such as "learner"."""
    logger = ROOT.getChild(where)
    if logger.isEnabledFor(level):
        logger.log(level, event, extra={"fields": fields})


@contextmanager
def logged(where: str, event: str, level: int = logging.INFO, **fields: Any) -> Iterator[None]:
    """Say that a block was done, and how many seconds that took."""
    begin = time.perf_counter()
    yield
    log_event(where, event, level, seconds=round(time.perf_counter() - begin, 3), **fields)


if os.environ.get(VARIABLE):
    start_logging(os.environ[VARIABLE])
