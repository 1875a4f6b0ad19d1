/**
 * Elements made by hand. Text is always text, never markup, so that nothing a user wrote can become part of the page.
 */

const SVG = "http://www.w3.org/2000/svg";

/** Return an HTML element; `on...` attributes are listeners, `vars` are CSS variables, null and false leave out. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Return an SVG element, in the same way. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) set(element, name, value);
  add(element, children);
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "vars") for (const [variable, of] of Object.entries(value)) element.style.setProperty(variable, of);
  else element.setAttribute(name, value === true ? "" : value);
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** Put other children into an element, in place of those that it has. */
export function refill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

/** Change the text of an element only if it is another one: a live region then says only what is new. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const isStill = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

export const after = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
