// The admin API for the page: one way in, with the token and honest errors.
//
// Rule 1: the token lives in this tab's session storage and in the Authorization header, never in an address.
// Rule 2: an error's message is the server's own sentence, to be shown as text.
// Rule 3: paths are relative to the page, so that it works below a prefix too; a leading slash does not matter.

const TIMEOUT_MS = 15000;
const KEPT_AS = "slotgate-token";
const PRINTABLE = /^[\x21-\x7e]+$/; // what an Authorization header can carry

let token = sessionStorage.getItem(KEPT_AS);
let onRefused = () => {};

// `status` is the answer's, 0 where none came; `code` the server's word for programs.
export class ApiError extends Error {
  constructor(message, status, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

const url = (path) => new URL(path.replace(/^\//, ""), document.baseURI).href;

const headers = () => (token ? { Authorization: `Bearer ${token}` } : {});

// The Response of one call; `options` as of fetch. Throws an ApiError unless it is a success.
async function raw(path, options = {}) {
  let answer;
  try {
    answer = await fetch(url(path), {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...options,
      headers: { ...headers(), ...options.headers },
    });
  } catch (error) {
    throw new ApiError(reason(error), 0, error.name);
  }
  if (answer.ok) return answer;
  const { message, code } = await told(answer);
  if (answer.status === 401) onRefused(token !== null);
  throw new ApiError(message, answer.status, code);
}

function reason(error) {
  if (error.name === "TimeoutError") return "the proxy does not answer";
  if (error.name === "AbortError") return "stopped";
  return "the proxy cannot be reached";
}

async function told(answer) {
  try {
    const { message, code } = (await answer.json()).error;
    if (typeof message === "string") return { message, code };
  } catch {
    // No JSON, or none of ours: it comes from something in between.
  }
  return { message: `the proxy answered ${answer.status}`, code: "unreadable" };
}

const json = async (path, options) => body(await raw(path, options));

// What an answer holds; null where it holds nothing.
async function body(answer) {
  if (answer.status === 204) return null;
  try {
    return await answer.json();
  } catch (error) {
    throw new ApiError(error.name === "SyntaxError" ? "the answer is no JSON" : reason(error), 0, error.name);
  }
}

function write(method, path, body) {
  const said = { "X-Slotgate-Client": "page" };
  if (body === undefined) return json(path, { method, headers: said });
  said["Content-Type"] = "application/json";
  return json(path, { method, headers: said, body: JSON.stringify(body) });
}

export const api = {
  get: (path) => json(path),
  put: (path, body) => write("PUT", path, body),
  post: (path, body) => write("POST", path, body),
  delete: (path) => write("DELETE", path),
  raw,
  body,
  url,
  get hasToken() {
    return token !== null;
  },
  // Calls `then(hadToken)` whenever the proxy asks for a token, or for another one.
  onRefused(then) {
    onRefused = then;
  },
  // Bear this token from now on; false if no header can carry it.
  bear(text) {
    if (!PRINTABLE.test(text)) return false;
    token = text;
    sessionStorage.setItem(KEPT_AS, text);
    return true;
  },
  forget() {
    token = null;
    sessionStorage.removeItem(KEPT_AS);
  },
};
