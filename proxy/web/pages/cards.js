// One provider: what holds it back, what can be done, who has its slots, who waits, and what else is known.

import { PauseBanner, ReducedBanner } from "./banners.js";
import { Controls } from "./controls.js";
import { el, setText, show } from "./dom.js";
import { Facts } from "./facts.js";
import { Plots } from "./plotting.js";
import { Queue } from "./queue.js";
import { Slots } from "./slots.js";
import { number, span, visible } from "./words.js";

const IDLE_MS = 60000; // a card that grew for a request does not shrink and grow with each

// Whether anything goes on there that a person would look for; all else is folded away.
export function isActive({ entry }) {
  const { limit, inFlight, queued, paused, limitAuto, quota, lastRateLimit } = entry;
  return limit !== null || inFlight + queued > 0 || paused || Boolean(limitAuto ?? quota ?? lastRateLimit);
}

export class Card {
  constructor(id, { api, actions }) {
    this.id = id;
    this.busyAt = -Infinity;
    this.names = el("p", { class: "muted upstreams", data: { part: "upstreams" }, title: "What it is called in a base URL and on the command line" });
    this.state = el("p", { class: "state" });
    this.parts = { pause: new PauseBanner(actions), reduced: new ReducedBanner(actions), controls: new Controls(actions, id), slots: new Slots(actions), queue: new Queue(actions), facts: new Facts(), plots: new Plots(id, api) };
    const { pause, reduced, controls, slots, queue, facts, plots } = this.parts;
    this.panes = el("div", { class: "panes" }, slots.node, controls.node, queue.node, facts.node);
    this.node = el(
      "article",
      { class: "card", data: { provider: id }, "aria-label": visible(id) },
      el("header", { class: "card-head" }, el("h2", { tabindex: "-1" }, el("bdi", { text: visible(id) })), this.names, this.state),
      pause.node,
      reduced.node,
      this.panes,
      plots.node,
    );
  }

  update({ entry, slots, waiters, auto, names }, now, lookedAt) {
    this.node.dataset.state = mood(entry);
    if (entry.inFlight + entry.queued > 0) this.busyAt = now;
    const idle = now - this.busyAt > IDLE_MS;
    this.node.classList.toggle("idle", idle);
    setText(this.names, names.filter((name) => name !== this.id).join(", "));
    setText(this.state, this._state(entry, now - lookedAt));
    this.parts.pause.update(entry, now);
    this.parts.reduced.update(entry, now);
    this.parts.controls.update(entry, auto);
    this.parts.slots.update(entry, slots, now, idle);
    this.parts.queue.update(entry, waiters, now, lookedAt);
    this.parts.facts.update(entry, now);
    show(this.parts.plots.node, isActive({ entry }));
  }

  destroy() {
    this.parts.plots.destroy();
  }

  _state(entry, since) {
    if (entry.queued === 0) return entry.inFlight === 0 ? "idle" : `${number(entry.inFlight)} in flight, nobody waits`;
    return `${number(entry.queued)} waiting, the longest for ${span((entry.oldestWaitMs ?? 0) + since)}`;
  }
}

// Where a card belongs among others: those first that hold somebody up.
export const urgency = ({ entry }) => (entry.queued > 0 ? 3 : 0) + (entry.autoReduced || entry.paused ? 1 : 0);

// What the card's edge says at a glance; words say the same inside.
function mood(entry) {
  if (entry.autoReduced || entry.quota) return "bad";
  if (entry.paused) return "warn";
  return entry.queued > 0 ? "busy" : "calm";
}
