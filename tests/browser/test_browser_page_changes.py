# What was changed by hand, as the page tells it.

from blackbox.rig import Rig
from onscreen.axe import grave_findings
from onscreen.window import Window
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
