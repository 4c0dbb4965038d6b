// One plot on its canvas, by Chart.js: lines and areas over time, with pauses, marks and the place one looks at.
//
// Rule 1: nothing moves by itself: there are no animations.
// Rule 2: colours come from the sheet, through `ink(name)`, each time it is drawn anew; none is written here.
// Rule 3: Chart.js listens to nothing; who points where is for plots_figure.js.

import { axisTo, timesBetween } from "./plots_data.js";
import { SHAPES_PX, overlay } from "./plots_overlay.js";
import { tick } from "./plots_words.js";

const AXIS_PX = 62; // of every plot the same, so that a moment is at one place in those below each other
const DOT_PX = 2.5;
const FAR = 3; // a limit this many times over what was used is left out of the axis: the use would be a line at 0
const FAR_FROM = 8;
const LOOKS = {
  area: { width: 1.75, dash: [], fill: 0.16 },
  line: { width: 2, dash: [], fill: 0 },
  dashes: { width: 1.5, dash: [6, 4], fill: 0 },
  dots: { width: 1.5, dash: [1.5, 3], fill: 0 },
};

// `show(view)`, `recolour()`, `cursor(row)`, `rowAt(px)`, `destroy()`. A view has `rows, bands, marks, since, until, range`.
export function draw(Chart, canvas, kind, ink) {
  // What is drawn now; the overlay reads it.
  const now = {
    view: { rows: [], bands: [], marks: [], since: 0, until: 1, range: "hour" },
    pointed: null,
    axis: { top: 1, step: 1 },
  };

  const chart = new Chart(canvas, {
    type: "line",
    data: { datasets: kind.series.map((series) => dataset(series)) },
    options: {
      responsive: true,
      maintainAspectRatio: false,
      animation: false,
      events: [],
      parsing: false,
      normalized: true,
      layout: { padding: { top: SHAPES_PX, right: 8 } }, // of every plot the same, too
      plugins: { legend: { display: false }, tooltip: { enabled: false } },
      scales: { x: timeAxis(), y: valueAxis() },
    },
    plugins: [overlay(kind, ink, now)],
  });

  function dataset(series) {
    const look = LOOKS[series.look];
    return {
      label: series.words,
      data: [],
      order: series.key === "limit" ? 0 : 1, // above what reaches it
      stepped: kind.stepped ? "middle" : false,
      borderWidth: look.width,
      borderDash: look.dash,
      borderJoinStyle: "round",
      fill: series.fillsTo ?? (look.fill ? "origin" : false),
      // What stands alone between gaps has no line: it is a dot.
      pointRadius: ({ dataset: { data }, dataIndex: at }) =>
        (data[at - 1]?.y ?? null) === null && (data[at + 1]?.y ?? null) === null ? DOT_PX : 0,
      pointBorderWidth: series.look === "dashes" ? 1.5 : 0,
    };
  }

  function timeAxis() {
    return {
      type: "linear",
      grid: { display: false },
      ticks: { autoSkip: false, maxRotation: 0, callback: (at) => tick(at, now.view.range) },
      afterBuildTicks: (scale) => {
        const width = scale.chart.width - AXIS_PX;
        scale.ticks = timesBetween(now.view.since, now.view.until, now.view.range, width).map((value) => ({ value }));
      },
    };
  }

  function valueAxis() {
    return {
      type: "linear",
      min: 0,
      border: { display: false },
      ticks: { autoSkip: false, padding: 6, callback: (value) => (value === 0 ? "0" : kind.shows(value)) },
      afterFit: (scale) => { scale.width = AXIS_PX; },
      afterBuildTicks: (scale) => {
        scale.ticks = Array.from({ length: Math.round(now.axis.top / now.axis.step) + 1 }, (_, at) => ({ value: at * now.axis.step }));
      },
    };
  }

  function colour() {
    for (const [at, series] of kind.series.entries()) {
      const { fill } = LOOKS[series.look];
      const set = chart.data.datasets[at];
      set.borderColor = ink(series.ink);
      set.pointBackgroundColor = ink(series.look === "dashes" ? "ground" : series.ink);
      set.backgroundColor = Chart.helpers.color(ink(series.ink)).alpha(fill || 0.1).rgbString();
    }
    const { x, y } = chart.options.scales;
    x.border.color = x.ticks.color = y.ticks.color = ink("muted");
    y.grid.color = ink("grid");
    chart.options.font = { family: getComputedStyle(canvas).fontFamily, size: 11.5 };
  }

  function measure() {
    const most = (series) => Math.max(0, ...now.view.rows.map((row) => row.point?.[series.key] ?? 0));
    const limit = kind.series.find((series) => series.key === "limit");
    const used = Math.max(...kind.series.filter((series) => series !== limit).map(most));
    const greatest = limit ? most(limit) : 0;
    const far = greatest > FAR_FROM && greatest > FAR * used;
    now.axis = axisTo(Math.max(used, far ? 0 : greatest), kind.isLength);
  }

  function show(next) {
    now.view = next;
    measure();
    for (const [at, series] of kind.series.entries()) {
      chart.data.datasets[at].data = now.view.rows.flatMap((row, place) => dots(row, place, series.key));
    }
    Object.assign(chart.options.scales.x, { min: now.view.since, max: now.view.until });
    chart.options.scales.y.max = now.axis.top;
    recolour();
  }

  // Where it goes in steps, the first before or after a gap begins or ends with its time, not in the middle of it.
  function dots(row, place, key) {
    const dot = { x: row.x, y: row.point?.[key] ?? null };
    if (!kind.stepped || !row.point) return [dot];
    const before = now.view.rows[place - 1]?.point ? [] : [{ ...dot, x: row.at }];
    const after = now.view.rows[place + 1]?.point ? [] : [{ ...dot, x: row.until }];
    return [...before, dot, ...after];
  }

  function recolour() {
    colour();
    chart.update("none");
  }

  return {
    show,
    recolour,
    cursor(row) {
      if (row === now.pointed) return;
      now.pointed = row;
      chart.draw();
    },
    // The row that is recorded nearest to a place on the canvas.
    rowAt(px) {
      const at = chart.scales.x.getValueForPixel(px);
      return now.view.rows.reduce(
        (nearest, row) => (row.point && !(Math.abs(nearest?.x - at) <= Math.abs(row.x - at)) ? row : nearest), null);
    },
    pixelOf: (row) => chart.scales.x.getPixelForValue(row.x),
    destroy: () => chart.destroy(),
  };
}
