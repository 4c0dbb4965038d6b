// The head of the page: who waits at all, where, how long; what is wrong with the proxy itself; the tab's title.

import { List, el, setAttribute, setText, show } from "./dom.js";
import { clock, count, number, reason, span, visible } from "./words.js";

const find = (selector) => document.querySelector(selector);
const COLOURS = { calm: "#4946d1", waiting: "#c77700", lost: "#7a828f" };

export class Summary {
  constructor() {
    this.words = find("#summary-words");
    this.why = find("#summary-why");
    this.version = find("#version");
    this.versionFirst = null;
    this.chips = new List(find("#summary-chips"), ({ id }) => id, (id) => new Chip(id));
    this.notices = new List(find("#notices"), ({ name }) => name, () => new Notice());
  }

  update({ providers, process }, now, lookedAt) {
    const since = Math.max(0, now - lookedAt);
    const waiting = providers.filter(({ entry }) => entry.queued > 0);
    const queued = total(waiting, "queued");
    const inFlight = total(providers, "inFlight");
    const longest = Math.max(0, ...waiting.map(({ entry }) => entry.oldestWaitMs ?? 0)) + since;
    const running = inFlight === 0 ? "nothing is in flight" : `${number(inFlight)} in flight`;
    setText(this.words, queued === 0 ? `Nobody waits, ${running}.` : `${number(queued)} ${queued === 1 ? "waits" : "wait"}, the longest for ${unbroken(span(longest))}.`);
    this.said = this.words.textContent;
    setText(this.why, waiting.length === 1 ? reason(waiting[0].entry, now) : "");
    this.chips.update(waiting.length < 2 ? [] : waiting.map(({ entry }) => ({ id: entry.providerId, entry, since })));
    setText(this.version, process.version);
    this.versionFirst ??= process.version;
    this.notices.update(notices(process, this.versionFirst));
    document.title = queued === 0 ? "Slotgate" : `(${number(queued)}) Slotgate`;
    paint(queued === 0 ? "calm" : "waiting");
  }

  // `seenAt`: when what stands here was so, null if never.
  lost(seenAt) {
    if (seenAt !== null) setText(this.words, `At ${clock(seenAt)}: ${this.said}`);
    document.title = "Slotgate: not connected";
    paint("lost");
  }
}

const unbroken = (words) => words.replaceAll(" ", "\u00a0"); // a number and its unit stay on one line

const total = (providers, key) => providers.reduce((sum, { entry }) => sum + entry[key], 0);

function notices({ config, state, version }, versionFirst) {
  const found = [];
  if (config.error) found.push({ name: "config", words: "The configuration has an error, the one of before stays in force.", detail: config.error });
  if (!state.ok) found.push({ name: "state", words: "Changes cannot be stored: they hold in memory and are gone after a restart.", detail: state.error ?? "" });
  if (version !== versionFirst) found.push({ name: "version", words: `The proxy is version ${version} now: reload this page.`, detail: "" });
  return found;
}

class Notice {
  constructor() {
    this.words = el("strong");
    this.detail = el("pre", { class: "detail" });
    this.node = el("div", { class: "notice", role: "alert" }, this.words, this.detail);
  }

  update({ name, words, detail }) {
    this.node.dataset.notice = name;
    setText(this.words, words);
    setText(this.detail, detail);
    show(this.detail, detail !== "");
  }
}

// The way to a provider where somebody waits.
class Chip {
  constructor(id) {
    this.words = el("span");
    const go = () => {
      const card = [...document.querySelectorAll("[data-provider]")].find((each) => each.dataset.provider === id);
      card?.scrollIntoView({ block: "start" });
      card?.querySelector("h2").focus({ preventScroll: true });
    };
    this.node = el("li", {}, el("button", { type: "button", class: "chip", on: { click: go } }, el("bdi", { class: "name", text: visible(id) }), this.words));
  }

  update({ entry, since }) {
    setText(this.words, `${count(entry.queued, "waits", "wait")}, ${span((entry.oldestWaitMs ?? 0) + since)}`);
  }
}

let painted = null;

// The tab's picture: four slots, in the colour of how things are.
function paint(mood) {
  if (painted === mood) return;
  painted = mood;
  const slots = [[2, 2], [17, 2], [2, 17], [17, 17]].map(([x, y]) => `<rect x="${x}" y="${y}" width="13" height="13" rx="3"/>`);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="${COLOURS[mood]}">${slots.join("")}</svg>`;
  setAttribute(find("#icon"), "href", `data:image/svg+xml,${encodeURIComponent(svg)}`);
}
