// Workspaces with a star: their waiters go first, everywhere.

import { List, el, icon, setAttribute, setText, show } from "./dom.js";
import { number, visible } from "./words.js";

const LONGEST = 128; // characters of a workspace's name, as the admin API has it

export class Stars {
  constructor(node, actions) {
    this.actions = actions;
    this.chips = el("ul", { class: "chips" });
    this.list = new List(this.chips, (each) => each.workspaceId, (name) => new Chip(name, actions));
    this.nobody = el("p", { class: "muted", text: "None yet: a star puts a workspace's waiters first." });
    this.input = el("input", { id: "star-name", type: "text", maxlength: LONGEST, autocomplete: "off", spellcheck: "false", list: "workspaces", "aria-describedby": "star-problem" });
    this.known = el("datalist", { id: "workspaces" });
    this.problem = el("p", { id: "star-problem", class: "problem", role: "alert" });
    this.form = el(
      "form",
      { class: "line", on: { submit: (event) => this._add(event) } },
      el("label", { for: "star-name", class: "unseen", text: "Workspace to star" }),
      this.input,
      this.known,
      el("button", { class: "plain edged", data: { action: "star" } }, icon("star"), "Star"),
    );
    setAttribute(this.input, "placeholder", "workspace");
    node.append(el("h2", { id: "stars-title", tabindex: "-1", text: "Starred" }), this.nobody, this.chips, this.form, this.problem);
  }

  update(workspaces) {
    const starred = workspaces.filter((each) => each.starred);
    this.list.update(starred);
    show(this.chips, starred.length > 0);
    show(this.nobody, starred.length === 0);
    const names = workspaces.filter((each) => !each.starred).map((each) => each.workspaceId);
    if (names.join("\n") === this.offered) return;
    this.offered = names.join("\n");
    this.known.replaceChildren(...names.map((value) => el("option", { value })));
  }

  async _add(event) {
    event.preventDefault();
    const name = this.input.value.trim();
    setText(this.problem, name === "" ? "Say which workspace." : "");
    setAttribute(this.input, "aria-invalid", name === "" ? "true" : null);
    if (name === "") return this.input.focus();
    if (await this.actions.star(name, true)) this.input.value = "";
    return undefined;
  }
}

class Chip {
  constructor(name, actions) {
    this.words = el("span", { class: "muted" });
    this.node = el(
      "li",
      { class: "chip starred" },
      icon("star"),
      el("bdi", { class: "name", title: visible(name), text: visible(name) }),
      this.words,
      el("button", { type: "button", class: "plain round", title: "Take the star", "aria-label": `Take the star from ${visible(name)}`, data: { action: "unstar" }, on: { click: () => actions.star(name, false) } }, icon("x")),
    );
  }

  update({ queued, inFlight }) {
    const words = [queued > 0 ? `${number(queued)} waiting` : "", inFlight > 0 ? `${number(inFlight)} in flight` : ""];
    setText(this.words, words.filter(Boolean).join(", "));
  }
}
