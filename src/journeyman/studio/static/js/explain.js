/**
 * Hover, focus or a tap on a number says what it means.
 *
 * `explain(element, text)` gives any element an explanation. It is shown in one bubble, for whatever is hovered,
 * reached with Tab or tapped, and read out by screen readers: what can have the focus there is described by it, and an
 * element in which nothing can gets a stop of its own. Escape closes the bubble.
 */

import { h } from "./dom.js";

const PAUSE = 250; // milliseconds that a mouse has to rest before large parts of the page explain themselves
const MANY = 400; // explanations from which on those that nobody refers to are forgotten
const FOCUSABLE = "button, a[href], input, select, textarea, summary, [tabindex]";

const ids = new Map(); // of explanations, by text
const shelf = h("div", { id: "explanations", hidden: true });
let bubble = null;
let shownFor = null;
let timer = null;
let isTabbing = false;
let isMissed = false; // the page changed below a mouse that rests: nobody asked for an explanation
let mouse = "";
let count = 0;

/** Return text with an explanation, as a small button. */
export function explained(text, explanation, className = "") {
  return explainAgain(h("button", { type: "button", class: `explained ${className}` }), text, explanation);
}

/** Change both texts of what `explained` returned, without making it anew: whoever looks at it goes on looking. */
export function explainAgain(button, text, explanation) {
  if (button.textContent !== text) button.textContent = text;
  return explain(button, explanation);
}

/** Explain the numbers in an element; `stops`: what has the focus when they are looked at, by default what can. */
export function explain(element, text, stops = stopsOf(element)) {
  if (!text || (element.dataset.explain === text && stops.every((stop) => stop.hasAttribute("aria-describedby"))))
    return element;
  element.dataset.explain = text;
  for (const stop of stops) stop.setAttribute("aria-describedby", idOf(text));
  if (shownFor === element) show(element, text);
  return element;
}

function stopsOf(element) {
  if (element.matches(FOCUSABLE)) return [element];
  const own = (stop) => [element, null].includes(stop.closest("[data-explain]"));
  const inside = [...element.querySelectorAll(FOCUSABLE)].filter(own);
  if (inside.length) return inside;
  element.setAttribute("tabindex", "0");
  return [element];
}

function idOf(text) {
  if (ids.size > MANY) forget();
  if (!ids.has(text)) {
    ids.set(text, `explanation-${count++}`);
    shelf.append(h("span", { id: ids.get(text) }, text));
  }
  return ids.get(text);
}

function forget() {
  for (const [text, id] of ids) {
    if (document.querySelector(`[aria-describedby="${id}"]`)) continue;
    ids.delete(text);
    shelf.querySelector(`#${id}`)?.remove();
  }
}

export function startExplaining() {
  bubble = h("div", { class: "bubble", role: "tooltip", hidden: true });
  document.body.append(bubble, shelf);
  document.addEventListener("pointerover", entered);
  document.addEventListener("pointerdown", () => (isTabbing = false));
  document.addEventListener("pointermove", (event) => {
    isTabbing &&= !event.movementX && !event.movementY;
    if (isMissed) entered(event);
  });
  document.addEventListener("click", (event) => tapped(event.target));
  document.addEventListener("focusin", (event) => isTabbing && focused(event.target));
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => {
    isTabbing = event.key === "Tab";
    if (event.key === "Escape") hide();
  });
  window.addEventListener("scroll", follow, { passive: true, capture: true });
  new MutationObserver(() => shownFor && !shownFor.isConnected && hide()).observe(document.body, {
    childList: true,
    subtree: true,
  });
}

/** A mouse that moved onto something asks about it; something that appeared below a mouse that rests was not asked for. */
function entered(event) {
  if (event.pointerType === "touch") return;
  const before = mouse;
  mouse = `${event.clientX} ${event.clientY}`;
  isMissed = mouse === before;
  if (isMissed) hide();
  else hovered(event.target);
}

const partOf = (target) => target.closest?.("[data-explain]") ?? null;

function hovered(target) {
  const element = partOf(target);
  if (element === shownFor || isTabbing) return; // while somebody tabs, the page moves below a mouse that rests
  hide();
  if (element) timer = setTimeout(() => show(element), element.matches(".explained") ? 0 : PAUSE);
}

/** A tap explains, unless it does something else. */
function tapped(target) {
  const element = partOf(target);
  if (element && !target.closest("button:not(.explained), a, input, select, textarea, summary")) show(element);
}

function focused(target) {
  const text = shelf.querySelector(`#${target.getAttribute("aria-describedby")}`)?.textContent;
  if (text) show(partOf(target) ?? target, text);
}

function show(element, text = element.dataset.explain) {
  clearTimeout(timer);
  if (!element.isConnected) return;
  shownFor = element;
  bubble.textContent = text;
  bubble.hidden = false;
  const place = element.getBoundingClientRect();
  const size = bubble.getBoundingClientRect();
  const left = Math.min(Math.max(8, place.left + place.width / 2 - size.width / 2), window.innerWidth - size.width - 8);
  const isAbove = place.top > size.height + 16;
  const top = isAbove ? place.top - size.height - 8 : Math.min(place.bottom + 8, window.innerHeight - size.height - 8);
  bubble.style.left = `${Math.round(left)}px`;
  bubble.style.top = `${Math.round(top)}px`;
}

/** Go along when the page scrolls, as long as what is explained is still looked at. */
function follow() {
  if (!shownFor) return;
  if (shownFor.contains(document.activeElement) || shownFor.matches(":hover")) show(shownFor, bubble.textContent);
  else hide();
}

function hide() {
  clearTimeout(timer);
  shownFor = null;
  if (bubble) bubble.hidden = true;
}
