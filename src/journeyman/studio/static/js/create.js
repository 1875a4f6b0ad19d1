/** A form that makes a study, from a built-in world or from a problem of one's own. */

import { write } from "./api.js";
import { h, refill, say } from "./dom.js";
import { explain } from "./explain.js";

const KINDS = { map: "a map drawn in text", graph: "a graph (CSV: from, to)", toml: "a problem file (TOML)" };
const EXAMPLES = {
  map: "#########\n#S..#..G#\n#.#...#.#\n#...#...#\n#########",
  graph: "from,to\nhome,street\nstreet,park\nstreet,shop\npark,shop",
  toml: "",
};
const HINTS = {
  world: "What this world is, in a line. Numbers in it are sizes.",
  files: "The most that a problem made on this page may have. Larger ones are made on the command line.",
  epsilon:
    "What the apprentice may lose, compared with the best that can be done. A percentage is of what the best gains " +
    "over acting at random.",
};
const FIRST = "jail"; // the world to begin with
const CREATING = 120000; // milliseconds: the first question is chosen meanwhile

export function createForm({ worlds, limits }, openFn, isOpen) {
  const fields = {
    name: h("input", {
      id: "new-name",
      required: true,
      maxlength: "64",
      pattern: "[A-Za-z0-9._\\-]+",
      placeholder: "my-study",
      autocomplete: "off",
    }),
    source: h(
      "select",
      { id: "new-source" },
      h("option", { value: "world" }, "a built-in world"),
      Object.entries(KINDS).map(([kind, words]) => h("option", { value: kind }, words)),
    ),
    world: h(
      "select",
      { id: "new-world" },
      worlds.map(({ name }) => h("option", { value: name, selected: name === FIRST }, name)),
    ),
    seed: h("input", { id: "new-seed", type: "number", min: "0", step: "1", value: "0" }),
    files: h("input", { id: "new-files", type: "file", multiple: true, accept: ".txt,.csv,.toml,.map" }),
    text: h("textarea", { id: "new-text", rows: "7", spellcheck: "false" }, EXAMPLES.map),
    epsilon: h("input", { id: "new-epsilon", placeholder: "0.1", autocomplete: "off" }),
    delta: h("input", { id: "new-delta", placeholder: "0.1", inputmode: "decimal", autocomplete: "off" }),
    answers: h(
      "select",
      { id: "new-answers" },
      h("option", { value: "state" }, "one action each"),
      h("option", { value: "trajectory" }, "several steps each"),
    ),
    length: h("input", { id: "new-length", type: "number", min: "1", max: "200", value: "10" }),
  };
  let tables = {};
  const field = (name, label, hint) =>
    h(
      "div",
      { class: "field" },
      h("label", { for: fields[name].id }, label),
      fields[name],
      hint && explain(h("small", {}, hint), HINTS[name] ?? "", [fields[name]]),
    );
  const ofWorld = h(
    "div",
    { class: "fields" },
    field("world", "World", " "),
    field("seed", "Seed", "Another number draws another reward, and in some worlds another layout."),
  );
  const ofOwn = h(
    "div",
    { class: "fields" },
    field("files", "Files", `A problem file may come with its tables. At most ${limits.states} states.`),
    field("text", "Text"),
  );
  const lengthField = field("length", "Maximum steps");
  const error = h("p", { class: "error", role: "alert" });
  const make = h("button", { type: "submit", class: "primary" }, "Make the study");

  const adapt = () => {
    say(ofWorld.querySelector("small"), worlds.find(({ name }) => name === fields.world.value)?.summary ?? "");
    const isWorld = fields.source.value === "world";
    [ofWorld.hidden, ofOwn.hidden, lengthField.hidden] = [!isWorld, isWorld, fields.answers.value !== "trajectory"];
  };
  fields.source.addEventListener("change", () => {
    if (Object.values(EXAMPLES).includes(fields.text.value)) fields.text.value = EXAMPLES[fields.source.value] ?? "";
    adapt();
  });
  fields.answers.addEventListener("change", adapt);
  fields.world.addEventListener("change", adapt);
  fields.files.addEventListener("change", async () => {
    const chosen = await readFiles(fields.files.files, limits.bytes).catch((problem) => say(error, problem.message));
    if (!chosen) return;
    tables = chosen.tables;
    fields.source.value = chosen.kind;
    fields.text.value = chosen.text;
    if (!fields.name.value) fields.name.value = chosen.name;
    adapt();
  });

  const form = h(
    "form",
    { novalidate: true },
    h("div", { class: "fields" }, field("name", "Name", "Letters, digits, - _ ."), field("source", "From")),
    ofWorld,
    ofOwn,
    h(
      "details",
      {},
      h("summary", {}, "How sure it must be, and what is asked"),
      h(
        "div",
        { class: "fields" },
        field("epsilon", "Acceptable loss (epsilon)", "A number, or a share of what is at stake such as 5%."),
        field("delta", "Acceptable chance of losing more (delta)"),
        field("answers", "Answers are"),
        lengthField,
      ),
    ),
    error,
    make,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    say(error, "");
    make.setAttribute("aria-disabled", "true");
    refill(make, h("span", { class: "spinner", "aria-hidden": "true" }), "Making it …");
    try {
      const { name } = await write("studies", {}, bodyOf(fields, tables), CREATING);
      await openFn(name);
    } catch (problem) {
      say(error, problem.message);
      (fields[problem.field] ?? fields.name).focus();
    } finally {
      make.removeAttribute("aria-disabled");
      refill(make, "Make the study");
    }
  });
  adapt();
  return h("details", { class: "card create", open: isOpen }, h("summary", {}, h("h2", {}, "Make a new study")), form);
}

function bodyOf(fields, tables) {
  const kind = fields.source.value;
  const epsilon = fields.epsilon.value.trim();
  const delta = fields.delta.value.trim();
  return {
    name: fields.name.value.trim(),
    ...(kind === "world"
      ? { world: { name: fields.world.value, seed: Number(fields.seed.value) } }
      : { problem: { kind, text: fields.text.value, ...(kind === "toml" ? { tables } : {}) } }),
    ...(epsilon ? { epsilon: epsilon.endsWith("%") ? epsilon : Number(epsilon) } : {}),
    ...(delta ? { delta: Number(delta) } : {}),
    answers: fields.answers.value,
    ...(fields.answers.value === "trajectory" ? { length: Number(fields.length.value) } : {}),
  };
}

/** Return what files are: a problem file with its tables, a graph, or a map. */
async function readFiles(files, maxBytes) {
  const all = [...files];
  const size = all.reduce((sum, file) => sum + file.size, 0);
  if (size > maxBytes)
    throw new Error(
      `These files have ${size} bytes; at most ${maxBytes} can be taken here. Use the command line: journeyman studio.`,
    );
  const texts = await Promise.all(all.map((file) => file.text()));
  const ends = (file, ending) => file.name.toLowerCase().endsWith(ending);
  const first = Math.max(
    0,
    all.findIndex((file) => ends(file, ".toml")),
  );
  const main = all[first];
  const kind = ends(main, ".toml") ? "toml" : ends(main, ".csv") ? "graph" : "map";
  const tables = Object.fromEntries(all.map((file, i) => [file.name, texts[i]]).filter((_, i) => i !== first));
  return {
    kind,
    text: texts[first],
    tables,
    name: main.name.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9._-]+/g, "-"),
  };
}
