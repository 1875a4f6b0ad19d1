/** The question on the page: words, drawing, buttons, and what else can be said. */

import { h, refill, say } from "../dom.js";
import { makeStage } from "../drawing/stage.js";
import { explain, explainAgain, explained } from "../explain.js";
import { counted } from "../words.js";
import { shownKeys } from "./keys.js";
import { Legend } from "./legend.js";
import { letGo, Pad } from "./pad.js";

const WAITING = {
  loading: "One moment …",
  preparing: "The next question is being chosen …",
  finished: "There is nothing left to ask.",
};

export class Ask {
  constructor(session, store) {
    Object.assign(this, { session, store });
    this.numbered = explained("", "");
    this.count = h("p", { class: "eyebrow" }, this.numbered);
    this.title = h("h2", { id: "question", tabindex: "0" });
    this.again = h("p", { class: "again" });
    this.why = h(
      "details",
      { class: "why", open: window.matchMedia("(min-width: 62rem)").matches },
      h("summary", {}, "Why this question?"),
      h("p", {}),
    );
    this.stageHolder = h("div");
    this.pad = new Pad((action) => session.choose(action));
    this.said = h("p", { class: "said", role: "status" });
    this.hint = h("p", { class: "hint keys-hint" });
    this.tools = this.makeTools();
    this.commenting = this.makeComment();
    this.waiting = h("div", { class: "waiting" }, h("span", { class: "spinner", "aria-hidden": "true" }), h("p", {}));
    this.body = h(
      "div",
      { class: "ask-body" },
      this.stageHolder,
      h("div", { class: "controls" }, this.pad.element, this.said, this.tools, this.commenting),
    );
    this.element = h(
      "section",
      { class: "card ask", "aria-labelledby": "question" },
      this.count,
      this.title,
      this.again,
      this.waiting,
      this.body,
      this.hint,
      this.why,
    );
    const { explain: words } = store.get("study");
    for (const part of [this.title, this.said]) explain(part, words.place);
    explain(this.again, words.history);
    explain(this.why.lastChild, words.why);
    store.on(["world"], ({ world }) => world && this.setWorld(world));
    store.on(["question", "phase", "message"], (values) => this.show(values));
    store.on(["said"], ({ said }) => this.showSaid(said));
  }

  setWorld(world) {
    this.stage = makeStage(world, (action) => this.session.choose(action), this.store.get("study").explain);
    this.legend = new Legend(world);
    refill(this.stageHolder, this.stage.element, this.legend.element);
  }

  makeTools() {
    const tool = (name, label, key, act) => {
      const button = h(
        "button",
        { type: "button", class: "tool", onclick: (event) => letGo(event) || act() },
        label,
        h("kbd", { "aria-hidden": "true" }, key),
      );
      this[`${name}Button`] = button;
      return button;
    };
    return h(
      "div",
      { class: "tools", role: "group", "aria-label": "Other answers" },
      tool("undo", "Undo", "U", () => this.session.undo()),
      tool("skip", "Skip", "N", () => this.session.skip()),
      tool("cannot", "Cannot be answered", "X", () => this.session.cannot()),
      tool("end", "End here", "E", () => this.session.end()),
      tool("comment", "Comment", "C", () => this.toggleComment()),
    );
  }

  makeComment() {
    this.field = h("textarea", { id: "comment", rows: "2", maxlength: "2000" });
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.keepComment();
      }
      if (event.key === "Escape") this.toggleComment(false);
    });
    return h(
      "div",
      { class: "comment", hidden: true },
      h("label", { for: "comment" }, "Comment on this question"),
      this.field,
      h(
        "p",
        { class: "hint" },
        h("button", { type: "button", onclick: () => this.keepComment() }, "Keep comment"),
        " or ",
        h("kbd", {}, "Ctrl"),
        " ",
        h("kbd", {}, "Enter"),
        ". It is also kept when you answer.",
      ),
    );
  }

  get isCommenting() {
    return !this.commenting.hidden && this.field.value.trim() !== this.keptComment;
  }

  toggleComment(isOpen = this.commenting.hidden) {
    this.commenting.hidden = !isOpen;
    this.commentButton.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) this.field.focus();
    else this.title.focus({ preventScroll: true });
  }

  keepComment() {
    this.keptComment = this.field.value.trim();
    this.session.comment(this.keptComment);
    this.toggleComment(false);
  }

  show({ question, phase, message, world, numAnswers }) {
    const isWaiting = !question;
    Object.assign(this.element.dataset, { phase, question: question?.id ?? "" });
    this.waiting.hidden = !isWaiting;
    for (const part of [this.hint, this.why, this.count, this.again]) part.hidden = isWaiting;
    this.element.classList.toggle("without-question", isWaiting); // what was said last stays
    this.element.classList.toggle("correcting", phase === "correcting");
    this.element.setAttribute("aria-busy", String(phase === "saving" || phase === "preparing"));
    if (isWaiting) {
      say(this.title, phase === "finished" ? WAITING.finished : numAnswers > 0 ? "Thank you." : "One moment.");
      say(this.waiting.lastChild, message || WAITING[phase] || WAITING.loading);
      this.waiting.firstChild.hidden = phase === "finished";
      return;
    }
    if (!world) return;
    if (question.id !== this.shownId) this.newQuestion(question);
    const { kind, steps = [], length, correcting } = question;
    explainAgain(
      this.numbered,
      correcting ? correctingWords(question) : countWords(question),
      this.store.get("study").explain.question,
    );
    say(
      this.title,
      correcting ? `${sentence(question.place)}: what would you do instead of “${correcting.answer}”?` : question.text,
    );
    say(this.again, correcting ? "" : againWords(question));
    say(this.why.lastChild, question.why ?? "");
    this.stage.show({
      state: question.here,
      options: question.actions,
      trail: steps.map((step) => withIntended(world, step)),
      label: `${pictureWords(world)} ${question.place}.`,
    });
    const hasLostFocus = this.pad.show(question.actions, phase === "saving");
    if (hasLostFocus) this.title.focus({ preventScroll: true });
    this.endButton.hidden = kind !== "trajectory";
    this.endButton.setAttribute("aria-disabled", String(steps.length === 0));
    this.undoButton.firstChild.textContent = correcting
      ? "Cancel"
      : kind === "trajectory" && steps.length
        ? "Undo step"
        : "Undo";
    this.skipButton.hidden = this.cannotButton.hidden = Boolean(correcting);
    const hint = hintFor(world, question.actions);
    if (String(hint.map((part) => part.textContent ?? part)) !== this.hint.dataset.said) refill(this.hint, hint);
    this.hint.dataset.said = String(hint.map((part) => part.textContent ?? part));
    this.element.style.setProperty("--progress", length ? `${(100 * steps.length) / length}%` : "0%");
    this.legend.show(question.here);
  }

  /** Make ready for another question; a comment that was typed, box open or closed, is kept with the one before. */
  newQuestion(question) {
    const typed = this.field.value.trim();
    if (this.shownId !== undefined && typed !== this.keptComment) this.session.comment(typed, this.shownId);
    this.shownId = question.id;
    this.keptComment = question.comment ?? "";
    this.field.value = this.keptComment;
    if (!this.commenting.hidden) this.toggleComment(false);
    if (document.activeElement === document.body) this.title.focus({ preventScroll: true });
  }

  showSaid(said) {
    say(this.said, said?.text ?? "");
    this.said.className = `said ${said?.tone ?? ""}`;
  }
}

function correctingWords({ number, correcting }) {
  const whose = correcting.annotator ? `, by ${correcting.annotator}` : "";
  return number ? `Correcting answer ${number}${whose}` : `Correcting an answer that was taken back${whose}`;
}

/** Return why a place that was answered is there again, in short; the long words are in "Why this question?". */
function againWords({ is_again: isAgain, previous, num_before: count, kind, steps = [] }) {
  if (isAgain && previous) return `Asked again: the answer was “${previous}”.`;
  if (!count || steps.length) return "";
  const times = { 1: "once", 2: "twice" }[count] ?? `${count} times`;
  const what = kind === "trajectory" ? "A run from here" : "This place";
  return `${what} was answered ${times} before. That is no mistake: see below why you are asked again. Answer as you would now.`;
}

function countWords({ kind, steps = [], length, is_over: isOver, number, num_answers: count }) {
  const question = `Question ${number ?? count + 1}`;
  if (kind !== "trajectory") return question;
  return isOver ? `${question} · the run is over` : `${question} · step ${steps.length + 1} of at most ${length}`;
}

function hintFor(world, actions) {
  const arrows = actions.some((one) => one.keys.some((key) => key.startsWith("Arrow")));
  const letters = actions.some((one) => one.keys.includes("w") || one.keys.includes("a"));
  const stay = actions.find((one) => one.keys.includes(" "));
  const words = [];
  if (arrows) words.push(`arrow keys${letters ? " or WASD" : ""} move`);
  if (stay) words.push(`space means ${stay.label}`);
  if (world.kind !== "list") words.push("or click on a place next to you");
  const keys = arrows ? [] : actions.map((one) => shownKeys(one.keys)[0]).filter(Boolean);
  const text = sentence(words.join(", "));
  if (!keys.length) return [`${text}.`];
  return [text ? `${text}, keys ` : "Keys ", keys.map((key, i) => [i ? " " : "", h("kbd", {}, key)]), "."].flat(3);
}

const pictureWords = (world) =>
  world.kind === "grid"
    ? `Map of ${world.height} by ${world.width} cells. You are at`
    : `Map of ${counted(world.places.length, "place")}. You are at`;

const withIntended = (world, step) => ({
  ...step,
  intended: step.intended ?? world.outcomes?.[step.state]?.[step.action]?.[0]?.[0] ?? null,
});

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
