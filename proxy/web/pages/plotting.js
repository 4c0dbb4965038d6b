// The place of the plots in a card: opened when somebody wants them, drawn only while they are open.

import { el } from "./dom.js";

export class Plots {
  constructor(id, api) {
    Object.assign(this, { id, api, mounted: null });
    this.place = el("div", { class: "plots-place" });
    this.node = el(
      "details",
      { class: "plots-fold", data: { part: "plots" }, on: { toggle: () => this._toggled() } },
      el("summary", { text: "The last hour, day and week" }),
      this.place,
    );
  }

  destroy() {
    this.mounted?.destroy();
    this.mounted = null;
    this.place.replaceChildren();
  }

  async _toggled() {
    if (!this.node.open) return this.destroy();
    if (this.mounted !== null) return undefined;
    try {
      dress();
      const { mountPlots } = await import("./plots.js");
      if (this.node.open && this.mounted === null) this.mounted = mountPlots(this.place, this.id, this.api);
    } catch (error) {
      this.place.replaceChildren(el("p", { class: "problem", text: `The plots cannot be shown: ${error.message}` }));
    }
    return undefined;
  }
}

// The plots' own sheet, once somebody looks at plots.
function dress() {
  if (document.getElementById("plots-sheet") === null) {
    document.head.append(el("link", { id: "plots-sheet", rel: "stylesheet", href: "page/plots.css" }));
  }
}
