// What else is known of a provider, one line each, and only what there is.

import { el, setText, show } from "./dom.js";
import { ago, moment, number, refusal, roughly, span } from "./words.js";

// Name, label, and the words about an entry: empty where there is nothing to say.
const FACTS = [
  ["gate", "Provider counts", gate],
  ["external", "Others", (entry) => (entry.externalUse ? `others use ${number(entry.externalUse)} of the account` : "")],
  ["strikes", "Strikes", strikes],
  ["quota", "Quota", quota],
  ["allowance", "Allowance", (entry, now) => (entry.fewLeftUntil ? `few requests are left, until ${moment(entry.fewLeftUntil, now)}` : "")],
  ["last", "Last refusal", (entry, now) => (entry.lastRateLimit ? `${refusal(entry.lastRateLimit)}; ${ago(now - entry.lastRateLimit.at)}` : "")],
  ["lag", "Lag", (entry) => (entry.lagMs ? `it counts a request for ${span(entry.lagMs)} after its end` : "")],
];

function gate({ gate: reading, limit }, now) {
  if (!reading) return "";
  if (reading.observed === null) return `not told: ${reading.error}`;
  const counted = `${number(reading.observed)}${limit === null ? "" : ` of ${number(limit)}`}`;
  if (reading.error === null) return `${counted}; ${ago(now - reading.at)}`;
  return `not told for ${span(now - reading.at)}: ${reading.error}; last count ${counted}`;
}

function strikes({ strikes: seen }) {
  if (!seen) return "";
  const borne = seen.allowed === null ? "" : ` of ${number(seen.allowed)}`;
  return seen.today === 0 && seen.allowed === null ? "" : `${number(seen.today)}${borne} today`;
}

function quota({ quota: seen }, now) {
  if (!seen) return "";
  const left = seen.retryAfterMs === null ? "" : `; it says: again in ${roughly(seen.at + seen.retryAfterMs - now)}`;
  return `used up, said ${ago(now - seen.at)}${left}`;
}

export class Facts {
  constructor() {
    this.lines = FACTS.map(([name, label, words]) => {
      const value = el("dd");
      const node = el("div", { class: "fact", data: { part: name } }, el("dt", { text: label }), value);
      return { node, value, words, name };
    });
    this.node = el("dl", { class: "facts" }, ...this.lines.map((line) => line.node));
  }

  update(entry, now) {
    for (const { node, value, words, name } of this.lines) {
      const text = words(entry, now);
      setText(value, text);
      show(node, text !== "");
      node.classList.toggle("alarming", name === "quota" || (name === "gate" && Boolean(entry.gate?.error)) || (name === "strikes" && worn(entry)));
    }
    show(this.node, this.lines.some(({ node }) => !node.hidden));
  }
}

const worn = ({ strikes: seen }) => Boolean(seen && seen.allowed !== null && seen.today * 2 >= seen.allowed && seen.today > 0);
