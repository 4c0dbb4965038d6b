// Who waits at one provider, in the order of service, and why.
//
// Rule 1: the reason for the first one stands above all: what everybody waits for.
// Rule 2: a long queue is folded; what is not shown is not made.

import { List, el, icon, setAttribute, setIcon, setText, show } from "./dom.js";
import { about, number, place, reason, span, visible, who, whose } from "./words.js";

const FOLDED = 20;
const HAIR_MS = 900; // under it nobody reads a number

export class Queue {
  constructor(actions) {
    this.actions = actions;
    this.all = false;
    this.entry = null;
    this.rows = el("ol", { class: "rows", "aria-label": "Queue, in the order of service" });
    this.list = new List(this.rows, (waiter) => waiter.id, () => new Row(this));
    this.count = el("span", { class: "muted" });
    this.reason = el("span");
    this.why = el("p", { class: "waits-for", data: { part: "waits-for" } }, icon("why"), this.reason);
    this.nobody = el("p", { class: "muted nobody" });
    this.fold = el("button", { type: "button", class: "plain wide", data: { action: "show-all" }, on: { click: () => this._toggle() } });
    this.node = el(
      "section",
      { class: "queue", data: { part: "queue" } },
      el("header", { class: "part-head" }, el("h3", { text: "Queue", tabindex: "-1" }), this.count),
      this.why,
      this.nobody,
      this.rows,
      this.fold,
    );
  }

  // `lookedAt` is when the waiters were as they are told here.
  update(entry, waiters, now, lookedAt) {
    Object.assign(this, { entry, waiters, now, lookedAt });
    const since = Math.max(0, now - lookedAt);
    const shown = this.all ? waiters : waiters.slice(0, FOLDED);
    this.since = since;
    this.list.update(shown);
    show(this.rows, shown.length > 0);
    this.rows.classList.toggle("long", shown.length > FOLDED);
    setText(this.count, waiters.length === 0 ? "" : order(waiters));
    const why = reason(entry, now);
    show(this.why, waiters.length > 0 && why !== "");
    setText(this.reason, why);
    show(this.nobody, waiters.length === 0);
    setText(this.nobody, nobody(entry));
    show(this.fold, waiters.length > FOLDED);
    setText(this.fold, this.all ? `Show the first ${FOLDED} only` : `Show all ${number(waiters.length)}`);
    setAttribute(this.fold, "aria-expanded", String(this.all));
  }

  _toggle() {
    this.all = !this.all;
    this.update(this.entry, this.waiters, this.now, this.lookedAt);
  }
}

function order(waiters) {
  return waiters.some((each) => each.expectedWaitMs !== null) ? "in the order of service" : "in the order of service; no estimate yet";
}

function nobody(entry) {
  const newcomer = entry.expectedWaitMs;
  if (entry.limit !== null && newcomer > HAIR_MS) return `Nobody waits. A new request would wait for ${about(newcomer)}.`;
  return "Nobody waits.";
}

class Row {
  constructor(queue) {
    this.queue = queue;
    this.place = el("span", { class: "place" });
    this.star = icon("star");
    this.starButton = el("button", { type: "button", class: "plain round star", on: { click: () => this._star() } }, this.star);
    this.workspace = el("bdi", { class: "name" });
    this.conversation = el("bdi", { class: "id" });
    this.why = el("span", { class: "why" });
    this.waited = el("span", { class: "waited" });
    this.expected = el("span", { class: "expected" });
    this.dropButton = el(
      "button",
      { type: "button", class: "plain round", title: "Drop this waiter", data: { action: "drop" }, on: { click: () => this._drop() } },
      icon("x"),
    );
    this.node = el(
      "li",
      { class: "row" },
      this.place,
      this.starButton,
      el("div", { class: "who" }, el("div", { class: "names" }, this.workspace, this.conversation), this.why),
      el("div", { class: "times" }, this.waited, this.expected),
      this.dropButton,
    );
  }

  update(waiter) {
    const { since, lookedAt } = this.queue;
    if (waiter !== this.waiter) this._tell(waiter);
    setText(this.why, place(waiter, lookedAt, since));
    setText(this.waited, `waits ${span(waiter.waitingMs + since)}`);
    setText(this.expected, expected(waiter, since));
  }

  // What only a look can change.
  _tell(waiter) {
    this.waiter = waiter;
    this.node.dataset.waiter = waiter.id;
    this.node.classList.toggle("starred", waiter.starred);
    setText(this.place, number(waiter.position));
    this.starButton.dataset.action = waiter.starred ? "unstar" : "star";
    setIcon(this.star, "star");
    const workspace = visible(waiter.workspaceId);
    setAttribute(this.starButton, "aria-label", waiter.starred ? `Take the star from ${workspace}` : `Star ${workspace}`);
    setAttribute(this.starButton, "title", waiter.starred ? "Take the star: no longer first" : "Star this workspace: it goes first");
    setText(this.workspace, workspace);
    setAttribute(this.workspace, "title", workspace);
    setText(this.conversation, whose(waiter));
    setAttribute(this.conversation, "title", waiter.conversationId === null ? null : visible(waiter.conversationId));
    setAttribute(this.dropButton, "aria-label", `Drop ${who(waiter)}`);
  }

  _star() {
    this.queue.actions.star(this.waiter.workspaceId, !this.waiter.starred);
  }

  _drop() {
    const waitingMs = this.waiter.waitingMs + this.queue.since;
    this.queue.actions.drop(this.queue.entry, { ...this.waiter, waitingMs });
  }
}

function expected({ expectedWaitMs }, since) {
  if (expectedWaitMs === undefined || expectedWaitMs === null) return "";
  const left = expectedWaitMs - since;
  return left < HAIR_MS ? "any moment now" : `${about(left)} more`;
}
