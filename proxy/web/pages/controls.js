// What a person sets at one provider: the limit, the cooldown, a pause, learning anew.

import { el, icon, setText, show } from "./dom.js";
import { NumberField, milliseconds } from "./fields.js";
import { cooldownSetter, number, setter, span } from "./words.js";

const LIMIT = { least: 1, most: 100000 }; // the bounds of the admin API
const COOLDOWN_MS = { least: 0, most: 600000 };
const LENGTHS_MS = [30000, 60000, 300000, 900000, 3600000, 28800000, 86400000];
const USUAL_MS = 300000;

export class Controls {
  constructor(actions, id) {
    this.entry = null;
    this.limit = new NumberField({ name: "limit", label: "Limit", ...LIMIT, save: (value) => actions.setLimit(this.entry, value) });
    this.unlimit = el("button", { type: "button", class: "plain small", text: "No limit", title: "Without a limit nobody waits", data: { action: "unlimit" }, on: { click: () => actions.unlimit(this.entry) } });
    this.limit.end.prepend(this.unlimit);
    this.cooldown = new NumberField({
      name: "cooldown",
      label: "Cooldown",
      unit: "ms",
      ...COOLDOWN_MS,
      read: milliseconds,
      allowed: `Allowed are 0 to ${number(COOLDOWN_MS.most)} ms, or a length like 1.5s.`,
      save: (value) => actions.setCooldown(this.entry, value),
    });
    const lengthId = `pause-${encodeURIComponent(id)}`;
    this.lengths = el("select", { id: lengthId, data: { part: "pause-length" } }, ...LENGTHS_MS.map((ms) => el("option", { value: ms, selected: ms === USUAL_MS, text: span(ms) })));
    this.pauseNote = el("span", { class: "note", text: "Nothing is granted meanwhile." });
    this.pause = el(
      "div",
      { class: "field" },
      el("label", { for: lengthId, text: "Pause" }),
      el(
        "div",
        { class: "line" },
        this.lengths,
        el("button", { type: "button", class: "plain edged", data: { action: "pause" }, on: { click: () => actions.pause(this.entry, Number(this.lengths.value)) } }, icon("pause"), "Pause"),
      ),
      this.pauseNote,
    );
    this.learn = el(
      "div",
      { class: "field" },
      el("span", { class: "label", text: "Auto" }),
      el("div", { class: "line" }, el("button", { type: "button", class: "plain edged", data: { action: "learn" }, on: { click: () => actions.learn(this.entry) } }, icon("undo"), "Learn anew")),
      el("span", { class: "note", text: "Forgets what was learned or set by hand." }),
    );
    this.node = el("div", { class: "controls" }, this.limit.node, this.cooldown.node, this.pause, this.learn);
  }

  // `auto`: the configuration leaves something here to be learned.
  update(entry, auto) {
    this.entry = entry;
    this.limit.update(entry.limit, setter(entry), entry.limitAuto ? "auto" : "none");
    show(this.unlimit, entry.limit !== null && !this.limit.dirty);
    this.cooldown.update(entry.cooldownMs, cooldownSetter(entry));
    show(this.learn, auto);
    setText(this.pauseNote, entry.paused ? "Replaces the pause in force." : "Nothing is granted meanwhile.");
  }
}
