// What was changed by hand, the newest first: asked for only while somebody has it open.

import { List, el, setText, show } from "./dom.js";
import { moment, number, span, visible } from "./words.js";

const SHOWN = 20;
const EVERY_MS = 5000;
const BY = { page: "the page", cli: "command line", api: "API", file: "the file" };
const HEADS = ["When", "By", "What", "Of", "Change"];

export class Changes {
  constructor(node, api) {
    this.api = api;
    this.node = node;
    this.askedAt = -Infinity;
    this.rows = el("tbody");
    this.list = new List(this.rows, (change) => change.key, () => new Row());
    this.table = el("table", {}, el("thead", {}, el("tr", {}, ...HEADS.map((text) => el("th", { scope: "col", text })))), this.rows);
    this.words = el("p", { class: "muted" });
    const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Changes by hand" }, this.table);
    node.append(el("summary", { text: "Changes by hand" }), this.words, scroll);
    node.addEventListener("toggle", () => this.update(performance.now()));
  }

  // Asks again if it is open and was not asked of late.
  async update(at = performance.now()) {
    if (!this.node.open || at - this.askedAt < EVERY_MS) return;
    this.askedAt = at;
    try {
      const { changes } = await this.api.get(`concurrency/audit?limit=${SHOWN}`);
      this._show(changes);
    } catch (error) {
      if (error.status === undefined) throw error;
      setText(this.words, `Not known: ${error.message}`);
      show(this.words, true);
    }
  }

  _show(changes) {
    const now = Date.now();
    const seen = new Map();
    const keyed = [...changes].reverse().map((change) => {
      const name = JSON.stringify(change);
      seen.set(name, (seen.get(name) ?? 0) + 1);
      return { change, now, key: `${name}${seen.get(name)}` };
    });
    this.list.update(keyed.reverse());
    setText(this.words, "Nothing was changed by hand.");
    show(this.words, changes.length === 0);
    show(this.table, changes.length > 0);
  }
}

class Row {
  constructor() {
    this.cells = HEADS.map(() => el("td"));
    this.names = [el("bdi"), el("span"), el("bdi")];
    this.cells[3].append(...this.names);
    this.node = el("tr", {}, ...this.cells);
  }

  update({ change, now }) {
    const { at, by, what, from, to } = change;
    setText(this.cells[0], moment(at, now));
    setText(this.cells[1], BY[by] ?? by);
    setText(this.cells[2], what);
    const { workspaceId, providerId } = change;
    [workspaceId ?? "", workspaceId && providerId ? " at " : "", providerId ?? ""].forEach((text, at) => setText(this.names[at], visible(text)));
    setText(this.cells[4], difference(what, value(what, from, now), value(what, to, now)));
  }
}

function difference(what, before, after) {
  if (what === "limit" && before === after) return `${after}, from now on by hand`; // it was reduced, learned or the file's
  return [before, after].filter(Boolean).join(" → ");
}

function value(what, it, now) {
  if (what === "limit") return it === null ? "unlimited" : number(it);
  if (it === null && (what === "pause" || what === "resume")) return "not paused";
  if (what === "star") return it ? "star" : "no star";
  if (what === "cooldown" && typeof it === "number") return `${number(it)} ms`;
  if (it === null) return "";
  if (typeof it !== "object") return String(it);
  if (it.until !== undefined) return `paused until ${moment(it.until, now)}`;
  if (it.changed !== undefined) return `${it.changed.map(visible).join(", ")}${it.more ? ` and ${number(it.more)} more` : ""}`;
  if (it.heldMs !== undefined) return `held for ${span(it.heldMs)}`;
  if (it.waitedMs !== undefined) return `waited for ${span(it.waitedMs)}`;
  return visible(JSON.stringify(it));
}
