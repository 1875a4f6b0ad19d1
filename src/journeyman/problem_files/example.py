"""The example that `journeyman init` writes: a small garden, commented, ready to be changed."""

from importlib.resources import files
from pathlib import Path

from journeyman.errors import InputError
from journeyman.storage.files import made_folder, whole_file

PLACES = (
    ("house", "path", "pond"),
    ("lawn", None, "hedge"),  # the middle is a wall
    ("shed", "bed", "gate"),
)
ACTIONS = {"stay": (0, 0), "up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
TERMINAL = "gate"
SLIP = 0.1


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
    """Write `problem.toml` and `transitions.csv` into a folder, made if need be, and return their paths.

    Files of these names are overwritten only by `force`; each is whole, or as it was before.
    """
    folder = Path(folder)
    contents = {
        "problem.toml": (files("journeyman.problem_files") / "example.toml").read_text("utf-8"),
        "transitions.csv": "\n".join(transition_lines()) + "\n",
    }
    existing = [name for name in contents if (folder / name).exists()]
    if existing and not force:
        raise InputError(
            f"an example must not overwrite files, got {' and '.join(existing)} in {str(folder)!r} already. "
            "Choose another folder, or say --force."
        )
    made_folder(folder, "an example", advice="Choose another folder.")
    for name, text in contents.items():
        with whole_file(folder / name, "an example", advice="Choose another folder.") as temporary:
            temporary.write_text(text, encoding="utf-8")
    return tuple(folder / name for name in contents)
