/**
 * A small map of numbers, one per place, that is looked at with the mouse, a finger or the arrow keys.
 *
 * The colour of a place mixes two colours of the style sheet by a share between 0 and 1 (below 0: a third one), so that
 * light and dark differ in the style sheet alone.
 */

import { h, s } from "../dom.js";
import { arrow, centre, frame, makeBoard } from "./board.js";
import { partAround } from "./world.js";

const STRONG = 0.68; // share from which on the other ink can be read better, on light and dark pages

export class ValueMap {
  /** `pointFn(place)` is called when somebody looks at a place. */
  constructor(world, { ramp, label, pointFn }) {
    Object.assign(this, { world, label });
    this.element = h("div", { class: `map ${ramp}` });
    this.element.addEventListener("pointerover", (event) => {
      const place = event.target.dataset?.place;
      if (place !== undefined) pointFn(Number(place));
    });
  }

  /** Show a share per place (null: not known) and, where given, { dx, dy } or { text } per place. */
  show(around, shares, glyphs = []) {
    const part = partAround(this.world, around);
    if (!this.board || String(part.places) !== String(this.board.part.places)) this.build(part);
    for (const [place, shape] of this.board.shapes) paint(shape, shares[place]);
    this.glyphs.replaceChildren(...part.places.flatMap((place) => this.glyph(place, glyphs[place], shares[place])));
  }

  build(part) {
    this.board = makeBoard(this.world, part, { label: this.label, className: "values" });
    this.glyphs = s("g", { class: "glyphs", "aria-hidden": "true" });
    this.pointer = s("g", { "aria-hidden": "true" });
    this.board.over.append(this.glyphs, this.pointer);
    this.element.replaceChildren(this.board.svg);
  }

  glyph(place, glyph, share) {
    if (!glyph) return [];
    const at = centre(this.world, place);
    const size = this.world.kind === "grid" ? 56 : 40;
    const ink = share > STRONG ? "glyph on-strong" : "glyph";
    if (glyph.text) return [s("text", { class: ink, ...at }, glyph.text)];
    if (!glyph.dx && !glyph.dy) return [s("circle", { class: ink, cx: at.x, cy: at.y, r: 0.16 * size })];
    return [arrow(at, glyph.dx, glyph.dy, size, ink)];
  }

  /** Mark the place that somebody looks at, on any map; null: none. */
  point(place) {
    const isShown = place !== null && this.board?.shapes.has(place);
    this.pointer?.replaceChildren(
      ...(isShown ? [frame(this.world, place, this.world.kind === "grid" ? 5 : -6, "pointer")] : []),
    );
  }
}

function paint(shape, share) {
  const isKnown = share !== null && share !== undefined;
  shape.classList.toggle("unknown", !isKnown);
  shape.classList.toggle("negative", isKnown && share < 0);
  shape.style.setProperty("--share", isKnown ? `${Math.round(1000 * Math.min(1, Math.abs(share))) / 10}%` : "0%");
}

/** Return the place next to one in the direction of an arrow key, of those that are shown: for who has no mouse. */
export function neighbour(world, place, dx, dy, shown) {
  const from = world.places[place];
  let [best, least] = [place, Infinity];
  for (const other of shown) {
    const to = world.places[other];
    const [x, y] = [to.x - from.x, to.y - from.y];
    const [along, across] = [x * dx + y * dy, Math.abs(x * dy) + Math.abs(y * dx)];
    if (along > 0.2 && across <= along + 0.01 && along + 2 * across < least)
      [best, least] = [other, along + 2 * across];
  }
  return best;
}
