// Nodes of the page, made and changed without markup: a name from a client can only ever become text.
//
// Rule 1: a node is touched only where something changed, so that a busy page stays quick and a selection survives.
// Rule 2: the focus is a person's place: redrawing a list keeps it, or puts it onto the nearest thing like it.

const SVG = "http://www.w3.org/2000/svg";

// An element: `given` has `class`, `text`, `data` (data-*), `on` (listeners); everything else is an attribute.
export function el(tag, given = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name === "on") Object.entries(value).forEach(([event, then]) => node.addEventListener(event, then));
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// A picture of the sprite; it says nothing by itself, words stand beside it.
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

export function setIcon(svg, name) {
  setAttribute(svg.firstElementChild, "href", `#i-${name}`);
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setAttribute(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

// Whether `node` is shown. What has the focus and goes gives it to its card.
export function show(node, shown) {
  if (node.hidden === !shown) return;
  const held = !shown && node.contains(document.activeElement);
  node.hidden = !shown;
  if (held) nearest(node)?.focus();
}

// Where the focus goes when its place is gone: the heading of what it was in.
export function nearest(node) {
  return node.closest("[data-provider], section, main")?.querySelector("[tabindex='-1']");
}

// Keeps `container` showing `items` in their order. `make(key)` answers {node, update(item, index)}; a view lives as
// long as its key is there.
export class List {
  constructor(container, keyOf, make) {
    this.container = container;
    this.keyOf = keyOf;
    this.make = make;
    this.views = new Map();
  }

  update(items) {
    const focused = document.activeElement;
    const within = this.container.contains(focused);
    const place = within ? this._place(focused) : -1;
    const keys = new Set(items.map(this.keyOf));
    for (const [key, view] of this.views) {
      if (keys.has(key)) continue;
      if (view.node.parentNode === this.container) view.node.remove(); // else it has moved to another list
      view.destroy?.();
      this.views.delete(key);
    }
    let next = this.container.firstChild;
    items.forEach((item, index) => {
      const key = this.keyOf(item);
      let view = this.views.get(key);
      if (view === undefined) this.views.set(key, (view = this.make(key)));
      if (view.node === next) next = next.nextSibling;
      else this.container.insertBefore(view.node, next);
      view.update(item, index);
    });
    if (within && document.activeElement !== focused) this._refocus(focused, place);
  }

  _place(node) {
    return [...this.container.children].findIndex((child) => child.contains(node));
  }

  _refocus(focused, place) {
    if (focused.isConnected && !focused.closest("[hidden]")) return focused.focus({ preventScroll: true });
    const neighbour = this.container.children[Math.min(place, this.container.children.length - 1)];
    const alike = neighbour?.querySelector(`[data-action="${focused.dataset.action ?? ""}"]`);
    return (alike ?? neighbour?.querySelector("button, input") ?? nearest(this.container))?.focus();
  }
}
