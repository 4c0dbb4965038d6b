// Everything that a person can do here: the call, what is said about it, and the way back.
//
// Rule 1: what cuts somebody off asks first and names who.
// Rule 2: whatever was done, the page looks at once; it never shows what it only hopes.
// Rule 3: a limit or cooldown that is refused throws, for the message to stand beside its field; all else is told below.

import { el } from "./dom.js";
import { confirm } from "./dialogs.js";
import { toast } from "./toast.js";
import { Undo, at } from "./undo.js";
import { PHASES, count, number, span, visible, who } from "./words.js";

const UNSTORED = " It holds in memory alone: it could not be stored.";

export class Actions {
  constructor(api, live) {
    this.api = api;
    this.live = live;
    this.undo = new Undo(api, live);
  }

  setLimit(entry, limit) {
    const path = at("limits", entry.providerId);
    const run = () => (limit === null ? this.api.delete(path) : this.api.put(path, { limit }));
    const kept = entry.autoReduced && limit !== null ? ", and it is reduced no longer" : "";
    const words = limit === null ? "is unlimited now" : `has limit ${number(limit)} now${kept}`;
    return this._do(run, `${visible(entry.providerId)} ${words}.`, () => this.undo.limit(entry, limit));
  }

  setCooldown(entry, cooldownMs) {
    const words = `Slots of ${visible(entry.providerId)} rest ${number(cooldownMs)} ms from now on.`;
    const run = () => this.api.put(at("cooldown", entry.providerId), { cooldownMs });
    return this._do(run, words, () => this.undo.cooldown(entry, cooldownMs));
  }

  async unlimit(entry) {
    const queued = entry.queued === 0 ? "Nobody waits at this moment." : `${count(entry.queued, "waiter")} will go at once.`;
    const sure = await confirm({
      title: `No limit at ${visible(entry.providerId)}?`,
      lines: [el("p", { text: `${queued} A pause ends, and nothing is held back any more.` })],
      button: "Remove the limit",
    });
    if (sure) await this._told(() => this.setLimit(entry, null));
  }

  stepUp(entry) {
    return this._told(() => this.setLimit(entry, entry.limit + 1));
  }

  restore(entry) {
    const words = `${visible(entry.providerId)} has limit ${number(entry.autoReducedFrom)} again.`;
    const run = () => this.api.post(at("restore", entry.providerId));
    return this._told(() => this._do(run, words, () => this.undo.limit(entry, entry.autoReducedFrom)));
  }

  learn(entry) {
    const run = () => this.api.post(at("learn", entry.providerId));
    return this._told(() => this._do(run, `${visible(entry.providerId)} learns anew.`, null));
  }

  pause(entry, durationMs) {
    const words = `${visible(entry.providerId)} is paused for ${span(durationMs)}.`;
    const run = () => this.api.put(at("pause", entry.providerId), { durationMs });
    return this._told(() => this._do(run, words, ({ pausedUntil }) => this.undo.pause(entry, pausedUntil)));
  }

  resume(entry) {
    const run = () => this.api.delete(at("pause", entry.providerId));
    return this._told(() => this._do(run, `${visible(entry.providerId)} goes on.`, () => this.undo.pause(entry, null)));
  }

  star(workspaceId, starred) {
    const run = () => this.api.put(at("workspaces", workspaceId), { starred });
    const words = starred
      ? `${visible(workspaceId)} has a star: its waiters go first.`
      : `${visible(workspaceId)} has no star any more.`;
    return this._told(() => this._do(run, words, () => this.undo.star(workspaceId, starred)));
  }

  async reclaim(entry, slot) {
    const sure = await confirm({
      title: "Take this slot back?",
      lines: [
        whom(slot, `${PHASES[slot.phase]}, held for ${span(this.live.now() - slot.grantedAt)} at ${visible(entry.providerId)}`),
        el("p", { text: "Its connection is cut at once, and its client sees an error." }),
      ],
      button: "Reclaim the slot",
    });
    if (sure) await this._remove(entry, slot.id, `The slot of ${who(slot)} was taken back.`);
  }

  async drop(entry, waiter) {
    const sure = await confirm({
      title: "Send this waiter away?",
      lines: [
        whom(waiter, `place ${number(waiter.position)} at ${visible(entry.providerId)}, waits for ${span(waiter.waitingMs)}`),
        el("p", { text: "It leaves the queue, and its client gets a 503." }),
      ],
      button: "Drop the waiter",
    });
    if (sure) await this._remove(entry, waiter.id, `${who(waiter)} was sent away.`);
  }

  _remove(entry, id, words) {
    const path = `${at("slots", entry.providerId)}/${encodeURIComponent(id)}`;
    return this._told(() => this._do(() => this.api.delete(path), words, null));
  }

  // Does it, looks, and says so; throws what the proxy says against it. `back(answer)` makes the way back.
  async _do(run, words, back) {
    const answer = await run();
    const way = back === null ? null : back(answer);
    toast(words + stored(answer), { undo: way && { words: way.button, run: () => this._told(() => this._back(way)) } });
    await this.live.look();
    return answer;
  }

  async _back({ stale, run }) {
    const why = await stale();
    if (why !== "") toast(`Not undone: ${why}.`, { failed: true });
    else {
      const { answer, words } = await run();
      toast(`Undone: ${words}${stored(answer)}`);
    }
    await this.live.look();
  }

  // The same for what has no field to stand beside; answers whether it was done.
  async _told(run) {
    try {
      await run();
      return true;
    } catch (error) {
      if (error.status === undefined) throw error;
      toast(`Not done: ${error.message}`, { failed: true });
      this.live.look();
      return false;
    }
  }
}

const stored = (answer) => (answer?.persisted === false ? UNSTORED : "");

function whom(each, state) {
  return el(
    "p",
    { class: "whom" },
    el("bdi", { class: "name", text: visible(each.workspaceId) }),
    el("bdi", { class: "id", text: visible(each.conversationId ?? "no conversation") }),
    el("span", { class: "muted", text: state }),
  );
}
