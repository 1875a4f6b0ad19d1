/**
 * One person answers: which question is open, what was said, and what comes next.
 *
 * An answer shows at once; it is sent from the outbox, which tries until the server has it, and the next question comes
 * with the acknowledgement. Nothing can be answered before it was seen.
 */

import { Refusal } from "../api.js";
import { after } from "../dom.js";

const READING = 1100; // milliseconds for which the last step of a run stays visible
const SURE = 8000; // milliseconds within which something that is for good has to be said again

export class Session {
  /**
   * `stageFn()` is the drawing of the moment; `announce(text)` speaks to screen readers; `refused(error)` hears why
   * this person is asked nothing here, whatever they do.
   */
  constructor({ api, outbox, store, stageFn, announce, refused }) {
    Object.assign(this, { api, outbox, store, stageFn, announce, refused });
    Object.assign(this, { resume: null, isFetching: false, isStale: false, undoable: null, doubted: null, numDone: 0 });
  }

  get question() {
    return this.store.get("question");
  }

  get phase() {
    return this.store.get("phase");
  }

  /** Ask the server which question is open; one request at a time, and once more if that was asked for meanwhile. */
  async fetch() {
    if (this.phase === "saving") return;
    if (this.isFetching) return void (this.isStale = true);
    this.isFetching = true;
    const { numDone } = this;
    try {
      const next = await this.api.get("question");
      const isOld = this.isStale || numDone !== this.numDone;
      if (!isOld && this.phase !== "saving" && this.phase !== "correcting") this.take(next);
    } catch (error) {
      if (error instanceof Refusal) this.fail(error);
    } finally {
      this.isFetching = false;
    }
    const { isStale } = this;
    this.isStale = false;
    if (isStale || (numDone !== this.numDone && this.phase === "loading")) await this.fetch();
  }

  /** Say that no question can be had; for good, unless it is the server's fault or that of a token that was replaced. */
  fail(error) {
    if (error.status === 401 || error.status >= 500) this.tell(error.message, "bad");
    else this.refused(error);
  }

  /** Go on if the question that is shown is not among the `open` ones any more: another page or program answered. */
  async follow(open) {
    const { question, phase } = this;
    if (phase !== "asking" || question.steps?.length || open.includes(question.id)) return;
    await this.fetch();
    if (this.phase === "asking" && this.question.id !== question.id)
      this.tell("The question that was here has been answered elsewhere. This is the next one.");
  }

  /** Show what comes next: a question, or why there is none. */
  take(next, before = "") {
    if (!next) return;
    if (next.undoable !== undefined) this.undoable = next.undoable;
    if (!next.question) {
      this.store.set({ question: null, phase: next.state, message: next.message ?? "" });
      return;
    }
    const isNew = next.question.id !== this.question?.id;
    if (isNew) this.doubted = null;
    this.store.set({ question: next.question, phase: "asking", message: "" });
    if (isNew || next.question.kind === "trajectory") this.announce(`${before} ${next.question.text}`.trim());
  }

  tell(text, tone = "calm") {
    this.store.set({ said: { text, tone } });
  }

  /** Give an action: the answer, the next step of a run, or the correction of an earlier answer. */
  async choose(action) {
    const option = this.question?.actions.find((one) => one.action === action);
    if (!option) return;
    if (this.phase === "correcting") await this.finishCorrecting(option);
    else if (this.phase === "asking")
      await (this.question.kind === "trajectory" ? this.step(option) : this.answer(option));
  }

  async answer({ action, label }) {
    const { id, place } = this.question;
    this.store.set({ phase: "saving", draft: { question: id, place, answer: label } });
    this.tell(`${label} …`);
    const shown = this.stageFn().confirm(action);
    await this.exchange("answer", { question: id, action }, async (reply) => {
      this.undoable = reply.kept;
      this.tell(`Kept: ${label}.`);
      await shown;
      this.store.set({ numAnswers: reply.num_answers });
      this.take(reply.next);
    });
  }

  async step({ action, label }) {
    const before = this.question;
    this.store.set({ phase: "saving" });
    this.stageFn().lean(action);
    await this.exchange("step", { question: before.id, number: before.steps.length, action }, async (reply) => {
      const { step } = reply;
      const happened = this.happened(step, label);
      this.tell(happened, step.slipped ? "slip" : "calm");
      if (reply.kept !== null) {
        this.undoable = reply.kept;
        const here = step.next_state ?? step.state;
        this.store.set({
          question: { ...before, here, steps: [...before.steps, step], actions: [], is_over: true },
          numAnswers: reply.num_answers,
        });
        this.announce(`${happened} The run is over, and kept.`);
        await after(READING);
      }
      this.take(reply.next, step.slipped ? happened : "");
    });
  }

  /** Return what a step did, in words. */
  happened({ state, next_state: next, slipped: isSlip }, label) {
    const { states } = this.store.get("world");
    if (next === null) return `${label}: that was the end.`;
    if (isSlip)
      return `You chose ${label}, but slipped${next === state ? " and stayed here" : ` to ${states[next].words}`}.`;
    return next === state ? `${label}: you are still here.` : `${label}, to ${states[next].words}.`;
  }

  /** Take back the last step of a run, or the last answer. */
  async undo() {
    if (this.phase === "correcting") return this.cancel();
    if (this.phase === "saving") return;
    const { question } = this;
    const steps = question?.kind === "trajectory" ? question.steps.length : 0;
    if (steps > 0) {
      await this.exchange("step/undo", { question: question.id, number: steps - 1 }, (reply) => {
        this.tell("The last step was taken back.");
        this.take(reply.next);
      });
      return;
    }
    const id = this.undoable ?? (await this.lastAnswer());
    if (id === null) return this.tell("There is no answer of yours to take back.");
    await this.undoAnswer(id);
  }

  async undoAnswer(id) {
    this.store.set({ isFinishShown: false });
    await this.exchange("undo", { answer: id }, (reply) => {
      this.undoable = null;
      this.tell("Taken back. Answer it again, or skip it.");
      this.store.set({ numAnswers: reply.num_answers });
      this.take(reply.next);
    });
  }

  async lastAnswer() {
    try {
      const { items } = await this.api.get("history", { mine: true, limit: 20 });
      return items.find((item) => item.can_undo)?.id ?? null;
    } catch {
      return null;
    }
  }

  async skip() {
    if (this.phase !== "asking") return;
    await this.exchange("skip", { question: this.question.id }, (reply) => {
      this.tell("Skipped. This place may be asked about again.");
      this.take(reply.next);
    });
  }

  /** Say that a question cannot be answered; that is for good, so that it has to be said twice. */
  async cannot() {
    if (this.phase !== "asking") return;
    const { id } = this.question;
    if (this.doubted?.id !== id || Date.now() - this.doubted.at > SURE) {
      this.doubted = { id, at: Date.now() };
      this.tell("Nobody would be asked about this place again, and that cannot be undone. Do it once more to confirm.");
      return;
    }
    await this.exchange("cannot", { question: id }, (reply) => {
      this.tell("This place will not be asked about again.");
      this.take(reply.next);
    });
  }

  /** End a run here. */
  async end() {
    if (this.phase !== "asking" || this.question.kind !== "trajectory" || this.question.steps.length === 0) return;
    await this.exchange("end", { question: this.question.id }, (reply) => {
      this.undoable = reply.kept;
      this.tell("The run ends here, and is kept.");
      this.store.set({ numAnswers: reply.num_answers });
      this.take(reply.next);
    });
  }

  /** Keep a comment on a question, by default the one that is open. */
  async comment(text, id = this.question?.id) {
    if (id === undefined) return;
    try {
      await this.outbox.send("comment", { question: id, text });
      this.tell(text ? "Your comment is kept." : "Your comment is removed.");
      if (this.question?.id === id) this.store.set({ question: { ...this.question, comment: text } });
    } catch (error) {
      this.tell(error.message, "bad");
    }
    this.store.set({ historyAge: this.store.get("historyAge") + 1 });
  }

  /** Let an earlier answer be corrected on the drawing; a run is walked again instead. */
  async correct(item) {
    if (this.phase === "saving") return;
    if (item.kind === "trajectory") return this.undoAnswer(item.id);
    this.store.set({ isFinishShown: false });
    this.doubted = null;
    this.resume ??= this.question;
    let question;
    try {
      question = await this.api.get(`question/${item.question}`);
      question = question.question ?? question;
    } catch {
      question = this.rebuilt(item);
    }
    const correcting = { ...item, answer: item.answer ?? question.previous ?? "nothing" };
    this.store.set({ phase: "correcting", question: { ...question, steps: [], correcting } });
    this.announce(`Correcting. ${question.place}: what would you do? It was ${correcting.answer}.`);
  }

  rebuilt(item) {
    const world = this.store.get("world");
    const actions = world.actions.map((one) => ({
      ...one,
      words: "",
      leads_to: world.outcomes?.[item.state]?.[one.action]?.[0]?.[0] ?? null,
    }));
    return {
      id: item.question,
      kind: "state",
      state: item.state,
      here: item.state,
      place: item.place,
      why: item.why,
      comment: item.comment,
      actions,
    };
  }

  async finishCorrecting({ action, label }) {
    const { correcting } = this.question;
    const shown = this.stageFn().confirm(action);
    await this.exchange("correct", { answer: correcting.id, action }, async () => {
      await shown;
      this.tell(`Corrected: ${label} instead of ${correcting.answer}.`);
      if (this.resume?.id === correcting.question) this.resume = null; // it had been taken back: now it is answered
      this.cancel();
    });
  }

  /** Leave a correction. */
  cancel() {
    const question = this.resume;
    this.resume = null;
    this.store.set({ phase: question ? "asking" : "loading", question });
    this.fetch(); // it may have been answered elsewhere meanwhile
  }

  /** Send a request and go on with its reply; what the server refuses is said, and the open question shown again. */
  async exchange(route, body, replied) {
    this.doubted = null;
    this.numDone += 1;
    this.store.set({ phase: "saving" });
    try {
      const reply = await this.outbox.send(route, body);
      await replied(reply);
      if (this.phase === "saving") this.store.set({ phase: this.question ? "asking" : "loading" });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.tell(error.message, "bad");
      this.resume = null;
      this.store.set({ phase: "loading" });
      await this.fetch();
    } finally {
      this.store.set({ historyAge: this.store.get("historyAge") + 1 });
    }
  }
}
