// The four plots: what each shows, how it looks, and what it comes to in one phrase.
//
// Rule: series are told apart by ink and by line or area, never by ink alone.

import { figure, length, several } from "./plots_words.js";

const peak = (points, key) => Math.max(0, ...points.map((point) => point[key] ?? 0));
const known = (points, key) => points.map((point) => point[key]).filter((value) => value !== null && value !== undefined);
const total = (points, key) => points.reduce((sum, point) => sum + (point[key] ?? 0), 0);

function flight(points) {
  const most = figure(peak(points, "inFlightMax"));
  const limits = known(points, "limit");
  const [least, greatest] = [Math.min(...limits), Math.max(...limits)];
  if (!limits.length) return `at most ${most}, no limit`;
  // The limit is the last one of each step; it may have been higher in it, and one that is lowered evicts nobody.
  if (peak(points, "inFlightMax") > greatest) return `at most ${most}, limit ${figure(greatest)} by now`;
  if (least === greatest) return `at most ${most} of ${figure(greatest)}`;
  return `at most ${most}, limit ${figure(least)} to ${figure(greatest)}`;
}

function happenings(points) {
  const [refused, reduced, paused] = ["rateLimited", "reduced", "pausedMs"].map((key) => total(points, key));
  return [
    ...(refused ? [several(refused, "rate limit")] : []),
    ...(reduced ? [several(reduced, "reduction")] : []),
    ...(paused ? [`paused for ${length(paused)}`] : []),
  ].join(", ");
}

function queue(points) {
  const most = peak(points, "queuedMax");
  return most ? `up to ${figure(most)}, the longest for ${length(peak(points, "oldestWaitMsMax"))}` : "nobody waited";
}

const worst = (median, rare) => (points) =>
  known(points, rare).length
    ? `at worst half within ${length(peak(points, median))}, 95 % within ${length(peak(points, rare))}`
    : "none";

// `series`: drawn, in the legend, and columns of the table; `more`: columns alone. `empty` stands where no value is known.
export const KINDS = [
  {
    id: "in-flight",
    title: "In flight against the limit",
    shows: figure,
    series: [
      { key: "inFlightMax", words: "in flight, most", ink: "flight", look: "area" },
      { key: "inFlightMean", words: "in flight, mean", ink: "flight", look: "dots" },
      { key: "limit", words: "limit", ink: "limit", look: "dashes" },
    ],
    more: [
      { words: "429s", of: (point) => figure(point.rateLimited) },
      { words: "reductions", of: (point) => figure(point.reduced) },
      { words: "paused", of: (point) => (point.pausedMs ? length(point.pausedMs) : "no") },
    ],
    comesTo: flight,
    alsoSays: happenings,
    empty: "Nothing is recorded of this time",
    stepped: true,
    showsShapes: true,
  },
  {
    id: "queue",
    title: "Queue",
    shows: figure,
    series: [
      { key: "queuedMax", words: "waiting, most", ink: "queue", look: "area" },
      { key: "queuedMean", words: "waiting, mean", ink: "queue", look: "dots" },
    ],
    more: [{ words: "oldest wait", of: (point) => length(point.oldestWaitMsMax ?? 0) }],
    comesTo: queue,
    empty: "Nothing is recorded of this time",
    stepped: true,
  },
  {
    id: "wait",
    title: "Wait for a slot",
    shows: length,
    isLength: true,
    series: [
      { key: "waitMsP50", words: "half waited at most (p50)", ink: "wait", look: "line" },
      { key: "waitMsP95", words: "95 % waited at most (p95)", ink: "wait", look: "dashes", fillsTo: "-1" },
    ],
    more: [{ words: "granted", of: (point) => figure(point.granted) }],
    comesTo: worst("waitMsP50", "waitMsP95"),
    empty: "Nobody was granted a slot",
  },
  {
    id: "first-byte",
    title: "Time to first byte",
    shows: length,
    isLength: true,
    series: [
      { key: "firstByteMsP50", words: "half within (p50)", ink: "first", look: "line" },
      { key: "firstByteMsP95", words: "95 % within (p95)", ink: "first", look: "dashes", fillsTo: "-1" },
    ],
    more: [{ words: "completed", of: (point) => figure(point.completed) }],
    comesTo: worst("firstByteMsP50", "firstByteMsP95"),
    empty: "No answer began",
  },
];
