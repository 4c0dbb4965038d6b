// The page: puts its rooms together and shows what the proxy says.
//
// Rule 1: an old state is never shown as a present one: when the connection is lost the page says since when, and greys.
// Rule 2: whatever a provider or a client named is set as text, never as markup.
// Rule 3: without a token that the proxy takes nothing is asked and nothing is shown.

import { Actions } from "./actions.js";
import { api } from "./api.js";
import { Card, isActive, urgency } from "./cards.js";
import { Changes } from "./changes.js";
import { List, setAttribute, setIcon, setText, show } from "./dom.js";
import { Live } from "./live.js";
import { Stars } from "./stars.js";
import { Summary } from "./summary.js";
import { clock, count } from "./words.js";

const NAMES = new Intl.Collator(undefined, { numeric: true });
const TICK_MS = 1000;
const THEMES = { system: "as the system", light: "light", dark: "dark" };

const find = (selector) => document.querySelector(selector);
const live = new Live(api, { onData: taken, onLost: lost });
const actions = new Actions(api, live);
const summary = new Summary();
const stars = new Stars(find('[data-part="stars"]'), actions);
const changes = new Changes(find("#changes"), api);
const cards = new Map(); // by provider: a card may move between the two lists
const active = new List(find("#cards"), idOf, card);
const quiet = new List(find("#quiet .quiet-cards"), idOf, card);
let data = null;
let lookedAt = 0;
let earlier = null;
let order = null; // ids of providers

// Cards stand by urgency and name as of the moment when somebody began to look: none jumps away from under a hand.
function inOrder(providers) {
  if (order === null) order = [...providers].sort((a, b) => urgency(b) - urgency(a) || isLocal(a) - isLocal(b) || NAMES.compare(idOf(a), idOf(b))).map(idOf);
  order.push(...providers.map(idOf).filter((id) => !order.includes(id)));
  return [...providers].sort((a, b) => order.indexOf(a.entry.providerId) - order.indexOf(b.entry.providerId));
}

// A server on this machine: few have one, and the presets name four.
const isLocal = (each) => Number(/^(127\.|localhost\b|\[::1\])/.test(idOf(each)));

function idOf({ entry }) {
  return entry.providerId;
}

function card(id) {
  if (!cards.has(id)) cards.set(id, new Card(id, { api, actions }));
  const made = cards.get(id);
  return { node: made.node, update: (each) => made.update(each, live.now(), lookedAt) };
}

function taken(found) {
  data = { ...found, providers: inOrder(found.providers) };
  lookedAt = live.now();
  say("Live", "live");
  show(find("#login"), false);
  show(find("#all"), true);
  show(find('[data-action="logout"]'), api.hasToken);
  draw();
}

function lost(error, seenAt) {
  if (error.status === 401) return;
  const since = seenAt === null ? "" : ` since ${clock(seenAt)}`;
  say(`Not connected${since}: ${error.message}. Trying again.`, "lost");
  summary.lost(seenAt);
}

function say(words, state) {
  setText(find("#connection"), words);
  find("#connection").dataset.state = state;
  find("#connection").classList.toggle("lost", state === "lost");
  find("#main").classList.toggle("stale", state === "lost");
}

function draw() {
  const known = new Set(data.providers.map(idOf));
  const focused = document.activeElement;
  const some = data.providers.filter(isActive);
  const others = data.providers.filter((each) => !isActive(each));
  summary.update(data, live.now(), lookedAt);
  stars.update(data.workspaces);
  changes.update();
  // First where a card goes to: one that moves is in the document all the time.
  active.update(some);
  quiet.update(others);
  for (const [id, made] of cards) {
    if (known.has(id)) continue;
    made.destroy();
    cards.delete(id);
  }
  if (focused !== document.activeElement && focused.isConnected) focused.focus(); // and go where it went
  show(find("#empty"), data.providers.length === 0);
  show(find("#unlimited"), others.length > 0 && some.length === 0);
  show(find("#quiet"), others.length > 0);
  setText(find("#quiet summary"), `${count(others.length, some.length > 0 ? "more provider" : "provider")} without limit and traffic`);
  if (some.length === 0 && !find("#quiet").dataset.opened) {
    find("#quiet").open = true; // there is nothing else to look at
    find("#quiet").dataset.opened = "once";
  }
  soon();
}

// A rest that ends is over at that moment, not at the next look.
function soon() {
  clearTimeout(earlier);
  const now = live.now();
  const at = Math.min(...data.providers.flatMap((each) => each.slots.map((slot) => slot.cooledAt ?? 0)).filter((each) => each > now));
  if (at - now < TICK_MS) earlier = setTimeout(draw, at - now + 5);
}

api.onRefused((hadToken) => {
  live.stop();
  data = null;
  show(find("#all"), false);
  show(find("#login"), true);
  show(find('[data-action="logout"]'), false);
  say("A token is needed", "closed");
  document.title = "Slotgate";
  setText(find("#login-problem"), hadToken ? "That token is wrong." : "");
  setAttribute(find("#token"), "aria-invalid", hadToken ? "true" : null);
  if (hadToken || document.activeElement === document.body) find("#token").focus();
});

find("#login").addEventListener("submit", (event) => {
  event.preventDefault();
  const token = find("#token").value.trim();
  find("#token").value = "";
  if (api.bear(token)) live.start();
  else setText(find("#login-problem"), "A token has letters, digits and signs of ASCII alone, and no space.");
});

find('[data-action="logout"]').addEventListener("click", () => {
  api.forget();
  live.look(); // which will be refused, and so ask for a token
});

const theme = find('[data-action="theme"]');

function named() {
  const words = `Colours: ${THEMES[window.slotgateTheme.chosen]}`;
  setIcon(theme.querySelector("svg"), window.slotgateTheme.chosen);
  setText(theme.querySelector("span"), words);
  setAttribute(theme, "title", `${words}. Press to change.`);
}

theme.addEventListener("click", () => {
  window.slotgateTheme.next();
  named();
});

named();
setInterval(() => data !== null && !document.hidden && !live.lost && draw(), TICK_MS);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) order = null;
  else document.title = "Slotgate"; // a number that nobody keeps up to date is no number
});
live.start();
