# axe-core finds nothing serious, whatever the page shows, in both themes.

import pytest
from blackbox.rig import Rig, Starter
from onscreen.axe import grave_findings
from onscreen.plots import open_plots
from onscreen.traffic import crowd, hold_slots, refused, wait_in_line
from onscreen.window import Opener, Window
from playwright.async_api import expect

LIMITED = {"limit": 4, "cooldown": "0s", "provider": "api.example", "pause": {"default": "10m"}}
both_themes = pytest.mark.parametrize("theme", ["light", "dark"])


async def live(open_window: Opener, rig: Rig, theme: str) -> Window:
    window = await open_window(rig, color_scheme=theme)
    await window.live()
    return window


async def test_axe_sees_what_hinders(window: Window) -> None:
    """Otherwise the tests here could not fail."""
    await window.page.evaluate("document.body.append(document.createElement('button'))")
    assert [line.partition(":")[0] for line in await grave_findings(window.page)] == ["button-name"]


@both_themes
async def test_empty_page_hinders_nobody(start: Starter, open_window: Opener, theme: str) -> None:
    window = await live(open_window, await start({}), theme)
    assert await grave_findings(window.page) == []


@both_themes
async def test_provider_at_rest_and_a_busy_one_hinder_nobody(rig: Rig, open_window: Opener, theme: str) -> None:
    window = await live(open_window, rig, theme)
    await expect(window.card(rig.provider).root).to_be_visible()
    assert await grave_findings(window.page) == []
    await hold_slots(rig)
    await rig.star("docs")
    await crowd(rig, 30)
    await expect(window.card(rig.provider).waiters.first).to_be_visible()
    assert await grave_findings(window.page) == []


@both_themes
async def test_paused_and_reduced_provider_hinders_nobody(start: Starter, open_window: Opener, theme: str) -> None:
    rig = await start({"up": LIMITED})
    await refused(rig)
    await wait_in_line(rig, "waits")
    window = await live(open_window, rig, theme)
    await expect(window.card(rig.provider).part("reduced")).to_be_visible()
    await expect(window.card(rig.provider).part("pause")).to_be_visible()
    assert await grave_findings(window.page) == []


@both_themes
async def test_open_question_and_a_refused_value_hinder_nobody(rig: Rig, open_window: Opener, theme: str) -> None:
    await hold_slots(rig)
    window = await live(open_window, rig, theme)
    card = window.card(rig.provider)
    await card.part("limit").locator("input").fill("0")
    await card.action("save-limit").click()
    assert await grave_findings(window.page) == []
    await card.slots.first.locator('[data-action="reclaim"]').click()
    await expect(window.dialog).to_be_visible()
    assert await grave_findings(window.page) == []


@both_themes
async def test_lost_connection_hinders_nobody(start: Starter, open_window: Opener, theme: str) -> None:
    rig = await start()
    window = await live(open_window, rig, theme)
    window.allow_failing_calls()
    await rig.proxy.kill()
    await window.lost()
    assert await grave_findings(window.page) == []


@both_themes
async def test_open_plots_hinder_nobody(rig: Rig, open_window: Opener, theme: str) -> None:
    await hold_slots(rig)
    window = await live(open_window, rig, theme)
    await open_plots(window.card(rig.provider))
    assert await grave_findings(window.page) == []
