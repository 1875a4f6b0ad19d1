/** How far it is: how sure the learner is, how sure it should be, and how that came about. */

import { h, refill, say } from "../dom.js";
import { explain, explainAgain, explained } from "../explain.js";
import { counted, percent, plain } from "../words.js";
import { drawChart } from "./chart.js";

/** Return what the certificate says, where the numbers alone would let one expect something else. */
function verdictWords(
  { status, headline, p_hat: chance, upper_bound: upper, after, is_enough: isEnough },
  belief,
) {
  const isLikely = belief.sure !== null && belief.sure >= belief.wanted;
  if (isEnough) return "";
  if (["holds", "doubtful"].includes(status) && belief.sure !== null)
    return "A closer look says that the certificate holds. A fresh, longer one is under way, and has to confirm it.";
  if (["unknown", "not_yet"].includes(status))
    return isLikely ? "Sure enough for a closer look, which comes next." : "";
  if (status === "refused")
    return `After ${counted(after, "answer")}, a closer look could not tell whether the certificate holds. More answers help.`;
  const sentence = headline.replace("HOLDS", "holds").replace("NOT", "not").replace("THE MODEL IS", "the model is");
  const about = `After ${counted(after, "answer")}, from a closer look: ${sentence}`;
  const found =
    upper === null
      ? ""
      : ` The chance is about ${percent(chance)} and may be up to ${percent(upper)}; wanted ${percent(belief.delta)}.`;
  return status === "doubtful" ? about : `${about}${found} More answers help.`;
}

export function progressPanel(store) {
  const bar = h(
    "div",
    {
      class: "meter",
      role: "meter",
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-valuenow": "0",
      "aria-valuetext": "not known yet",
      "aria-label": "How sure the learner is",
    },
    h("span", { class: "meter-fill" }),
    h("span", { class: "meter-mark" }),
  );
  const sure = explained("?", "", "big number");
  const words = explained("", "", "lead");
  const chart = h("div");
  const caption = explained("", "", "caption");
  const looked = explained("", "", "hint");
  const [answers, loss] = [explained("", "", "number"), explained("", "", "number")];
  const numbers = h("p", { class: "numbers-line" }, answers, loss, h("span", { "aria-live": "polite" }, looked));
  const worker = h("p", { class: "worker hint" });
  const verdict = h("p", { class: "verdict" });
  const reasons = h("ul", { class: "sentences" });
  const why = h("details", { class: "hint" }, h("summary", {}, "For the person who set up this study"), reasons);
  const element = h(
    "section",
    { class: "card progress", "aria-labelledby": "progress-title" },
    h("h3", { id: "progress-title" }, "Progress"),
    h("div", { class: "sure" }, sure, words),
    bar,
    h("p", { class: "hint" }, caption),
    chart,
    numbers,
    verdict,
    why,
    worker,
  );

  store.on(["belief", "numAnswers"], ({ belief, numAnswers }) => {
    if (!belief?.is_ready) {
      explainAgain(sure, "…", "The learner is still starting; the first numbers come soon.");
      explainAgain(words, "The learner is getting ready.", store.get("study").explain.goal);
      return;
    }
    const { explain: meaning = {} } = belief;
    const isReward = belief.sure === null || belief.sure === undefined;
    explainAgain(
      sure,
      isReward ? counted(numAnswers, "answer") : percent(belief.sure),
      isReward ? meaning.based_on : meaning.sure,
    );
    explainAgain(
      words,
      isReward
        ? (belief.progress_words ?? "")
        : `sure that the apprentice loses less than ${belief.epsilon_words} · wanted ${percent(belief.wanted)}`,
      meaning.goal,
    );
    bar.hidden = isReward;
    bar.setAttribute("aria-valuenow", String(Math.round(100 * (belief.sure ?? 0))));
    bar.setAttribute("aria-valuetext", belief.progress_words ?? "");
    bar.style.setProperty("--sure", `${100 * (belief.sure ?? 0)}%`);
    bar.style.setProperty("--wanted", `${100 * (belief.wanted ?? 1)}%`);
    bar.classList.toggle("reached", belief.sure >= belief.wanted);
    const points = belief.course.map((point) => ({
      count: point.num_answers,
      chance: point.failure_chance,
      regret: point.expected_regret,
    }));
    explainAgain(caption, `Chance of losing ${belief.epsilon_words} or more, after each answer`, meaning.chance);
    const look = (point) => {
      looked.hidden = !point;
      explainAgain(
        looked,
        point ? `After ${counted(point.count, "answer")}: ${percent(point.chance)}.` : "",
        meaning.chance,
      );
    };
    if (!isReward) refill(chart, drawChart(points, belief.delta, meaning.chart, look));
    explainAgain(answers, counted(belief.based_on, "answer"), meaning.based_on);
    explainAgain(loss, `expected loss ${plain(belief.expected_regret)}`, meaning.regret);
    loss.hidden = belief.expected_regret === null;
    look(null);
  });
  store.on(["certificate", "belief"], ({ certificate, belief }) => {
    say(verdict, belief?.is_ready && certificate ? verdictWords(certificate, belief) : "");
    explain(verdict, belief?.explain?.certificate ?? "");
    verdict.hidden = verdict.textContent === "";
    why.hidden = verdict.hidden || certificate?.status !== "refused" || !certificate.reasons.length;
    if (why.hidden || String(certificate.reasons) === why.dataset.shown) return;
    why.dataset.shown = String(certificate.reasons);
    refill(
      reasons,
      certificate.reasons.map((text) => explain(h("li", {}, text), belief.explain?.certificate)),
    );
  });
  store.on(["worker", "belief", "numAnswers"], ({ worker: state, belief, numAnswers }) => {
    const behind = belief?.is_ready ? Math.max(0, numAnswers - belief.based_on) : 0;
    const late = behind > 0 ? ` These numbers include all but the last ${counted(behind, "answer")}.` : "";
    explain(worker, belief?.explain?.based_on ?? "");
    say(worker, `${state?.words ?? ""}${state?.words && !/[.…]$/.test(state.words) ? "." : ""}${late}`.trim());
    worker.classList.toggle("failed", state?.state === "failed");
    worker.classList.toggle("busy", Boolean(state && state.state !== "idle"));
  });
  return element;
}
