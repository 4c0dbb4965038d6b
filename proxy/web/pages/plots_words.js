// Numbers, lengths of time and moments as the plots say them, in the viewer's own language of figures.

const COARSE = [["d", 86400, "h", 3600], ["h", 3600, "min", 60], ["min", 60, "s", 1]];
const TWELVE = new Intl.DateTimeFormat(undefined, { hour: "numeric" }).resolvedOptions().hour12;
const MOMENT = { hour: TWELVE ? "numeric" : "2-digit", minute: "2-digit" }; // 1:05 PM, but 01:05
const figures = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const moments = new Map(); // a formatter takes 50 µs to make; a table asks a hundred times

// `least`: how much of it is shown where nothing was recorded before.
export const RANGES = {
  hour: { ms: 3600000, step: 1, least: 900000, words: "last hour" },
  day: { ms: 86400000, step: 10, least: 10800000, words: "last day" },
  week: { ms: 604800000, step: 60, least: 172800000, words: "last week" },
};

// "4", "3.2", "1,200".
export const figure = (value) => figures.format(value);

// Two units at most: "350 ms", "2.4 s", "42 s", "1 min 20 s", "2 h 5 min", "3 d".
export function length(ms) {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${figure(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  const [unit, size, smaller, smallerSize] = COARSE.find((units) => seconds >= units[1]) ?? ["s", 1, "", 1];
  const rest = Math.floor((seconds % size) / smallerSize);
  return `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${smaller}` : ""}`;
}

function moment(options) {
  const key = JSON.stringify(options);
  if (!moments.has(key)) moments.set(key, new Intl.DateTimeFormat(undefined, options));
  return moments.get(key);
}

// From a moment to another: "13:42 – 13:43", with the weekday where a plot is of more than an hour.
export function span(from, until, range) {
  return moment(range === "hour" ? MOMENT : { weekday: "short", ...MOMENT }).formatRange(from, until);
}

// What stands below the axis of time.
export function tick(at, range) {
  return moment(range === "week" ? { weekday: "short", day: "numeric" } : MOMENT).format(at);
}

// One moment to the second, with the weekday where a plot is of more than an hour.
export function exactly(at, range) {
  const day = range === "hour" ? {} : { weekday: "short" };
  return moment({ ...day, ...MOMENT, second: "2-digit" }).format(at);
}

// "1 pause", "3 pauses".
export const several = (count, one, more = `${one}s`) => `${figure(count)} ${count === 1 ? one : more}`;
