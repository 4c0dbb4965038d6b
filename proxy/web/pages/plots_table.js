// The table behind a plot: the same values in words, for those who do not see it and for those who want them exact.
//
// Rule: a row is kept for as long as its time is shown, so that who reads it keeps their place when a minute passes.

import { exactly, span } from "./plots_words.js";

const made = (tag, text = "", classes = "") => Object.assign(document.createElement(tag), { textContent: text, className: classes });

// A closed `details` with the table; `show(view)` fills it, newest first.
export function makeTable(kind) {
  const columns = [
    ...kind.series.map(({ key, words }) => ({ words, of: (point) => (point[key] ?? null) === null ? "–" : kind.shows(point[key]) })),
    ...kind.more,
  ];
  const details = made("details", "", "plot-values");
  const summary = made("summary", "Values as a table");
  summary.append(made("span", `: ${kind.title}`, "plot-unseen"));
  const frame = made("div", "", "plot-scroll");
  frame.tabIndex = 0;
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", `Values: ${kind.title}`);
  const table = frame.appendChild(made("table"));
  const caption = table.appendChild(made("caption", "", "plot-unseen"));
  const head = table.createTHead().insertRow();
  for (const words of ["time", ...columns.map((column) => column.words)]) {
    head.append(Object.assign(made("th", words), { scope: "col" }));
  }
  const body = table.createTBody();
  const kept = new Map(); // by range and time
  details.append(summary, frame);

  function fill(line, row, range) {
    const texts = row.point
      ? columns.map((column) => column.of(row.point))
      : ["nothing recorded", ...columns.slice(1).map(() => "")];
    const words = span(row.at, row.until, range) + (row.point?.partial ? " (so far)" : "");
    line.classList.toggle("plot-gap", !row.point);
    [words, ...texts].forEach((text, at) => {
      if (line.cells[at].textContent !== text) line.cells[at].textContent = text;
    });
  }

  function lineOf(key) {
    if (!kept.has(key)) {
      const line = document.createElement("tr");
      line.append(Object.assign(made("th"), { scope: "row" }), ...columns.map(() => made("td")));
      kept.set(key, line);
    }
    return kept.get(key);
  }

  function show({ rows, range, since, until }) {
    caption.textContent = `${kind.title}, ${exactly(since, range)} to ${exactly(until, range)}`;
    const keys = new Set();
    let place = body.firstElementChild;
    for (const row of rows.toReversed()) {
      const key = `${range} ${row.at}`;
      keys.add(key);
      const line = lineOf(key);
      fill(line, row, range);
      if (line === place) place = place.nextElementSibling;
      else body.insertBefore(line, place);
    }
    for (const [key, line] of kept) {
      if (keys.has(key)) continue;
      line.remove();
      kept.delete(key);
    }
  }

  return { element: details, show };
}
