// The providers, live. An old state is never shown as a present one: when the connection is lost, the page says since
// when and greys the table. Whatever a provider or client named is set as text, never as markup.
const POLL_MS = 2000; // also while events come: waits change without one
const SETTLE_MS = 150; // a burst of events is one look
const SILENCE_MS = 40000; // the stream has a heartbeat every 15 s

const find = (selector) => document.querySelector(selector);
const rows = new Map(); // by provider id; kept, so that a button keeps the focus
let token = sessionStorage.getItem("token");
let providers = [];
let skew = 0; // this clock minus the proxy's
let seenAt = null;
let settling = null;

const headers = () => (token ? { Authorization: `Bearer ${token}` } : {});

async function call(method, path) {
  const answer = await fetch(path, { method, headers: headers(), signal: AbortSignal.timeout(10000) });
  if (answer.status === 401) {
    find("#login").hidden = false;
    throw new Error(token ? "the token is wrong" : "a token is needed");
  }
  if (!answer.ok) throw new Error((await answer.json()).error.message);
  return answer;
}

async function look() {
  try {
    const answer = await call("GET", "concurrency/status?all=1");
    const now = Date.parse(answer.headers.get("Date"));
    if (now) skew = Date.now() - now;
    providers = (await answer.json()).providers;
    seenAt = new Date();
    find("#login").hidden = true;
    say("Live", false);
  } catch (error) {
    say(`Not connected: ${error.message}. ${seenAt ? `The table is of ${seenAt.toLocaleTimeString()}.` : ""}`, true);
  }
  show();
}

function say(words, lost) {
  if (find("#connection").textContent !== words) find("#connection").textContent = words;
  find("#connection").classList.toggle("lost", lost);
  find("table").classList.toggle("stale", lost);
}

const seconds = (ms) => `${Math.max(0, Math.ceil(ms / 1000))} s`;

function show() {
  find("table").hidden = providers.length === 0;
  find("#empty").hidden = seenAt === null || providers.length > 0;
  for (const provider of providers) {
    if (!rows.has(provider.providerId)) rows.set(provider.providerId, add(provider.providerId));
    rows.get(provider.providerId)(provider);
  }
}

function notes(p) {
  const words = [];
  if (p.notice) words.push(p.notice);
  if (p.restoreAt) words.push(`One step up in ${seconds(p.restoreAt - (Date.now() - skew))}.`);
  if (p.quota) words.push("The quota is used up.");
  if (p.strikes) words.push(`Strikes today: ${p.strikes.today}${p.strikes.allowed === null ? "" : ` of ${p.strikes.allowed}`}.`);
  if (p.externalUse) words.push(`Others use ${p.externalUse} of this account.`);
  if (p.cooldownAuto) words.push(`Learned cooldown: ${p.cooldownMs} ms.`);
  return words.join(" ");
}

function add(id) {
  const line = find("tbody").insertRow();
  const cells = Array.from({ length: 7 }, () => line.insertCell());
  const button = line.insertCell().appendChild(document.createElement("button"));
  button.onclick = async () => {
    await call("POST", `concurrency/restore/${encodeURIComponent(id)}`).catch((error) => alert(error.message));
    await look();
  };
  return (p) => {
    const texts = [
      id,
      (p.limit ?? "unlimited") + (p.limitAuto ? " (auto)" : ""),
      p.inFlight,
      p.queued,
      p.oldestWaitMs === null ? "" : seconds(p.oldestWaitMs),
      p.paused ? `${seconds(p.pausedUntil - (Date.now() - skew))} (${p.pauseCause})` : "",
      notes(p),
    ];
    texts.forEach((text, at) => { cells[at].textContent = text; });
    button.hidden = !p.autoReduced;
    button.textContent = `Restore ${p.autoReducedFrom ?? ""}`;
  };
}

// fetch and not EventSource, which cannot send a token. What an event says is not read: it is a reason to look.
async function listen() {
  const stop = new AbortController();
  let silence;
  try {
    const answer = await fetch("concurrency/events", { headers: headers(), signal: stop.signal });
    const reader = answer.ok ? answer.body.getReader() : null;
    while (reader && !(await reader.read()).done) {
      clearTimeout(silence);
      silence = setTimeout(() => stop.abort(), SILENCE_MS);
      settling ??= setTimeout(() => { settling = null; look(); }, SETTLE_MS);
    }
  } catch {
    // Looking goes on by the clock, and says whether the proxy is there.
  }
  clearTimeout(silence);
  setTimeout(listen, POLL_MS);
}

find("#login").onsubmit = (event) => {
  event.preventDefault();
  token = find("#token").value.trim();
  sessionStorage.setItem("token", token);
  find("#token").value = "";
  look();
};

look();
listen();
setInterval(look, POLL_MS);
setInterval(show, 1000);
