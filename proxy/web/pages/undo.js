// The way back from what was just done here.
//
// Rule 1: only one's own change is taken back: where another value is in force by now, nothing is changed, and it is
//         said what holds and whose it is.
// Rule 2: what cannot be as before is not promised: such a way back bears the name of what it does.

import { moment, number, setter, cooldownSetter, visible } from "./words.js";

const WHERE = { page: "on the page", cli: "on the command line", api: "through the API", file: "in the file" };
const TOLD = 20; // changes among which the last one of a kind is looked for
const NEAR_MS = 1000; // two ends of a pause that are one

// Each way back has `button` (its words), `stale()` (why it is too late, "" where it is not) and `run()`, which answers
// what is so then.
export class Undo {
  constructor(api, live) {
    this.api = api;
    this.live = live;
  }

  // `entry` is as before, `limit` what was set.
  limit(entry, limit) {
    const id = entry.providerId;
    const stale = async () => {
      const now = await this._entry(id);
      if (now.limit === limit && !now.autoReduced) return "";
      const holds = now.limit === null ? "is unlimited" : `has limit ${number(now.limit)}`;
      const since = now.autoReduced || now.limitBy !== "api" ? setter(now) : await this._who(id, ["limit", "restore", "learn"]);
      return `${visible(id)} ${holds} by now${since && `, ${since}`}`;
    };
    if (entry.limitAuto) return { button: "Learn anew", stale, run: () => this._learn(id) };
    const words = entry.limit === null ? "No limit again" : `Set ${number(entry.limit)} by hand`;
    return { button: entry.autoReduced ? words : "Undo", stale, run: () => this._putLimit(id, entry.limit, entry.autoReduced ? "by hand" : "again") };
  }

  cooldown(entry, cooldownMs) {
    const id = entry.providerId;
    const stale = async () => {
      const now = await this._entry(id);
      if (now.cooldownMs === cooldownMs && !now.cooldownAuto) return "";
      const since = now.cooldownBy === "api" ? await this._who(id, ["cooldown", "learn"]) : cooldownSetter(now);
      return `slots of ${visible(id)} rest ${number(now.cooldownMs)} ms by now${since && `, ${since}`}`;
    };
    if (entry.cooldownAuto) return { button: "Learn anew", stale, run: () => this._learn(id) };
    const run = async () => {
      const answer = await this.api.put(at("cooldown", id), { cooldownMs: entry.cooldownMs });
      return { answer, words: `Slots of ${visible(id)} rest ${number(entry.cooldownMs)} ms again.` };
    };
    return { button: "Undo", stale, run };
  }

  // After a pause by hand or its end; `until` is when the pause that was set ends, null where one was ended.
  pause(entry, until) {
    const id = entry.providerId;
    const stale = async () => {
      const now = await this._entry(id);
      if (until === null ? !now.paused : now.paused && Math.abs(now.pausedUntil - until) < NEAR_MS) return "";
      if (!now.paused) return `${visible(id)} is not paused any more`;
      const since = now.pauseCause === "operator" ? `, ${await this._who(id, ["pause"])}` : "";
      return `${visible(id)} is paused until ${moment(now.pausedUntil, this.live.now())}${since}`;
    };
    const run = async () => {
      const left = entry.paused ? Math.round(entry.pausedUntil - this.live.now()) : 0;
      if (left > 0) {
        const answer = await this.api.put(at("pause", id), { durationMs: left });
        return { answer, words: `${visible(id)} is paused until ${moment(entry.pausedUntil, this.live.now())}, by hand.` };
      }
      const answer = await this.api.delete(at("pause", id));
      return { answer, words: entry.paused ? `The pause of ${visible(id)} would be over.` : `${visible(id)} goes on.` };
    };
    const known = !entry.paused || entry.pauseCause === "operator";
    return { button: known ? "Undo" : "Pause by hand", stale, run };
  }

  star(workspaceId, starred) {
    const stale = async () => {
      const { workspaces } = await this.api.get("concurrency/workspaces");
      const has = workspaces.some((each) => each.workspaceId === workspaceId && each.starred);
      return has === starred ? "" : `${visible(workspaceId)} has ${has ? "a" : "no"} star by now, set elsewhere`;
    };
    const run = async () => {
      const answer = await this.api.put(at("workspaces", workspaceId), { starred: !starred });
      return { answer, words: `${visible(workspaceId)} has ${starred ? "no star" : "its star"} again.` };
    };
    return { button: "Undo", stale, run };
  }

  _entry(id) {
    return this.api.get(`${at("status", id)}?all=1`);
  }

  // Who set what is in force, as far as that is written down.
  async _who(id, kinds) {
    const { changes } = await this.api.get(`concurrency/audit?limit=${TOLD}&provider=${encodeURIComponent(id)}`);
    const last = changes.find(({ what }) => kinds.includes(what));
    return last ? `set ${WHERE[last.by] ?? last.by} at ${moment(last.at, this.live.now())}` : "set by hand";
  }

  async _putLimit(id, limit, how) {
    const path = at("limits", id);
    const answer = limit === null ? await this.api.delete(path) : await this.api.put(path, { limit });
    return { answer, words: `${visible(id)} ${limit === null ? "is unlimited" : `has limit ${number(limit)}`} ${how}.` };
  }

  async _learn(id) {
    return { answer: await this.api.post(at("learn", id)), words: `${visible(id)} learns anew.` };
  }
}

// The path of what the admin API has under this name.
export const at = (place, name) => `concurrency/${place}/${encodeURIComponent(name)}`;
