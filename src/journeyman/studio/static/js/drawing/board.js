/**
 * The ground of a drawing: a shape for every place, on which questions, trails and numbers are put.
 *
 * A board is the same for a question and for the maps beside it. Colours come from the style sheet alone: a shape has a
 * class for its look, or a share between 0 and 1 that the style sheet mixes into a colour, for light and dark.
 */

import { s } from "../dom.js";

export const UNIT = 100; // of the drawing, per cell
const NODE = 0.27; // radius of a node, in cells

/** Return a board: its `svg`, the `shapes` by place, layers of `marks` on the ground and of what comes `over` them. */
export function makeBoard(world, part, { label, className }) {
  const box = [part.x, part.y, part.width, part.height].map((length) => round(length * UNIT));
  const shapes = new Map(part.places.map((place) => [place, shapeOf(world, place)]));
  const ground = world.kind === "grid" ? walls(box) : part.places.length ? links(world, part) : [];
  const marks = s(
    "g",
    { class: "marks" },
    part.places.filter((place) => world.places[place].isTerminal).map((place) => frame(world, place, 5, "terminal")),
  );
  const over = s("g", { class: "over" });
  const svg = s(
    "svg",
    { class: `board ${world.kind} ${className}`, viewBox: box.join(" "), role: "img", "aria-label": label },
    s("g", { class: "ground" }, ground, [...shapes.values()]),
    marks,
    over,
  );
  return { svg, part, shapes, marks, over };
}

export const centre = (world, place) => ({
  x: round(world.places[place].x * UNIT),
  y: round(world.places[place].y * UNIT),
});

/** Return how far a shape reaches from its centre. */
export const reach = (world) => (world.kind === "grid" ? UNIT / 2 : NODE * UNIT);

/** Return the outline of a place, `inset` units inside of its rim. */
export function frame(world, place, inset, className) {
  const { x, y } = centre(world, place);
  const size = reach(world) - inset;
  return world.kind === "grid"
    ? s("rect", { class: className, x: x - size, y: y - size, width: 2 * size, height: 2 * size, rx: inset ? 8 : 0 })
    : s("circle", { class: className, cx: x, cy: y, r: size });
}

function shapeOf(world, place) {
  const shape = frame(world, place, 0, `place ${world.looks.get(world.places[place].kind) ?? "ground"}`);
  shape.dataset.place = place;
  return shape;
}

function walls([x, y, width, height]) {
  return s("rect", { class: "wall", x, y, width, height });
}

function links(world, part) {
  const shown = new Set(part.places);
  return world.links
    .filter(([from, to]) => shown.has(from) && shown.has(to) && from !== to)
    .map(([from, to, isOneWay]) => {
      const [start, end] = shortened(world, from, to);
      const line = s("line", { class: "link", x1: start.x, y1: start.y, x2: end.x, y2: end.y });
      return isOneWay ? [line, s("path", { class: "link-head", d: head(start, end) })] : line;
    });
}

/** Return the ends of a line between two places, `gap` units outside of their rims. */
export function shortened(world, from, to, gap = 0) {
  const [start, end] = [centre(world, from), centre(world, to)];
  const length = Math.hypot(end.x - start.x, end.y - start.y) || 1;
  const rim = Math.min(reach(world) + gap, length / 2) / length;
  const between = (share) => ({
    x: round(start.x + share * (end.x - start.x)),
    y: round(start.y + share * (end.y - start.y)),
  });
  return [between(rim), between(1 - rim)];
}

function head(start, end) {
  const angle = Math.atan2(end.y - start.y, end.x - start.x);
  const corner = (turn) =>
    `${round(end.x - 16 * Math.cos(angle + turn))} ${round(end.y - 16 * Math.sin(angle + turn))}`;
  return `M ${end.x} ${end.y} L ${corner(0.45)} L ${corner(-0.45)} Z`;
}

const ARROW = [
  [-0.5, -0.13],
  [0.05, -0.13],
  [0.05, -0.34],
  [0.5, 0],
  [0.05, 0.34],
  [0.05, 0.13],
  [-0.5, 0.13],
];

/** Return an arrow around a point that points along (dx, dy), `length` units long. */
export function arrow({ x, y }, dx, dy, length, className) {
  const size = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [(length * dx) / size, (length * dy) / size];
  const points = ARROW.map(
    ([along, across]) => `${round(x + along * ux - across * uy)},${round(y + along * uy + across * ux)}`,
  );
  return s("polygon", { class: className, points: points.join(" ") });
}

export const round = (value) => Math.round(value * 10) / 10;
