// A number that a person may set: shown, edited, checked, saved.
//
// Rule 1: while somebody types, nothing from the proxy replaces what stands there; Escape takes it back.
// Rule 2: what is wrong is said beside the field, ours and the proxy's words alike, and the text stays.
// Rule 3: nothing moves while somebody types: what comes and goes at the field's end has its room.

import { el, setAttribute, setText, show } from "./dom.js";
import { number } from "./words.js";

let made = 0;

const MS = { ms: 1, s: 1000, m: 60000, min: 60000 };

// A whole number as it stands there, else NaN.
export const whole = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : NaN);

// Milliseconds, also as a length with its unit: "350", "350 ms", "1.5s", "2m", else NaN.
export function milliseconds(text) {
  const [, value, unit] = /^(\d{1,9}(?:\.\d{1,3})?) ?(ms|s|m|min)$/.exec(text) ?? [];
  const ms = value === undefined ? whole(text) : Number(value) * MS[unit];
  return unit === "ms" ? whole(value) : Math.round(ms);
}

// `name` is the part and the action's end; `unit` follows the field; `read(text)` answers what is meant, NaN where that
// is nothing; `allowed` says what is; `save(value)` may throw what the proxy says.
export class NumberField {
  constructor({ name, label, unit, least, most, save, read = whole, allowed }) {
    this.allowed = allowed ?? `Allowed is a whole number from ${number(least)} to ${number(most)}.`;
    Object.assign(this, { least, most, save, read, shown: "", busy: false });
    const id = `field-${(made += 1)}`;
    this.label = el("label", { for: id, text: label });
    this.input = el("input", {
      id,
      type: "text",
      inputmode: "numeric",
      autocomplete: "off",
      maxlength: "12",
      "aria-describedby": `${id}-problem ${id}-note`,
      on: { input: () => this._changed(), keydown: (event) => event.key === "Escape" && this._revert() },
    });
    this.button = el("button", { class: "primary", data: { action: `save-${name}` }, text: "Save", hidden: true });
    this.problem = el("p", { id: `${id}-problem`, class: "problem", data: { part: "problem" }, role: "alert" });
    this.note = el("span", { id: `${id}-note`, class: "note" });
    this.unit = unit ? el("span", { class: "unit", text: unit }) : null;
    this.end = el("div", { class: "field-end" }, this.unit, this.button); // one of those in it is seen at a time
    this.node = el(
      "form",
      { class: "field", data: { part: name }, novalidate: true, on: { submit: (event) => this._submit(event) } },
      this.label,
      el("div", { class: "line" }, this.input, this.end),
      this.note,
      this.problem,
    );
  }

  get dirty() {
    return this.input.value.trim() !== this.shown;
  }

  // `value` is in force (null: none); `note` says whose it is.
  update(value, note, placeholder = "") {
    const text = value === null ? "" : String(value);
    if (!this.dirty && this.input.value !== text) this.input.value = text;
    this.shown = text;
    setAttribute(this.input, "placeholder", placeholder);
    setText(this.note, note);
    this._offer();
  }

  _offer() {
    show(this.button, this.dirty);
    if (this.unit !== null) this.unit.hidden = this.dirty;
  }

  _changed() {
    this._offer();
    this._complain("");
  }

  _revert() {
    this.input.value = this.shown;
    this._changed();
  }

  _complain(words) {
    setText(this.problem, words);
    setAttribute(this.input, "aria-invalid", words === "" ? null : "true");
  }

  async _submit(event) {
    event.preventDefault();
    const text = this.input.value.trim();
    const value = this.read(text);
    if (!(value >= this.least && value <= this.most)) {
      this._complain(this.allowed);
      this.input.focus();
      return;
    }
    if (this.busy || !this.dirty) return;
    this.busy = true;
    const before = this.shown;
    this.shown = text; // so that the look after the save may put the proxy's value here
    try {
      await this.save(value);
      this._complain("");
    } catch (error) {
      if (error.status === undefined) throw error;
      this.shown = before;
      this._complain(`Not saved: ${error.message}`);
    } finally {
      this.busy = false;
      if (this.button.contains(document.activeElement)) this.input.focus();
      this._offer();
    }
  }
}
