// One plot on its canvas, by Chart.js: lines and areas over time, with pauses, marks and the place one looks at.
//
// Rule 1: nothing moves by itself: there are no animations.
// Rule 2: colours come from the sheet, through `ink(name)`, each time it is drawn anew; none is written here.
// Rule 3: Chart.js listens to nothing; who points where is for plots_figure.js.

import { axisTo, timesBetween } from "./plots_data.js";
import { drawShape, heaviest } from "./plots_marks.js";
import { figure, tick } from "./plots_words.js";

const AXIS_PX = 62; // of every plot the same, so that a moment is at one place in those below each other
const SHAPES_PX = 16; // above the plot
const SHAPE_APART_PX = 13;
const LINE_APART_PX = 3;
const LEAST_BAND_PX = 2;
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
  let view = { rows: [], bands: [], marks: [], since: 0, until: 1, range: "hour" };
  let pointed = null;
  let axis = { top: 1, step: 1, farLimit: null };

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
    plugins: [{ id: "slotgate", beforeDatasetsDraw: drawBehind, afterDatasetsDraw: drawBefore }],
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
      ticks: { autoSkip: false, maxRotation: 0, callback: (at) => tick(at, view.range) },
      afterBuildTicks: (scale) => {
        const width = scale.chart.width - AXIS_PX;
        scale.ticks = timesBetween(view.since, view.until, view.range, width).map((value) => ({ value }));
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
        scale.ticks = Array.from({ length: Math.round(axis.top / axis.step) + 1 }, (_, at) => ({ value: at * axis.step }));
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
    const most = (series) => Math.max(0, ...view.rows.map((row) => row.point?.[series.key] ?? 0));
    const limit = kind.series.find((series) => series.key === "limit");
    const used = Math.max(...kind.series.filter((series) => series !== limit).map(most));
    const greatest = limit ? most(limit) : 0;
    const far = greatest > FAR_FROM && greatest > FAR * used;
    axis = { ...axisTo(Math.max(used, far ? 0 : greatest), kind.isLength), farLimit: far ? greatest : null };
  }

  function show(next) {
    view = next;
    measure();
    for (const [at, series] of kind.series.entries()) {
      chart.data.datasets[at].data = view.rows.flatMap((row, place) => dots(row, place, series.key));
    }
    Object.assign(chart.options.scales.x, { min: view.since, max: view.until });
    chart.options.scales.y.max = axis.top;
    recolour();
  }

  // Where it goes in steps, the first before or after a gap begins or ends with its time, not in the middle of it.
  function dots(row, place, key) {
    const dot = { x: row.x, y: row.point?.[key] ?? null };
    if (!kind.stepped || !row.point) return [dot];
    const before = view.rows[place - 1]?.point ? [] : [{ ...dot, x: row.at }];
    const after = view.rows[place + 1]?.point ? [] : [{ ...dot, x: row.until }];
    return [...before, dot, ...after];
  }

  function recolour() {
    colour();
    chart.update("none");
  }

  function drawBehind({ ctx, chartArea: { left, right, top, bottom }, scales: { x } }) {
    const xOf = (at) => x.getPixelForValue(at);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, right - left, bottom - top);
    ctx.clip();
    for (const [from, until] of view.bands) band(ctx, xOf(from), Math.max(LEAST_BAND_PX, xOf(until) - xOf(from)), top, bottom);
    ctx.globalAlpha = 0.5;
    for (const { mark, x: at } of heaviest(view.marks, xOf, LINE_APART_PX)) {
      if (mark.kind !== "paused") stroke(ctx, Math.round(at) + 0.5, top, bottom, ink(`mark-${mark.kind}`), [2, 3]);
    }
    ctx.restore();
  }

  // Shaded and hatched: a pause is seen without colours too.
  function band(ctx, from, width, top, bottom) {
    ctx.save();
    ctx.beginPath();
    ctx.rect(from, top, width, bottom - top);
    ctx.clip();
    ctx.fillStyle = ctx.strokeStyle = ink("pause");
    ctx.globalAlpha = 0.13;
    ctx.fillRect(from, top, width, bottom - top);
    ctx.globalAlpha = 0.3;
    ctx.lineWidth = 1;
    ctx.beginPath();
    const height = bottom - top;
    for (let at = Math.floor((from - height) / 7) * 7; at < from + width; at += 7) {
      ctx.moveTo(at, bottom);
      ctx.lineTo(at + height, top);
    }
    ctx.stroke();
    ctx.restore();
  }

  function drawBefore({ ctx, chartArea: { left, right, top, bottom }, scales: { x, y } }) {
    const xOf = (at) => x.getPixelForValue(at);
    ctx.save();
    if (kind.showsShapes) {
      for (const { mark, x: at } of heaviest(view.marks, xOf, SHAPE_APART_PX)) {
        if (at < left - 1 || at > right + 1) continue;
        ctx.fillStyle = ink(`mark-${mark.kind}`);
        drawShape(ctx, mark.kind, at, top - SHAPES_PX / 2 - 2);
      }
      nameLimit(ctx, right, top, y);
    }
    if (pointed) pointAt(ctx, Math.round(xOf(pointed.x)) + 0.5, top, bottom, y);
    ctx.restore();
  }

  function nameLimit(ctx, right, top, y) {
    const limit = view.rows.at(-1)?.point?.limit ?? null;
    if (limit === null) return;
    const words = axis.farLimit === null ? `limit ${figure(limit)}` : `limit ${figure(limit)} ↑`;
    ctx.font = `600 11px ${chart.options.font.family}`;
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    ctx.lineWidth = 4;
    ctx.lineJoin = "round";
    ctx.strokeStyle = ink("ground");
    ctx.fillStyle = ink("limit");
    const at = axis.farLimit === null ? y.getPixelForValue(limit) - 4 : top + 13;
    ctx.strokeText(words, right - 4, at);
    ctx.fillText(words, right - 4, at);
  }

  function pointAt(ctx, at, top, bottom, y) {
    stroke(ctx, at, top, bottom, ink("muted"), []);
    for (const series of kind.series) {
      const value = pointed.point[series.key] ?? null;
      if (value === null || value > axis.top) continue;
      ctx.beginPath();
      ctx.arc(at, y.getPixelForValue(value), 4, 0, 2 * Math.PI);
      ctx.fillStyle = ink(series.ink);
      ctx.strokeStyle = ink("ground");
      ctx.lineWidth = 2;
      ctx.fill();
      ctx.stroke();
    }
  }

  function stroke(ctx, at, top, bottom, colour, dash) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = 1;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(at, top);
    ctx.lineTo(at, bottom);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  return {
    show,
    recolour,
    cursor(row) {
      if (row === pointed) return;
      pointed = row;
      chart.draw();
    },
    // The row that is recorded nearest to a place on the canvas.
    rowAt(px) {
      const at = chart.scales.x.getValueForPixel(px);
      return view.rows.reduce(
        (nearest, row) => (row.point && !(Math.abs(nearest?.x - at) <= Math.abs(row.x - at)) ? row : nearest), null);
    },
    pixelOf: (row) => chart.scales.x.getPixelForValue(row.x),
    destroy: () => chart.destroy(),
  };
}
