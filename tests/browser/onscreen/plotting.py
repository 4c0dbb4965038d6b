# The plots of one provider by themselves, with a history that the test wrote into the state before the proxy started.
#
# Rule: values are read where people get them (the table, the words beside the pointer, what a screen reader is told);
#       what is on a canvas is asked of the library that drew it.

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from blackbox.waiting import PATIENCE
from playwright.async_api import Locator, expect

from onscreen.window import Window
from proxy.store import Minute, SavedEvent, SqliteStore

FIGURES = ("in-flight", "queue", "wait", "first-byte")
# A document of the proxy's own, under the page's policy, that is not the page: whatever happens here the plots did.
# `window.plots` is what mountPlots answered.
_BARE = "page.css"
_MOUNT = """async (provider) => {
  document.documentElement.lang = "en";
  document.title = "Plots";
  const place = Object.assign(document.createElement("main"), {id: "place"});
  document.body.replaceChildren(place);
  const sheets = [["page.css", "all", ""], ["page/dark.css", "(prefers-color-scheme: dark)", "dark"]];
  await Promise.all(sheets.map(([href, media, id]) => new Promise((resolve) => {
    const link = Object.assign(document.createElement("link"), {rel: "stylesheet", href, media, id});
    link.addEventListener("load", resolve);
    document.head.append(link);
  })));
  const {api} = await import(new URL("page/api.js", document.baseURI));
  const {mountPlots} = await import(new URL("page/plots.js", document.baseURI));
  window.plots = mountPlots(place, provider, api);
}"""
_DATASETS = """(name) => Chart.getChart(document.querySelector(`[data-plot="${name}"] canvas`)).data.datasets
  .map(({data, borderDash, borderColor}) => ({data: data.map(({x, y}) => [x, y]), borderDash, borderColor}))"""


async def write_history(state: Path, minutes: Sequence[Minute], events: Sequence[SavedEvent] = ()) -> None:
    """Before the proxy is started."""
    store = SqliteStore(state)
    await store.open()
    assert await store.append_minutes(minutes)
    assert await store.append_events(events)
    await store.close()


class Plots:
    """The plots, alone in a window."""

    def __init__(self, window: Window, provider: str) -> None:
        self.window = window
        self.page = window.page
        self.provider = provider

    async def open(self) -> "Plots":
        """In a new document, where nothing else is."""
        await self.page.goto(self.window.url + _BARE)
        return await self.mount()

    async def mount(self) -> "Plots":
        await self.page.evaluate(_MOUNT, self.provider)
        return self

    async def shown(self) -> "Plots":
        """Waits until the newest is shown."""
        await expect(self.page.locator(".plots-as-of")).to_contain_text("as of", timeout=PATIENCE * 1000)
        await expect(self.page.locator(".plots[aria-busy]")).to_have_count(0, timeout=PATIENCE * 1000)
        return self

    def figure(self, name: str) -> Locator:
        return self.page.locator(f'[data-plot="{name}"]')

    def canvas(self, name: str) -> Locator:
        return self.figure(name).locator("canvas")

    def tip(self, name: str) -> Locator:
        return self.figure(name).locator(".plot-tip")

    def action(self, name: str) -> Locator:
        return self.page.locator(f'[data-action="{name}"]')

    @property
    def problem(self) -> Locator:
        return self.page.locator(".plots-problem")

    async def rows(self, name: str) -> list[list[str]]:
        """The table's, newest first, without its head."""
        read = "(lines) => lines.map((line) => [...line.cells].map((cell) => cell.textContent))"
        found: list[list[str]] = await self.figure(name).locator("tbody tr").evaluate_all(read)
        return found

    async def datasets(self, name: str) -> list[dict[str, Any]]:
        """What the library drew."""
        found: list[dict[str, Any]] = await self.page.evaluate(_DATASETS, name)
        return found

    async def summary(self, name: str) -> str:
        return await self.canvas(name).get_attribute("aria-label") or ""
