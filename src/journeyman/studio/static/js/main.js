/** The page: reads the address, finds the study, and shows where to start or the next question. */

import { readAddress, writeAddress } from "./address.js";
import { Lost, read, Refusal, StudyApi } from "./api.js";
import { after, h, refill, say } from "./dom.js";
import { startExplaining } from "./explain.js";
import { showStart } from "./start.js";
import { startWork } from "./work.js";

const main = document.getElementById("main");
const place = readAddress();
const AGAIN = 1000; // milliseconds until a server that did not answer is asked again
let work = null;

async function show() {
  work?.stop();
  work = null;
  const overview = await patiently(() => read("studies"));
  if (!overview) return;
  const name = place.study ?? overview.default;
  const study = name === null ? null : await patiently(() => new StudyApi(name, place.annotator).get(""));
  if (study === undefined) return;
  if (study && wasStarted(study.name)) return begin(study.name, place.annotator, study);
  document.title = `${study ? `${study.name} · ` : ""}journeyman studio`;
  showStart(main, { overview, study, annotator: place.annotator, begin, open });
}

/** Go to the questions of a study. */
async function begin(name, annotator, known = null) {
  Object.assign(place, { study: name, annotator });
  writeAddress(place);
  sessionStorage.setItem(startedKey(name), "yes");
  const api = new StudyApi(name, annotator);
  const study = known ?? (await patiently(() => api.get("")));
  if (!study) return;
  document.title = `${name} · journeyman studio`;
  work?.stop();
  work = startWork(main, { study, api, refused });
}

/** Leave the questions of a study that has none for this person, and say why. */
function refused(error) {
  work?.stop();
  work = null;
  sessionStorage.removeItem(startedKey(place.study));
  refuse(error);
}

/** Go to the first page of a study; null: of all of them. */
function open(name) {
  place.study = name;
  if (name !== null) sessionStorage.removeItem(startedKey(name));
  writeAddress(place);
  return show();
}

const startedKey = (name) => `journeyman-started:${name}:${place.annotator ?? ""}`;
const wasStarted = (name) => sessionStorage.getItem(startedKey(name)) === "yes";

/** Ask the server until it answers, and say why it does not; undefined, and words on the page, if it refuses. */
async function patiently(ask) {
  const notice = document.getElementById("connection");
  for (;;) {
    try {
      const found = await ask();
      say(notice, "");
      return found;
    } catch (error) {
      if (error instanceof Refusal) return void refuse(error);
      if (!(error instanceof Lost)) throw error;
      say(notice, error.message);
      await after(AGAIN);
      continue;
    }
  }
}

/** Say why it does not go on, and what to do. */
function refuse({ status, message, field }) {
  const words =
    status === 401
      ? "Open the whole address that was printed where the studio was started; it ends in a token."
      : message;
  refill(
    main,
    h(
      "section",
      { class: "card narrow" },
      h("h1", {}, status === 401 ? "This page needs its key" : "That did not work"),
      h("p", {}, words),
      field === "annotator" && h("p", {}, h("button", { type: "button", onclick: rename }, "Choose another name")),
      status !== 401 && h("p", {}, h("button", { type: "button", onclick: () => open(null) }, "All studies")),
    ),
  );
}

/** Go to the first page of the study, which asks for a name. */
function rename() {
  place.annotator = null;
  return open(place.study);
}

startExplaining();
document.getElementById("home").addEventListener("click", () => open(place.study));
show();
