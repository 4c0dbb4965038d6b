// One plot with what stands round it: title, legend, canvas, the values beside the pointer, the table behind.
//
// Rule 1: what the pointer shows, the arrow keys show too, and a screen reader is told.
// Rule 2: words from elsewhere (the texts of marks) are set as text, never as markup.

import { draw } from "./plots_draw.js";
import { MARKS, shapeElement } from "./plots_marks.js";
import { makeTable } from "./plots_table.js";
import { RANGES, exactly, figure, span } from "./plots_words.js";

const LEAP = 10; // rows, by the page keys
const TOLD = 4; // marks of one row that are written out
const NEAR_PX = 6;

function made(tag, classes, ...inside) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  element.append(...inside);
  return element;
}

// `library` is Chart.js, or null where it is not there: the table is, then. `onCursor(row | null)` is told where one looks.
export function makeFigure(library, kind, ink, onCursor) {
  const sum = made("span", "plot-sum");
  const legend = made("ul", "plot-legend", ...kind.series.map((series) => key(series)));
  const canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Loading: ${kind.title}`);
  const tip = made("div", "plot-tip");
  tip.hidden = true;
  const words = made("p", "plot-empty", "Loading …");
  const frame = made("div", "plot-frame", canvas, tip, words);
  const spoken = made("p", "plot-unseen");
  spoken.setAttribute("aria-live", "polite");
  const shapes = made("ul", "plot-legend plot-shapes");
  const table = makeTable(kind);
  const title = made("h3", "", kind.title);
  const element = made("figure", "plot", made("figcaption", "", title, sum, legend), frame, spoken);
  if (kind.showsShapes) element.append(shapes);
  element.append(table.element);
  element.dataset.plot = kind.id;

  let plot = null;
  let view = null;
  let row = null;
  if (!library) {
    canvas.hidden = true;
    words.textContent = "Not drawn; the values are below";
  }

  function key(series) {
    return made("li", "", made("span", `plot-line plot-line-${series.look} plot-ink-${series.ink}`), series.words);
  }

  const recorded = () => view?.rows.filter((each) => each.point) ?? [];

  function show(next) {
    view = next;
    const points = recorded().map((each) => each.point);
    const some = points.some((point) => kind.series.some(({ key: name }) => (point[name] ?? null) !== null));
    sum.textContent = some ? kind.comesTo(points) : "";
    if (library) {
      plot ??= draw(library, canvas, kind, ink); // now that it stands in the page and has its size
      plot.show(view);
      words.textContent = kind.empty;
      words.hidden = some;
    }
    const said = some ? [kind.comesTo(points), kind.alsoSays?.(points)] : [kind.empty];
    const how = points.length ? " Arrow keys read single values." : "";
    canvas.setAttribute("aria-label", `${kind.title}, ${RANGES[view.range].words}: ${said.filter(Boolean).join("; ")}.${how}`);
    table.show(view);
    shapes.replaceChildren(...keysOfShapes());
    shapes.hidden = !shapes.childElementCount;
    if (row) look(recorded().find((each) => each.at === row.at) ?? null, !tip.hidden);
  }

  function keysOfShapes() {
    const counts = new Map();
    for (const mark of view.marks) counts.set(mark.kind, (counts.get(mark.kind) ?? 0) + 1);
    const keys = Object.keys(MARKS).filter((kindOf) => kindOf !== "resumed" && kindOf !== "paused" && counts.has(kindOf));
    const items = keys.map((kindOf) => made("li", "", shapeElement(kindOf), `${MARKS[kindOf].words} (${figure(counts.get(kindOf))})`));
    if (view.bands.length) items.push(made("li", "", made("span", "plot-band"), `paused (${figure(view.bands.length)})`));
    return items;
  }

  // Look at a row, or at none. `near`: the values stand beside it; otherwise it is another plot that is looked at.
  function look(next, near) {
    row = next;
    plot?.cursor(row);
    tip.hidden = !(row && near);
    if (tip.hidden) return;
    tip.replaceChildren(...lines());
    place();
  }

  const happened = () => view.marks.filter((mark) => mark.at >= row.at && mark.at < row.until);

  function lines() {
    const values = kind.series.map((series) => made("li", "",
      made("span", `plot-line plot-line-${series.look} plot-ink-${series.ink}`),
      made("span", "", series.words), made("b", "", valueOf(series))));
    const marks = happened();
    const told = marks.slice(0, TOLD).map((mark) => made("li", "",
      shapeElement(mark.kind in MARKS ? mark.kind : "resumed"), made("span", "", `${exactly(mark.at, "hour")} ${mark.text}`)));
    if (marks.length > TOLD) told.push(made("li", "", `and ${figure(marks.length - TOLD)} more`));
    const when = span(row.at, row.until, view.range) + (row.point.partial ? " (so far)" : "");
    return [made("p", "", when), made("ul", "", ...values), ...(told.length ? [made("ul", "plot-told", ...told)] : [])];
  }

  function valueOf(series) {
    const value = row.point[series.key] ?? null;
    if (value === null) return series.key === "limit" ? "none" : "–";
    return kind.shows(value);
  }

  function place() {
    const at = plot.pixelOf(row);
    const room = frame.clientWidth - tip.offsetWidth;
    const beside = at < frame.clientWidth / 2 ? at + NEAR_PX * 2 : at - NEAR_PX * 2 - tip.offsetWidth;
    tip.style.transform = `translate(${Math.round(Math.max(0, Math.min(room, beside)))}px, 0)`;
  }

  function say() {
    const marks = happened().map((mark) => mark.text);
    const values = kind.series.map((series) => `${series.words}: ${valueOf(series)}`);
    spoken.textContent = `${span(row.at, row.until, view.range)}. ${[...values, ...marks.slice(0, TOLD)].join("; ")}`;
  }

  const KEYS = {
    ArrowLeft: (at) => at - 1,
    ArrowRight: (at) => at + 1,
    PageUp: (at) => at - LEAP,
    PageDown: (at) => at + LEAP,
    Home: () => 0,
    End: (at, last) => last,
  };

  function onKey(event) {
    const rows = recorded();
    if (event.altKey || event.ctrlKey || event.metaKey || !rows.length) return;
    if (event.key === "Escape" && row) {
      event.stopPropagation(); // it closes these values and no dialog
      onCursor(null);
      return;
    }
    const step = KEYS[event.key];
    if (!step) return;
    event.preventDefault();
    const last = rows.length - 1;
    const at = row ? rows.findIndex((each) => each.at === row.at) : last + (event.key === "ArrowLeft" ? 1 : 0);
    onCursor(rows[Math.max(0, Math.min(last, step(at, last)))]);
    say();
  }

  function onFocus() {
    const rows = recorded();
    if (rows.length && !row && canvas.matches(":focus-visible")) onCursor(rows.at(-1));
  }

  const point = (event) => {
    if (view) onCursor(plot.rowAt(event.offsetX));
  };
  if (library) {
    canvas.addEventListener("pointermove", point);
    canvas.addEventListener("pointerdown", point);
    canvas.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") onCursor(null); // a finger that was lifted shows what it touched
    });
    canvas.addEventListener("focus", onFocus);
    canvas.addEventListener("blur", () => onCursor(null));
    canvas.addEventListener("keydown", onKey);
  }

  return { element, show, look, recolour: () => plot?.recolour(), destroy: () => plot?.destroy() };
}
