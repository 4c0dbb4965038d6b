# The plots of a provider whose past is known: what they show, to whom, and what is left when they are closed.

import contextlib
import csv
import dataclasses
import io
import json
import re
import time
from collections.abc import AsyncIterator
from typing import Any, Protocol

import pytest
import pytest_asyncio
from blackbox.rig import Rig, Starter, a_rig
from blackbox.waiting import PATIENCE, until
from onscreen.axe import grave_findings
from onscreen.plotting import FIGURES, Plots, write_history
from onscreen.window import Window
from playwright.async_api import Browser, Route, expect

from proxy.store import MINUTE_MS, Minute, SavedEvent, Span

PROVIDER = "api.example"
UPSTREAM = {"limit": 4, "cooldown": "0s", "provider": PROVIDER}
WIDE = "wide.example"
GAP = range(20, 30)  # minutes ago


def minute(ago: int, now: int) -> Minute:
    return Minute(
        provider_id=PROVIDER,
        at=now // MINUTE_MS * MINUTE_MS - ago * MINUTE_MS,
        seen_ms=MINUTE_MS,
        limit=4 if ago > 40 else 3,
        in_flight_max=4 if ago > 40 else 3,
        in_flight_ms=2 * MINUTE_MS,
        queued_max=12 if ago == 45 else 5,
        queued_ms=MINUTE_MS,
        oldest_wait_ms=80_000,
        granted=10,
        completed=10,
        rate_limited=1 if ago == 40 else 0,
        reduced=1 if ago == 40 else 0,
        paused_ms=30_000 if ago == 40 else 0,
        waits=(Span(20_000, 20_000, 19), Span(80_000, 80_000, 1)),
        first_bytes=() if ago > 50 else (Span(900, 900, 10),),
    )


def event(ago: int, now: int, name: str, **data: object) -> SavedEvent:
    return SavedEvent(
        at=now // MINUTE_MS * MINUTE_MS - ago * MINUTE_MS + 5000, name=name, provider_id=PROVIDER, data=data
    )


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def past(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    """A proxy with 55 minutes behind it, of which ten were not recorded. Nothing here changes it."""
    async with a_rig(tmp_path_factory.mktemp("past"), {"up": UPSTREAM}, run=False) as rig:
        await _live_through(rig)
        yield rig


async def _live_through(rig: Rig) -> None:
    now = int(time.time() * 1000)
    minutes = [minute(ago, now) for ago in range(55, -1, -1) if ago not in GAP]
    events = [
        event(40, now, "rate_limited", status=429, kind="concurrency", retryAfterMs=30_000, inFlight=4),
        event(40, now, "reduced", limit=3, originalLimit=4, notice=""),
        event(40, now, "paused", cause="concurrency", until=now),
    ]
    minutes += [dataclasses.replace(minute(ago, now), provider_id=WIDE, limit=500) for ago in range(5, 0, -1)]
    await write_history(rig.proxy.state, minutes, events)
    await rig.proxy.start()


class Opener(Protocol):
    """The fixture `fresh`: plots in a window of the test's own; options are those of Playwright's `new_context`."""

    async def __call__(self, rig: Rig, provider: str = PROVIDER, **options: Any) -> Plots: ...


@contextlib.asynccontextmanager
async def windows(browser: Browser) -> AsyncIterator[Opener]:
    opened: list[Window] = []

    async def opener(rig: Rig, provider: str = PROVIDER, **options: Any) -> Plots:
        context = await browser.new_context(
            **{"locale": "en-GB", "viewport": {"width": 1280, "height": 1200}, **options}
        )
        host, port = rig.proxy.admin_address
        window = Window(await context.new_page(), f"http://{host}:{port}/")
        opened.append(window)
        window.allow("favicon.ico")  # which a browser asks for where a document names none
        await window.watch()
        return Plots(window, provider)

    yield opener
    complaints = [complaint for window in opened for complaint in window.complaints]
    for window in opened:
        await window.page.context.close()
    assert not complaints, complaints


@pytest_asyncio.fixture(loop_scope="session")
async def fresh(browser: Browser) -> AsyncIterator[Opener]:
    async with windows(browser) as opener:
        yield opener


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def plots(past: Rig, browser: Browser) -> AsyncIterator[Plots]:
    """For those that look, and leave everything as it was."""
    async with windows(browser) as opener:
        plots = await opener(past)
        await plots.page.add_init_script("window.setInterval = () => 0;")  # it asks once: nothing changes meanwhile
        yield await (await plots.open()).shown()


async def test_four_plots_say_what_they_come_to(plots: Plots) -> None:
    summaries = [await plots.summary(name) for name in FIGURES]
    assert summaries[0].startswith(
        "In flight against the limit, last hour: at most 4, limit 3 to 4; 1 rate limit, 1 reduction"
    )
    assert "paused for 30 s" in summaries[0]
    assert summaries[1].startswith("Queue, last hour: up to 12, the longest for 1 min 20 s.")
    assert summaries[2].startswith("Wait for a slot, last hour: at worst half within 20 s, 95 % within 20 s.")
    assert summaries[3].startswith("Time to first byte, last hour: at worst half within 900 ms")
    for name in FIGURES:
        await expect(plots.canvas(name)).to_have_attribute("role", "img")
        assert await plots.canvas(name).evaluate(
            "(c) => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((value) => value > 0)"
        )


async def test_gap_stays_a_gap_on_canvas_and_in_the_table(plots: Plots) -> None:
    for name in ("in-flight", "wait"):
        data = [y for _, y in (await plots.datasets(name))[0]["data"]]
        at = data.index(None)
        assert data[at - 1] is not None
        assert data[at + 1] is not None
        assert sum(row[1] == "nothing recorded" for row in await plots.rows(name)) == 1
    rows = await plots.rows("first-byte")
    assert rows[-1][1:3] == ["–", "–"]  # recorded, but no answer began then


async def test_table_has_every_value_newest_first(plots: Plots) -> None:
    head = await plots.figure("in-flight").locator("thead th").all_text_contents()
    assert head == ["time", "in flight, most", "in flight, mean", "limit", "429s", "reductions", "paused"]
    rows = await plots.rows("in-flight")
    assert rows[-1][1:] == ["4", "2", "4", "0", "0", "no"]
    assert ["3", "2", "3", "1", "1", "30 s"] in [row[1:] for row in rows]


async def test_limit_far_above_the_use_is_told_and_does_not_flatten_it(past: Rig, fresh: Opener) -> None:
    plots = await (await (await fresh(past, WIDE)).open()).shown()
    assert "at most 3 of 500" in await plots.summary("in-flight")
    top = "Chart.getChart(document.querySelector('[data-plot=in-flight] canvas')).scales.y.max"
    assert await plots.page.evaluate(top) == 4
    await expect(plots.figure("in-flight").locator("tbody td").nth(2)).to_have_text("500")


async def test_series_differ_by_more_than_colour(plots: Plots) -> None:
    for name in FIGURES:
        drawn = await plots.datasets(name)
        assert len({json.dumps(series["borderDash"]) for series in drawn}) == len(drawn)


async def test_arrow_keys_read_values_and_say_them(plots: Plots) -> None:
    await plots.canvas("queue").focus()
    await plots.page.keyboard.press("End")
    await plots.page.keyboard.press("ArrowLeft")
    last = await plots.rows("queue")
    tip, spoken = plots.tip("queue"), plots.figure("queue").locator("[aria-live]")
    await expect(tip).to_be_visible()
    await expect(tip).to_contain_text(last[1][0])
    await expect(spoken).to_contain_text("waiting, most: 5")
    await plots.page.keyboard.press("Home")
    await expect(tip).to_contain_text(last[-1][0])
    await plots.page.keyboard.press("ArrowLeft")  # there is none before
    await expect(tip).to_contain_text(last[-1][0])
    for _ in range(10):
        await plots.page.keyboard.press("ArrowRight")
    await expect(tip).to_contain_text(last[-11][0])
    await expect(spoken).to_contain_text("waiting, most: 12")
    await plots.page.keyboard.press("Escape")
    await expect(tip).to_be_hidden()


async def test_pointer_shows_all_values_of_its_time_and_what_happened(plots: Plots) -> None:
    box = await plots.canvas("in-flight").bounding_box()
    assert box is not None
    found = await plots.page.evaluate("""() => {
      const chart = Chart.getChart(document.querySelector('[data-plot="in-flight"] canvas'));
      const at = chart.data.datasets[2].data.findIndex(({y}) => y === 3); // the limit, where it was reduced
      return chart.scales.x.getPixelForValue(chart.data.datasets[2].data[at].x);
    }""")
    await plots.page.mouse.move(box["x"] + found, box["y"] + box["height"] / 2)
    tip = plots.tip("in-flight")
    for words in ("in flight, most", "in flight, mean", "limit", "refused with 429", "limit reduced to 3"):
        await expect(tip).to_contain_text(words)
    await expect(plots.tip("queue")).to_be_hidden()
    await plots.page.mouse.move(1, 1)
    await expect(tip).to_be_hidden()


async def test_what_happened_is_listed(plots: Plots) -> None:
    details = plots.page.locator(".plots-happened")
    await expect(details.locator("summary")).to_have_text("What happened (3)")
    await expect(details.locator("li").first).to_contain_text("paused")
    await expect(details.locator("li").last).to_contain_text("refused with 429")


async def test_csv_and_json_are_saved_under_the_providers_name(plots: Plots, past: Rig) -> None:
    saved: dict[str, str] = {}
    for action in ("csv", "json"):
        async with plots.page.expect_download(timeout=PATIENCE * 1000) as waited:
            await plots.action(action).click()
        download = await waited.value
        assert download.suggested_filename == f"slotgate-api.example-hour.{action}"
        saved[action] = (await download.path()).read_text()
    rows = list(csv.DictReader(io.StringIO(saved["csv"])))
    points = json.loads(saved["json"])["points"]
    assert [int(row["at"]) for row in rows] == [point["at"] for point in points]
    assert len(points) >= 44


async def test_ranges_ask_for_what_they_show(past: Rig, fresh: Opener) -> None:
    plots = await (await (await fresh(past)).open()).shown()
    asked: list[str] = []
    plots.page.on("request", lambda request: asked.append(request.url))
    for name, step, length in (
        ("day", 10, 3 * 3_600_000),
        ("week", 60, 48 * 3_600_000),
    ):  # as much as is shown at least
        asked.clear()
        await plots.action(f"range-{name}").click()
        await expect(plots.canvas("queue")).to_have_attribute("aria-label", re.compile(f", last {name}:"))
        await plots.shown()
        (history,) = [url for url in asked if "/history/" in url]
        assert f"step={step}" in history
        low, high = await plots.page.evaluate(
            "(({min, max}) => [min, max])(Chart.getChart(document.querySelector('[data-plot=queue] canvas')).scales.x)"
        )
        assert high - low == length
        await expect(plots.page.locator(".plots-as-of")).to_contain_text("recorded since")
        await expect(plots.action(f"range-{name}")).to_have_attribute("aria-pressed", "true")
        await expect(plots.action("range-hour")).to_have_attribute("aria-pressed", "false")


async def test_colours_follow_the_theme(past: Rig, fresh: Opener) -> None:
    plots = await (await (await fresh(past)).open()).shown()

    async def colours() -> list[str]:
        return [series["borderColor"] for series in await plots.datasets("in-flight")]

    light = await colours()
    await plots.page.emulate_media(color_scheme="dark")

    async def changed() -> bool:
        return not set(light) & set(await colours())

    await until(changed, what="other colours")


async def test_asks_every_30_seconds_and_only_while_it_is_seen(past: Rig, fresh: Opener) -> None:
    plots = await fresh(past)
    window = plots.window
    await window.page.clock.install()
    await (await plots.open()).shown()
    asked: list[str] = []
    window.page.on("request", lambda request: asked.append(request.url) if "/history/" in request.url else None)
    await window.page.clock.run_for(31_000)
    await until(lambda: len(asked) == 1, what="a question after 30 s")
    await plots.shown()
    hide = "document.getElementById('place').hidden = {}; document.dispatchEvent(new Event('visibilitychange'))"
    await window.page.evaluate(hide.format("true"))
    await window.page.clock.run_for(90_000)
    assert len(asked) == 1
    await window.page.evaluate(hide.format("false"))
    await until(lambda: len(asked) == 2, what="a question as soon as it is seen again")


# The timers that run, as `ticking`.
COUNT_TIMERS = """
window.ticking = new Set();
const [set, clear] = [window.setInterval, window.clearInterval];
window.setInterval = (...given) => { const id = set(...given); ticking.add(id); return id; };
window.clearInterval = (id) => { ticking.delete(id); clear(id); };
"""


async def test_closed_plots_leave_nothing(past: Rig, fresh: Opener) -> None:
    plots = await fresh(past)
    window = plots.window
    await window.page.clock.install()
    await window.page.add_init_script(COUNT_TIMERS)
    await (await plots.open()).shown()
    assert await window.page.evaluate("[Object.keys(Chart.instances).length, ticking.size]") == [4, 1]
    asked: list[str] = []
    window.page.on("request", lambda request: asked.append(request.url) if "/history/" in request.url else None)
    await window.page.evaluate("plots.update(); plots.destroy()")  # also with a question under way
    await window.page.evaluate("document.dispatchEvent(new Event('theme'))")
    left = "[Object.keys(Chart.instances).length, place.childElementCount, ticking.size]"
    assert await window.page.evaluate(left) == [0, 0, 0]
    asked.clear()
    await window.page.clock.run_for(90_000)
    assert asked == []
    await (await plots.mount()).shown()  # and they open again
    assert await window.page.evaluate("Object.keys(Chart.instances).length") == 4


async def test_without_the_library_the_tables_are_there_and_the_reason(past: Rig, fresh: Opener) -> None:
    async def gone(route: Route) -> None:
        words = {"error": {"code": "not_found", "message": "the plotting library is not there"}}
        await route.fulfill(status=404, json=words)

    plots = await fresh(past)
    plots.window.allow_failing_calls()
    await plots.page.route("**/page/chart.js", gone)
    await (await plots.open()).shown()
    await expect(plots.problem).to_have_text("Plots are not available: the plotting library is not there")
    assert len(await plots.rows("queue")) >= 45
    await expect(plots.canvas("queue")).to_be_hidden()


async def test_proxy_that_is_away_is_told_and_the_past_stays(start: Starter, fresh: Opener) -> None:
    rig = await start({"up": UPSTREAM})
    plots = await (await (await fresh(rig)).open()).shown()
    plots.window.allow_failing_calls()
    plots.window.allow("ERR_CONNECTION")
    await rig.proxy.stop()
    before = await plots.rows("queue")
    await plots.page.evaluate("plots.update()")
    await expect(plots.problem).to_contain_text("Not up to date")
    assert await plots.rows("queue") == before
    await rig.proxy.come_back()
    await plots.page.evaluate("plots.update()")
    await expect(plots.problem).to_be_hidden()


async def test_provider_nobody_knows_is_told(past: Rig, fresh: Opener) -> None:
    plots = await fresh(past, "no\u202ebody/<b>x</b>")
    plots.window.allow_failing_calls()
    await plots.open()
    await expect(plots.problem).to_contain_text("The history is not available")
    assert await plots.page.evaluate("document.querySelectorAll('#place b').length") == 0


async def test_texts_of_marks_are_never_markup(past: Rig, fresh: Opener) -> None:
    hostile = "<img src=x onerror=alert(1)><b>bold</b>"

    async def answer(route: Route) -> None:
        real = await (await route.fetch()).json()
        real["marks"] = [{"at": mark["at"], "kind": "news", "text": hostile} for mark in real["marks"]]
        await route.fulfill(json=real)

    plots = await fresh(past)
    await plots.page.route("**/concurrency/marks/**", answer)
    await (await plots.open()).shown()
    await expect(plots.page.locator(".plots-happened li").first).to_contain_text(hostile)
    await plots.canvas("queue").focus()
    await plots.page.keyboard.press("Home")
    for _ in range(15):
        await plots.page.keyboard.press("ArrowRight")
    await expect(plots.tip("queue")).to_contain_text(hostile)
    assert await plots.page.evaluate("document.querySelectorAll('#place img').length") == 0


async def test_provider_without_a_past_says_so(start: Starter, fresh: Opener) -> None:
    rig = await start({"up": {"provider": PROVIDER}})
    plots = await (await (await fresh(rig)).open()).shown()
    for name, words in (("in-flight", "Nothing is recorded"), ("wait", "Nobody was granted a slot")):
        await expect(plots.figure(name).locator(".plot-empty")).to_contain_text(words)
        assert words in await plots.summary(name)
    await plots.canvas("queue").focus()
    await plots.page.keyboard.press("ArrowLeft")  # nothing to read, and no fault
    await expect(plots.tip("queue")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
async def test_plots_hinder_nobody_at_any_width(past: Rig, fresh: Opener, width: int, scheme: str) -> None:
    plots = await fresh(past, viewport={"width": width, "height": 900}, color_scheme=scheme)
    await (await plots.open()).shown()
    window = plots.window
    await window.page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert await window.overflow() <= 0
    await plots.canvas("in-flight").focus()
    await plots.page.keyboard.press("Home")
    await expect(plots.tip("in-flight")).to_be_visible()
    assert await window.overflow() <= 0
    assert await grave_findings(window.page) == []
