// What the plots need before anything is drawn: the plotting library, and their own sheet.
//
// The library is Chart.js (MIT), which the Python package `chartkick` ships and the proxy serves (library.py).

// Chart.js. Throws the server's reason where it is not there.
export async function library(api) {
  try {
    await import("./chart.js");
    return globalThis.Chart ?? null;
  } catch {
    await api.raw("page/chart.js"); // says in words why it is not there
    return null;
  }
}

// The plots' sheet: their colours are read from it, so that it must be in force before anything is drawn.
export async function dressed() {
  let link = document.querySelector('link[href$="plots.css"]');
  if (link === null) {
    link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("plots.css", import.meta.url) });
    document.head.append(link);
  }
  if (link.sheet !== null) return;
  await new Promise((settled) => {
    for (const outcome of ["load", "error"]) link.addEventListener(outcome, settled, { once: true });
  });
}
