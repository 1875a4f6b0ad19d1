/** The chance of too much regret after each answer, with the line below which it has to stay. */

import { h, s } from "../dom.js";
import { explain } from "../explain.js";
import { percent } from "../words.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [520, 206, 54, 12, 32, 30];

/** Return a chart of `course` ({ count, chance }) with the line at `delta`; `pointFn(point)` says what is looked at. */
export function drawChart(course, delta, explanation, pointFn) {
  const points = standing(course);
  const last = Math.max(8, points.at(-1)?.count ?? 0);
  const x = (count) => LEFT + ((WIDTH - LEFT - RIGHT) * count) / last;
  const y = (chance) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - chance);
  const known = points.filter((point) => point.chance !== null);
  const path = known
    .map((point, i) => `${i ? "L" : "M"} ${x(point.count).toFixed(1)} ${y(point.chance).toFixed(1)}`)
    .join(" ");
  const area = known.length > 1 ? `${path} L ${x(known.at(-1).count)} ${y(0)} L ${x(known[0].count)} ${y(0)} Z` : null;
  const every = Math.max(1, Math.ceil(last / 8));
  const counts = Array.from({ length: Math.floor(last / every) + 1 }, (_, i) => i * every);
  const dot = s("circle", {
    class: "chart-dot",
    r: 5.5,
    cx: x(known.at(-1)?.count ?? 0),
    cy: y(known.at(-1)?.chance ?? 1),
  });
  const [wanted, sample] = [`wanted: at most ${percent(delta)}`, { x1: LEFT, x2: LEFT + 28, y1: 11, y2: 11 }];
  const svg = s(
    "svg",
    { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": summary(known, delta) },
    s("rect", { class: "chart-goal", x: LEFT, y: y(delta), width: WIDTH - LEFT - RIGHT, height: y(0) - y(delta) }),
    [0, 0.5, 1].map((share) => [
      s("line", { class: "chart-grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(share), y2: y(share) }),
      s("text", { class: "chart-text", x: LEFT - 8, y: y(share) + 5, "text-anchor": "end" }, `${100 * share} %`),
    ]),
    counts.map((count) =>
      s("text", { class: "chart-text", x: x(count), y: HEIGHT - 8, "text-anchor": "middle" }, String(count)),
    ),
    area && s("path", { class: "chart-area", d: area }),
    s("path", { class: "chart-line", d: path || "M 0 0" }),
    s("line", { class: "chart-delta", x1: LEFT, x2: WIDTH - RIGHT, y1: y(delta), y2: y(delta) }),
    s("line", { class: "chart-delta", ...sample }),
    s("text", { class: "chart-text strong", x: LEFT + 36, y: 16 }, wanted),
    known.length > 0 && dot,
  );
  let at = known.length - 1;
  const look = (index) => {
    at = Math.min(Math.max(0, index), known.length - 1);
    if (!known[at]) return;
    dot.setAttribute("cx", x(known[at].count));
    dot.setAttribute("cy", y(known[at].chance));
    pointFn(known[at]);
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const off = known.map((point) => Math.abs(x(point.count) - ((event.clientX - box.left) / box.width) * WIDTH));
    look(off.indexOf(Math.min(...off)));
  });
  const label = "The chance after each answer. Left and right arrow keys go through the answers.";
  const figure = explain(
    h(
      "figure",
      { class: "chart-figure", tabindex: "0", role: "group", "aria-label": label, "data-own-keys": true },
      svg,
      table(known),
    ),
    explanation,
  );
  figure.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    look(at + (event.key === "ArrowRight" ? 1 : -1));
  });
  return figure;
}

/** Return the points that still stand: an answer that was taken back or corrected takes those after it along. */
function standing(course) {
  const points = [];
  for (const point of course) {
    while (points.length && points.at(-1).count >= point.count) points.pop();
    points.push(point);
  }
  return points;
}

function summary(known, delta) {
  const now = known.at(-1);
  if (!now) return "No answers yet.";
  const [chance, first, wanted] = [now.chance, known[0].chance, delta].map(percent);
  return `Chance of too much regret after ${now.count} answers: ${chance}, wanted at most ${wanted}. At first: ${first}.`;
}

/** The same numbers as a table, for those who do not see the chart. */
function table(known) {
  return h(
    "table",
    { class: "sr-only" },
    h("caption", {}, "Chance of too much regret after each answer"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Answers"), h("th", { scope: "col" }, "Chance"))),
    h(
      "tbody",
      {},
      known
        .slice(-30)
        .map((point) => h("tr", {}, h("td", {}, String(point.count)), h("td", {}, percent(point.chance)))),
    ),
  );
}
