/**
 * The drawing of one question: the place that is asked about, where each action leads, and the way that led here.
 *
 * `show(situation)` draws it. A situation has a `state`, `options` (actions, with the state that each most likely leads
 * to) and a `trail` of steps, each with what was intended and what happened.
 */

import { after, h, isStill, s } from "../dom.js";
import { directionOf, shownKeys } from "../answer/keys.js";
import { explain } from "../explain.js";
import { arrow, centre, makeBoard, reach, round, shortened, UNIT } from "./board.js";
import { extent, labelsOf } from "./labels.js";
import { isInside, partAround } from "./world.js";

const GLIDE = 170; // milliseconds of one move, as in the style sheet
const MAX_NAMED = 13; // cells in a row that have room for the names of their kinds
const MAX_INSIDE = 2; // letters of a name that fit into a node

/** Return the stage of a world; `chooseFn(action)` is called on a click on a place, `words` explain numbers. */
export function makeStage(world, chooseFn, words) {
  return world.kind === "list" ? new Card(world, words) : new Stage(world, chooseFn, words);
}

class Stage {
  constructor(world, chooseFn, words) {
    Object.assign(this, { world, words, options: [], board: null, place: null });
    this.element = h("div", { class: "stage" });
    this.element.addEventListener("click", (event) => {
      const place = event.target.closest?.("[data-place]")?.dataset.place;
      const option = place === undefined ? null : this.optionAt(Number(place));
      if (option) chooseFn(option.action);
    });
  }

  /** Return what a click on a place means: going there; on one's own, staying, unless several actions may be meant. */
  optionAt(place) {
    const found = this.options.filter((one) => one.place === place);
    if (place !== this.place || found.length === 1) return found[0] ?? null;
    return found.find((one) => one.keys.includes(" ")) ?? null;
  }

  /** Draw a situation; the board itself is kept as long as the place lies well inside of it. */
  show({ state, options, trail = [], label }) {
    this.place = this.world.placeOf[state];
    this.options = options.map((option) => ({ ...option, place: this.placeAt(option.leads_to) }));
    if (!this.board || !isInside(this.world, this.board.part, this.place)) this.build(label);
    this.board.svg.setAttribute("aria-label", label);
    for (const [place, shape] of this.board.shapes) {
      shape.classList.toggle("reachable", Boolean(this.optionAt(place)));
      shape.classList.toggle("here", place === this.place);
    }
    for (const [place, name] of this.names) {
      name.classList.toggle("here", place === this.place);
      this.keepClear(place, name);
    }
    this.layer.replaceChildren(
      s(
        "g",
        { class: "trail" },
        trail.map((step) => this.step(step)),
      ),
      ...this.chips(),
    );
    this.glide(centre(this.world, this.place));
  }

  build(label) {
    const shown = partAround(this.world, this.place);
    const isBeside = (place) => this.world.kind === "graph" && lettersOf(this.world.places[place].label) > MAX_INSIDE;
    this.labels = labelsOf(this.world, shown.places, shown.places.filter(isBeside));
    const part = widened(shown, [...this.labels.values()]);
    this.board = makeBoard(this.world, part, { label, className: "asked" });
    this.token = token(reach(this.world));
    this.layer = s("g");
    this.board.over.append(this.layer, this.token);
    for (const [place, { text }] of this.labels) {
      const { label: name } = this.world.places[place];
      if (text !== name) this.board.shapes.get(place).append(s("title", {}, name));
    }
    this.names = new Map(part.places.map((place) => [place, this.name(place)]).filter(([, name]) => name));
    this.board.marks.append(s("g", { class: "names", "aria-hidden": "true" }, [...this.names.values()]));
    const shape = { "--ratio": round(part.width / part.height), "--columns": round(part.width) };
    const note = `Shown: ${part.places.length} of ${this.world.places.length} places, around the question.`;
    this.element.replaceChildren(
      h("div", { class: "frame", vars: shape }, this.board.svg),
      part.isWhole ? "" : explain(h("p", { class: "hint" }, note), this.words.places),
    );
  }

  placeAt(state) {
    return state === null ? null : this.world.placeOf[state];
  }

  glide({ x, y }) {
    this.token.style.transform = `translate(${x}px, ${y}px)`;
  }

  /** Set out at once, before it is known where chance leads. */
  lean(action) {
    const option = this.options.find((one) => one.action === action);
    if (!option || option.place === null || option.place === this.place) return;
    const [from, to] = [centre(this.world, this.place), centre(this.world, option.place)];
    this.glide({ x: round(from.x + 0.32 * (to.x - from.x)), y: round(from.y + 0.32 * (to.y - from.y)) });
  }

  /** Show the answer that was given, for a moment, so that one sees what is kept. */
  async confirm(action) {
    this.layer.classList.add("answered");
    this.layer.querySelector(`[data-action="${action}"]`)?.classList.add("chosen");
    this.token.classList.add("stayed");
    this.lean(action);
    await after(isStill() ? 0 : GLIDE);
    this.token.classList.remove("stayed");
    this.layer.classList.remove("answered");
  }

  /** Return the name of a place as it is written on a grid, or beside a node where no line is in its way. */
  name(place) {
    const { label, kind } = this.world.places[place];
    const { x, y } = centre(this.world, place);
    if (this.world.kind === "grid") {
      const word = label || (this.world.looks.get(kind) === "ground" ? "" : kind);
      return word && this.board.part.width <= MAX_NAMED
        ? s("text", { class: "kind", x: x - 39, y: y - 24 }, short(word, 9))
        : null;
    }
    const beside = this.labels.get(place);
    if (!beside) return s("text", { class: "node-name", x, y }, label);
    const at = { x: beside.x, y: beside.y, "text-anchor": ["end", "middle", "start"][beside.side + 1] };
    return s("text", { class: "node-label", ...at }, beside.text);
  }

  /** Write the name of a cell at its foot while an arrow points down at its head. */
  keepClear(place, name) {
    if (this.world.kind !== "grid") return;
    const { x, y } = this.world.places[place];
    const here = this.world.places[this.place];
    const isBelow = x === here.x && y === here.y + 1 && this.options.some((option) => option.place === place);
    name.setAttribute("y", centre(this.world, place).y + (isBelow ? 38 : -24));
  }

  step({ state, next_state: next, intended, slipped: isSlip }) {
    const [from, to, meant] = [state, next, intended].map((one) => (one === undefined ? null : this.placeAt(one)));
    const [start, end] = [centre(this.world, from), to === null ? null : centre(this.world, to)];
    const line =
      end &&
      to !== from &&
      s("line", { class: isSlip ? "step slip" : "step", x1: start.x, y1: start.y, x2: end.x, y2: end.y });
    return [
      line,
      isSlip && meant !== null && meant !== from && this.missed(from, meant),
      s("circle", { class: "footprint", cx: start.x, cy: start.y, r: 8 }),
    ];
  }

  missed(from, meant) {
    const [start, end] = shortened(this.world, from, meant, -0.7 * reach(this.world));
    return s(
      "g",
      { class: "missed" },
      s("line", { x1: start.x, y1: start.y, x2: end.x, y2: end.y }),
      s("path", { d: `M ${end.x - 9} ${end.y - 9} l 18 18 m 0 -18 l -18 18` }),
    );
  }

  chips() {
    const here = centre(this.world, this.place);
    const drawn = new Set([null, this.place]);
    return this.options.flatMap(({ action, place, keys }) => {
      if (drawn.has(place) || !this.board.shapes.has(place)) return [];
      drawn.add(place);
      const there = centre(this.world, place);
      const [dx, dy] = [there.x - here.x, there.y - here.y];
      const length = Math.hypot(dx, dy);
      const share = (this.world.kind === "grid" ? 0.5 * length + 24 : 0.5 * length) / length;
      const at = { x: round(here.x + share * dx), y: round(here.y + share * dy) };
      const glyph = directionOf(keys)
        ? arrow(at, ...directionOf(keys), 26, "glyph")
        : s("text", { ...at, class: "glyph" }, shownKeys(keys)[0] ?? "");
      return [
        s(
          "g",
          { class: "chip", "data-place": place, "data-action": action },
          s("circle", { cx: at.x, cy: at.y, r: 20 }),
          glyph,
        ),
      ];
    });
  }
}

/** A problem that cannot be drawn: the label of the situation, and its picture if there is one. */
class Card {
  constructor(world, words) {
    Object.assign(this, { world, words });
    this.element = h("div", { class: "stage card-stage" });
  }

  show({ state, trail = [], label }) {
    const { name, words, picture } = this.world.states[state];
    const passed = trail.map((step) => this.world.states[step.state].name);
    this.element.replaceChildren(
      ...(picture ? [h("img", { class: "picture", src: picture, alt: label })] : []),
      explain(h("p", { class: "situation" }, words || name), this.words.place),
      ...(passed.length
        ? [explain(h("p", { class: "hint" }, `You came via ${passed.join(" → ")}.`), this.words.place)]
        : []),
    );
  }

  lean() {}

  async confirm() {
    this.element.classList.add("kept");
    await after(isStill() ? 0 : GLIDE);
    this.element.classList.remove("kept");
  }
}

function token(size) {
  const radius = Math.min(22, 0.7 * size);
  const eye = (x) => s("circle", { class: "eye", cx: x * radius, cy: -0.15 * radius, r: 0.15 * radius });
  return s(
    "g",
    { class: "token", "aria-hidden": "true" },
    s("circle", { class: "halo", r: radius + 9 }),
    s("circle", { class: "body", r: radius }),
    eye(-0.32),
    eye(0.32),
  );
}

/** Return a part of a world, made so wide that the names beside its places lie inside. */
function widened(part, labels) {
  if (!labels.length) return part;
  const [left, right] = extent(labels).map((length) => length / UNIT);
  const x = Math.min(part.x, left);
  return { ...part, x, width: Math.max(part.x + part.width, right) - x };
}

const lettersOf = (text) => [...text].length;

/** Return a text of so many letters at most, none of them cut in half. */
const short = (text, length) => (lettersOf(text) > length ? `${[...text].slice(0, length - 1).join("")}…` : text);
