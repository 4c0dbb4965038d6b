// The providers, live. An old state is never shown as a present one: when the connection is lost, the page says since
// when and greys the table. Whatever a provider or client named is set as text, never as markup.
const POLL_MS = 2000; // also while events come: waits change without one
const SETTLE_MS = 150; // a burst of events is one look
const SILENCE_MS = 40000; // the stream has a heartbeat every 15 s
const OVERLOAD_SHOWN_MS = 60000; // nothing ends an overload: it is news for as long as a pause for one may last
const CAUSES = { // the words of `slotgate status`
  operator: "by hand",
  exhausted: "no requests left in this window",
  concurrency: "too many at once",
  rate: "too fast",
  overload: "overloaded",
};
const UNITS = [["d", 86400000], ["h", 3600000], ["m", 60000]];

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

// A length of time at a glance: 56s, 29m, 3h, 2d; two of a unit at least.
function roughly(ms) {
  const [unit, length] = UNITS.find(([, least]) => ms >= 2 * least) ?? ["s", 1000];
  return `${Math.round(Math.max(0, ms) / length)}${unit}`;
}

function show() {
  find("table").hidden = providers.length === 0;
  find("#empty").hidden = seenAt === null || providers.length > 0;
  for (const provider of providers) {
    if (!rows.has(provider.providerId)) rows.set(provider.providerId, add(provider.providerId));
    rows.get(provider.providerId)(provider);
  }
}

function limit(p) {
  if (p.limit === null) return p.limitAuto ? "auto" : "unlimited";
  return p.limit + (p.limitAuto ? " (auto)" : "");
}

function paused(p, now) {
  return p.paused ? `${roughly(p.pausedUntil - now)} (${CAUSES[p.pauseCause] ?? p.pauseCause})` : "";
}

function states(p, now) {
  const words = [];
  if (p.restoreAt) words.push(`one step up in ${roughly(p.restoreAt - now)}`);
  if (p.quota) {
    const wait = p.quota.retryAfterMs === null ? "" : ` (retry after ${roughly(p.quota.retryAfterMs)})`;
    words.push(`quota used up ${roughly(now - p.quota.at)} ago${wait}`);
  }
  const overloaded = p.lastRateLimit?.kind === "overload" && p.pauseCause !== "overload"
    && now - p.lastRateLimit.at < OVERLOAD_SHOWN_MS;
  if (overloaded) words.push(`overloaded ${roughly(now - p.lastRateLimit.at)} ago`);
  const why = waits(p, overloaded);
  if (why) words.push(why);
  if (p.externalUse) words.push(`others use ${p.externalUse}`);
  if (p.strikes && p.strikes.allowed !== null) words.push(`${p.strikes.today} of ${p.strikes.allowed} strikes today`);
  if (p.cooldownAuto) words.push(`cooldown ${p.cooldownMs}ms (auto)`);
  return words.join(", ");
}

// Why one waits although there is room and no pause. Who was refused for an overload may rest before it is sent again.
function waits(p, overloaded) {
  if (!p.queued || p.paused || p.limit === null || p.inFlight >= p.limit) return "";
  if (p.fewLeftUntil) return "few requests left in this window: an answer is awaited";
  if (p.gate?.error) return `the provider does not tell its count: ${p.gate.error}`;
  if (p.gate?.observed >= p.limit) return `the provider counts ${p.gate.observed} of ${p.limit}`;
  if (overloaded) return "";
  if (p.gate) return "the provider is asked first";
  return p.lastRateLimit ? "one goes ahead alone" : "";
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
    const now = Date.now() - skew;
    const texts = [
      id,
      limit(p),
      p.inFlight,
      p.queued,
      p.oldestWaitMs === null ? "" : roughly(p.oldestWaitMs),
      paused(p, now),
      [states(p, now), p.notice].filter(Boolean).join("\n"),
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
