// From when until when nothing was granted, as bands of a plot.
//
// Rule 1: marks say it to the moment. Where there are none (only the newest thousand are told) the points do: they know
//         how long of a step was paused, not which part of it.
// Rule 2: pauses in neighbouring steps are not one pause for that: a short one each minute stays short.

// `[from, until]` of each pause, oldest first.
export function bandsOf(rows, marks, { since, until }) {
  const bands = [];
  let from = null;
  for (const { at, kind } of marks) {
    if (kind === "paused") from ??= at; // a second one lengthens it
    if (kind !== "resumed") continue;
    if (from !== null || !bands.length) bands.push([from ?? beganBefore(rows, since, at), at]);
    from = null;
  }
  if (from !== null) bands.push([from, goesOnUntil(rows, from, until)]);
  return joined([...bands, ...unmarked(rows, bands)]);
}

const isPaused = (row) => row.point?.pausedMs > 0;

// Where a pause began of which only the end is known: with the run of paused rows that leads to it.
function beganBefore(rows, since, end) {
  let begin = end;
  for (const row of rows.filter((each) => each.at < end).reverse()) {
    if (!isPaused(row)) break;
    begin = Math.max(since, Math.min(end, row.until) - row.point.pausedMs);
  }
  return begin;
}

// Until when a pause lasted of which no end is known: as far as rows were paused without a break.
function goesOnUntil(rows, from, until) {
  let end = from;
  for (const row of rows.filter((each) => each.until > from)) {
    if (!isPaused(row)) break;
    end = Math.min(row.until, until, Math.max(from, row.at) + row.point.pausedMs);
    if (end < row.until) break;
  }
  return end;
}

// The paused parts of rows of which no band knows; at a row's end where the next is paused throughout.
function unmarked(rows, bands) {
  const known = (row) => bands.some(([from, until]) => from < row.until && until >= row.at);
  return rows.flatMap((row, place) => {
    if (!isPaused(row) || known(row)) return [];
    const length = Math.min(row.point.pausedMs, row.until - row.at);
    const next = rows[place + 1];
    const leadsOn = next && isPaused(next) && next.point.pausedMs >= next.until - next.at;
    return [leadsOn ? [row.until - length, row.until] : [row.at, row.at + length]];
  });
}

// Bands that touch are one.
function joined(bands) {
  const result = [];
  for (const [from, until] of bands.toSorted((one, other) => one[0] - other[0])) {
    const last = result.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], until);
    else result.push([from, until]);
  }
  return result;
}
