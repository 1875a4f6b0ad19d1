/** What to do here, for whoever asks; and the switch for single keys. */

import { areKeysOn, turnKeys } from "./answer/keys.js";
import { h } from "./dom.js";
import { explain } from "./explain.js";

const KEYS = [
  ["↑ ↓ ← →", "move, on maps; so do W A S D"],
  ["space", "stay, where that is possible"],
  ["0 … 9", "the action with that number"],
  ["U", "undo the last step or answer"],
  ["N", "skip: this place may be asked about again"],
  ["X", "twice: cannot be answered; nobody is asked about this place again"],
  ["E", "end the run here"],
  ["C", "comment"],
];

export function helpDialog(study) {
  const box = h("input", {
    type: "checkbox",
    id: "use-keys",
    checked: areKeysOn(),
    onchange: (event) => turnKeys(event.target.checked),
  });
  const dialog = h(
    "dialog",
    { "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "What to do here"),
    explain(h("p", {}, study.intro ?? ""), study.explain.places),
    h(
      "p",
      {},
      "You see one situation at a time. Do what you think is best there; if you are not sure, do what you would most " +
        "likely do. Every answer is kept at once.",
    ),
    h(
      "dl",
      { class: "keys" },
      KEYS.map(([key, words]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, words)]),
    ),
    h("p", { class: "check" }, box, h("label", { for: "use-keys" }, "Use these keys")),
    h("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Close"),
  );
  return dialog;
}
