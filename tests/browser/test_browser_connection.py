# The page stays live by itself, says when it is not, and finds its way back.

import re
import signal

import pytest
from blackbox.rig import Rig
from blackbox.waiting import until
from onscreen.traffic import hold_slots, wait_in_line
from onscreen.window import Opener, Window
from playwright.async_api import Request, Route, expect

HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden});
  Object.defineProperty(document, "visibilityState", {configurable: true, get: () => (hidden ? "hidden" : "visible")});
  document.dispatchEvent(new Event("visibilitychange"));
}"""


async def same_page(window: Window) -> None:
    """Marks the document; `not_reloaded` sees whether it is still there."""
    await window.page.evaluate("globalThis.marked = true")


async def not_reloaded(window: Window) -> None:
    assert await window.page.evaluate("globalThis.marked === true"), "the page was loaded anew"


async def test_what_happens_at_the_proxy_is_shown_without_a_reload(rig: Rig, window: Window) -> None:
    await same_page(window)
    card = window.card(rig.provider)
    await expect(card.slots).to_have_count(0)
    await hold_slots(rig)
    await expect(card.slots).to_have_count(2)
    await wait_in_line(rig, "first", "second")
    await expect(card.waiters).to_have_count(2)
    await expect(card.waiters.first).to_contain_text("beta")
    await rig.up.calls[0].finish()
    await expect(card.waiters).to_have_count(1)
    await rig.limit(7)
    await expect(card.part("limit").locator("input")).to_have_value("7")
    await expect(card.waiters).to_have_count(0)
    await not_reloaded(window)


async def test_title_says_how_many_wait(rig: Rig, window: Window) -> None:
    await expect(window.page).to_have_title("Slotgate")
    await hold_slots(rig)
    await wait_in_line(rig, "first", "second")
    await expect(window.page).to_have_title("(2) Slotgate")


async def test_lost_proxy_is_said_and_its_return_found(rig: Rig, window: Window) -> None:
    window.allow_failing_calls()
    await same_page(window)
    await rig.proxy.kill()
    await window.lost()
    await expect(window.locate("#connection")).to_contain_text("since")
    await expect(window.locate("main.stale")).to_be_visible()
    await expect(window.page).to_have_title(re.compile("not connected"))
    await rig.proxy.come_back()
    await window.live()
    await expect(window.locate("main.stale")).to_have_count(0)
    await rig.limit(5)
    await expect(window.card(rig.provider).part("limit").locator("input")).to_have_value("5")
    await not_reloaded(window)


async def test_stream_of_events_goes_on_where_it_was_after_a_restart(rig: Rig, window: Window) -> None:
    window.allow_failing_calls()
    resumed: list[str] = []

    async def remember(request: Request) -> None:
        if request.url.endswith("/concurrency/events"):
            resumed.append((await request.all_headers()).get("last-event-id", ""))

    window.page.on("request", remember)
    await rig.limit(5)
    await expect(window.card(rig.provider).part("limit").locator("input")).to_have_value("5")
    await rig.proxy.kill()
    await window.lost()
    await rig.proxy.come_back()
    await until(lambda: any(resumed), what="a stream that says which event was seen last")


async def test_two_windows_show_the_same(rig: Rig, open_window: Opener) -> None:
    first, second = await open_window(rig), await open_window(rig)
    await second.live()
    await first.card(rig.provider).action("pause").click()
    await expect(second.card(rig.provider).action("resume")).to_be_visible()
    await second.card(rig.provider).action("resume").click()
    await expect(first.card(rig.provider).action("resume")).to_be_hidden()


async def test_proxy_that_hangs_is_said_to_be_lost(rig: Rig, window: Window) -> None:
    window.allow_failing_calls()
    rig.proxy.signal(signal.SIGSTOP)
    try:
        await window.lost()
    finally:
        rig.proxy.signal(signal.SIGCONT)
    await window.live()


async def test_hidden_page_asks_for_nothing_and_looks_at_once_when_it_is_shown(rig: Rig, window: Window) -> None:
    await window.page.clock.install()
    await window.page.reload()
    await window.live()
    asked: list[str] = []

    def remember(request: Request) -> None:
        if "/concurrency/" in request.url:
            asked.append(request.url)

    window.page.on("request", remember)
    await window.page.clock.run_for(5_000)
    await until(lambda: asked, what="a look of the page that is seen")
    await window.page.evaluate(HIDE, True)

    async def quiet() -> bool:
        asked.clear()
        await window.page.clock.run_for(1_000)
        await window.page.evaluate("fetch('healthz').then(() => null)")  # what was asked before has been told by now
        return not asked

    await until(quiet, what="the end of what was begun before")
    await rig.limit(6)
    await window.page.clock.run_for(60_000)
    assert asked == []
    await window.page.evaluate(HIDE, False)
    await expect(window.card(rig.provider).part("limit").locator("input")).to_have_value("6")


@pytest.mark.parametrize(("status", "body"), [(500, "{}"), (502, "[]"), (200, "null"), (200, '{"message": "Welcome"}')])
async def test_answer_of_something_in_between_is_no_state(rig: Rig, window: Window, status: int, body: str) -> None:
    window.allow_failing_calls()
    await window.live()

    async def answer(route: Route) -> None:
        await route.fulfill(status=status, content_type="application/json", body=body)

    await window.page.route("**/concurrency/status*", answer)
    await window.lost()
    await expect(window.locate("#summary-words")).to_contain_text(re.compile("^At .+: Nobody waits"))
    await window.page.unroute("**/concurrency/status*")
    await window.live()
    await expect(window.locate("#summary-words")).to_have_text("Nobody waits, nothing is in flight.")
