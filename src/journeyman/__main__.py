"""Run the command line: `python -m journeyman`, or `journeyman`.

Ctrl-C while everything is being imported ends it without a traceback, too.
"""


def main() -> None:
    """Import the command line and run it."""
    try:
        from journeyman.cli.app import main as run
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    main()
