# axe-core finds nothing serious, whatever the page shows, in both themes.

from pathlib import Path

from blackbox.rig import Rig, Starter
from onscreen.axe import grave_findings
from onscreen.plots import open_plots
from onscreen.traffic import crowd, hold_slots, refused, wait_in_line
from onscreen.window import Opener, Window
from playwright.async_api import expect

LIMITED = {"limit": 4, "cooldown": "0s", "provider": "api.example", "pause": {"default": "10m"}}


async def hinders_nobody(window: Window) -> None:
    for theme in ("light", "dark"):
        await window.page.emulate_media(color_scheme=theme)
        assert await grave_findings(window.page) == [], theme


async def live(open_window: Opener, rig: Rig) -> Window:
    window = await open_window(rig)
    await window.live()
    return window


async def test_axe_sees_what_hinders(window: Window) -> None:
    """Otherwise the tests here could not fail."""
    await window.page.evaluate("document.body.append(document.createElement('button'))")
    assert [line.partition(":")[0] for line in await grave_findings(window.page)] == ["button-name"]


async def test_empty_page_hinders_nobody(start: Starter, open_window: Opener) -> None:
    await hinders_nobody(await live(open_window, await start({})))


async def test_provider_at_rest_and_a_busy_one_hinder_nobody(rig: Rig, window: Window) -> None:
    await expect(window.card(rig.provider).root).to_be_visible()
    await hinders_nobody(window)
    await hold_slots(rig)
    await rig.star("docs")
    await crowd(rig, 30)
    await expect(window.card(rig.provider).waiters.first).to_be_visible()
    await hinders_nobody(window)


async def test_paused_and_reduced_provider_hinders_nobody(start: Starter, open_window: Opener) -> None:
    rig = await start({"up": LIMITED})
    await refused(rig)
    await wait_in_line(rig, "waits")
    window = await live(open_window, rig)
    await expect(window.card(rig.provider).part("reduced")).to_be_visible()
    await expect(window.card(rig.provider).part("pause")).to_be_visible()
    await hinders_nobody(window)


async def test_open_question_a_refused_value_and_a_toast_hinder_nobody(rig: Rig, window: Window) -> None:
    await hold_slots(rig)
    card = window.card(rig.provider)
    await card.part("cooldown").locator("input").fill("7")
    await card.action("save-cooldown").click()
    await expect(window.toast).not_to_be_empty()
    await card.part("limit").locator("input").fill("0")
    await card.action("save-limit").click()
    await hinders_nobody(window)
    await card.slots.first.locator('[data-action="reclaim"]').click()
    await expect(window.dialog).to_be_visible()
    await hinders_nobody(window)


async def test_lost_connection_hinders_nobody(start: Starter, open_window: Opener) -> None:
    rig = await start()
    window = await live(open_window, rig)
    window.allow_failing_calls()
    await rig.proxy.kill()
    await window.lost()
    await hinders_nobody(window)


async def test_login_hinders_nobody(start: Starter, open_window: Opener, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret-token")
    rig = await start(run=False, admin={"token_file": str(file)})
    rig.proxy.ready_headers = (("Authorization", "Bearer s3cret-token"),)
    await rig.proxy.start()
    window = await open_window(rig)
    window.allow_failing_calls()
    await window.locate("#token").fill("wrong")
    await window.page.keyboard.press("Enter")
    await expect(window.locate("#login")).to_contain_text("wrong")
    await hinders_nobody(window)


async def test_open_plots_hinder_nobody(rig: Rig, window: Window) -> None:
    await hold_slots(rig)
    await open_plots(window.card(rig.provider))
    await hinders_nobody(window)
