/** Whether the model fits the answers, and what else is doubtful, in words. */

import { h, refill } from "../dom.js";
import { explain, explainAgain, explained } from "../explain.js";
import { plain } from "../words.js";

const MARKS = { fits: ["✓", "good"], doubtful: ["!", "open"], unknown: ["…", ""] };

export function modelPanel(store) {
  const verdict = explained("", "", "verdict-word");
  const sentences = h("ul", { class: "sentences" });
  const expert = h("ul", { class: "sentences" });
  const details = h("ul", { class: "sentences" });
  const warnings = h(
    "div",
    { class: "warning", role: "group", "aria-label": "Warnings" },
    "The numbers on this page are rougher than usual. That is no fault of your answers, which are all kept; more " +
      "answers or time may help.",
    h("details", {}, h("summary", {}, "For the person who set up this study"), details),
  );
  const element = h(
    "section",
    { class: "card model", "aria-labelledby": "model-title" },
    h("h3", { id: "model-title" }, "Does the model fit your answers?"),
    verdict,
    sentences,
    expert,
    warnings,
  );
  store.on(["belief"], ({ belief }) => {
    element.hidden = !belief?.is_ready;
    if (!belief?.is_ready) return;
    const { model, explain: meaning = {} } = belief;
    const [mark, tone] = MARKS[model?.status] ?? MARKS.unknown;
    explainAgain(verdict, `${mark} ${model?.headline ?? "Not known yet."}`, meaning.model);
    verdict.className = `explained verdict-word ${tone}`;
    refill(
      sentences,
      [...(model?.sentences ?? []), ...(model?.advice ?? [])].map((text) => explain(h("li", {}, text), meaning.model)),
    );
    refill(
      expert,
      (belief.expert ?? []).map(({ name, mean, interval }) =>
        h(
          "li",
          {},
          explained(`${name}: ${plain(mean)} (${plain(interval?.[0])} to ${plain(interval?.[1])})`, meaning.expert),
        ),
      ),
    );
    const texts = belief.warnings ?? [];
    if (String(texts) !== warnings.dataset.shown)
      refill(
        details,
        texts.map((text) => explain(h("li", {}, text), meaning.warnings)),
      );
    warnings.dataset.shown = String(texts);
    warnings.hidden = texts.length === 0;
    for (const list of [sentences, expert]) list.hidden = list.children.length === 0;
  });
  return element;
}
