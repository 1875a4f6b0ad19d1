/**
 * Keys. Which key gives which action is said with each question; the rest are commands.
 *
 * Keys can be turned off, for people whose voice or other software types them by itself.
 */

export const COMMANDS = { u: "undo", z: "undo", n: "skip", x: "cannot", c: "comment", e: "end", "?": "help" };
const SETTING = "journeyman-keys";

export const areKeysOn = () => localStorage.getItem(SETTING) !== "off";
export const turnKeys = (isOn) => localStorage.setItem(SETTING, isOn ? "on" : "off");

/** Return what an event means among the keys of a question: { action } or { command }, or null. */
export function meaningOf(event, actions) {
  if (event.altKey || event.isComposing || event.target.closest?.("input, textarea, select, dialog, [data-own-keys]"))
    return null;
  if (event.ctrlKey || event.metaKey)
    return event.key.toLowerCase() === "z" && !event.shiftKey ? { command: "undo" } : null;
  if (!areKeysOn()) return null;
  if ((event.key === " " || event.key === "Enter") && event.target.closest?.("button, a, summary, label")) return null;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const action = actions.find((one) => one.keys.includes(event.key) || one.keys.includes(key));
  if (action) return { action: action.action };
  return COMMANDS[key] ? { command: COMMANDS[key] } : null;
}

const SHOWN = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", " ": "space", Enter: "↵" };

/** Return the best keys of an action as they are written on a keyboard, the most telling first. */
export function shownKeys(keys) {
  const ordered = [...keys].sort((one, other) => Number(other in SHOWN) - Number(one in SHOWN));
  return ordered.map((key) => SHOWN[key] ?? key.toUpperCase());
}

/** Return the direction of an arrow key among some keys, as [dx, dy], or null. */
export function directionOf(keys) {
  if (keys.includes("ArrowUp")) return [0, -1];
  if (keys.includes("ArrowDown")) return [0, 1];
  if (keys.includes("ArrowLeft")) return [-1, 0];
  return keys.includes("ArrowRight") ? [1, 0] : null;
}
