// Marks: what happened, by a shape of its own each. The same path is drawn on a plot and in its key.

const BOX = 10; // the shapes' width and height

// By weight: where many share a place, the first of these are shown, and the values beside the pointer name all.
export const MARKS = {
  reduced: { words: "limit reduced", ink: "warn", path: "M5 10 10 4H7V0H3v4H0z" },
  rate_limited: { words: "rate limited", ink: "bad", path: "M0 1h10L5 9.5z" },
  reclaimed: { words: "slot reclaimed", ink: "bad", path: "M1 0 5 4 9 0l1 1-4 4 4 4-1 1-4-4-4 4-1-1 4-4-4-4z" },
  restored: { words: "limit restored", ink: "good", path: "M5 0 10 6H7v4H3V6H0z" },
  limit_set: { words: "limit set", ink: "info", path: "M5 0 10 5 5 10 0 5z" },
  paused: { words: "paused", ink: "muted", path: "M1 0h3v10H1zM6 0h3v10H6z" },
  resumed: { words: "resumed", ink: "muted", path: "M1 0 10 5 1 10z" },
};
const DRAWN = Object.keys(MARKS).filter((kind) => kind !== "resumed"); // the end of a band says that
const SVG = "http://www.w3.org/2000/svg";

// The marks to draw, as `{x, kinds}`: of each `apart` pixels the `most` weightiest kinds, the weightiest first.
export function heaviest(marks, xOf, apart, most) {
  const places = new Map();
  for (const { at, kind } of marks) {
    if (!DRAWN.includes(kind)) continue;
    const x = xOf(at);
    const place = Math.floor(x / apart);
    if (!places.has(place)) places.set(place, { x, kinds: new Set() });
    places.get(place).kinds.add(kind);
  }
  const weight = (kind) => DRAWN.indexOf(kind);
  const weigh = (kinds) => [...kinds].sort((one, other) => weight(one) - weight(other)).slice(0, most);
  return [...places.values()].map(({ x, kinds }) => ({ x, kinds: weigh(kinds) }));
}

// The mark's shape, its middle at (x, y), in the context's fillStyle.
export function drawShape(context, kind, x, y) {
  context.save();
  context.translate(x - BOX / 2, y - BOX / 2);
  context.fill(new Path2D(MARKS[kind].path));
  context.restore();
}

// The same shape as an element; what it means stands beside it.
export function shapeElement(kind) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${BOX} ${BOX}`);
  svg.setAttribute("class", `plot-shape plot-ink-${MARKS[kind].ink}`);
  svg.setAttribute("aria-hidden", "true");
  svg.append(document.createElementNS(SVG, "path"));
  svg.firstChild.setAttribute("d", MARKS[kind].path);
  return svg;
}
