/** The end: what may be claimed, under which assumptions, and what there is to take away. */

import { download } from "../api.js";
import { h, refill, say } from "../dom.js";
import { explain, explainAgain, explained } from "../explain.js";
import { counted, percent } from "../words.js";

const DOWNLOADS = [
  ["report.html", "Report", "All that was learned, on one page."],
  ["policy.csv", "Policy", "What to do in every state, as a table."],
  ["demonstrations.csv", "Demonstrations", "All answers that count, as a table."],
  ["certificate.txt", "Certificate", "The claim and its assumptions, as text."],
];

const ASSUMED =
  "Something that has to be true for the certificate to mean anything. The answers alone cannot prove it.";
const BEHIND =
  "A number behind the certificate. Chances are shares of the rewards that agree with the answers; regret is what is " +
  "lost, compared with the best that can be done.";

/** Fetch a file and hand it over once it is made, which may take a while; say so, and what goes wrong, beside it. */
async function fetchFile(event) {
  const link = event.currentTarget;
  event.preventDefault();
  if (link.getAttribute("aria-disabled") === "true") return;
  const [status, before] = [link.nextElementSibling, link.nextElementSibling.textContent];
  link.setAttribute("aria-disabled", "true");
  say(status, "Being made …");
  try {
    const { content, name } = await download(link.href, link.download);
    const made = h("a", { href: URL.createObjectURL(content), download: name });
    made.click();
    setTimeout(() => URL.revokeObjectURL(made.href), KEPT);
    say(status, before);
  } catch (error) {
    say(status, error.message);
  } finally {
    link.removeAttribute("aria-disabled");
  }
}

const PENDING = "This is the earlier certificate. With the answers as they are now it is being looked at again.";
const KEPT = 60000; // milliseconds for which a browser may take to store a file

/** Return why the certificate has another chance than the panel of progress: it looked longer. */
function differenceWords(belief) {
  if (!belief?.is_ready || belief.sure === null) return "";
  const now = percent(1 - belief.sure);
  return `Computed afresh, from more samples than the quick estimate of ${now} that “Progress” shows.`;
}

/** Return what the certificate knows nothing of; nothing if it is about all answers, as they are now. */
const outdatedWords = ({ is_current: isCurrent, after: count }) =>
  isCurrent
    ? ""
    : `Answers have been given, corrected or taken back since: this is about the ${counted(count, "answer")} before that, ` +
      "and may not hold any more. The changes are being checked.";

/** Whether it was not looked for yet, or holds at a first look and is being confirmed. */
export const isPending = ({ status, is_enough: isEnough }) => !isEnough && ["unknown", "holds"].includes(status);

/** Return a share with as many digits as it takes to tell it from another one. */
function apart(share, other) {
  if (share === other || percent(share) !== percent(other)) return percent(share);
  const digits = [1, 2, 3].find((count) => (100 * share).toFixed(count) !== (100 * other).toFixed(count)) ?? 3;
  return `${(100 * share).toFixed(digits)} %`;
}

export function finishPanel(store, api, goOnFn) {
  const title = h("h2", { tabindex: "-1", id: "finish" });
  const claim = h("p", { class: "lead" });
  const outdated = h("p", { class: "warning", role: "status" });
  const reminder = h("p", { class: "hint", role: "status" });
  const bound = explained("", "", "number");
  const differs = h("p", { class: "hint" });
  const sentences = h("ul");
  const rests = h("details", {}, h("summary", {}, "What this rests on"), sentences);
  const assumptions = h("ul");
  const links = h(
    "ul",
    { class: "downloads" },
    DOWNLOADS.map(([file, name, words]) =>
      h(
        "li",
        {},
        h("a", { class: "button", href: api.link(`download/${file}`), download: file, onclick: fetchFile }, name),
        h("small", { role: "status" }, words),
      ),
    ),
  );
  const element = h(
    "section",
    { class: "card finish", "aria-labelledby": "finish", hidden: true },
    h("p", { class: "seal", "aria-hidden": "true" }, "✓"),
    title,
    claim,
    outdated,
    h("p", {}, bound),
    differs,
    h("h3", {}, "It assumes that"),
    assumptions,
    rests,
    h("h3", {}, "Take it with you"),
    links,
    h("p", { class: "go-on" }, h("button", { type: "button", onclick: goOnFn }, "Continue answering")),
    reminder,
  );
  store.on(["certificate", "belief"], ({ certificate, belief }) => {
    if (!certificate) return;
    outdated.hidden = certificate.is_enough && certificate.is_current;
    explain(outdated, store.get("study").explain.answers);
    say(outdated, isPending(certificate) ? PENDING : outdatedWords(certificate));
    if (!certificate.is_enough) return;
    const { headline, claim: words, upper_bound: upper, p_hat: estimate, delta } = certificate;
    say(title, headline.replace("HOLDS", "holds").replace("ON THE GRID ALONE", "on the grid alone"));
    say(claim, words ?? "");
    explain(claim, store.get("study").explain.goal);
    explainAgain(
      bound,
      `Chance of too much regret: ${percent(estimate)}, at most ${apart(upper, delta)} (wanted: at most ${percent(delta)})`,
      "The estimate from all samples of the reward that agree with the answers, and an upper bound that allows for " +
        "their number. The certificate holds because the bound, not only the estimate, is small enough.",
    );
    bound.hidden = differs.hidden = upper === null || upper === undefined;
    explain(differs, store.get("study").explain.goal);
    say(differs, differenceWords(belief));
    refill(
      assumptions,
      (certificate.assumptions ?? []).map((text) => explain(h("li", {}, text), ASSUMED)),
    );
    refill(
      sentences,
      [certificate.sentences ?? [], certificate.advice ?? []].flat().map((text) => explain(h("li", {}, text), BEHIND)),
    );
  });
  store.on(["isFinishShown"], () => say(reminder, ""));
  /** Say why keys do nothing now. */
  const remind = () => say(reminder, "To answer, press “Continue answering” first. Nothing was answered just now.");
  return { element, title, remind };
}
