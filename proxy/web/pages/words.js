// What the page says: lengths of time, causes, names. The causes are the words of `slotgate status`.

export const CAUSES = {
  operator: "by hand",
  exhausted: "no requests left in this window",
  concurrency: "too many at once",
  rate: "too fast",
  overload: "overloaded",
};
export const KINDS = {
  ...CAUSES,
  quota: "quota used up",
  restored: "one step up by itself",
  none: "no limit named",
};
export const PHASES = {
  connecting: "connecting",
  waiting: "sent",
  streaming: "streaming",
  cooling: "rests",
  free: "free",
};
const SETTERS = { file: "as configured", api: "set by hand", auto: "back up by itself" };

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ARRIVED_MS = 1500; // a prompt that began so near to its request's arrival began with it; a look takes a while
const SHOWN = 8; // characters of a long id that tell it from others
const WHOLE = 14; // characters of an id that is shown whole
// What turns a line of text round, hides in it or looks like nothing: what the command line escapes, and blank letters.
// Joiners belong to emoji and to scripts other than Latin.
const DECEIVING = /(?! |(?<=[^\u0000-\u024f])[\u200c\u200d])[\p{C}\p{Z}]|[\u115f\u1160\u2800\u3164\uffa0]/gu;

// A length of time: "0.4 s", "12 s", "4 min 12 s", "54 min", "3 h 5 min", "2 d 4 h".
export function span(ms) {
  const left = Math.max(0, ms);
  if (left < 950) return left === 0 ? "0 s" : `${Math.max(0.1, left / SECOND).toFixed(1)} s`;
  const seconds = Math.round(left / SECOND) * SECOND;
  if (seconds < MINUTE) return `${seconds / SECOND} s`;
  if (seconds < 10 * MINUTE) return two(seconds, MINUTE, "min", SECOND, "s");
  const minutes = Math.round(left / MINUTE) * MINUTE;
  if (minutes < HOUR) return `${minutes / MINUTE} min`;
  if (minutes < DAY) return two(minutes, HOUR, "h", MINUTE, "min");
  return two(Math.round(left / HOUR) * HOUR, DAY, "d", HOUR, "h");
}

function two(ms, great, greatName, small, smallName) {
  const rest = Math.floor((ms % great) / small);
  const first = `${Math.floor(ms / great)} ${greatName}`;
  return rest === 0 ? first : `${first} ${rest} ${smallName}`;
}

// The same at whole seconds and never "0.4 s": for what is estimated or counts down on the page.
export const roughly = (ms) => span(Math.max(SECOND, Math.ceil(ms / SECOND) * SECOND));

// An estimate, no finer than it can be true: to 5 s under a minute, to half a minute under ten.
export function about(ms) {
  const step = ms < 10 * SECOND ? SECOND : ms < MINUTE ? 5 * SECOND : ms < 10 * MINUTE ? 30 * SECOND : MINUTE;
  return `about ${roughly(Math.ceil(ms / step) * step)}`;
}

export const ago = (ms) => (ms < 2 * SECOND ? "just now" : `${span(ms)} ago`);

export const clock = (at) => new Date(at).toLocaleTimeString();

export function moment(at, now) {
  const day = new Date(at);
  if (day.toDateString() === new Date(now).toDateString()) return day.toLocaleTimeString();
  return day.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

const GROUPED = new Intl.NumberFormat(); // made once: toLocaleString makes one each time

export const number = (value) => (value < 1000 ? String(value) : GROUPED.format(value));

export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// A name as it can be shown: what a client sent, with the characters that deceive made visible; of blanks alone, in quotes.
export function visible(name) {
  const seen = name.replace(DECEIVING, "\ufffd");
  return seen !== "" && seen.trim() === "" ? `"${seen}"` : seen;
}

// The conversation's id as short as it can be told from others; its whole is a tooltip's matter.
export function brief(id) {
  if (id === null) return "no conversation";
  const characters = Array.from(visible(id));
  return characters.length <= WHOLE ? characters.join("") : `${characters.slice(0, SHOWN).join("")}…`;
}

// The conversation and, where several replicas share a queue, which one has it.
export const whose = (each) => brief(each.conversationId) + (each.replica === undefined ? "" : ` · ${visible(each.replica)}`);

export const who = (each) => `${visible(each.workspaceId)} · ${brief(each.conversationId)}`;

export const cause = (name) => CAUSES[name] ?? name;

// Why the first one waits, as a sentence; "" where nothing is told. A pause counts down here as it does in its banner.
export function reason({ waitsFor, paused, pausedUntil, pauseCause }, now) {
  if (!waitsFor) return "";
  if (waitsFor.code !== "pause" || !paused) return `${capital(waitsFor.words)}.`;
  return `Paused for another ${roughly(pausedUntil - now)}: ${cause(pauseCause)}.`;
}

// Why a waiter stands where it stands, as of `at` and `since` later; its wait stands beside it and is not said twice.
export function place({ why, starred, promptStartedAt, waitingMs }, at, since) {
  if (why.startsWith("rests")) return why;
  const age = at - promptStartedAt;
  const words = Math.abs(age - waitingMs) <= ARRIVED_MS ? "prompt began on arrival" : `prompt began ${ago(age + since)}`;
  return starred ? `starred, ${words}` : words;
}

// Whose the limit in force is.
export function setter(entry) {
  if (entry.autoReduced) return `reduced from ${number(entry.autoReducedFrom)}`;
  if (entry.limitAuto) return "auto: learned from refusals";
  if (entry.limit === null) return entry.limitBy === "api" ? SETTERS.api : "";
  return SETTERS[entry.limitBy] ?? "";
}

export function cooldownSetter(entry) {
  return entry.cooldownAuto ? "auto: learned from polls" : (SETTERS[entry.cooldownBy] ?? "");
}

export function refusal(seen) {
  const wait = seen.retryAfterMs === null ? "" : `, retry after ${span(seen.retryAfterMs)}`;
  const status = seen.status === 200 ? "inside a 200:" : seen.status;
  return `${status} ${KINDS[seen.kind] ?? seen.kind}${wait}`;
}
