/** What the address says: who answers, and which study. The token leaves the address bar before all else. */

export function readAddress() {
  const address = new URL(window.location.href);
  const found = {
    study: address.searchParams.get("study"),
    annotator: address.searchParams.get("annotator")?.trim() || null,
  };
  if (address.searchParams.has("token")) {
    address.searchParams.delete("token");
    window.history.replaceState(null, "", address);
  }
  return found;
}

/** Put study and annotator into the address, so that a reload or a bookmark comes back to the same place. */
export function writeAddress({ study, annotator }) {
  const address = new URL(window.location.href);
  for (const [name, value] of Object.entries({ study, annotator })) {
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  window.history.replaceState(null, "", address);
}
