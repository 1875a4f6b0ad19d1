/** What is known in each place: where an answer helps most, the reward, its uncertainty, the apprentice's choice. */

import { h, refill, say } from "../dom.js";
import { neighbour, ValueMap } from "../drawing/map.js";
import { statesLike } from "../drawing/world.js";
import { explained } from "../explain.js";
import { percent, plain, signed, within } from "../words.js";

const KEYS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
const MAPS = [
  { name: "help", ramp: "help", title: "Where an answer helps most", explain: "scores", ends: ["little", "most"] },
  { name: "policy", ramp: "sure", title: "What the apprentice would do", explain: "policy", ends: ["unsure", "sure"] },
  { name: "reward", ramp: "reward", title: "Reward", explain: "reward", ends: null },
  { name: "doubt", ramp: "doubt", title: "How unsure the reward is", explain: "uncertainty", ends: null },
];
const MAX_ROWS = 60;

export function mapsPanel(store) {
  const readout = h("p", { class: "readout", "aria-live": "polite" });
  const holder = h("div", { class: "maps" });
  const element = h(
    "section",
    { class: "card known", "aria-labelledby": "known-title" },
    h("h3", { id: "known-title" }, "What has been learned"),
    holder,
    readout,
  );
  let view = null;
  store.on(["world"], ({ world }) => {
    if (!world) return;
    view = world.kind === "list" ? tableView(world) : mapsView(world, readout);
    refill(holder, view.element);
  });
  store.on(["belief", "question", "world"], ({ belief, question }) => {
    element.hidden = !belief?.is_ready;
    if (belief?.is_ready) view?.show(belief, question?.here ?? belief.scores?.best ?? 0);
  });
  return element;
}

function mapsView(world, readout) {
  let [knowledge, states, pointed] = [null, [], null];
  const maps = {};
  const point = (place) => {
    pointed = place;
    for (const map of Object.values(maps)) map.point(place);
    say(
      readout,
      place === null || !knowledge
        ? "Look at a place to read its numbers."
        : placeWords(world, knowledge, states[place]),
    );
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
    point(pointed === null ? (maps.help.board?.part.around ?? 0) : neighbour(world, pointed, ...direction));
  });
  element.addEventListener("blur", () => point(null));

  return {
    element,
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
      for (const { name, title, explain, heading, scale } of figures) {
        if (!heading.firstChild) heading.append(explained(title, belief.explain?.[explain] ?? title, "title"));
        if (ends[name]) [scale.firstChild.textContent, scale.lastChild.textContent] = ends[name];
      }
      if (!belief.scores) figures[0].element.hidden = true;
      else figures[0].element.hidden = false;
      point(pointed);
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
  if (next === undefined || next === null) return { text: String(action) };
  const [from, to] = [world.places[place], world.places[world.placeOf[next]]];
  return { dx: to.x - from.x, dy: to.y - from.y };
}

/** Return all that is known about a state, in words. */
function placeWords(world, belief, state) {
  if (state === null) return "This place is never met like that.";
  const parts = [];
  const score = belief.scores?.values?.[state];
  if (score !== null && score !== undefined)
    parts.push(`an answer here tells ${plain(score)} ${belief.scores.unit ?? ""}`.trim());
  if (belief.reward) parts.push(`reward ${rewardWords(belief, state)}`);
  const action = belief.policy?.actions?.[state];
  if (action !== null && action !== undefined)
    parts.push(`apprentice: ${world.actions[action].label}, best with ${percent(belief.policy.chances[state])}`);
  return `${world.states[state].words}: ${parts.join(" · ")}`;
}

/** The same numbers as a table, where states cannot be drawn; the most useful first. */
function tableView(world) {
  const body = h("tbody");
  const head = ["Situation", "An answer tells", "Reward", "Apprentice"];
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
          head.map((word) => h("th", { scope: "col" }, word)),
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
      refill(
        body,
        order.slice(0, MAX_ROWS).map((state) => {
          const action = belief.policy?.actions?.[state];
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, world.states[state].words),
            h("td", {}, belief.scores?.values[state] == null ? "–" : plain(belief.scores.values[state])),
            h("td", {}, rewardWords(belief, state)),
            h(
              "td",
              {},
              action === null || action === undefined
                ? "–"
                : `${world.actions[action].label} (${percent(belief.policy.chances[state])})`,
            ),
          );
        }),
      );
    },
  };
}
