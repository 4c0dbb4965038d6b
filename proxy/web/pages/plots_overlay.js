// What is drawn round the lines of a plot: pauses behind them, marks above them, the limit's name, and the place one
// looks at.
//
// Rule: nothing here changes what it is given; `now` is `{view, pointed, axis}` at the moment of drawing.

import { drawShape, heaviest } from "./plots_marks.js";
import { figure } from "./plots_words.js";

export const SHAPES_PX = 16; // the room above a plot
const SHAPE_PX = 11; // from one's middle to the next one's
const SHAPES_TOGETHER = 2; // a refusal and the reduction that comes of it
const LINE_APART_PX = 3;
const LEAST_BAND_PX = 2;
const HATCH_PX = 7;
const DOT_PX = 4;

// A plugin of Chart.js.
export function overlay(kind, ink, now) {
  function behind({ ctx, chartArea: { left, right, top, bottom }, scales: { x } }) {
    const { view } = now;
    const xOf = (at) => x.getPixelForValue(at);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, right - left, bottom - top);
    ctx.clip();
    for (const [from, until] of view.bands) {
      band(ctx, xOf(from), Math.max(LEAST_BAND_PX, xOf(until) - xOf(from)), top, bottom);
    }
    ctx.globalAlpha = 0.5;
    for (const { x: at, kinds: [kind] } of heaviest(view.marks, xOf, LINE_APART_PX, 1)) {
      if (kind !== "paused") stroke(ctx, Math.round(at) + 0.5, top, bottom, ink(`mark-${kind}`), [2, 3]);
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
    for (let at = Math.floor((from - height) / HATCH_PX) * HATCH_PX; at < from + width; at += HATCH_PX) {
      ctx.moveTo(at, bottom);
      ctx.lineTo(at + height, top);
    }
    ctx.stroke();
    ctx.restore();
  }

  function before({ ctx, chartArea: { left, right, top, bottom }, scales: { x, y } }) {
    const { view, pointed } = now;
    const xOf = (at) => x.getPixelForValue(at);
    ctx.save();
    if (kind.showsShapes) {
      for (const { x: at, kinds } of heaviest(view.marks, xOf, SHAPE_PX * SHAPES_TOGETHER, SHAPES_TOGETHER)) {
        if (at >= left - 1 && at <= right + 1) shapes(ctx, at, top - SHAPES_PX / 2 - 2, kinds);
      }
      nameLimit(ctx, right, top, y);
    }
    if (pointed) pointAt(ctx, Math.round(xOf(pointed.x)) + 0.5, top, bottom, y);
    ctx.restore();
  }

  // Side by side round their moment.
  function shapes(ctx, at, height, kinds) {
    for (const [place, kind] of kinds.toReversed().entries()) { // the cause left of what came of it
      ctx.fillStyle = ink(`mark-${kind}`);
      drawShape(ctx, kind, at + (place - (kinds.length - 1) / 2) * SHAPE_PX, height);
    }
  }

  function nameLimit(ctx, right, top, y) {
    const limit = now.view.rows.at(-1)?.point?.limit ?? null;
    if (limit === null) return;
    const isAbove = limit > now.axis.top;
    const words = `limit ${figure(limit)}${isAbove ? " ↑" : ""}`;
    ctx.font = `600 11px ${getComputedStyle(ctx.canvas).fontFamily}`;
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    ctx.lineWidth = 4;
    ctx.lineJoin = "round";
    ctx.strokeStyle = ink("ground");
    ctx.fillStyle = ink("limit");
    const at = isAbove ? top + 13 : y.getPixelForValue(limit) - 4;
    ctx.strokeText(words, right - 4, at);
    ctx.fillText(words, right - 4, at);
  }

  function pointAt(ctx, at, top, bottom, y) {
    stroke(ctx, at, top, bottom, ink("muted"), []);
    for (const series of kind.series) {
      const value = now.pointed.point[series.key] ?? null;
      if (value === null || value > now.axis.top) continue;
      ctx.beginPath();
      ctx.arc(at, y.getPixelForValue(value), DOT_PX, 0, 2 * Math.PI);
      ctx.fillStyle = ink(series.ink);
      ctx.strokeStyle = ink("ground");
      ctx.lineWidth = 2;
      ctx.fill();
      ctx.stroke();
    }
  }

  return { id: "slotgate", beforeDatasetsDraw: behind, afterDatasetsDraw: before };
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
