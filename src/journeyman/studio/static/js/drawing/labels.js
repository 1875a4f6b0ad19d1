/**
 * The names of places beside the nodes of a graph: on the side where no line is in the way, and as long as there is room
 * before the next node or name.
 */

import { centre, reach } from "./board.js";

const SIZE = 21; // of the letters, as in the style sheet
const LINE = 26; // height of a line of them
const GAP = 8; // between a name and what comes next to it
const MAX_WIDTH = 180;
const SIDES = [
  [0, 1],
  [0, -1],
  [1, 0],
  [-1, 0],
]; // below, above, right, left

let pen = null;

/** Return the names beside the `named` ones of some places: `text`, where it stands (x, y, side), how `wide` it is. */
export function labelsOf(world, places, named) {
  const labels = new Map(named.map((place) => [place, standing(world, place)]));
  for (const [place, label] of labels) {
    const rooms = places.map((other) => roomBeside(world, label, place, other, labels.get(other)));
    const room = Math.min(MAX_WIDTH, ...rooms);
    label.text = fitted(world.places[place].label, room);
    label.wide = widthOf(label.text);
  }
  return labels;
}

/** Return where names end on the left and right, in the units of the drawing. */
export function extent(labels) {
  const lefts = labels.map(({ x, side, wide }) => x - wide * [1, 0.5, 0][side + 1]);
  const rights = labels.map(({ x, side, wide }) => x + wide * [0, 0.5, 1][side + 1]);
  return [Math.min(...lefts) - GAP, Math.max(...rights) + GAP];
}

function standing(world, place) {
  const { x, y } = centre(world, place);
  const [dx, dy] = freeSide(world, place);
  const rim = reach(world) + 10;
  return { x: x + dx * rim, y: y + dy * (rim + 8), side: dx };
}

/** Return how wide a name may be because of another place: its node, and its name, with which the room is shared. */
function roomBeside(world, { x, y, side }, place, other, their) {
  if (other === place) return Infinity;
  const node = centre(world, other);
  const rim = reach(world);
  const both = side === 0 ? 2 : 1; // a name in the middle reaches half its width to each side
  let room = Infinity;
  const isTowards = (at) => side === 0 || Math.sign(at - x) === side;
  if (Math.abs(node.y - y) < rim + LINE / 2 && isTowards(node.x)) room = both * (Math.abs(node.x - x) - rim - GAP);
  if (their && Math.abs(their.y - y) < LINE && isTowards(their.x)) {
    const isMutual = their.side === 0 || Math.sign(x - their.x) === their.side;
    room = Math.min(room, both * (Math.abs(their.x - x) / (isMutual ? 2 : 1) - GAP / 2));
  }
  return room;
}

/** Return a text, shortened until it fits; at least its first letter is left. */
function fitted(text, room) {
  const letters = [...text];
  if (widthOf(text) <= room) return text;
  do letters.pop();
  while (letters.length > 1 && widthOf(`${letters.join("")}…`) > room);
  return `${letters.join("")}…`;
}

function widthOf(text) {
  if (!pen) {
    pen = document.createElement("canvas").getContext("2d");
    pen.font = `600 ${SIZE}px ${getComputedStyle(document.body).fontFamily}`;
  }
  return pen.measureText(text).width;
}

/** Return the side of a node that is furthest from all lines that end there. */
function freeSide(world, place) {
  const from = world.places[place];
  const others = world.links
    .filter(([one, other]) => one === place || other === place)
    .map(([one, other]) => world.places[one === place ? other : one]);
  const nearness = ([dx, dy]) =>
    Math.max(
      -1,
      ...others.map(({ x, y }) => ((x - from.x) * dx + (y - from.y) * dy) / (Math.hypot(x - from.x, y - from.y) || 1)),
    );
  return SIDES.reduce((best, side) => (nearness(side) < nearness(best) - 0.05 ? side : best));
}
