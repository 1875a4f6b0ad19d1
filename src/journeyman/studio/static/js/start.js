/** The first page: what this study is about, how far it is, and how to make another one. */

import { h, refill, say } from "./dom.js";
import { StudyApi } from "./api.js";
import { createForm } from "./create.js";
import { counted, percent } from "./words.js";

/** `begin(study, annotator)` goes to the questions, `open(study)` to the first page of another study. */
export function showStart(main, { overview, study, annotator, begin, open }) {
  const others = overview.studies.filter(({ name }) => name !== study?.name);
  refill(main, h("div", { class: "start" },
    study ? welcome(study, annotator, begin) : h("section", { class: "card hero" }, h("h1", {}, "Teach an apprentice"), h("p", { class: "lead" }, "It asks only the questions that matter, and stops when it can prove that it has learned enough.")),
    others.length > 0 && h("section", { class: "card", "aria-labelledby": "others" },
      h("h2", { id: "others" }, study ? "Other studies" : "Studies"),
      h("ul", { class: "studies" }, others.map(({ name, num_answers: count, num_states: states }) =>
        h("li", {}, h("button", { type: "button", onclick: () => open(name) }, name), h("span", { class: "hint" }, `${counted(states, "place")}, ${counted(count, "answer")}`))))),
    overview.can_create && createForm(overview, open, !study && others.length === 0)));
  main.querySelector("h1")?.setAttribute("tabindex", "-1");
  main.querySelector("h1")?.focus();
}

function welcome(study, annotator, begin) {
  const far = h("p", { class: "lead", role: "status" }, study.num_answers === 0 ? "No answers yet." : `${counted(study.num_answers, "answer")} so far.`);
  const bar = h("div", { class: "meter", hidden: true, "aria-hidden": "true" }, h("span", { class: "meter-fill" }), h("span", { class: "meter-mark" }));
  const who = whoAnswers(study, annotator);
  const go = h("button", { type: "button", class: "primary large", onclick: () => begin(study.name, who.name()) }, study.num_answers ? "Go on" : "Start");
  who.field?.addEventListener("keydown", (event) => event.key === "Enter" && go.click());
  showDistance(study, far, bar);
  return h("section", { class: "card hero" },
    h("p", { class: "eyebrow" }, "Study"), h("h1", {}, study.name),
    h("p", { class: "question" }, questionWords(study)),
    h("p", {}, study.intro ?? ""), far, bar, h("div", { class: "go" }, who.element, go));
}

function questionWords({ kind, length }) {
  return kind === "trajectory" ? `“Start here. What would you do?” You go on step by step, for at most ${length} steps.` : "“You are here. What would you do?” One answer each.";
}

/** Say how far the certificate is, as soon as the server knows. */
async function showDistance(study, words, bar) {
  try {
    const api = new StudyApi(study.name, null);
    const [belief, certificate] = await Promise.all([api.get("belief"), api.get("certificate")]);
    if (certificate.is_enough) return say(words, certificate.headline);
    if (!belief.is_ready || belief.sure === null) return;
    say(words, `${counted(belief.num_answers, "answer")} so far: ${belief.progress_words ?? `${percent(belief.sure)} sure, wanted ${percent(belief.wanted)}`}.`);
    bar.hidden = false;
    bar.style.setProperty("--sure", `${100 * belief.sure}%`);
    bar.style.setProperty("--wanted", `${100 * belief.wanted}%`);
  } catch {
    // The page says how many answers there are; the rest comes with the questions.
  }
}

/** A field for the name, or a choice where the problem knows who answers; the address may have said it already. */
function whoAnswers({ annotators }, annotator) {
  if (annotator) return { element: h("p", {}, "You answer as ", h("strong", {}, annotator), "."), name: () => annotator };
  if (annotators) {
    const field = h("select", { id: "who" }, annotators.map((name) => h("option", { value: name }, name)));
    return { field, element: h("div", {}, h("label", { for: "who" }, "Who are you?"), field), name: () => field.value };
  }
  const field = h("input", { id: "who", maxlength: "64", autocomplete: "nickname", placeholder: "optional" });
  return { field, element: h("div", {}, h("label", { for: "who" }, "Your name"), field), name: () => field.value.trim() || null };
}
