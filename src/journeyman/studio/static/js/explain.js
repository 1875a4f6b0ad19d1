/**
 * Hover, focus or a tap on a number says what it means.
 *
 * `explained(text, explanation)` returns a small button; its explanation is read out with it, and shown in one bubble
 * that follows whatever is looked at. Escape closes the bubble.
 */

import { h } from "./dom.js";

let bubble = null;
let shownFor = null;
let count = 0;

/** Return text with an explanation. */
export function explained(text, explanation, className = "") {
  const id = `explained-${count++}`;
  return h(
    "span",
    { class: "explained-in" },
    h("button", { type: "button", class: `explained ${className}`, "aria-describedby": id }, text),
    h("span", { id, class: "sr-only", role: "tooltip" }, explanation),
  );
}

/** Change both texts of what `explained` returned, without making it anew: whoever looks at it goes on looking. */
export function explainAgain(element, text, explanation) {
  const [button, hidden] = element.children;
  if (button.textContent !== text) button.textContent = text;
  if (hidden.textContent !== explanation) hidden.textContent = explanation;
  if (shownFor === button) show(button);
}

export function startExplaining() {
  bubble = h("div", { class: "bubble", hidden: true, "aria-hidden": "true" });
  document.body.append(bubble);
  const buttonOf = (event) => event.target.closest?.(".explained");
  document.addEventListener("pointerover", (event) => (buttonOf(event) ? show(buttonOf(event)) : hide()));
  document.addEventListener("focusin", (event) => (buttonOf(event) ? show(buttonOf(event)) : hide()));
  document.addEventListener("focusout", hide);
  document.addEventListener("click", (event) => buttonOf(event) && show(buttonOf(event)));
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  window.addEventListener("scroll", hide, { passive: true, capture: true });
}

function show(button) {
  shownFor = button;
  bubble.textContent = button.nextElementSibling.textContent;
  bubble.hidden = false;
  const place = button.getBoundingClientRect();
  const size = bubble.getBoundingClientRect();
  const left = Math.min(Math.max(8, place.left + place.width / 2 - size.width / 2), window.innerWidth - size.width - 8);
  const isAbove = place.top > size.height + 16;
  bubble.style.left = `${Math.round(left)}px`;
  bubble.style.top = `${Math.round(isAbove ? place.top - size.height - 8 : place.bottom + 8)}px`;
}

function hide() {
  shownFor = null;
  if (bubble) bubble.hidden = true;
}
