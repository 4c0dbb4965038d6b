// The stream of events, as a reason to look. fetch and not EventSource, which cannot send a token.
//
// Rule 1: what an event says is not shown: the state is asked for, so that the page can never drift away from it.
// Rule 2: it comes back by itself, later each time, and says which event it saw last.

const SILENCE_MS = 40000; // the stream has a heartbeat every 15 s
const FIRST_MS = 1000;
const LONGEST_MS = 15000;

// `onEvent()` is called for each piece that arrives. Begin with `start`.
export class Events {
  constructor(api, onEvent) {
    this.api = api;
    this.onEvent = onEvent;
    this.lastId = null;
    this.delay = FIRST_MS;
    this.stopper = null;
    this.timer = null;
  }

  get running() {
    return this.stopper !== null || this.timer !== null;
  }

  start() {
    if (!this.running) this._read();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
    this.stopper?.abort();
    this.stopper = null;
  }

  // The proxy is there again: do not wait out the delay.
  hurry() {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.delay = FIRST_MS;
    this._read();
  }

  async _read() {
    const stopper = new AbortController();
    this.stopper = stopper;
    this.timer = null;
    let silence = setTimeout(() => stopper.abort(), SILENCE_MS);
    try {
      const headers = this.lastId === null ? {} : { "Last-Event-ID": this.lastId };
      const answer = await this.api.raw("concurrency/events", { headers, signal: stopper.signal });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      this.delay = FIRST_MS;
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        clearTimeout(silence);
        silence = setTimeout(() => stopper.abort(), SILENCE_MS);
        rest = this._take(rest + value);
      }
    } catch {
      // Looking goes on by the clock, and says whether the proxy is there.
    }
    clearTimeout(silence);
    if (this.stopper !== stopper) return; // stopped, or begun anew
    this.stopper = null;
    this.timer = setTimeout(() => this._read(), this.delay * (0.75 + Math.random() / 2));
    this.delay = Math.min(LONGEST_MS, this.delay * 2);
  }

  // Whole lines are read, the rest is kept.
  _take(text) {
    const lines = text.split("\n");
    const rest = lines.pop();
    let seen = false;
    for (const line of lines) {
      if (line.startsWith("id:")) this.lastId = line.slice(3).trim();
      else if (line.startsWith("event:")) seen = true;
    }
    if (seen) this.onEvent();
    return rest;
  }
}
