// What holds a provider back, said once and in full, with the button that ends it: a pause, a reduced limit.

import { List, el, icon, setText, show } from "./dom.js";
import { KINDS, cause, count, moment, number, refusal, roughly, span } from "./words.js";

export class PauseBanner {
  constructor(actions) {
    this.words = el("strong");
    this.cause = el("span", { class: "muted" });
    this.entry = null;
    this.node = el(
      "div",
      { class: "banner warn", data: { part: "pause" }, hidden: true },
      icon("pause"),
      el("p", {}, this.words, " ", this.cause),
      el("button", { type: "button", class: "primary", data: { action: "resume" }, on: { click: () => actions.resume(this.entry) } }, icon("play"), "Resume now"),
    );
  }

  update(entry, now) {
    this.entry = entry;
    show(this.node, entry.paused);
    if (!entry.paused) return;
    const left = entry.pausedUntil - now;
    setText(this.words, left > 0 ? `Paused for another ${roughly(left)}.` : "The pause ends now.");
    const by = entry.pauseCause === "operator" ? "By hand" : `The provider says: ${cause(entry.pauseCause)}`;
    setText(this.cause, `${by}; until ${moment(entry.pausedUntil, now)}.`);
  }
}

export class ReducedBanner {
  constructor(actions) {
    this.entry = null;
    this.now = 0;
    this.words = el("strong");
    this.auto = el("span", { class: "muted" });
    this.summary = el("summary");
    this.rows = el("tbody");
    this.list = new List(this.rows, (seen) => seen.key, () => new EvidenceRow(this));
    this.evidence = el(
      "details",
      {},
      this.summary,
      el(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Evidence" },
        el("table", {}, el("thead", {}, el("tr", {}, ...["When", "Answer", "In flight then"].map((text) => el("th", { scope: "col", text })))), this.rows),
      ),
    );
    this.restore = el("button", { type: "button", class: "primary", data: { action: "restore" }, on: { click: () => actions.restore(this.entry) } });
    this.stepUp = el("button", { type: "button", class: "plain edged", data: { action: "step-up" }, on: { click: () => actions.stepUp(this.entry) } });
    this.node = el(
      "div",
      { class: "banner bad", data: { part: "reduced" }, hidden: true },
      icon("down"),
      el("div", { class: "banner-words" }, el("p", {}, this.words, " ", this.auto), this.evidence),
      el("div", { class: "line" }, this.restore, this.stepUp),
    );
  }

  update(entry, now) {
    this.entry = entry;
    this.now = now;
    show(this.node, entry.autoReduced);
    if (!entry.autoReduced) return;
    setText(this.words, `Reduced from ${number(entry.autoReducedFrom)} to ${number(entry.limit)} after a 429.`);
    const step = entry.restoreAt === undefined ? "" : `, or it goes up by one by itself in ${roughly(entry.restoreAt - now)}`;
    setText(this.auto, `Restore it when the provider is ready${step}.`);
    setText(this.restore, `Restore ${number(entry.autoReducedFrom)}`);
    show(this.stepUp, entry.limit + 1 < entry.autoReducedFrom); // else it is the same
    setText(this.stepUp, `One step up: ${number(entry.limit + 1)}`);
    const evidence = entry.evidence ?? [];
    show(this.evidence, evidence.length > 0);
    const latest = evidence.at(-1);
    setText(this.summary, latest ? `Evidence: ${count(evidence.length, "entry", "entries")}, the last ${span(now - latest.at)} ago` : "");
    this.list.update(evidence.map((seen, index) => ({ ...seen, key: `${seen.at}-${index}` })).reverse());
  }
}

class EvidenceRow {
  constructor(banner) {
    this.banner = banner;
    this.cells = [el("td"), el("td"), el("td")];
    this.node = el("tr", {}, ...this.cells);
  }

  update(seen) {
    const words = seen.kind === "restored" ? KINDS.restored : refusal(seen);
    [moment(seen.at, this.banner.now), words, number(seen.inFlight)].forEach((text, index) => setText(this.cells[index], text));
  }
}
