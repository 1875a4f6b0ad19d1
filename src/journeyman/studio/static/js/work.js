/** Where a person works: the question at the left, what has been learned at the right, all of it live. */

import { Ask } from "./answer/ask.js";
import { meaningOf } from "./answer/keys.js";
import { Session } from "./answer/session.js";
import { Refusal } from "./api.js";
import { h, refill, say } from "./dom.js";
import { worldOf } from "./drawing/world.js";
import { explain } from "./explain.js";
import { helpDialog } from "./help.js";
import { listen } from "./live.js";
import { Outbox } from "./outbox.js";
import { finishPanel, isPending } from "./panels/finish.js";
import { historyPanel } from "./panels/history.js";
import { mapsPanel } from "./panels/maps.js";
import { modelPanel } from "./panels/model.js";
import { progressPanel } from "./panels/progress.js";
import { Store } from "./store.js";
import { counted } from "./words.js";

const OTHERS = 1000; // milliseconds until answers of others are listed, however many they are
const PATIENCE = 1500; // milliseconds without a connection before anybody is told
const STRIP = {
  current: "✓ The certificate holds. Show it.",
  outdated: "The certificate held before the last changes, which are being checked. Show it.",
};

/** Show the questions of a study, or call `refused(error)` if it has none for this person; `stop()` ends it. */
export function startWork(main, { study, api, refused }) {
  const store = new Store({
    study,
    world: worldOf(study.problem, (state) => api.link(`pictures/${state}`)),
    question: null,
    phase: "loading",
    message: "",
    said: null,
    draft: null,
    belief: null,
    certificate: null,
    worker: null,
    people: [],
    isOnline: true,
    isLost: false,
    reason: "",
    numAnswers: study.num_answers,
    historyAge: 0,
    isFinishShown: false,
  });
  const outbox = new Outbox(api, {
    lost: (isLost, reason) => store.set({ isLost, reason }),
    refused: (error) => session.tell(error.message, "bad"),
  });
  const announcer = document.getElementById("announcer");
  const session = new Session({
    api,
    outbox,
    store,
    stageFn: () => ask.stage,
    announce: (text) => say(announcer, text),
    refused: (error) => isStopped || refused(error),
  });
  let isStopped = false;
  const help = helpDialog(study);
  const ask = new Ask(session, store);
  const helpButton = document.getElementById("help");
  helpButton.hidden = false;
  helpButton.onclick = () => help.showModal();
  const finish = finishPanel(store, api, () => setFinish(false));
  const stripButton = h("button", { type: "button", class: "quiet", onclick: () => setFinish(true) });
  const strip = h("p", { class: "holds-strip", hidden: true }, stripButton);
  const left = h("div", { class: "left" }, strip, finish.element, ask.element);
  const right = h(
    "div",
    { class: "right", role: "complementary", "aria-label": "What has been learned" },
    progressPanel(store),
    mapsPanel(store),
    modelPanel(store),
    historyPanel(store, session),
  );
  refill(main, h("h1", { class: "sr-only" }, study.name), h("div", { class: "work" }, left, right), help);
  say(document.getElementById("study-name"), study.name);

  function setFinish(isShown) {
    store.set({ isFinishShown: isShown });
    (isShown ? finish.title : ask.title).focus();
  }

  store.on(["certificate", "isFinishShown"], ({ certificate, isFinishShown }) => {
    finish.element.hidden = !isFinishShown;
    ask.element.hidden = isFinishShown;
    strip.hidden = isFinishShown || !certificate?.is_enough;
    say(stripButton, certificate?.is_current ? STRIP.current : STRIP.outdated);
  });
  store.on(["isOnline", "isLost", "reason"], ({ isOnline, isLost }) => showConnection(store, isOnline, isLost));
  store.on(["people"], ({ people }) => showPeople(people, api.annotator, study.explain.answers));

  const fetching = { belief: null, certificate: null };
  /** Fetch the belief or the certificate: one request at a time, and once more if news came meanwhile. */
  function refresh(name) {
    if (fetching[name]) return void (fetching[name] = "stale");
    fetching[name] = "current";
    api
      .get(name)
      .then((found) => {
        store.set({ [name]: found });
        if (name === "belief" && store.get("phase") !== "saving") store.set({ numAnswers: found.num_answers });
        if (name === "certificate") certified(found);
      })
      .catch((error) => error instanceof Refusal && session.tell(error.message, "bad"))
      .finally(() => {
        const isStale = fetching[name] === "stale";
        fetching[name] = null;
        if (isStale) refresh(name);
      });
  }

  let hasCelebrated = false;
  function certified(certificate) {
    if (isPending(certificate)) return; // it is looked at again: what was said last stands, as that of before
    if (!certificate.is_enough) {
      hasCelebrated = false;
      if (!store.get("isFinishShown")) return;
      setFinish(false);
      session.tell("The certificate does not hold any more: the answers have changed. More answers help.", "bad");
      return;
    }
    const isMidRun = store.get("question")?.steps?.length > 0;
    const isBusy = isMidRun || store.get("phase") === "correcting" || ask.isCommenting;
    if (hasCelebrated || isBusy) return;
    hasCelebrated = true;
    setFinish(true);
  }

  /** Say so if the server is there, but does not know this page any more: no patience helps then. */
  function checkToken() {
    api.get("status").catch((error) => {
      if (error instanceof Refusal && error.status === 401)
        session.tell("This page is locked out. Open the address that the studio prints now.", "bad");
    });
  }

  let aging = null;
  const heard = {
    hello({ worker, annotators, num_answers: count }) {
      store.set({ worker, people: annotators ?? [], numAnswers: count, historyAge: store.get("historyAge") + 1 });
      refresh("belief");
      refresh("certificate");
      outbox.hurry();
      if (!["saving", "correcting"].includes(store.get("phase"))) session.fetch();
    },
    answers({ num_answers: count, open }) {
      store.set(store.get("phase") === "saving" ? {} : { numAnswers: count });
      session.follow(open);
      if (store.get("certificate")?.is_enough) refresh("certificate"); // is it still about all answers?
      aging ??= setTimeout(() => {
        aging = null;
        store.set({ historyAge: store.get("historyAge") + 1 });
      }, OTHERS);
    },
    question: () => store.get("question") || session.fetch(),
    belief: () => refresh("belief"),
    certificate: () => refresh("certificate"),
    worker: (worker) => store.set({ worker }),
    people: ({ annotators }) => store.set({ people: annotators }),
    bye: () => {},
  };
  const live = listen(
    api.link("events"),
    (name, data) => heard[name](data),
    (isOnline) => {
      store.set({ isOnline });
      if (!isOnline) checkToken();
    },
  );
  outbox.flush().then(() => session.fetch());

  /** Keys are for the question wherever the focus is, unless a field or a map has them. */
  function pressed(event) {
    if (help.open) return;
    const meant = meaningOf(event, store.get("question")?.actions ?? []);
    if (!meant) return;
    if (store.get("isFinishShown") && meant.command !== "help") return finish.remind();
    event.preventDefault();
    if (event.repeat) return;
    if (meant.action !== undefined) session.choose(meant.action);
    else if (meant.command === "help") help.showModal();
    else if (meant.command === "comment") ask.toggleComment();
    else session[meant.command]();
  }
  document.addEventListener("keydown", pressed);
  const isWaiting = () => ["loading", "preparing"].includes(store.get("phase"));
  const polling = setInterval(() => isWaiting() && !session.isFetching && !outbox.isLost && session.fetch(), 1000);

  return {
    stop() {
      isStopped = true;
      live.stop();
      clearInterval(polling);
      clearTimeout(aging);
      document.removeEventListener("keydown", pressed);
      helpButton.hidden = true;
      showPeople([], null);
      say(document.getElementById("study-name"), "");
      say(document.getElementById("connection"), "");
    },
  };
}

let timer = null;

/** Say calmly that the connection is lost, but not at once: most breaks are too short to be worth a word. */
function showConnection(store, isOnline, isLost) {
  const element = document.getElementById("connection");
  clearTimeout(timer);
  if (isOnline && !isLost) {
    element.classList.remove("lost");
    return say(element, "");
  }
  timer = setTimeout(
    () => {
      element.classList.add("lost");
      const [isKept, reason] = [store.get("isLost"), store.get("reason")];
      const kept = isKept
        ? `Your answer is kept here and sent as soon as ${reason ? "it can be" : "it is back"}.`
        : "Nothing is lost.";
      say(element, `${reason || "The server is not answering; trying again."} ${kept}`);
    },
    isLost ? 300 : PATIENCE,
  );
}

function showPeople(people, own, explanation = "") {
  const others = people.filter((person) => person.is_here || person.name === own);
  const chip = ({ name, num_answers: count }) =>
    explain(
      h(
        "li",
        { class: name === own ? "own" : "" },
        h("span", { class: "who" }, name ?? (own === null ? "you" : "somebody")),
        h("span", { class: "hint" }, counted(count, "answer")),
      ),
      explanation,
    );
  refill(document.getElementById("people"), others.length > 1 || own ? others.map(chip) : []);
}
