"""The answer sheet as a form: one HTML file with a picture of each situation, that works offline from a file.

Its script keeps the answers in the browser and saves them as the same table that a .csv sheet is.
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import NamedTuple

import numpy as np

from journeyman.learner import Query
from journeyman.mdp import FiniteMDP
from journeyman.mdp.layouts import drawing_kind, layout_of
from journeyman.mdp.memory import innermost, places_in
from journeyman.problem import Problem
from journeyman.types import FloatArray

# Soft colours that black and white text can both be read on, for kinds of cells after the commonest.
COLOURS = ("#86b6e5", "#e9b872", "#8fc98f", "#d89bc4", "#c9b28f", "#8fcfcf", "#e59a8c", "#b3a7e0")
ARROWS = {(-1, 0): "↑", (1, 0): "↓", (0, -1): "←", (0, 1): "→", (-1, -1): "↖", (-1, 1): "↗", (1, -1): "↙",
          (1, 1): "↘"}  # fmt: skip
MOST_NAMED = 150  # states whose names are written into the picture
MARGIN = 0.6  # around a graph, in distances of neighbours


class Picture(NamedTuple):
    """A drawing of all states: its view box, its SVG, where states lie `[S, 2]`, and colours of the kinds of cells."""

    view: str
    svg: str
    places: FloatArray
    legend: Mapping[str, str]


def form_page(
    problem: Problem, queries: Sequence[Query], rows: Sequence[Mapping[str, str]], columns: Sequence[str], title: str
) -> str:
    """Return the form for some questions; `rows` and `columns` are those of the table that it saves."""
    is_path, mdp = any(query.kind != "state" for query in queries), problem.mdp
    picture = draw_states(mdp, has_names=mdp.num_states <= MOST_NAMED and (is_path or mdp.state_labels is not None))
    annotators = problem.expert_space.annotators
    name_field = '<input type="text" id="annotator" autocomplete="name">'
    if annotators:
        options = "".join(f"<option>{escape(name)}</option>" for name in ("", *annotators))
        name_field = f'<select id="annotator" required>{options}</select>'
    data = {"rows": list(rows), "columns": list(columns), "name": _file_name(title)}
    intro = "Say what you would do in each situation."
    if picture is not None:
        intro += " The mark in each picture shows where you are."
    if is_path:
        intro += " Where a path is asked for, write one step per line, as STATE:ACTION."
    if len({query.state for query in queries}) < len(queries):
        intro += " Some situations come more than once: please decide anew each time."
    parts = [_question(mdp, query, picture, number) for number, query in enumerate(queries)]
    return Template((files("journeyman.study") / "sheet_form.html").read_text("utf-8")).safe_substitute(
        title=escape(title),
        intro=intro,
        whose="" if annotators else '<span class="soft">(optional)</span>',
        name_field=name_field,
        view="0 0 1 1" if picture is None else picture.view,
        map="" if picture is None else picture.svg,
        questions="\n".join(parts),
        data=json.dumps(data).replace("</", "<\\/"),
    )


def _file_name(title: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in title).strip("-") or "sheet"


def _question(mdp: FiniteMDP, query: Query, picture: Picture | None, number: int) -> str:
    shown = "" if picture is None else _situation(picture, query.state, mdp.state_name(query.state))
    answer = _choices(mdp, query, number) if query.kind == "state" else _path_fields(mdp, query, number)
    return (
        f'<fieldset id="question-{query.id}"><legend>Question {query.id}</legend>'
        f'<p class="situation">{escape(query.text)}</p>{shown}{answer}'
        '<button type="button" class="clear">Clear</button></fieldset>'
    )


def _choices(mdp: FiniteMDP, query: Query, number: int) -> str:
    moves = None if mdp.grid is None else mdp.grid.moves
    labels: list[str] = []
    for action in np.flatnonzero(mdp.available[query.state]):
        arrow = "" if moves is None else ARROWS.get((int(moves[action][0]), int(moves[action][1])), "")
        name, place = escape(mdp.action_name(int(action)), quote=True), len(labels) + 1
        key = f"<kbd>{place}</kbd>" if place < 10 else ""
        labels.append(
            f'<label><input type="radio" name="q{number}" value="{name}"><span>{name} {arrow}</span>{key}</label>'
        )
    return f'<div class="choices">{"".join(labels)}</div>'


def _path_fields(mdp: FiniteMDP, query: Query, number: int) -> str:
    actions = np.flatnonzero(mdp.available[query.state])
    example = f"{mdp.state_name(query.state)}:{mdp.action_name(int(actions[0]))}" if actions.size else ""
    return (
        f'<p><label for="steps{number}">Steps, one per line (at most {query.length})</label>'
        f'<textarea id="steps{number}" data-name="answer" rows="4" placeholder="{escape(example, quote=True)}">'
        f'</textarea></p><p><label for="final{number}">State after the last step '
        '<span class="soft">(optional)</span></label>'
        f'<input type="text" id="final{number}" data-name="final_state"></p>'
    )


def _situation(picture: Picture, state: int, name: str) -> str:
    x, y = (float(number) for number in picture.places[state])
    legend = "".join(
        f'<li><i style="background:{colour}"></i>{escape(kind)}</li>' for kind, colour in picture.legend.items()
    )
    return (
        f'<svg viewBox="{picture.view}" role="img" aria-label="Where you are: state {escape(name, quote=True)}">'
        f'<use href="#map" {_size(picture.view)}/>'
        f'<circle class="here" cx="{x:g}" cy="{y:g}" r=".26"/><circle class="ring" cx="{x:g}" cy="{y:g}" r=".42"/>'
        "</svg>" + (f'<ul class="legend">{legend}</ul>' if legend else "")
    )


def _size(view: str) -> str:
    left, top, width, height = view.split()
    return f'x="{left}" y="{top}" width="{width}" height="{height}"'


def draw_states(mdp: FiniteMDP, *, has_names: bool = False) -> Picture | None:
    """Return a drawing of all states, on their grid or as a graph; None where such a drawing could not be read.

    With `has_names`, labels or numbers of the states are written into it. Where there is a memory the world is drawn.
    """
    if mdp.memory is not None:
        picture = draw_states(innermost(mdp), has_names=has_names)
        return None if picture is None else picture._replace(places=picture.places[places_in(mdp)])
    if mdp.grid is not None:
        return _draw_grid(mdp, has_names)
    return _draw_graph(mdp, has_names) if drawing_kind(mdp) == "graph" else None


def _name(mdp: FiniteMDP, state: int, x: float, y: float, kind: str = "name") -> str:
    name = mdp.state_name(state)
    size = min(0.2, 1.5 / max(1, len(name)))
    return f'<text class="{kind}" x="{x:.4g}" y="{y:.4g}" font-size="{size:.2g}">{escape(name)}</text>'


def _draw_grid(mdp: FiniteMDP, has_names: bool) -> Picture:
    grid = mdp.grid
    assert grid is not None
    places = np.asarray(grid.places, dtype=np.int64)
    kinds = grid.kinds or ("",) * mdp.num_states
    names = sorted(set(kinds), key=lambda kind: (-kinds.count(kind), kind))
    colours = dict(zip(names[1:], (colour for _ in names for colour in COLOURS), strict=False))
    parts = [f'<rect class="wall" width="{grid.num_columns}" height="{grid.num_rows}"/>']
    for state, (row, column) in enumerate(places.tolist()):
        colour = colours.get(kinds[state])
        style = f' style="fill:{colour}"' if colour else ""
        parts.append(f'<rect class="cell" x="{column}" y="{row}" width="1" height="1"{style}/>')
        if has_names:
            parts.append(_name(mdp, state, column + 0.5, row + 0.9, "name inked" if colour else "name"))
    view = f"-0.2 -0.2 {grid.num_columns + 0.4:g} {grid.num_rows + 0.4:g}"
    return Picture(
        view,
        "".join(parts),
        places[:, ::-1].astype(np.float64) + 0.5,
        {kind: colours[kind] for kind in colours if kind},
    )


def _draw_graph(mdp: FiniteMDP, has_names: bool) -> Picture:
    layout = layout_of(mdp)
    edges = layout.links.pairs.tolist()
    places = layout.places * [1.0, -1.0]
    lengths = [float(np.linalg.norm(places[one] - places[other])) for one, other in edges]
    shortest = min((length for length in lengths if length > 0.0), default=1.0)
    places = (places - places.min(axis=0)) / shortest + MARGIN
    width, height = places.max(axis=0) + MARGIN
    lines = "".join(
        f'<line class="edge" x1="{places[a, 0]:.3g}" y1="{places[a, 1]:.3g}" x2="{places[b, 0]:.3g}" '
        f'y2="{places[b, 1]:.3g}"/>'
        for a, b in edges
    )
    dots = "".join(f'<circle class="cell" cx="{x:.3g}" cy="{y:.3g}" r=".18"/>' for x, y in places.tolist())
    names = [_name(mdp, state, x, y + 0.4) for state, (x, y) in enumerate(places.tolist())] if has_names else []
    return Picture(f"0 0 {width:.3g} {height:.3g}", "".join((lines, dots, *names)), places, {})
