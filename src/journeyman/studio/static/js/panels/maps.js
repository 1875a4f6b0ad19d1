/** What is known in each place: where an answer helps most, the reward, its uncertainty, the apprentice's choice. */

import { h, refill, say } from "../dom.js";
import { neighbour, ValueMap } from "../drawing/map.js";
import { statesLike } from "../drawing/world.js";
import { explain, explainAgain, explained } from "../explain.js";
import { percent, plain, signed, within } from "../words.js";

const KEYS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
const MAPS = [
  { name: "help", ramp: "help", title: "Where an answer helps most", explain: "scores", ends: ["little", "most"] },
  { name: "policy", ramp: "sure", title: "What the apprentice would do", explain: "policy", ends: ["unsure", "sure"] },
  { name: "reward", ramp: "reward", title: "Reward", explain: "reward", ends: null },
  { name: "doubt", ramp: "doubt", title: "How uncertain the reward is", explain: "uncertainty", ends: null },
];
const MAX_ROWS = 60;

export function mapsPanel(store) {
  const readout = new Readout(store.get("study").explain.place);
  const holder = h("div", { class: "maps" });
  const element = h(
    "section",
    { class: "card known", "aria-labelledby": "known-title" },
    h("h3", { id: "known-title" }, "What has been learned"),
    holder,
    readout.element,
  );
  let view = null;
  store.on(["world"], ({ world }) => {
    if (!world) return;
    const { place, places } = store.get("study").explain;
    view = world.kind === "list" ? tableView(world, place) : mapsView(world, readout, places);
    readout.element.hidden = world.kind === "list";
    refill(holder, view.element);
  });
  store.on(["belief", "question", "world"], ({ belief, question }) => {
    element.hidden = !belief?.is_ready;
    if (belief?.is_ready) view?.show(belief, question?.here ?? belief.scores?.best ?? 0);
  });
  return element;
}

function mapsView(world, readout, aboutPlaces) {
  let [knowledge, states, pointed] = [null, [], null];
  const maps = {};
  const point = (place) => {
    pointed = place;
    for (const map of Object.values(maps)) map.point(place);
    if (knowledge) readout.show(world, knowledge, place === null ? undefined : states[place]);
  };
  const figures = MAPS.map(({ name, ramp, title, explain, ends }) => {
    maps[name] = new ValueMap(world, { ramp, label: title, pointFn: point });
    const heading = h("figcaption", {});
    const scale = h(
      "div",
      { class: `scale ${ramp}` },
      h("span", {}, ends?.[0] ?? ""),
      h("span", { class: "ramp", "aria-hidden": "true" }),
      h("span", {}, ends?.[1] ?? ""),
    );
    scale.setAttribute("role", "group");
    scale.setAttribute("aria-label", `Colours of the map: ${title}`);
    return {
      name,
      title,
      explain,
      heading,
      scale,
      element: h("figure", { class: "small-map" }, heading, maps[name].element, scale),
    };
  });
  const element = h(
    "div",
    {
      class: "map-grid",
      tabindex: "0",
      role: "group",
      "data-own-keys": true,
      "aria-label": "Maps. Arrow keys go from place to place and read their numbers.",
    },
    figures.map((figure) => figure.element),
  );
  element.addEventListener("keydown", (event) => {
    const direction = KEYS[event.key];
    if (!direction) return;
    event.preventDefault();
    if (!maps.help.board) return;
    point(
      pointed === null
        ? maps.help.board.part.around
        : neighbour(world, pointed, ...direction, maps.help.board.part.places),
    );
  });

  const note = explain(h("p", { class: "hint", hidden: true }), aboutPlaces);
  return {
    element: [note, element],
    show(belief, state) {
      knowledge = belief;
      states = statesLike(world, state);
      const around = world.placeOf[state];
      const at = (values) => states.map((one) => (one === null ? null : (values?.[one] ?? null)));
      const rewards = states.map((one) => rewardAt(belief, one));
      const [means, sds, scores, chances] = [
        rewards.map(([mean]) => mean),
        rewards.map(([, sd]) => sd),
        at(belief.scores?.values),
        at(belief.policy?.chances),
      ];
      const chance = 1 / Math.max(2, world.actions.length); // of being right without knowing anything
      const [most, widest, best] = [largest(means), largest(sds), largest(scores)];
      maps.help.show(
        around,
        scores.map((value) => (value === null ? null : Math.max(0, value) / best)),
      );
      maps.reward.show(
        around,
        means.map((value) => (value === null ? null : value / most)),
      );
      maps.doubt.show(
        around,
        sds.map((value) => (value === null ? null : value / widest)),
      );
      maps.policy.show(
        around,
        chances.map((value, place) =>
          value === null || world.places[place].isTerminal ? null : Math.max(0, (value - chance) / (1 - chance)),
        ),
        states.map((one) => glyphOf(world, belief, one)),
      );
      const ends = {
        help: null,
        policy: null,
        reward: [signed(-most), signed(most)],
        doubt: ["0", `± ${plain(widest)}`],
      };
      for (const { name, title, explain: about, heading, scale, element: figure } of figures) {
        const meaning = belief.explain?.[about] ?? title;
        if (!heading.firstChild) heading.append(explained(title, meaning, "title"));
        if (ends[name]) [scale.firstChild.textContent, scale.lastChild.textContent] = ends[name];
        explain(scale, `The colours of this map, from the lowest value to the highest. ${meaning}`);
        explain(figure, meaning, [heading.firstChild]);
      }
      if (!belief.scores) figures[0].element.hidden = true;
      else figures[0].element.hidden = false;
      const { part } = maps.help.board;
      note.hidden = part.isWhole;
      say(note, `These maps show ${part.places.length} of ${world.places.length} places, around the question.`);
      point(part.places.includes(pointed) ? pointed : null);
    },
  };
}

/** Return mean and standard deviation of the reward in a state: of what the apprentice does, where actions differ. */
function rewardAt({ reward, policy }, state) {
  if (state === null || !reward) return [null, null];
  const action = policy?.actions?.[state] ?? null;
  const { by_action: table } = reward;
  return table && action !== null
    ? [table.mean[state][action], table.sd[state][action]]
    : [reward.mean[state], reward.sd[state]];
}

const rewardWords = (belief, state) => {
  const [mean, sd] = rewardAt(belief, state);
  return mean === null ? "?" : within(mean, sd);
};

const largest = (values) => Math.max(1e-12, ...values.map((value) => Math.abs(value ?? 0)));

/** Return the arrow of the apprentice's action in a state: its intended move, or where it most likely leads. */
function glyphOf(world, { policy }, state) {
  const action = state === null ? null : policy?.actions?.[state];
  const place = world.placeOf[state];
  if (action === null || action === undefined || world.places[place].isTerminal) return null;
  const { move } = world.actions[action];
  if (move) return { dx: move[1], dy: move[0] };
  const next = world.outcomes?.[state]?.[action]?.[0]?.[0];
  if (next === undefined || next === null) return { text: [...world.actions[action].label].slice(0, 3).join("") };
  const [from, to] = [world.places[place], world.places[world.placeOf[next]]];
  return { dx: to.x - from.x, dy: to.y - from.y };
}

/** Return an action as a sentence names it: a bare number would be taken for something else. */
const actionWords = (world, action) =>
  world.actions[action].label === String(action) ? `action ${action}` : world.actions[action].label;

/** All that is known about the place that somebody looked at last, each number with its meaning. */
class Readout {
  constructor(aboutPlaces) {
    this.aboutPlaces = aboutPlaces;
    this.hint = h("span", {}, "Point at a place to read its numbers.");
    this.parts = Object.fromEntries(["place", "score", "reward", "policy"].map((name) => [name, explained("", "")]));
    this.element = h("p", { class: "readout", "aria-live": "polite" }, this.hint, Object.values(this.parts));
    this.show(null, {}, undefined);
  }

  /** Show a state; null: one that is never met, undefined: none. */
  show(world, belief, state) {
    const words = state === undefined || state === null ? {} : placeWords(world, belief, state);
    say(this.hint, state === null ? "This place is never reached like that." : "Point at a place to read its numbers.");
    this.hint.hidden = state !== undefined && state !== null;
    const { scores, reward, policy } = belief.explain ?? {};
    const meanings = { place: this.aboutPlaces, score: scores, reward, policy };
    for (const [name, part] of Object.entries(this.parts)) {
      part.hidden = !words[name];
      explainAgain(part, words[name] ?? "", meanings[name]);
    }
  }
}

/** Return a score with its unit; one that is nothing beside the best is nothing. */
function scoreWords({ values, best, unit }, score) {
  return Math.abs(score) < 1e-3 * Math.abs(values[best]) ? "about 0" : `${plain(score)} ${unit ?? ""}`.trim();
}

/** Return what is known about a state, in words, by what it is about. */
function placeWords(world, belief, state) {
  const score = belief.scores?.values?.[state] ?? null;
  const action = belief.policy?.actions?.[state] ?? null;
  const chance = belief.policy?.chances?.[state] ?? null;
  const best = chance === null ? "" : `, best with a chance of ${percent(chance)}`;
  return {
    place: world.states[state].words,
    score: score === null ? "" : `an answer here tells ${scoreWords(belief.scores, score)}`,
    reward: belief.reward ? `reward ${rewardWords(belief, state)}` : "",
    policy: action === null ? "" : `apprentice: ${actionWords(world, action)}${best}`,
  };
}

/** The same numbers as a table, where states cannot be drawn; the most useful first. */
function tableView(world, aboutPlaces) {
  const body = h("tbody");
  const head = ["Situation", "An answer tells", "Reward", "Apprentice"].map((word) => explained(word, aboutPlaces));
  const element = h(
    "div",
    {
      class: "scroll",
      tabindex: "0",
      role: "region",
      "aria-label": "What is known in each situation",
      "data-own-keys": true,
    },
    h(
      "table",
      { class: "numbers" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          head.map((heading) => h("th", { scope: "col" }, heading)),
        ),
      ),
      body,
    ),
  );
  return {
    element,
    show(belief) {
      const order = world.states
        .map((_, state) => state)
        .sort((one, other) => (belief.scores?.values[other] ?? -1) - (belief.scores?.values[one] ?? -1));
      const { scores, reward, policy } = belief.explain ?? {};
      const meanings = [aboutPlaces, scores, reward, policy];
      head.forEach((heading, i) => explain(heading, meanings[i]));
      const cell = (text, i) => explain(h(i ? "td" : "th", i ? {} : { scope: "row" }, text), meanings[i], [head[i]]);
      refill(
        body,
        order.slice(0, MAX_ROWS).map((state) => h("tr", {}, rowWords(world, belief, state).map(cell))),
      );
    },
  };
}

/** Return what is known about a state, a text for each column. */
function rowWords(world, belief, state) {
  const score = belief.scores?.values[state] ?? null;
  const action = belief.policy?.actions?.[state] ?? null;
  const chance = belief.policy?.chances?.[state] ?? null;
  return [
    world.states[state].words,
    score === null ? "–" : scoreWords(belief.scores, score),
    rewardWords(belief, state),
    action === null ? "–" : `${actionWords(world, action)}${chance === null ? "" : ` (${percent(chance)})`}`,
  ];
}
