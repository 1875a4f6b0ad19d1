"""The example that `journeyman init` writes: a small garden, commented, ready to be changed."""

from pathlib import Path

from journeyman.errors import InputError
from journeyman.storage.files import whole_file

PLACES = (
    ("house", "path", "pond"),
    ("lawn", None, "hedge"),  # the middle is a wall
    ("shed", "bed", "gate"),
)
ACTIONS = {"stay": (0, 0), "up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
TERMINAL = "gate"
SLIP = 0.1

PROBLEM_TOML = """\
# A problem for journeyman: what is known about a world, and what is believed about its reward.
# Check it:      journeyman check problem.toml
# Work with it:  journeyman study new garden.study --problem problem.toml
# Every key is explained in docs/problem-file.md.

discount = 0.9               # how much a reward counts one step later, between 0 and 1

[transitions]
file = "transitions.csv"     # columns state, action, next_state, probability; a state without lines is terminal
# missing_actions = "unavailable"   # if not every action exists in every state
# missing_mass = "terminates"       # if the lines of an action sum to less than 1: the rest ends the episode

[states]
labels = ["house", "path", "pond", "lawn", "hedge", "shed", "bed", "gate"]   # of states 0, 1, 2 ...; optional
initial = ["house", "shed"]  # where episodes start, equally likely; or chances: {house = 0.7, shed = 0.3}
# queryable = ["house", "path"]     # where one may ask; default: all that are not terminal

[actions]
labels = ["stay", "up", "down", "left", "right"]

[reward]
model = "per_state"          # one unknown reward per state; or "per_state_action", or "features" with a file:
# features = "features.csv"         # columns state, (action,) (offset,) and one per parameter

[prior]
kind = "normal"              # or "uniform" (low, high), "multivariate_normal", "discrete" (atoms)
mean = 0.0
std = 1.0

[expert]
beta = 5.0                   # the expert does action a with chance proportional to exp(beta Q*(state, a));
                             # journeyman check says what that means here

[grid]                       # for drawings only; leave it out if your states do not lie on a grid
rows = 3
columns = 3
cells = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1], [2, 2]]
moves = [[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]]   # row and column step of each action, for arrows
"""


def transition_lines() -> list[str]:
    """Return the edge table of the garden: an action works with chance 0.9, else one stays; walls keep one in place."""
    cells = {(r, c): name for r, row in enumerate(PLACES) for c, name in enumerate(row) if name is not None}
    numbers = {cell: index for index, cell in enumerate(cells)}
    lines = ["state,action,next_state,probability"]
    for cell, state in numbers.items():
        if cells[cell] == TERMINAL:
            continue
        for action, (down, right) in enumerate(ACTIONS.values()):
            target = numbers.get((cell[0] + down, cell[1] + right), state)
            if target == state:
                lines.append(f"{state},{action},{state},1")
            else:
                lines += [f"{state},{action},{target},{1 - SLIP:g}", f"{state},{action},{state},{SLIP:g}"]
    return lines


def write_example(folder: str | Path = ".", *, force: bool = False) -> tuple[Path, ...]:
    """Write `problem.toml` and `transitions.csv` into a folder, made if need be.

    Parameters
    ----------
    force
        Whether files of these names may be overwritten.

    Returns
    -------
    The paths that were written; each file is whole, or as it was before.
    """
    folder = Path(folder)
    contents = {"problem.toml": PROBLEM_TOML, "transitions.csv": "\n".join(transition_lines()) + "\n"}
    existing = [name for name in contents if (folder / name).exists()]
    if existing and not force:
        raise InputError(
            f"an example must not overwrite files, got {' and '.join(existing)} in {str(folder)!r} already. "
            "Choose another folder, or say --force."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in contents.items():
            with whole_file(folder / name, "an example", advice="Choose another folder.") as temporary:
                temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"an example must go where it can be written, got {str(folder)!r}: {error.strerror or error}. "
            "Choose another folder."
        ) from error
    return tuple(folder / name for name in contents)
