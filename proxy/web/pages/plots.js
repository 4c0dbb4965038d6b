// The plots of one provider: what it did in the last hour, day or week, from the history that the proxy keeps.
//
//   const plots = mountPlots(element, providerId, api);   // api: the page's, with get(path) and raw(path)
//   plots.update(); plots.setRange("day"); plots.destroy();
//
// Rule 1: nothing is drawn that is not recorded, and what could not be fetched is said; what was drawn stays meanwhile.
// Rule 2: it asks every 30 s while it is seen, and never while it is not.
// Rule 3: after destroy() nothing of it is left: no timer, no listener, no canvas.

import { beginOf, rowsOf } from "./plots_data.js";
import { save } from "./plots_export.js";
import { makeFigure } from "./plots_figure.js";
import { KINDS } from "./plots_kinds.js";
import { makeHappened } from "./plots_happened.js";
import { dressed, library } from "./plots_library.js";
import { MARKS } from "./plots_marks.js";
import { bandsOf } from "./plots_pauses.js";
import { RANGES, exactly } from "./plots_words.js";

const EVERY_MS = 30000;
const INKS = ["flight", "limit", "queue", "wait", "first", "muted", "grid", "ground", "pause", "good", "bad", "warn", "info"];

function button(action, words) {
  const made = document.createElement("button");
  made.type = "button";
  made.dataset.action = action;
  made.textContent = words;
  return made;
}

function group(label, ...buttons) {
  const made = document.createElement("div");
  made.className = "plots-group";
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", label);
  made.append(...buttons);
  return made;
}

// Draws into `element`, which is emptied. `update()` is settled when the newest is shown.
export function mountPlots(element, providerId, api) {
  const stop = new AbortController();
  const listening = { signal: stop.signal };
  const ranges = Object.keys(RANGES).map((name) => button(`range-${name}`, `Last ${name}`));
  const csv = button("csv", "CSV");
  const json = button("json", "JSON");
  const asOf = Object.assign(document.createElement("span"), { className: "plots-as-of" });
  const problem = Object.assign(document.createElement("p"), { className: "plots-problem", hidden: true });
  problem.setAttribute("role", "status");
  const bar = Object.assign(document.createElement("div"), { className: "plots-bar" });
  bar.append(group("Range of time", ...ranges), asOf, group(`Save the history of ${providerId}`, csv, json));
  const grid = Object.assign(document.createElement("div"), { className: "plots-grid" });
  const root = Object.assign(document.createElement("div"), { className: "plots" });
  const inks = new Map(INKS.map((name) => {
    const probe = document.createElement("span"); // shows nothing: its colour is read
    probe.hidden = true;
    probe.className = `plot-ink-${name}`;
    return [name, probe];
  }));
  const happened = makeHappened();
  root.append(bar, problem, grid, happened.element, ...inks.values());
  element.replaceChildren(root);

  let range = "hour";
  let figures = null;
  let view = null;
  let recorded = ""; // since when, where that is not long ago
  let skew = 0; // the proxy's clock minus this one
  let asked = 0; // the newest request; an earlier one's answer is not shown
  let lastAt = 0;

  function ink(name) {
    const probe = inks.get(name.startsWith("mark-") ? MARKS[name.slice(5)].ink : name);
    return getComputedStyle(probe).color;
  }

  const seen = () => !document.hidden && root.checkVisibility();

  async function begin() {
    let Chart = null;
    try {
      Chart = await library(api);
    } catch (error) {
      complain(`Plots are not available: ${error.message}`);
    }
    await dressed();
    if (stop.signal.aborted) return;
    figures = KINDS.map((kind) => {
      const figure = makeFigure(Chart, kind, ink, (row) => {
        for (const each of figures) each.look(row, each === figure);
      });
      return figure;
    });
    grid.replaceChildren(...figures.map((figure) => figure.element));
  }

  function complain(words) {
    problem.hidden = !words;
    if (problem.textContent !== words) problem.textContent = words;
  }

  const place = encodeURIComponent(providerId);

  function query() {
    const { ms, step } = RANGES[range];
    return range === "hour" ? `step=${step}` : `since=${Math.round(Date.now() + skew - ms)}&step=${step}`;
  }

  async function update() {
    const mine = ++asked;
    const shown = range;
    root.setAttribute("aria-busy", "true");
    try {
      await beginning;
      if (mine !== asked) return;
      const answer = await api.get(`concurrency/history/${place}?${query()}`);
      const told = await api.get(`concurrency/marks/${place}?since=${answer.since}&until=${answer.until}`);
      if (mine !== asked) return;
      skew = answer.until - Date.now();
      lastAt = Date.now();
      const rows = rowsOf(answer);
      const { marks } = told;
      const since = beginOf(rows, marks, answer, RANGES[shown].least);
      view = { rows, bands: bandsOf(rows, marks, answer), marks, since, until: answer.until, range: shown };
      recorded = since > answer.since ? `recorded since ${exactly(rows[0].at, shown)}, ` : "";
      show();
      if (!failedToBegin()) complain("");
    } catch (error) {
      if (mine === asked) complain(`${view ? "Not up to date" : "The history is not available"}: ${error.message}`);
    } finally {
      if (mine === asked) root.removeAttribute("aria-busy");
    }
  }

  const failedToBegin = () => problem.textContent.startsWith("Plots are not");

  function show() {
    for (const figure of figures) figure.show(view);
    happened.show(view);
    asOf.textContent = `${recorded}as of ${new Date(lastAt).toLocaleTimeString()}`;
  }

  function setRange(name) {
    if (!(name in RANGES)) throw new RangeError(`no range ${name}; there are ${Object.keys(RANGES).join(", ")}`);
    range = name;
    for (const each of ranges) each.setAttribute("aria-pressed", String(each.dataset.action === `range-${name}`));
    return update();
  }

  async function exportAs(format) {
    try {
      await save(api, `concurrency/history/${place}?${query()}&format=${format}`, `slotgate-${providerId}-${range}`, format);
      if (!failedToBegin()) complain("");
    } catch (error) {
      complain(`Nothing is saved: ${error.message}`);
    }
  }

  function recolour() {
    // The new sheet applies with the next frame.
    requestAnimationFrame(() => {
      if (!stop.signal.aborted) figures?.forEach((figure) => figure.recolour());
    });
  }

  const timer = setInterval(() => { if (seen()) update(); }, EVERY_MS);
  document.addEventListener("visibilitychange", () => { if (seen() && Date.now() - lastAt > EVERY_MS) update(); }, listening);
  document.addEventListener("theme", recolour, listening);
  for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
    matchMedia(query).addEventListener("change", recolour, listening);
  }
  for (const each of ranges) each.addEventListener("click", () => setRange(each.dataset.action.slice("range-".length)), listening);
  csv.addEventListener("click", () => exportAs("csv"), listening);
  json.addEventListener("click", () => exportAs("json"), listening);

  const beginning = begin();
  setRange(range);

  return {
    update,
    setRange,
    destroy() {
      stop.abort();
      asked += 1;
      clearInterval(timer);
      figures?.forEach((figure) => figure.destroy());
      root.remove();
    },
  };
}
