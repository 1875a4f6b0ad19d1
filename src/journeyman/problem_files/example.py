"""What `journeyman init` writes: an example, a small garden; or a problem file for one's own map or graph.

Every file is commented, ready to be changed, and passes `journeyman check` as it is.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from textwrap import dedent

from journeyman.errors import InputError
from journeyman.problem import Problem
from journeyman.problem_files.loading import problem_of
from journeyman.problem_files.maps import EXAMPLE, Drawing, Legend, checked_drawing, length_advice, usual_length
from journeyman.problem_files.tables import TomlFile, read_columns
from journeyman.storage.files import made_folder, whole_file
from journeyman.storage.tables import file_text, parsed_toml

PLACES = (
    ("house", "path", "pond"),
    ("lawn", None, "hedge"),  # the middle is a wall
    ("shed", "bed", "gate"),
)
ACTIONS = {"stay": (0, 0), "up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
TERMINAL = "gate"
SLIP = 0.1
NAMED_TERRAINS = {
    "~": "water", "W": "water", "w": "water", "^": "hill", "M": "mud", "m": "mud", "T": "tree", "t": "tree",
    "L": "lava", "$": "gold", "*": "star", "=": "bridge", "%": "bush", "X": "trap", "F": "food", "f": "food",
}  # fmt: skip
MANY_ACTIONS = 20


def transition_lines() -> list[str]:
    """Return the edge table of the garden: an action works with chance 0.9, else one stays; walls keep one in place."""
    cells = {(r, c): name for r, row in enumerate(PLACES) for c, name in enumerate(row) if name is not None}
    lines = ["state,action,next_state,probability"]
    for (row, column), place in cells.items():
        if place == TERMINAL:
            continue
        for action, (down, right) in ACTIONS.items():
            target = cells.get((row + down, column + right), place)
            if target == place:
                lines.append(f"{place},{action},{place},1")
            else:
                lines += [f"{place},{action},{target},{1 - SLIP:g}", f"{place},{action},{place},{SLIP:g}"]
    return lines


def write_example(folder: str | Path = ".", *, force: bool = False) -> tuple[Path, ...]:
    """Write `problem.toml` and `transitions.csv` into a folder, made if need be, and return their paths.

    Files of these names are overwritten only by `force`; each is whole, or as it was before.
    """
    contents = {
        "problem.toml": (files("journeyman.problem_files") / "example.toml").read_bytes(),
        "transitions.csv": ("\n".join(transition_lines()) + "\n").encode(),
    }
    return _written(Path(folder), contents, force)


def _written(folder: Path, contents: Mapping[str, bytes], force: bool) -> tuple[Path, ...]:
    existing = [name for name in contents if (folder / name).exists()]
    if existing and not force:
        raise InputError(
            f"an example must not overwrite files, got {' and '.join(existing)} in {str(folder)!r} already. "
            "Choose another folder, or say --force (in Python force=True)."
        )
    made_folder(folder, "an example", advice="Choose another folder.")
    for name, data in contents.items():
        with whole_file(folder / name, "an example", advice="Choose another folder.") as temporary:
            temporary.write_bytes(data)
    return tuple(folder / name for name in contents)


def write_from_map(source: str | Path, folder: str | Path = ".", *, force: bool = False) -> tuple[Path, ...]:
    """Write `problem.toml` for a map that is drawn in a text file, and return its path.

    `#` is wall, `.` floor, `S` start, `G` goal, every other mark a terrain. Spaces are floor where no `.` is drawn and
    they can be reached from the start, and walls where no `#` is drawn; beside both they are refused.
    """
    source = Path(source)
    lines, terrains = _cleaned_map(source)
    text = _map_text(source.name, lines, terrains)
    _check_usable(text, Path(folder))
    return _written(Path(folder), {"problem.toml": text.encode()}, force)


def write_from_graph(source: str | Path, folder: str | Path = ".", *, force: bool = False) -> tuple[Path, ...]:
    """Write `problem.toml` for a table of edges (columns from, to, and perhaps action and back), and return its path.

    The table is copied beside it, unless it lies there already.
    """
    source, folder = Path(source), Path(folder)
    table = read_columns(source, "a table of edges")
    table.check_has("from", "to", what="a table of edges")
    text = _graph_text(source.name, str(table.values("from")[0]).strip(), "action" in table, "back" in table)
    problem = _check_usable(text, source.parent)
    if problem.mdp.num_actions > MANY_ACTIONS and "action" not in table:
        text = text.replace(
            "# Actions are called", "# Here are many actions: labels would make the work faster.\n# Actions are called"
        )
    contents = {"problem.toml": text.encode()}
    if not (folder / source.name).exists() or not (folder / source.name).samefile(source):
        contents[source.name] = source.read_bytes()
    return _written(folder, contents, force)


def _check_usable(text: str, folder: Path) -> Problem:
    """Return the problem of a text that is to be written to a folder, or say what is wrong with it."""
    return problem_of(TomlFile(folder / "problem.toml", text, parsed_toml(text, "problem.toml")))


def _cleaned_map(source: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the lines of a map without spaces, and names for its terrains by mark."""
    name = source.name
    text = file_text(source, "a map").replace("\r\n", "\n")
    lines = dedent(text).split("\n")
    for row, (line, whole) in enumerate(zip(lines, text.split("\n"), strict=True)):
        for column, mark in enumerate(line):
            if not mark.isprintable():
                place = Drawing(tuple(lines), name, 1, len(whole) - len(line)).place(row, column)
                raise InputError(
                    f"a map must be drawn with marks that can be seen, got {mark!r} at {place}. Remove or replace it."
                )
    lines = [line.rstrip(" ") for line in lines]
    marks = dict.fromkeys("".join(lines))
    usual = Legend("#", ".", "S", "G", {"G": "goal"})
    terrains = _named_terrains(mark for mark in marks if mark not in usual.known and not mark.isspace())
    inner = next((i for i, line in enumerate(lines, 1) if " " in line.strip()), None)
    if inner is not None and "#" in marks and "." in marks:
        raise InputError(
            f"a map must have no spaces between its marks where wall is drawn as # and floor as ., got one at line "
            f"{inner} of {name}. Draw what is there: # or ."
        )
    is_floor = inner is not None and "." not in marks
    legend = Legend(
        "#" if is_floor or inner is None else "# ", ". " if is_floor else ".", "S", "G", {"G": "goal", **terrains}
    )
    drawing = checked_drawing(lines, legend, name, 1)
    starts = {(r, c) for r, line in enumerate(drawing.lines) for c, mark in enumerate(line) if mark == "S"}
    if not starts:
        raise InputError(f"a map must have a start, got no 'S' in {name}. Draw one. Example: {EXAMPLE}")
    reached = _flooded(drawing.lines, starts, legend.wall)
    if is_floor:
        _check_closed(drawing, reached)
    return tuple(
        "".join(
            ("." if is_floor and (r, c) in reached else "#") if mark == " " else mark for c, mark in enumerate(line)
        )
        for r, line in enumerate(drawing.lines)
    ), terrains


def _check_closed(drawing: Drawing, reached: set[tuple[int, int]]) -> None:
    """Refuse a map in which one can walk off the end of a line: what is missing there may be floor or wall.

    Of the lines that have another length than most, one is named where one walks beyond it or beyond the others.
    """
    lengths = [len(line.rstrip()) for line in drawing.lines]
    if all(column < lengths[row] for row, column in reached):
        return
    usual = usual_length(lengths)
    walked = {row for row, column in reached if column >= min(lengths[row], usual)}
    odd = [row for row, length in enumerate(lengths) if length != usual]
    row = min(odd, key=lambda row: row not in walked)
    raise InputError(
        f"the lines of a map must be equally long where one can walk, got {lengths[row]} marks at "
        f"{drawing.place(row)} where others have {usual}. {length_advice(lengths[row], usual, '#')}, or draw floor as ."
    )


def _flooded(lines: Sequence[str], starts: set[tuple[int, int]], wall: str) -> set[tuple[int, int]]:
    """Return the cells that can be reached from some, up, right, down and left."""
    reached, waiting = set(starts), list(starts)
    while waiting:
        row, column = waiting.pop()
        for r, c in ((row - 1, column), (row, column + 1), (row + 1, column), (row, column - 1)):
            if 0 <= r < len(lines) and 0 <= c < len(lines[r]) and (r, c) not in reached and lines[r][c] not in wall:
                reached.add((r, c))
                waiting.append((r, c))
    return reached


def _named_terrains(marks: Iterable[str]) -> dict[str, str]:
    """Return names for the terrains of a map, all different: "water" for ~, else by the mark or a number."""
    found: dict[str, str] = {}
    for mark in marks:
        name = NAMED_TERRAINS.get(mark)
        if name is None or name in found.values():
            name = f"terrain_{mark}" if mark.isalnum() else f"terrain_{len(found) + 1}"
        found[mark] = name
    return found


def _quoted(words: str | tuple[str, ...]) -> str:
    """Return a text, or a list of them, as TOML has it: letters of all languages as they are."""
    return json.dumps(words, ensure_ascii=False)


def _map_text(name: str, lines: tuple[str, ...], terrains: dict[str, str]) -> str:
    joined = "\n".join(lines)
    drawing = f"'''\n{joined}\n'''" if "'''" not in joined else _quoted(lines)
    named = ", ".join(f"{_quoted(mark)} = {_quoted(word)}" for mark, word in terrains.items())
    discount = min(0.99, max(0.9, round(1.0 - 1.0 / (len(lines) + len(lines[0])), 2)))
    model = "features" if terrains else "per_state"
    other = "per_state" if terrains else "features"
    told = {
        "features": "one unknown reward per terrain",
        "per_state": "one unknown reward per cell",
    }
    keys = (
        f"terrains = {{ {named} }}   # names of the other marks: give them yours"
        if named
        else ('# terrains = { "~" = "water" }    # other marks, and what they are')
    )
    return f"""# A problem for journeyman, made of the map in {name}.
# Check it:      journeyman check problem.toml
# Work with it:  journeyman study new my.study --problem problem.toml
# Help:          journeyman init --help; every key: the page "Problem files" of the documentation

discount = {discount}              # how much a reward counts one step later, between 0 and 1

[map]                        # cells are states, called r<row>c<column> from 0; start and goal by these words
drawing = {drawing}
# Marks: # wall, . floor, S start, G goal, where episodes end.
{keys}
moves = 4                    # up, right, down, left; 8: diagonals too
stay = false                 # true: staying is an action
slip = 0.0                   # chance of a random move instead of the chosen one
# blocked = "unavailable"    # moves into walls do not exist; else they leave one in place

[reward]
model = "{model}"{" " * (17 - len(model))} # {told[model]}; or "{other}": {told[other]}

[prior]                      # what is believed about these rewards before any answer
kind = "normal"
mean = 0.0                   # or by name: mean = {{ goal = 5.0, others = 0.0 }}
std = 1.0                    # most rewards lie within two of these around the mean

[expert]
beta = 5.0                   # the expert does action a with chance proportional to exp(beta Q*(state, a));
                             # journeyman check says what that means here
"""


def _graph_text(name: str, first: str, has_action: bool, has_back: bool) -> str:
    directed = str(has_action and not has_back).lower()
    called = "by their labels" if has_action else "by the node to which they lead; a column action gives them labels"
    start = _quoted(first)
    return f"""# A problem for journeyman, made of the edges in {name}.
# Check it:      journeyman check problem.toml
# Work with it:  journeyman study new my.study --problem problem.toml
# Help:          journeyman init --help; every key: the page "Problem files" of the documentation

discount = 0.95              # how much a reward counts one step later, between 0 and 1

[graph]                      # nodes are states, called by their names
# Columns from, to; perhaps action and back, labels of the ways there and back.
edges = {_quoted(name)}
directed = {directed:18}# false: edges go both ways
# Actions are called {called}.
# coordinates = "nodes.csv"  # columns node, x, y: where nodes lie, for drawings
stay = false                 # true: staying is an action
slip = 0.0                   # chance of a random action of that node instead of the chosen one

[states]
initial = [{start}]{" " * max(1, 17 - len(start))}# where episodes start
# terminal = ["water"]       # nodes where episodes end

[reward]
model = "per_state"          # one unknown reward per node; or "features" with a table:
# features = "features.csv"  # columns state, and one per parameter

[prior]                      # what is believed about these rewards before any answer
kind = "normal"
mean = 0.0                   # or by name: mean = {{ {start} = 5.0, others = 0.0 }}
std = 1.0                    # most rewards lie within two of these around the mean

[expert]
beta = 5.0                   # the expert does action a with chance proportional to exp(beta Q*(state, a));
                             # journeyman check says what that means here
"""
