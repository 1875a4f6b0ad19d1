/** What was answered, newest first, with undo and correct. */

import { Refusal } from "../api.js";
import { h, refill, say } from "../dom.js";
import { explain } from "../explain.js";
import { counted } from "../words.js";

const PAGE = 12;
const STATUS = { taken_back: "taken back", skipped: "skipped", cannot: "cannot be answered", waiting: "open" };

/** What happened to an answer after it was given; not what stands in its place anyway. */
const changedWords = ({ changed }, what) => (changed === what ? "" : changed);

export function historyPanel(store, session) {
  const list = h("ol", { class: "history", "aria-label": "Answers, newest first" });
  const more = h(
    "button",
    { type: "button", class: "quiet", hidden: true, onclick: () => load(list.children.length + PAGE) },
    "Show more",
  );
  const summary = h("p", { class: "hint" });
  const meaning = store.get("study").explain.history;
  const element = h(
    "section",
    { class: "card", "aria-labelledby": "history-title" },
    h("h3", { id: "history-title" }, "Answers so far"),
    summary,
    list,
    more,
  );
  let [items, limit, isLoading, isStale] = [[], PAGE, false, false];
  let armed = null; // the answer of somebody else that is taken back if that is said once more

  async function load(count = limit) {
    limit = count;
    if (isLoading) return void (isStale = true);
    isLoading = true;
    try {
      const found = await session.api.get("history", { limit });
      items = found.items;
      more.hidden = !found.more;
      store.set({ draft: null });
      draw();
    } catch (error) {
      if (error instanceof Refusal) say(summary, error.message);
    } finally {
      isLoading = false;
      if (isStale) {
        isStale = false;
        load();
      }
    }
  }

  function draw() {
    const draft = store.get("draft");
    const shown = items.filter((item) => item.status !== "waiting" && item.question !== draft?.question);
    const focused = document.activeElement?.closest?.(".history [data-do]")?.dataset.do;
    refill(
      list,
      draft &&
        explain(
          h(
            "li",
            { class: "draft" },
            h("span", { class: "what" }, draft.answer),
            h("span", { class: "where" }, draft.place),
            h("span", { class: "hint" }, "saving …"),
          ),
          meaning,
        ),
      shown.map(row),
    );
    if (focused) list.querySelector(`[data-do="${focused}"]`)?.focus();
    const counts = shown.filter((item) => item.status === "counts").length;
    say(summary, counts === 0 && !draft ? "None yet." : "");
  }

  function row(item) {
    const counts = item.status === "counts";
    const what = item.answer ?? STATUS[item.status] ?? item.status;
    const steps = item.kind === "trajectory" && counts ? counted(item.steps.length, "step") : null;
    const numbered = item.number !== null && h("span", { class: "nth" }, String(item.number));
    const shown = h(
      "li",
      { class: counts ? "" : "void" },
      h("span", { class: "what" }, numbered, steps ?? what),
      h("span", { class: "where" }, [item.place, item.annotator].filter(Boolean).join(" · ")),
      h(
        "span",
        { class: "who hint" },
        [changedWords(item, what), item.comment && `“${item.comment}”`].filter(Boolean).join(" · "),
      ),
      h(
        "span",
        { class: "acts" },
        item.can_correct &&
          act(item, "correct", item.kind === "trajectory" ? "Walk again" : "Correct", () => session.correct(item)),
        item.can_undo && act(item, "undo", armed === item.id ? "Undo it?" : "Undo", () => undo(item)),
      ),
    );
    return explain(shown, meaning);
  }

  /** Take an answer back; that of somebody else only if it is said twice. */
  function undo(item) {
    const isOwn = item.annotator === session.api.annotator;
    if (isOwn || armed === item.id) {
      armed = null;
      return session.undoAnswer(item.id);
    }
    armed = item.id;
    session.tell(`This is the answer of ${item.annotator ?? "somebody else"}. Press “Undo it?” to take it back.`);
    draw();
  }

  function act(item, name, label, doFn) {
    return h(
      "button",
      {
        type: "button",
        class: "quiet",
        "data-do": `${name}-${item.id}`,
        onclick: doFn,
        "aria-label": `${label}: ${item.answer ?? ""} at ${item.place}`,
      },
      label,
    );
  }

  store.on(["historyAge"], () => load());
  store.on(["draft"], draw);
  return element;
}
