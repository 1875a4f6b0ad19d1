/**
 * What was said and is not acknowledged yet. It is sent in order, again and again until the server has it, also after
 * this page was loaded anew. Every request says what it means by number, so that one that arrives twice counts once.
 */

import { Lost } from "./api.js";
import { after } from "./dom.js";

const WAITS = [250, 500, 1000, 2000]; // milliseconds before the next try

export class Outbox {
  /** `lost(isLost, reason)` hears when the server stops or starts to take them, `refused(error)` what it refuses of old. */
  constructor(api, { lost, refused }) {
    Object.assign(this, { api, lost, refused, isLost: false, reason: "" });
    this.key = `journeyman-outbox:${api.study}:${api.annotator ?? ""}`;
    this.waiting = JSON.parse(sessionStorage.getItem(this.key) ?? "[]").map((item) => ({ ...item, settle: null }));
    this.running = null;
    this.wake = () => {};
  }

  /** Send a request after those before it; resolves to the answer, rejects only if the server refuses. */
  send(route, body) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ route, body, settle: { resolve, reject } });
      this.store();
      this.run();
    });
  }

  /** Send what an earlier page left behind. */
  async flush() {
    this.run();
    await this.running;
  }

  /** Try again now, e.g. because the connection is back. */
  hurry() {
    this.wake();
  }

  run() {
    this.running ??= this.work().finally(() => (this.running = null));
  }

  async work() {
    for (let tries = 0; this.waiting.length > 0;) {
      const { route, body, settle } = this.waiting[0];
      try {
        const answer = await this.api.post(route, body);
        this.done();
        settle?.resolve(answer);
        tries = 0;
      } catch (error) {
        if (error instanceof Lost) {
          this.say(true, error.reason);
          await Promise.race([
            after(WAITS[Math.min(tries++, WAITS.length - 1)]),
            new Promise((resolve) => (this.wake = resolve)),
          ]);
        } else {
          this.done();
          (settle?.reject ?? this.refused)(error);
        }
      }
    }
  }

  done() {
    this.waiting.shift();
    this.store();
    this.say(false);
  }

  say(isLost, reason = "") {
    if (isLost === this.isLost && reason === this.reason) return;
    Object.assign(this, { isLost, reason });
    this.lost(isLost, reason);
  }

  store() {
    const plain = this.waiting.map(({ route, body }) => ({ route, body }));
    if (plain.length) sessionStorage.setItem(this.key, JSON.stringify(plain));
    else sessionStorage.removeItem(this.key);
  }
}
