/** Which look a kind of place gets. Words decide where they can ("water" is blue); other kinds take turns. */

const KNOWN = {
  water: ["water", "pond", "lake", "river", "sea", "ice", "frozen"],
  earth: ["mud", "sand", "dirt", "earth", "road", "path", "swamp", "bed"],
  plant: ["grass", "lawn", "tree", "forest", "meadow", "field", "hedge", "garden"],
  danger: ["lava", "fire", "danger", "hazard", "trap", "pit", "hole", "enemy", "cliff"],
  goal: ["goal", "home", "house", "food", "gold", "treasure", "reward", "exit"],
  stone: ["rock", "stone", "mountain", "snow", "jail", "prison"],
};
const NUM_OTHERS = 6;

/** Return a map from each kind to the name of its look; the commonest kind is plain ground. */
export function looksOf(kinds) {
  const counts = new Map();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const ordered = [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one));
  const looks = new Map();
  let others = 0;
  for (const kind of ordered) {
    const words = kind.toLowerCase().split(/[^a-z]+/);
    const known = Object.keys(KNOWN).find((look) => KNOWN[look].some((word) => words.includes(word)));
    if (!kind) looks.set(kind, "ground");
    else if (known) looks.set(kind, known);
    else if (kind === ordered[0] && ordered.length > 1) looks.set(kind, "ground");
    else looks.set(kind, `other-${others++ % NUM_OTHERS}`);
  }
  return looks;
}
