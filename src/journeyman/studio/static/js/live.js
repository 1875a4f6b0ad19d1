/** News from the server, as they happen. A connection that breaks is made again by itself, and says that it did. */

const NAMES = ["hello", "answers", "question", "belief", "certificate", "worker", "people", "bye"];
const WAITS = [300, 600, 1000, 2000];

/** Listen until `stop()`; `heard(name, data)` gets each event, `connected(isOn)` whether somebody is there. */
export function listen(address, heard, connected) {
  let source = null;
  let tries = 0;
  let timer = null;
  let isStopped = false;

  const open = () => {
    timer = null;
    source = new EventSource(address);
    source.onopen = () => {
      tries = 0;
      connected(true);
    };
    source.onerror = () => {
      source.close();
      connected(false);
      if (!isStopped && !timer) timer = setTimeout(open, WAITS[Math.min(tries++, WAITS.length - 1)]);
    };
    for (const name of NAMES) {
      source.addEventListener(name, (event) => heard(name, JSON.parse(event.data)));
    }
  };
  const wake = () => {
    if (timer && document.visibilityState === "visible") {
      clearTimeout(timer);
      open();
    }
  };
  document.addEventListener("visibilitychange", wake);
  window.addEventListener("online", wake);
  open();
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
      source.close();
      document.removeEventListener("visibilitychange", wake);
      window.removeEventListener("online", wake);
    },
  };
}
