"""Run the command line with `python -m journeyman`."""

from journeyman.cli.app import main

if __name__ == "__main__":
    main()
