/** Requests to the server. What goes wrong becomes a `Refusal` (the server said no) or `Lost` (nobody answered). */

const PATIENCE = 15000; // milliseconds after which a request counts as lost
const PASSING = [408, 425, 429, 502, 503, 504]; // statuses after which the same request may do

export class Refusal extends Error {
  constructor(status, { code = "internal", message = "The server could not do that.", field = null } = {}) {
    super(message);
    Object.assign(this, { status, code, field });
  }
}

/** `reason`: why it has to be tried again, if the server is there and says so. */
export class Lost extends Error {
  constructor(message, { cause, reason = "" } = {}) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** Return the JSON that the server answers to a GET. */
export const read = (path, query) => request("GET", path, query);

/** Return the JSON that the server answers to a POST. */
export const write = (path, query, body, patience) => request("POST", path, query, body, patience);

async function request(method, path, query = {}, body = undefined, patience = PATIENCE) {
  let response;
  let text;
  try {
    response = await fetch(address(path, query), {
      method,
      body: body === undefined ? undefined : JSON.stringify(body),
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.timeout(patience),
    });
    text = await response.text();
  } catch (error) {
    throw new Lost("The server is not answering. Trying again …", { cause: error });
  }
  const found = parsed(text);
  if (response.ok) return found;
  if (PASSING.includes(response.status)) {
    const { message = "The server is busy." } = found?.error ?? {};
    throw new Lost(message, { reason: message });
  }
  throw new Refusal(response.status, found?.error);
}

/** Return a file that the server makes, however long it takes: one that is not there yet is asked for again. */
export async function download(link, usualName) {
  for (;;) {
    const response = await fetch(link, { credentials: "same-origin", cache: "no-store" }).catch(() => null);
    if (!response) throw new Lost("The server is not answering. Try again.");
    if (response.ok) {
      const [, name = usualName] = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "") ?? [];
      return { content: await response.blob(), name };
    }
    const wait = Number(response.headers.get("retry-after"));
    if (!wait || wait > 10) throw new Refusal(response.status, parsed(await response.text())?.error);
    await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Return the address of something below /api, with a query without what is null. */
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  const search = new URLSearchParams(given).toString();
  return `/api/${path}${search ? `?${search}` : ""}`;
}

/** The routes of one study, for one annotator. */
export class StudyApi {
  constructor(study, annotator) {
    Object.assign(this, { study, annotator });
    this.base = `studies/${encodeURIComponent(study)}`;
  }

  get(route, query = {}) {
    return read(route ? `${this.base}/${route}` : this.base, { annotator: this.annotator, ...query });
  }

  post(route, body) {
    return write(`${this.base}/${route}`, { annotator: this.annotator }, body);
  }

  link(route) {
    return address(`${this.base}/${route}`, { annotator: this.annotator });
  }
}
