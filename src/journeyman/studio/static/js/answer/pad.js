/** Buttons for the actions: a cross of arrows where they are moves, else a row. For fingers, and for Tab. */

import { h } from "../dom.js";
import { explain } from "../explain.js";
import { directionOf, shownKeys } from "./keys.js";

const GLYPHS = { "0,-1": ["up", "↑"], "0,1": ["down", "↓"], "-1,0": ["left", "←"], "1,0": ["right", "→"] };

export class Pad {
  constructor(chooseFn) {
    Object.assign(this, { chooseFn, buttons: new Map() });
    this.element = h("div", { class: "pad", role: "group", "aria-label": "What would you do?" });
  }

  /** Show buttons for the options; a button that stays is kept, and so is the focus on it. */
  show(options, isWaiting) {
    const isCross =
      options.some((option) => directionOf(option.keys)) && options.every((option) => slotOf(option) !== null);
    this.element.classList.toggle("cross", isCross);
    const hadFocus = this.element.contains(document.activeElement);
    const shown = options.map((option) => this.button(option, isCross));
    for (const [action, button] of this.buttons) if (!shown.includes(button)) this.drop(action, button);
    shown.forEach(
      (button, i) =>
        this.element.children[i] === button || this.element.insertBefore(button, this.element.children[i] ?? null),
    );
    for (const button of shown) button.setAttribute("aria-disabled", String(isWaiting));
    return hadFocus && !this.element.contains(document.activeElement);
  }

  button(option, isCross) {
    const { action, label, keys, words } = option;
    let button = this.buttons.get(action);
    if (!button) {
      button = h("button", { type: "button", class: "act", onclick: (event) => letGo(event) || this.chooseFn(action) });
      this.buttons.set(action, button);
    }
    const [slot, glyph] = slotOf(option) ?? [null, null];
    button.className = isCross ? `act at-${slot}` : "act";
    const key = shownKeys(keys)[0];
    const parts = isCross
      ? [h("span", { class: "glyph", "aria-hidden": "true" }, glyph), h("span", { class: "word" }, label)]
      : [
          key && h("kbd", { "aria-hidden": "true" }, key),
          h("span", { class: "word" }, label === key ? `action ${label}` : label),
          words && words !== label && h("small", {}, words),
        ];
    button.replaceChildren(...parts.filter(Boolean));
    return explain(button, `${label}${words && words !== label ? `: ${words}` : ""}${key ? ` (key ${key})` : ""}`);
  }

  drop(action, button) {
    button.remove();
    this.buttons.delete(action);
  }
}

/** Take the focus off a button that a mouse or finger pressed: space then means what it means everywhere. */
export function letGo(event) {
  if (event.detail > 0) event.currentTarget.blur();
}

/** Return where an option stands in the cross and its glyph: by its arrow key, or in the middle if space means it. */
function slotOf({ keys }) {
  const direction = directionOf(keys);
  if (direction) return GLYPHS[direction.join(",")];
  return keys.includes(" ") ? ["middle", "•"] : null;
}
