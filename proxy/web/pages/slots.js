// The slots of one provider as cells: one for each of the limit, and who has it.
//
// Rule 1: a slot keeps its cell for as long as it is held and rests; what becomes free leaves a hole, not a shift.
// Rule 2: a phase is a word and a picture before it is a colour.
// Rule 3: more than FULL cells are small squares; whoever wants to read them opens them.

import { List, el, icon, nearest, setAttribute, setIcon, setText, show } from "./dom.js";
import { PHASES, ago, number, span, visible, who, whose } from "./words.js";

const FULL = 24; // cells with words
const FEW = 8; // free ones of an idle provider with a word each
const SQUARES = 400; // more squares than that say nothing; a number does
const SILENT_MS = 60000; // after that silence is worth a look

export class Slots {
  constructor(actions) {
    this.actions = actions;
    this.places = new Map(); // id → index of its cell
    this.opened = false;
    this.entry = null;
    this.cells = el("ul", { class: "cells", "aria-label": "Slots" });
    this.list = new List(this.cells, ({ index }) => `${this.small ? "s" : "c"}${index}`, () => this._make());
    this.used = el("span", { class: "muted" });
    this.more = el("p", { class: "muted more" });
    this.fold = el("button", { type: "button", class: "plain", data: { action: "show-slots" }, on: { click: () => this._toggle() } });
    this.node = el(
      "section",
      { class: "slots", data: { part: "slots" } },
      el("header", { class: "part-head" }, el("h3", { text: "Slots", tabindex: "-1" }), this.used, this.fold),
      this.cells,
      this.more,
    );
  }

  // `idle`: nothing has gone on for a while, so that cells need no room for words.
  update(entry, slots, now, idle) {
    Object.assign(this, { entry, slots, now, idle });
    const present = slots.filter((slot) => slot.phase !== "cooling" || !(slot.cooledAt <= now));
    this._place(present);
    const highest = Math.max(-1, ...this.places.values()) + 1;
    const total = Math.max(entry.limit ?? 0, highest);
    this.small = (total > FULL && !this.opened) || (idle && total > FEW);
    const drawn = this._drawn(present, total);
    this.cells.classList.toggle("squares", this.small);
    this.list.update(drawn);
    show(this.cells, drawn.length > 0);
    setText(this.used, used(entry, present.length));
    show(this.fold, total > FULL && (present.length > 0 || this.opened));
    setText(this.fold, this.opened ? "Fold" : "Show who");
    setAttribute(this.fold, "aria-expanded", String(this.opened));
    const hidden = total - drawn.length;
    show(this.more, hidden > 0 || total === 0);
    setText(this.more, total === 0 ? "Nothing is in flight. Without a limit every request goes at once." : `and ${number(hidden)} more, free`);
  }

  _toggle() {
    this.opened = !this.opened;
    this.update(this.entry, this.slots, this.now, this.idle);
  }

  _place(slots) {
    const ids = new Set(slots.map((slot) => slot.id));
    for (const id of this.places.keys()) if (!ids.has(id)) this.places.delete(id);
    const taken = new Set(this.places.values());
    const within = Math.max(this.entry.limit ?? 0, slots.length); // beyond it nobody stays: there is a hole
    let free = 0;
    for (const { id } of slots) {
      while (taken.has(free)) free += 1;
      const place = this.places.get(id);
      if (place !== undefined && (place < within || free >= within)) continue;
      taken.delete(place);
      taken.add(free);
      this.places.set(id, free);
    }
  }

  // What is drawn: every cell, or of very many those in use and as many free ones as there is room for.
  _drawn(slots, total) {
    const at = new Map(slots.map((slot) => [this.places.get(slot.id), slot]));
    const most = this.opened && total > FULL ? slots.length : SQUARES;
    const cells = [];
    for (let index = 0, room = Math.max(0, most - at.size); index < total && (room > 0 || at.size > 0); index += 1) {
      const slot = at.get(index) ?? null;
      if (slot === null && room-- <= 0) continue;
      at.delete(index);
      cells.push({ index, slot, over: this.entry.limit !== null && index >= this.entry.limit });
    }
    return cells;
  }

  _make() {
    return this.small ? new Square(this) : new Cell(this);
  }
}

function used(entry, present) {
  if (entry.limit === null) return `${number(present)} in flight, no limit`;
  return `${number(present)} of ${number(entry.limit)} in use`;
}

function phaseOf(slot) {
  return slot === null ? "free" : slot.phase;
}

function state(slot, now) {
  if (slot === null) return "";
  if (slot.phase === "cooling") return slot.cooledAt === undefined ? "" : span(slot.cooledAt - now);
  return span(now - slot.grantedAt);
}

class Cell {
  constructor(slots) {
    this.slots = slots;
    this.slot = null;
    this.picture = icon("free");
    this.phase = el("span", { class: "phase" });
    this.age = el("span", { class: "age" });
    this.workspace = el("bdi", { class: "name" });
    this.conversation = el("bdi", { class: "id" });
    this.silence = el("span", { class: "silence" });
    this.button = el(
      "button",
      { type: "button", class: "plain round", data: { action: "reclaim" }, on: { click: () => this._reclaim() } },
      icon("x"),
    );
    this.node = el(
      "li",
      { class: "cell" },
      el("div", { class: "cell-head" }, el("span", { class: "phase-mark" }, this.picture, this.phase), this.button),
      this.age,
      this.workspace,
      this.conversation,
      this.silence,
    );
  }

  update({ slot, over }) {
    const now = this.slots.now;
    const phase = phaseOf(slot);
    this.slot = slot;
    if (slot === null) delete this.node.dataset.slot;
    else this.node.dataset.slot = slot.id;
    this.node.dataset.phase = phase;
    this.node.classList.toggle("over", over);
    setIcon(this.picture, phase);
    setText(this.phase, PHASES[phase] ?? phase);
    setText(this.age, state(slot, now));
    const held = slot !== null && phase !== "cooling";
    for (const node of [this.workspace, this.conversation]) node.hidden = slot === null;
    this.silence.hidden = !held;
    if (!held && this.button.contains(document.activeElement)) nearest(this.node)?.focus();
    this.button.hidden = !held;
    if (slot === null) return;
    setText(this.workspace, visible(slot.workspaceId));
    setAttribute(this.workspace, "title", visible(slot.workspaceId));
    setText(this.conversation, whose(slot));
    setAttribute(this.conversation, "title", slot.conversationId === null ? null : visible(slot.conversationId));
    if (held) this._held(slot, now, over);
  }

  _held(slot, now, over) {
    const silentMs = now - slot.lastByteAt;
    const words = slot.phase === "streaming" ? `last byte ${ago(silentMs)}` : `silent for ${span(silentMs)}`;
    setText(this.silence, over ? `${words}, over the limit` : words);
    this.silence.classList.toggle("long", silentMs > SILENT_MS);
    setAttribute(this.button, "aria-label", `Reclaim the slot of ${who(slot)}`);
    setAttribute(this.button, "title", "Reclaim this slot");
  }

  _reclaim() {
    if (this.slot !== null) this.slots.actions.reclaim(this.slots.entry, this.slot);
  }
}

class Square {
  constructor(slots) {
    this.slots = slots;
    this.picture = icon("free");
    this.words = el("span", { class: "unseen" });
    this.node = el("li", { class: "square" }, this.picture, this.words);
  }

  update({ slot, over }) {
    const phase = phaseOf(slot);
    if (slot === null) delete this.node.dataset.slot;
    else this.node.dataset.slot = slot.id;
    this.node.dataset.phase = phase;
    this.node.classList.toggle("over", over);
    setIcon(this.picture, phase);
    const words = slot === null ? "free" : `${who(slot)}: ${PHASES[phase] ?? phase} ${state(slot, this.slots.now)}`;
    setText(this.words, words);
    setAttribute(this.node, "title", words);
  }
}
