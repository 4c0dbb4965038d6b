# The plots in a provider's card, with what really went on at the proxy.

import csv
import io
import json
import re
from pathlib import Path

from blackbox.rig import Rig, Starter
from onscreen.plots import PLOTS, open_plots, plot
from onscreen.traffic import hold_slots, refused, wait_in_line
from onscreen.window import Opener, Window
from playwright.async_api import Request, expect

TOKEN = "s3cret-token"


async def test_plots_are_drawn_when_they_are_opened_and_not_before(rig: Rig, window: Window) -> None:
    asked: list[str] = []

    def remember(request: Request) -> None:
        asked.append(request.url)

    window.page.on("request", remember)
    await hold_slots(rig)
    card = window.card(rig.provider)
    await expect(card.slots).to_have_count(2)
    assert not [url for url in asked if "history" in url or "chart.js" in url]
    await open_plots(card)
    await expect(card.root.locator("canvas")).to_have_count(len(PLOTS))
    await card.part("plots").locator("summary").first.click()
    await expect(card.root.locator("canvas")).to_have_count(0)


async def test_what_just_happened_is_in_the_table_and_named(start: Starter, open_window: Opener) -> None:
    rig = await start()
    await hold_slots(rig)
    await wait_in_line(rig, "first")
    await rig.up.calls[0].finish()
    await (await rig.up.call()).answer()
    await rig.up.calls[1].finish()
    await rig.at_rest()
    await refused(rig)
    window = await open_window(rig)
    card = window.card(rig.provider)
    await open_plots(card)
    in_flight = plot(card, "in-flight")
    await in_flight.locator("details summary").click()
    refusals = in_flight.locator("tbody td:nth-of-type(4)")
    await expect(refusals.filter(has_text=re.compile("^1$"))).to_have_count(1)
    await expect(card.part("plots")).to_contain_text("429")


async def test_plots_stay_open_while_the_card_changes(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await open_plots(card)
    await plot(card, "queue").locator("canvas").focus()
    await hold_slots(rig)
    await wait_in_line(rig, "first")
    await expect(card.waiters).to_have_count(1)
    await rig.limit(7)
    await expect(card.waiters).to_have_count(0)
    await expect(plot(card, "queue").locator("canvas")).to_be_focused()


async def test_plots_are_opened_and_read_by_keys_alone(rig: Rig, window: Window) -> None:
    await hold_slots(rig)
    card = window.card(rig.provider)
    await expect(card.slots).to_have_count(2)
    await card.part("plots").locator("summary").first.focus()
    await window.page.keyboard.press("Enter")
    canvas = plot(card, "in-flight").locator("canvas")
    await expect(canvas).to_have_accessible_name(re.compile("^In flight"))
    for _ in range(20):
        await window.page.keyboard.press("Tab")
        if await window.focused("element.matches('[data-plot=in-flight] canvas')"):
            break
    await expect(canvas).to_be_focused()
    await window.page.keyboard.press("ArrowLeft")
    await expect(plot(card, "in-flight").locator("[aria-live]")).not_to_be_empty()


async def test_history_is_saved_with_the_token_where_one_is_set(
    start: Starter, open_window: Opener, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    rig = await start(run=False, admin={"token_file": str(file)})
    rig.proxy.ready_headers = (("Authorization", f"Bearer {TOKEN}"),)
    await rig.proxy.start()
    window = await open_window(rig, accept_downloads=True)
    window.allow_failing_calls()
    await window.locate("#token").fill(TOKEN)
    await window.page.keyboard.press("Enter")
    await window.live()
    card = window.card(rig.provider)
    await open_plots(card)
    saved = {}
    for form in ("csv", "json"):
        async with window.page.expect_download() as coming:
            await card.action(form).click()
        download = await coming.value
        assert download.suggested_filename == f"slotgate-{rig.provider}-hour.{form}"
        saved[form] = Path(await download.path()).read_text()
    rows = list(csv.DictReader(io.StringIO(saved["csv"])))
    points = json.loads(saved["json"])["points"]
    assert rows
    assert [int(row["at"]) for row in rows] == [point["at"] for point in points]
    assert TOKEN not in window.page.url
