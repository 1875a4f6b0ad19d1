/** The first page: what this study is about, how far it is, and how to make another one. */

import { StudyApi } from "./api.js";
import { createForm } from "./create.js";
import { after, h, refill, say } from "./dom.js";
import { explain } from "./explain.js";
import { counted } from "./words.js";

const STUDY = "A study, how many different situations its world has, and how many answers count so far.";
const MOST_LETTERS = 64; // of a name, as the server counts
const AGAIN = 2000; // milliseconds until it is asked again how far it is

/** `begin(study, annotator)` goes to the questions, `open(study)` to the first page of another study. */
export function showStart(main, { overview, study, annotator, begin, open }) {
  const others = overview.studies.filter(({ name }) => name !== study?.name);
  refill(
    main,
    h(
      "div",
      { class: "start" },
      study
        ? welcome(study, annotator, begin)
        : h(
            "section",
            { class: "card hero" },
            h("h1", {}, "Teach an apprentice"),
            h(
              "p",
              { class: "lead" },
              "It asks where an answer matters most, and says when it has probably learned enough.",
            ),
          ),
      others.length > 0 &&
        h(
          "section",
          { class: "card", "aria-labelledby": "others" },
          h("h2", { id: "others" }, study ? "Other studies" : "Studies"),
          h(
            "ul",
            { class: "studies" },
            others.map(({ name, num_answers: count, num_states: states }) =>
              explain(
                h(
                  "li",
                  {},
                  h("button", { type: "button", onclick: () => open(name) }, name),
                  typeof count === "number" && h("span", { class: "hint" }, sizeWords(states, count)),
                ),
                STUDY,
              ),
            ),
          ),
        ),
      overview.can_create && createForm(overview, open, !study && others.length === 0),
    ),
  );
  main.querySelector("h1")?.setAttribute("tabindex", "-1");
  main.querySelector("h1")?.focus();
}

function sizeWords(states, count) {
  return [states && counted(states, "place"), counted(count, "answer")].filter(Boolean).join(", ");
}

function welcome(study, annotator, begin) {
  const words = study.num_answers === 0 ? "No answers yet." : `${counted(study.num_answers, "answer")} so far.`;
  const far = explain(
    h("p", { class: "lead", role: "status" }, words),
    `${study.explain.answers} ${study.explain.goal}`,
  );
  const bar = h(
    "div",
    { class: "meter", hidden: true, "aria-hidden": "true" },
    h("span", { class: "meter-fill" }),
    h("span", { class: "meter-mark" }),
  );
  const who = whoAnswers(study, annotator);
  const go = h(
    "button",
    { type: "button", class: "primary large", onclick: start },
    study.num_answers ? "Continue" : "Start",
  );
  const fault = h("p", { class: "error", role: "alert" }, annotator && nameFault(annotator, study));
  function start() {
    say(fault, nameFault(who.name() ?? "", study));
    if (fault.textContent) who.field?.focus();
    else begin(study.name, who.name());
  }
  who.field?.addEventListener("keydown", (event) => event.key === "Enter" && go.click());
  showDistance(study, far, bar);
  return h(
    "section",
    { class: "card hero" },
    h("p", { class: "eyebrow" }, "Study"),
    h("h1", {}, study.name),
    explain(h("p", { class: "question" }, questionWords(study)), study.length === null ? "" : study.explain.length),
    explain(h("p", {}, study.intro ?? ""), study.explain.places),
    far,
    bar,
    h("div", { class: "go" }, who.element, go),
    fault,
  );
}

function questionWords({ kind, length }) {
  return kind === "trajectory"
    ? `“Start here. What would you do?” You continue step by step, for at most ${length} steps.`
    : "“You are here. What would you do?” One action per question.";
}

/** Say how far the certificate is, as soon as the server knows, for as long as the page is shown. */
async function showDistance(study, words, bar) {
  const api = new StudyApi(study.name, null);
  do {
    const found = await Promise.all([api.get("belief"), api.get("certificate")]).catch(() => null);
    if (found) describe(...found, words, bar);
    await after(AGAIN);
  } while (words.isConnected);
}

function describe(belief, certificate, words, bar) {
  if (certificate.is_enough && certificate.is_current) say(words, certificate.headline);
  else if (belief.is_ready) say(words, `${counted(belief.num_answers, "answer")} so far: ${belief.progress_words}.`);
  bar.hidden = !belief.is_ready || belief.sure === null;
  bar.style.setProperty("--sure", `${100 * belief.sure}%`);
  bar.style.setProperty("--wanted", `${100 * belief.wanted}%`);
}

/** Return what is wrong with a name, in words, and what to do; nothing if it can be taken. */
function nameFault(name, { annotators }) {
  const [long, odd] = [[...name].length > MOST_LETTERS, /\p{C}|(?! )\p{Z}/u.test(name)];
  if (long)
    return `A name has at most ${MOST_LETTERS} letters; this one has ${[...name].length}. Choose a shorter one.`;
  if (odd) return "This name has characters that cannot be seen. Type it again.";
  if (name && annotators && !annotators.includes(name))
    return `This study does not know “${name}”. Choose who you are.`;
  return "";
}

/** A field for the name, or a choice where the problem knows who answers; the address may have said it already. */
function whoAnswers(study, annotator) {
  const { annotators } = study;
  if (annotator && !nameFault(annotator, study))
    return { element: h("p", {}, "You answer as ", h("strong", {}, annotator), "."), name: () => annotator };
  if (annotators) {
    const field = h(
      "select",
      { id: "who" },
      annotators.map((name) => h("option", { value: name }, name)),
    );
    return { field, element: h("div", {}, h("label", { for: "who" }, "Who are you?"), field), name: () => field.value };
  }
  const field = h("input", { id: "who", autocomplete: "nickname", placeholder: "optional" });
  return {
    field,
    element: h("div", {}, h("label", { for: "who" }, "Your name"), field),
    name: () => field.value.trim() || null,
  };
}
