// What happened, in words: every mark of the plots, newest first.

import { MARKS, shapeElement } from "./plots_marks.js";
import { exactly, figure } from "./plots_words.js";

// A closed `details` with a list, hidden where nothing happened. Texts come from elsewhere: they are set as text.
export function makeHappened() {
  const details = document.createElement("details");
  details.className = "plot-values plots-happened";
  const summary = details.appendChild(document.createElement("summary"));
  const list = details.appendChild(document.createElement("ol"));
  list.tabIndex = 0; // it scrolls
  list.setAttribute("aria-label", "What happened, newest first");
  let shown = "";

  function item({ at, kind, text }, range) {
    const made = document.createElement("li");
    const time = Object.assign(document.createElement("time"), { textContent: exactly(at, range), dateTime: new Date(at).toISOString() });
    const words = Object.assign(document.createElement("span"), { textContent: text });
    made.append(time, shapeElement(kind in MARKS ? kind : "resumed"), words);
    return made;
  }

  function show({ marks, range }) {
    details.hidden = marks.length === 0;
    summary.textContent = `What happened (${figure(marks.length)})`;
    const now = `${range} ${marks.length} ${marks[0]?.at} ${marks.at(-1)?.at}`;
    if (now === shown) return; // who reads it keeps their place
    shown = now;
    list.replaceChildren(...marks.toReversed().map((mark) => item(mark, range)));
  }

  return { element: details, show };
}
