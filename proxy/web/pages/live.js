// The proxy's state as the page has it: asked for every 2 s, after events, and after everything that was done here.
//
// Rule 1: one look at a time; a reason that comes during one causes the next. After a slow one there is a rest.
// Rule 2: a hidden tab asks nothing and hears nothing; when it is shown again it looks at once.
// Rule 3: times are the proxy's: `now()` is its clock as far as its answers tell.

import { ApiError } from "./api.js";
import { Events } from "./events.js";

const EVERY_MS = 2000; // also while events come: waits change without one
const SETTLE_MS = 150; // a burst of events is one look
const REST = 9; // times as long as a look took is a rest before events cause the next: a tenth of a busy proxy at most
const ROUGH_MS = 1500; // the Date header knows whole seconds: less apart is no news

// `onData(data)` after each look, `onLost(error, seenAt)` after one that failed; `seenAt` is the last good one's time.
export class Live {
  constructor(api, { onData, onLost }) {
    this.api = api;
    this.onData = onData;
    this.onLost = onLost;
    this.events = new Events(api, () => this._soon());
    this.skew = 0;
    this.autos = new Set();
    this.names = new Map();
    this.configuredOf = null;
    this.seenAt = null;
    this.lost = false;
    this.tookMs = 0;
    this.running = null;
    this.active = false; // between `start` and `stop`
    this.again = false;
    this.settling = null;
    this.timer = null;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.stop() : this.start()));
  }

  now() {
    return Date.now() - this.skew;
  }

  start() {
    if (document.hidden) return;
    this.active = true;
    this.look();
  }

  // Until `start`: the tab is hidden, or a token is needed.
  stop() {
    this.active = false;
    this.events.stop();
    clearTimeout(this.timer);
    clearTimeout(this.settling);
    this.timer = this.settling = null;
    this.again = false;
  }

  // Resolves when everything is shown that was so at the moment of the call.
  look() {
    if (this.running !== null) {
      this.again = true;
      return this.running;
    }
    clearTimeout(this.timer);
    this.running = this._looks().finally(() => {
      this.running = null;
      if (this.active) this.timer = setTimeout(() => this.look(), EVERY_MS);
    });
    return this.running;
  }

  async _looks() {
    do {
      this.again = false;
      await this._once();
    } while (this.again && this.active);
  }

  _soon() {
    this.settling ??= setTimeout(() => {
      this.settling = null;
      this.look();
    }, Math.min(EVERY_MS, Math.max(SETTLE_MS, REST * this.tookMs)));
  }

  async _once() {
    const began = performance.now();
    let data;
    try {
      data = await this._ask();
    } catch (error) {
      return this._lose(error);
    }
    if (!this.active) return undefined; // hidden meanwhile, or refused
    this.tookMs = performance.now() - began;
    const [wasLost, seenAt] = [this.lost, this.seenAt];
    Object.assign(this, { lost: false, seenAt: Date.now() });
    try {
      this.onData(data);
    } catch (error) {
      this.seenAt = seenAt;
      this._lose(error);
      throw error; // perhaps a fault of the page itself
    }
    if (wasLost) this.events.hurry();
    return this.events.start();
  }

  // Whatever goes wrong, what is shown is not of now.
  _lose(error) {
    this.lost = true;
    const told = error.status === undefined ? new ApiError("what answers is not this page's proxy", 0, "shape") : error;
    this.onLost(told, this.seenAt);
  }

  async _ask() {
    const status = await this._status(); // alone: one refusal says as much as three
    const [process, workspaces, ...providers] = await Promise.all([
      this.api.get("status"),
      this.api.get("concurrency/workspaces"),
      ...status.providers.map((entry) => this._provider(entry)),
    ]);
    await this._configured(process.config.loadedAt);
    for (const each of providers) {
      each.auto = this.autos.has(each.entry.providerId);
      each.names = this.names.get(each.entry.providerId) ?? [];
    }
    return { providers, process, workspaces: workspaces.workspaces };
  }

  // The providers for which the configuration says auto, whatever was set by hand since, and the upstreams of each.
  async _configured(loadedAt) {
    if (this.configuredOf !== loadedAt) {
      const { upstreams } = await this.api.get("config");
      const learning = Object.values(upstreams).filter((each) => each.limit === "auto" || each.cooldown === "auto");
      this.names = new Map();
      for (const [name, { provider }] of Object.entries(upstreams)) this.names.set(provider, [...(this.names.get(provider) ?? []), name]);
      this.autos = new Set(learning.map((each) => each.provider));
      this.configuredOf = loadedAt;
    }
  }

  async _status() {
    const answer = await this.api.raw("concurrency/status?all=1");
    const said = Date.parse(answer.headers.get("Date"));
    if (said && Math.abs(this.now() - said - 500) > ROUGH_MS) this.skew = Date.now() - said - 500;
    return this.api.body(answer);
  }

  async _provider(entry) {
    if (entry.inFlight + entry.queued === 0) return { entry, slots: [], waiters: [] };
    const began = Date.now();
    try {
      const { slots, waiters, now } = await this.api.get(`concurrency/slots/${encodeURIComponent(entry.providerId)}`);
      if (now !== undefined) this.skew = (began + Date.now()) / 2 - now;
      return { entry, slots, waiters };
    } catch (error) {
      if (error.status !== 404) throw error;
      return { entry, slots: [], waiters: [] }; // it has gone meanwhile
    }
  }
}
