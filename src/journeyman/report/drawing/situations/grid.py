"""A situation on a grid: all of it, or a window around the place, in cells as large as fit, with a legend."""

from collections.abc import Iterator

from rich.style import Style
from rich.text import Text

from journeyman.mdp import Grid
from journeyman.report.drawing.marks import commonest_kind
from journeyman.report.drawing.situations.place import FAINT, HERE, KEY, Pen, Situation, flowed, keys_at

CELLS = ((7, 3), (5, 2), (3, 1))  # characters and lines of a cell, the largest that fits is used
PALETTE = ("#cdb4db", "#f4a261", "#80ced7", "#e5989b", "#b8c0ff", "#d9ed92")
KNOWN = {  # colours that words call for
    "#8ecae6": ("water", "pond", "lake", "river", "sea", "ice"),
    "#c9a27e": ("mud", "sand", "dirt", "earth", "road", "path", "swamp", "bed"),
    "#a7c957": ("grass", "lawn", "tree", "forest", "meadow", "field", "hedge", "garden"),
    "#f28482": ("lava", "fire", "danger", "hazard", "trap", "pit", "hole", "enemy"),
    "#f6d365": ("goal", "home", "house", "food", "gold", "treasure", "reward", "exit"),
    "#b5b5b5": ("rock", "stone", "mountain", "snow"),
}
PLAIN, PLAIN_TOO, END = "#e9e7e1", "#dedbd3", "#4a4e69"  # two for plain cells: a chequered floor
WALL = Style(color="#6c6c76", bgcolor="#2b2b33")


def grid_lines(pen: Pen, situation: Situation, grid: Grid, width: int, height: int) -> list[Text]:
    """Return the grid, or the part of it around the place that fits, and what its marks mean."""
    margin = len(str(grid.num_rows - 1)) + 2
    room = max(3, height - len(_legend(pen, situation, grid, width, True)) - 2)  # numbers above, an empty line below
    sizes = CELLS if pen.has_colour else CELLS[-1:]
    cell = next(
        (size for size in sizes if margin + size[0] * grid.num_columns <= width and size[1] * grid.num_rows <= room),
        CELLS[-1],
    )
    legend = _legend(pen, situation, grid, width, cell[0] >= 5)
    row, column = grid.places[situation.state].tolist()
    rows = _window(row, grid.num_rows, room // cell[1])
    columns = _window(column, grid.num_columns, max(1, (width - margin) // cell[0]))
    lines = list(_cell_lines(pen, situation, grid, cell, rows, columns, margin))
    if len(rows) < grid.num_rows or len(columns) < grid.num_columns:
        words = f"rows {rows[0]} to {rows[-1]} and columns {columns[0]} to {columns[-1]}"
        legend = [Text(f"Shown: {words} of {grid.num_rows} x {grid.num_columns}.", style=FAINT), *legend[: height // 3]]
    return [*lines, Text(""), *legend]


def _window(centre: int, total: int, size: int) -> range:
    """Return at most `size` numbers of 0..total - 1 around a centre."""
    size = max(1, min(size, total))
    first = min(max(0, centre - size // 2), total - size)
    return range(first, first + size)


def _cell_lines(
    pen: Pen, situation: Situation, grid: Grid, cell: tuple[int, int], rows: range, columns: range, margin: int
) -> Iterator[Text]:
    (width, height), mdp = cell, situation.mdp
    state_at = {(row, column): state for state, (row, column) in enumerate(grid.places.tolist())}
    chips = keys_at(situation)
    styles, letters = _kind_styles(grid), kind_letters(grid)
    hatching = pen.text("░", "#") * width
    numbers = "".join(str(column).center(width) for column in columns)
    yield Text(" " * margin + numbers, style=FAINT)
    for row in rows:
        names = [f"{row if part == height // 2 else '':>{margin - 1}} " for part in range(height)]
        parts = [Text.assemble((name, FAINT)) for name in names]
        for column in columns:
            state = state_at.get((row, column))
            if state is None:
                for part in parts:
                    part.append(hatching if pen.has_colour else "#" * width, style=WALL if pen.has_colour else FAINT)
                continue
            kind = grid.kinds[state] if grid.kinds else ""
            ground = styles.get(kind) or Style(color="#000000", bgcolor=PLAIN if (row + column) % 2 else PLAIN_TOO)
            if state == situation.state:
                ground = HERE
            elif mdp.terminal[state] and kind not in styles:
                ground = Style(color="#ffffff", bgcolor=END)
            marks = _marks(pen, situation, state, chips.get(state, ""), letters.get(kind, ""), kind, cell)
            for part, (mark, style) in zip(parts, marks, strict=True):
                if not pen.has_colour:
                    part.append(mark.center(width))
                    continue
                left = (width - len(mark)) // 2
                part.append(" " * left, style=ground)
                part.append(mark, style=style or ground)
                part.append(" " * (width - left - len(mark)), style=ground)
        yield from parts


def _marks(
    pen: Pen, situation: Situation, state: int, keys: str, letter: str, kind: str, cell: tuple[int, int]
) -> list[tuple[str, Style | None]]:
    """Return what stands in the lines of a cell, and in which style; None: that of the cell."""
    width, height = cell
    is_end = bool(situation.mdp.terminal[state])
    end = "end" if width >= 5 or not pen.has_colour else pen.text("■", "X")
    word = kind[: width - 1] if width >= 5 and letter else letter
    lines: list[tuple[str, Style | None]] = [("", None)] * height
    middle = height // 2
    if state == situation.state:
        here = "YOU" if width >= 5 else "@"
        lines[middle] = (here if pen.has_colour else f"[{here}]", None)
    elif keys:
        shown = keys[: width - 2]
        chip = shown if width < 5 else f" {shown} "  # what is around it shows the kind of the cell
        lines[middle] = (chip if pen.has_colour else f"<{shown}>", KEY)
        if height > 1 and (is_end or word):
            lines[0] = (f"{word[: width - 4]} {end}".strip() if is_end else word, None)
    elif is_end:
        lines[middle] = (end, None)
        if height > 1:
            lines[middle - 1] = (word, None)
    else:
        was = pen.text("•", "o") if state in situation.trail else ""
        lines[middle] = (was or word or ("" if pen.has_colour else "."), None)
    return lines


def _kind_styles(grid: Grid) -> dict[str, Style]:
    """Return a colour for every kind but the commonest."""
    named = {word: colour for colour, words in KNOWN.items() for word in words}
    colours: dict[str, str] = {}
    for kind in _other_kinds(grid):
        free = [colour for colour in PALETTE if colour not in colours.values()] or [
            PALETTE[len(colours) % len(PALETTE)]
        ]
        wanted = named.get(kind.lower())
        colours[kind] = wanted if wanted is not None and wanted not in colours.values() else free[0]
    return {kind: Style(color="#000000", bgcolor=colour) for kind, colour in colours.items()}


def _other_kinds(grid: Grid) -> list[str]:
    if grid.kinds is None:
        return []
    commonest = commonest_kind(grid.kinds)
    return [kind for kind in dict.fromkeys(grid.kinds) if kind != commonest]


def kind_letters(grid: Grid) -> dict[str, str]:
    """Return a letter for every kind but the commonest, each its own: one of the word if any is free."""
    letters: dict[str, str] = {}
    for kind in _other_kinds(grid):
        wanted = [*kind.lower(), *kind.upper(), *"abcdefghijklmnopqrstuvwxyz"]
        free = (letter for letter in wanted if letter.isalnum() and letter not in letters.values())
        letters[kind] = next(free, "?")
    return letters


def _legend(pen: Pen, situation: Situation, grid: Grid, width: int, is_roomy: bool) -> list[Text]:
    """Return what the marks mean, as few lines as it takes: those that occur; `is_roomy`: cells hold words."""
    entries = [Text.assemble(pen.chip("YOU" if is_roomy else "@", HERE), " you are here")]
    if chips := keys_at(situation):
        shown = min(chips.values(), key=len)
        entries.append(Text.assemble(pen.chip(shown, KEY) if pen.has_colour else f"<{shown}>", " leads there"))
    styles, letters = _kind_styles(grid), kind_letters(grid)
    for kind, letter in letters.items():
        entries.append(Text.assemble(pen.chip(letter, styles[kind]) if pen.has_colour else f" {letter} ", f" {kind}"))
    if grid.kinds is not None and letters:
        swatch = pen.chip(" ", Style(bgcolor=PLAIN)) if pen.has_colour else " . "
        entries.append(Text.assemble(swatch, f" {commonest_kind(grid.kinds)}"))
    if situation.mdp.terminal.any():
        word = "end" if is_roomy or not pen.has_colour else pen.text("■", "X")
        mark = pen.chip(word, Style(color="#ffffff", bgcolor=END)) if pen.has_colour else "end"
        entries.append(Text.assemble(mark, " it ends there"))
    if situation.mdp.num_states < grid.num_rows * grid.num_columns:
        entries.append(Text.assemble((pen.text("░░░", "###"), WALL) if pen.has_colour else "###", " wall"))
    if situation.trail:
        entries.append(Text.assemble(pen.text(" • ", " o "), " where you were"))
    return flowed(entries, width)
