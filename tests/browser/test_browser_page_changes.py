# What was changed by hand, as the page tells it.

import re

from blackbox.rig import Rig, Starter
from onscreen.axe import grave_findings
from onscreen.traffic import hold_slots, wait_in_line
from onscreen.window import Opener, Window
from playwright.async_api import expect

CHANGES = '[data-part="changes"]'


async def test_changes_by_hand_are_told_newest_first_and_kept_up_to_date(rig: Rig, window: Window) -> None:
    rows = window.locate(f"{CHANGES} tbody tr")
    await rig.limit(5)
    await rig.cooldown(250)
    await window.locate(f"{CHANGES} > summary").click()
    await expect(rows).to_have_count(2)
    await expect(rows.nth(0)).to_contain_text("API")
    await expect(rows.nth(0)).to_contain_text("0 ms → 250 ms")
    await expect(rows.nth(1)).to_contain_text("2 → 5")
    await rig.star("<b>bold</b>")
    await expect(rows).to_have_count(3, timeout=20_000)
    await expect(rows.nth(0)).to_contain_text("<b>bold</b>")
    assert await grave_findings(window.page) == []


async def test_page_says_when_nothing_was_changed(window: Window) -> None:
    await window.locate(f"{CHANGES} > summary").click()
    await expect(window.locate(CHANGES)).to_contain_text("Nothing was changed by hand.")


async def test_changes_are_told_in_words(rig: Rig, window: Window) -> None:
    rows = window.locate(f"{CHANGES} tbody tr")
    await hold_slots(rig)
    await wait_in_line(rig, "sent-away")
    [waiter] = (await rig.slots())["waiters"]
    assert (await rig.admin.delete(f"/concurrency/slots/{rig.provider}/{waiter['id']}")).status == 204
    await rig.pause(60_000)
    assert (await rig.admin.delete(f"/concurrency/pause/{rig.provider}")).status == 200
    await window.locate(f"{CHANGES} > summary").click()
    await expect(rows.nth(0)).to_contain_text(re.compile("paused until .+ → not paused"))
    await expect(rows.nth(1)).to_contain_text(re.compile("not paused → paused until"))
    await expect(rows.nth(2)).to_contain_text(f"beta at {rig.provider}")
    await expect(rows.nth(2)).to_contain_text("waited for")


async def test_limit_that_only_becomes_ones_own_says_so(start: Starter, open_window: Opener) -> None:
    rig = await start()
    window = await open_window(rig)
    await rig.limit(2)  # what the file says
    await window.locate(f"{CHANGES} > summary").click()
    await expect(window.locate(f"{CHANGES} tbody tr").first).to_contain_text("2, from now on by hand")
