"""Run the command line: `python -m journeyman`, or `journeyman`.

Ctrl-C ends it at any moment, also while everything is being imported, without a traceback and with exit code 130.
"""

import _thread
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def main() -> None:
    """Import the command line and run it."""
    try:
        with kept_interrupts():
            from journeyman.cli.app import main as run

            run()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


@contextmanager
def kept_interrupts() -> Iterator[None]:
    """Let no Ctrl-C get lost, or be taken for an error.

    Python only prints one that comes while it finalises an object, so it is sent again. While classes are made and
    compiled code is imported, other errors are made of one, so errors that are caused by one end as one.
    """
    before = sys.unraisablehook

    def unraisable(event: "sys.UnraisableHookArgs") -> None:
        if event.exc_type is KeyboardInterrupt:
            again = threading.Timer(0.01, _thread.interrupt_main)  # not now: here it would get lost once more
            again.daemon = True
            again.start()
        else:
            before(event)

    sys.unraisablehook = unraisable
    try:
        yield
    except Exception as error:
        if is_caused_by_interrupt(error):
            raise KeyboardInterrupt from error
        raise
    finally:
        sys.unraisablehook = before


def is_caused_by_interrupt(error: BaseException | None) -> bool:
    """Whether an error is a Ctrl-C, or was made of one."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


if __name__ == "__main__":
    main()
