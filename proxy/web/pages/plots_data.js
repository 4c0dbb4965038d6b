// What a history is to the plots: rows with their gaps, where it begins, and ticks that a person would choose.
//
// Rule: what nobody recorded is a gap. Nothing is drawn through it, and nothing is zero there.

const MINUTE = 60000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIMES = { // how far apart ticks may be, by range
  hour: [5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 20 * MINUTE, 30 * MINUTE],
  day: [HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 6 * HOUR, 12 * HOUR],
  week: [DAY, 2 * DAY],
};
const TICK_PX = { hour: 62, day: 62, week: 58 }; // the room that one label takes
const COUNTS = [1, 2, 5];
const LENGTHS = [
  10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 15000, 30000, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE,
  15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY,
];
const MOST_STEPS = 5;
const LEAST_LENGTH = 100; // ms: less than that is no wait, and shall not look like one

// `{at, until, x, point}` for each point, oldest first, and one with `point: null` for each gap between two. x is the
// middle of what the point covers: a step begins and ends half-way between two.
export function rowsOf({ points, stepMs, until }) {
  const rows = [];
  for (const point of points) {
    const before = rows.at(-1);
    if (before && point.at > before.until) rows.push(row(before.until, point.at, null));
    const end = point.at + stepMs;
    rows.push(row(point.at, point.partial && until > point.at ? Math.min(end, until) : end, point));
  }
  return rows;
}

const row = (at, until, point) => ({ at, until, x: (at + until) / 2, point });

// From when on there is something to show: `since`, unless for more than half of the time nothing was recorded yet. A
// proxy that was just started has its minutes in full width then; `least` ms are shown in any case.
export function beginOf(rows, marks, { since, until }, least) {
  if (!rows.length) return since;
  const first = Math.min(rows[0].at, marks[0]?.at ?? until);
  return first - since < (until - since) / 2 ? since : Math.min(first, until - least);
}

// Moments for the axis of time, at round times of the viewer's clock, also where that clock is set forward or back.
export function timesBetween(since, until, range, width) {
  const most = Math.max(2, Math.floor(width / TICK_PX[range]));
  const apart = TIMES[range].find((each) => Math.floor((until - since) / each) <= most) ?? TIMES[range].at(-1);
  const at = new Date(since);
  at.setHours(0, 0, 0, 0);
  const times = [];
  for (let count = 0; at.getTime() <= until; count += 1) {
    if (at.getTime() >= since) times.push(at.getTime());
    if (apart < HOUR) at.setTime(at.getTime() + apart);
    else at.setHours(at.getHours() + apart / HOUR);
  }
  return times;
}

// `{top, step}` of an axis from 0 that shows `most` with room above it.
export function axisTo(most, isLength) {
  const wanted = Math.max(most, isLength ? LEAST_LENGTH : 0) * 1.12;
  const step = isLength ? LENGTHS.find((each) => wanted / each <= MOST_STEPS) ?? wanted : countStep(wanted);
  return { top: Math.max(1, Math.ceil(wanted / step)) * step, step };
}

function countStep(wanted) {
  for (let size = 1; ; size *= 10) {
    const step = COUNTS.find((each) => wanted / (each * size) <= MOST_STEPS);
    if (step) return step * size;
  }
}
