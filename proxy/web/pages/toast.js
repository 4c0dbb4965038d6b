// What was just done, said once, with a way back for ten seconds. One at a time: the latest.

import { el, icon, nearest } from "./dom.js";

const SHOWN_MS = 10000;

const place = document.querySelector('[data-part="toast"]');
let timer = null;
let opener = null;

// Say `words`; `undo` is what takes it back: the button's words and what it runs. `failed` says that it was not done.
export function toast(words, { undo = null, failed = false } = {}) {
  opener = place.contains(document.activeElement) ? opener : document.activeElement;
  const children = [el("span", { class: "toast-words", text: words })];
  if (undo !== null) {
    children.push(button("undo", undo.words, "undo", () => { clear(); undo.run(); }));
  }
  children.push(button("dismiss", "Close", "x", clear));
  place.replaceChildren(el("div", { class: failed ? "toast-body failed" : "toast-body" }, ...children));
  wait();
}

function button(action, label, picture, then) {
  const words = action === "dismiss" ? el("span", { class: "unseen", text: label }) : label;
  return el("button", { type: "button", class: "plain", data: { action }, on: { click: then } }, icon(picture), words);
}

function wait() {
  clearTimeout(timer);
  timer = setTimeout(clear, SHOWN_MS);
}

function clear() {
  clearTimeout(timer);
  const held = place.contains(document.activeElement);
  place.replaceChildren();
  if (!held) return;
  if (opener?.isConnected && !opener.closest("[hidden]")) opener.focus({ preventScroll: true });
  else nearest(opener?.isConnected ? opener : document.getElementById("summary"))?.focus({ preventScroll: true });
}

// Nobody is hurried who points at it or has the focus in it.
for (const event of ["pointerenter", "focusin"]) place.addEventListener(event, () => clearTimeout(timer));
for (const event of ["pointerleave", "focusout"]) place.addEventListener(event, () => place.firstChild && wait());
