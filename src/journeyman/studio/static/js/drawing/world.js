/**
 * A world as it is drawn: where each place lies, what it is called and looks like, and what joins places.
 *
 * Lengths are in cells: neighbours are about 1 apart. Where a problem has a memory, several states share a place. Worlds
 * that are too large to read are drawn in part, around the place that is asked about.
 */

import { looksOf } from "./kinds.js";

const MAX_SIDE = 16; // cells in a row or column that can still be read and clicked
const MAX_NODES = 260;

/** Return the world of a study, from what the server says about its problem; `pictureFn(state)`: where a picture is. */
export function worldOf({ drawing, states, grid, graph, actions, outcomes }, pictureFn) {
  const first = new Map(); // of the states of each place
  states.places.forEach((place, state) => first.has(place) || first.set(place, state));
  const described = (place) => {
    const state = first.get(place);
    return state === undefined
      ? { kind: "", label: "", words: "", isTerminal: false, isInitial: false }
      : {
          kind: states.kinds?.[state] ?? "",
          words: states.words[state],
          label: graph?.names[place] ?? (isCell(states.names[state], state) ? "" : states.names[state]),
          isTerminal: states.terminal[state],
        };
  };
  const world = {
    kind: { grid: "grid", graph: "graph" }[drawing] ?? "list",
    placeOf: states.places,
    states: states.names.map((name, state) => ({
      name,
      words: states.words[state],
      remembered: states.remembered?.[state] ?? "",
      picture: states.pictures?.[state] ? pictureFn(state) : null,
    })),
    actions,
    outcomes,
    links: [],
  };
  if (world.kind === "grid") {
    world.places = grid.cells.map(([row, column], place) => ({ x: column + 0.5, y: row + 0.5, ...described(place) }));
    Object.assign(world, { width: grid.columns, height: grid.rows });
  } else if (world.kind === "graph") {
    const top = Math.max(...graph.places.map(([, y]) => y));
    world.places = graph.places.map(([x, y], place) => ({ x, y: top - y, ...described(place) }));
    world.links = graph.links.map(({ from, to, one_way }) => [from, to, one_way]);
  } else {
    world.places = [...first.keys()].map(described);
  }
  world.looks = looksOf(world.places.map((place) => place.kind));
  return world;
}

/** Return whether a name says nothing that the place on a grid does not say: a number, or row and column. */
const isCell = (name, state) => name === String(state) || /^r\d+c\d+$/.test(name);

/** Return for each place the state there with the same memory as `state`, or any; maps show one state per place. */
export function statesLike(world, state) {
  const found = world.places.map(() => null);
  const wanted = world.states[state].remembered;
  world.placeOf.forEach((place, other) => {
    if (found[place] === null || world.states[other].remembered === wanted) found[place] = other;
  });
  return found;
}

/** Return the part of a world that is drawn around a place: its places, corner and size. */
export function partAround(world, place) {
  const places = world.kind === "grid" ? cellsAround(world, place) : nodesAround(world, place);
  const isWhole = places.length === world.places.length;
  return { places, isWhole, around: place, ...bounds(world, places, isWhole) };
}

/** Return whether a place lies well inside of a part, so that the part need not move. */
export function isInside(world, part, place) {
  if (part.isWhole) return true;
  if (world.kind === "graph") return part.around === place;
  const isNear = (at, first, size, all) =>
    (at > first + 2 || first <= 0) && (at < first + size - 2 || first + size >= all);
  const { x, y } = world.places[place];
  return isNear(x, part.x, part.width, world.width) && isNear(y, part.y, part.height, world.height);
}

function cellsAround(world, place) {
  const [left, right] = around(world.places[place].x, world.width);
  const [top, bottom] = around(world.places[place].y, world.height);
  return indices(world).filter((i) => {
    const { x, y } = world.places[i];
    return x > left && x < right && y > top && y < bottom;
  });
}

function around(centre, size) {
  if (size <= MAX_SIDE) return [0, size];
  const first = Math.min(Math.max(0, Math.floor(centre) - MAX_SIDE / 2), size - MAX_SIDE);
  return [first, first + MAX_SIDE];
}

function nodesAround(world, place) {
  if (world.places.length <= MAX_NODES) return indices(world);
  const neighbours = new Map();
  for (const [from, to] of world.links) {
    for (const [one, other] of [
      [from, to],
      [to, from],
    ]) {
      if (!neighbours.has(one)) neighbours.set(one, []);
      neighbours.get(one).push(other);
    }
  }
  const found = new Set([place]);
  for (const at of found) {
    for (const next of neighbours.get(at) ?? []) if (found.size < MAX_NODES) found.add(next);
  }
  return [...found].sort((one, other) => one - other);
}

function bounds(world, places, isWhole) {
  const hasWalls = isWhole && world.places.length < world.width * world.height;
  const rim = hasWalls ? 0.65 : 0.5; // of cells: a little of the walls around them is enough
  const [across, margin] = world.kind === "grid" ? [rim, rim] : [0.9, 0.6];
  const xs = places.map((i) => world.places[i].x);
  const ys = places.map((i) => world.places[i].y);
  const [x, y] = [Math.min(...xs) - across, Math.min(...ys) - margin];
  return { x, y, width: Math.max(...xs) + across - x, height: Math.max(...ys) + margin - y };
}

const indices = (world) => world.places.map((_, i) => i);
