/** What the colours of a drawing mean, in words: only what occurs. */

import { h } from "../dom.js";
import { explain } from "../explain.js";

const REMEMBERED = "What counts here besides the place: what happened before.";

export class Legend {
  constructor(world) {
    this.world = world;
    this.remembered = h("li", { class: "remembered", hidden: true });
    const kinds = [...new Set(world.places.map((place) => place.kind))].filter(Boolean);
    const items = kinds.map((kind) => h("li", {}, h("span", { class: `swatch ${world.looks.get(kind)}` }), kind));
    if (world.kind !== "list" && world.places.some((place) => place.isTerminal))
      items.push(h("li", {}, h("span", { class: "swatch end" }), "it ends there"));
    this.element = h("ul", { class: "legend", "aria-label": "Legend" }, items, this.remembered);
    this.element.hidden = items.length === 0 && !world.states.some((state) => state.remembered);
  }

  show(state) {
    const { remembered } = this.world.states[state];
    this.remembered.hidden = !remembered;
    this.remembered.textContent = remembered;
    explain(this.remembered, REMEMBERED);
  }
}
