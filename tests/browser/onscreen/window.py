# One window on the page: what a person does there and sees there, and everything that the browser complains of.
#
# Rule 1: it waits for what shall be seen, with a limit that only a fault reaches; it never sleeps.
# Rule 2: a complaint (an error in the console, an exception, a breach of the page's policy) fails the test, unless the
#         test said before that it is to come.
# Rule 3: elements are found by the attributes that the page promises, never by their looks.

import json
from typing import Any, Protocol

from blackbox.rig import Rig
from blackbox.waiting import PATIENCE
from playwright.async_api import ConsoleMessage, Locator, Page, expect

# The policy is watched from within, since a browser does not tell of every breach in its console.
WATCH_POLICY = """
addEventListener("securitypolicyviolation", (event) =>
  complain(`policy: ${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
"""


expect.set_options(timeout=PATIENCE * 1000)


class Window:
    """A tab with the page in it. `locate` finds what the page promises; `card` one provider's part of it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        self._allowed: list[str] = []
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._complain(f"exception: {error}"))

    async def watch(self) -> None:
        await self.page.expose_function("complain", self._complain)
        await self.page.add_init_script(WATCH_POLICY)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self._complain(f"console: {message.text} ({message.location.get('url')})")

    def _complain(self, words: str) -> None:
        if not any(part in words for part in self._allowed):
            self.complaints.append(words)

    def allow(self, *parts: str) -> None:
        """Complaints with one of these in them are what the test is about."""
        self._allowed += parts

    def allow_failing_calls(self) -> None:
        """The browser itself tells its console of every call that fails, whatever the page makes of it."""
        self.allow("Failed to load resource")

    # --- looking ---------------------------------------------------------------------------------------------------

    async def open(self) -> "Window":
        await self.page.goto(self.url)
        return self

    async def live(self) -> None:
        """Waits until the page says that what it shows is of now."""
        await expect(self.locate("#connection")).to_contain_text("Live")

    async def lost(self) -> None:
        """Waits until the page says that what it shows is old."""
        await expect(self.locate("#connection")).to_contain_text("Not connected", timeout=2 * PATIENCE * 1000)

    def locate(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def card(self, provider: str) -> "Card":
        return Card(self, self.locate(f"[data-provider={json.dumps(provider)}]"))

    def action(self, name: str) -> Locator:
        return self.locate(f'[data-action="{name}"]')

    @property
    def dialog(self) -> Locator:
        return self.locate('dialog[data-part="confirm"]')

    @property
    def toast(self) -> Locator:
        return self.locate('[data-part="toast"]')

    async def confirm(self, *, naming: str | None = None) -> None:
        """Says yes to the question that is open; the question must name whom it is about."""
        await expect(self.dialog).to_be_visible()
        if naming is not None:
            await expect(self.dialog).to_contain_text(naming)
        await self.dialog.locator('[data-action="confirm"]').click()
        await expect(self.dialog).to_be_hidden()

    async def call(self, file: str, name: str, *arguments: Any) -> Any:
        """What a function of one of the page's modules answers."""
        script = "async ([file, name, given]) => (await import(new URL(file, document.baseURI)))[name](...given)"
        return await self.page.evaluate(script, [file, name, list(arguments)])

    async def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        return int(await self.page.evaluate("document.scrollingElement.scrollWidth - innerWidth"))

    async def focused(self, what: str = "element.outerHTML.slice(0, 200)") -> Any:
        """Something about the element that has the focus, as an expression over `element`."""
        return await self.page.evaluate(f"((element) => {what})(document.activeElement)")


class Card:
    """One provider on the page."""

    def __init__(self, window: Window, root: Locator) -> None:
        self.window = window
        self.root = root

    def part(self, name: str) -> Locator:
        return self.root.locator(f'[data-part="{name}"]')

    def action(self, name: str) -> Locator:
        return self.root.locator(f'[data-action="{name}"]')

    @property
    def slots(self) -> Locator:
        """The slots that somebody has."""
        return self.part("slots").locator("[data-slot]")

    @property
    def waiters(self) -> Locator:
        return self.part("queue").locator("[data-waiter]")

    async def shows(self, part: str, text: str) -> None:
        await expect(self.part(part)).to_contain_text(text, ignore_case=True)


class Opener(Protocol):
    """What the fixture `open_window` is; options are those of Playwright's `new_context`."""

    async def __call__(self, rig: Rig, **options: Any) -> Window: ...
