# What a person changes on the page is so at the proxy, is said, and can be taken back.

import re

import pytest
from blackbox.rig import Rig, Starter
from onscreen.axe import grave_findings
from onscreen.traffic import hold_slots, refused, wait_in_line
from onscreen.window import Card, Opener, Window
from playwright.async_api import Locator, expect

LIMITED = {"limit": 4, "cooldown": "0s", "provider": "api.example", "pause": {"default": "1s"}}


def field(card: Card, name: str) -> Locator:
    return card.part(name).locator("input")


async def save(card: Card, name: str, value: str) -> None:
    await field(card, name).fill(value)
    await card.action(f"save-{name}").click()


async def test_limit_is_saved_and_lets_waiters_go(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await hold_slots(rig)
    await wait_in_line(rig, "first")
    await expect(card.waiters).to_have_count(1)
    await save(card, "limit", "3")
    assert (await rig.up.call()).name == "first"
    await rig.until_status(limit=3, queued=0)
    await expect(card.waiters).to_have_count(0)
    await expect(card.slots).to_have_count(3)
    await expect(window.toast).to_contain_text("3")


async def test_limit_is_put_back_by_undo(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await save(card, "limit", "9")
    await rig.until_status(limit=9)
    await window.toast.locator('[data-action="undo"]').click()
    await rig.until_status(limit=2)
    await expect(field(card, "limit")).to_have_value("2")


async def test_limit_is_saved_with_the_enter_key(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await field(card, "limit").fill("5")
    await field(card, "limit").press("Enter")
    await rig.until_status(limit=5)


async def test_limit_that_cannot_be_is_refused_beside_its_field(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    for value in ("0", "-1", "100001", "1.5", "many"):
        await save(card, "limit", value)
        await expect(field(card, "limit")).to_have_attribute("aria-invalid", "true")
        await expect(field(card, "limit")).to_have_accessible_description(re.compile("from 1 to 100.?000"))
        assert (await rig.status())["limit"] == 2
        await field(card, "limit").fill("2")
        await expect(field(card, "limit")).not_to_have_attribute("aria-invalid", "true")
    await save(card, "limit", "3")
    await rig.until_status(limit=3)


async def test_limit_is_removed_after_a_question_and_put_back(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await hold_slots(rig)
    await wait_in_line(rig, "first")
    await expect(card.waiters).to_have_count(1)
    await card.action("unlimit").click()
    await window.confirm(naming="1 waiter")
    await rig.until_status(limit=None, queued=0)
    await window.toast.locator('[data-action="undo"]').click()
    await rig.until_status(limit=2)


async def test_what_is_being_typed_is_not_overwritten_by_what_comes(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await field(card, "limit").fill("8")
    await hold_slots(rig)
    await expect(card.slots).to_have_count(2)
    await expect(field(card, "limit")).to_have_value("8")
    await expect(field(card, "limit")).to_be_focused()


async def test_cooldown_is_saved_and_put_back(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await save(card, "cooldown", "1500")
    await rig.until_status(cooldownMs=1500)
    await window.toast.locator('[data-action="undo"]').click()
    await rig.until_status(cooldownMs=0)


async def test_cooldown_that_cannot_be_is_refused_beside_its_field(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    for value in ("-1", "600001", "soon"):
        await save(card, "cooldown", value)
        await expect(field(card, "cooldown")).to_have_attribute("aria-invalid", "true")
        assert (await rig.status())["cooldownMs"] == 0
        await field(card, "cooldown").fill("0")


async def test_pause_by_hand_is_shown_and_resumed(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await card.action("pause").click()
    await rig.until_status(paused=True, pauseCause="operator")
    await card.shows("pause", "By hand")
    before = await card.part("pause").inner_text()
    await expect(card.part("pause")).not_to_have_text(before)  # it counts down
    await wait_in_line(rig, "first")
    await card.shows("waits-for", "paused")
    await card.action("resume").click()
    await rig.until_status(paused=False)
    assert (await rig.up.call()).name == "first"
    await expect(card.waiters).to_have_count(0)


async def test_refusal_is_shown_with_its_evidence_and_the_limit_restored(start: Starter, open_window: Opener) -> None:
    rig = await start({"up": LIMITED})
    window = await open_window(rig)
    card = window.card(rig.provider)
    await window.live()
    await expect(card.action("restore")).to_be_hidden()
    await refused(rig)
    await rig.until_status(limit=3, autoReduced=True)
    await card.shows("reduced", "429")
    await card.action("restore").click()
    await rig.until_status(limit=4, autoReduced=False)
    await expect(card.action("restore")).to_be_hidden()
    await expect(field(card, "limit")).to_have_value("4")


async def test_reduced_limit_goes_one_step_up(start: Starter, open_window: Opener) -> None:
    rig = await start({"up": {**LIMITED, "pause": {"default": "0s"}}})
    window = await open_window(rig)
    card = window.card(rig.provider)
    for _ in range(2):
        await refused(rig)
        await rig.in_flight(0)
    await rig.until_status(limit=2, autoReducedFrom=4)
    await expect(card.action("step-up")).to_contain_text("3")  # the button says what it sets
    await card.action("step-up").click()
    await rig.until_status(limit=3)
    await expect(field(card, "limit")).to_have_value("3")


async def test_learned_limit_is_learned_anew(start: Starter, open_window: Opener) -> None:
    rig = await start({"up": {**LIMITED, "limit": "auto", "pause": {"default": "0s"}}})
    await hold_slots(rig, 3)
    await refused(rig)
    await rig.until_status(limit=3, limitAuto=True)
    window = await open_window(rig)
    card = window.card(rig.provider)
    await window.live()
    await card.action("learn").click()
    if await window.dialog.is_visible():
        await window.confirm()
    await rig.until_status(limit=None, limitAuto=True)


async def test_only_who_learns_can_learn_anew(rig: Rig, window: Window) -> None:
    await expect(window.card(rig.provider).action("learn")).to_be_hidden()


async def test_what_was_done_here_is_written_down_as_done_on_the_page(rig: Rig, window: Window) -> None:
    await save(window.card(rig.provider), "limit", "6")
    await rig.until_status(limit=6)
    change = (await rig.admin.get("/concurrency/audit")).json["changes"][0]
    assert (change["by"], change["what"], change["from"], change["to"]) == ("page", "limit", 2, 6)
    await window.locate("summary").get_by_text("Changes by hand").click()
    told = window.locate("details").filter(has_text="Changes by hand")
    await expect(told).to_contain_text(rig.provider)
    await expect(told).to_contain_text("page")
    assert await grave_findings(window.page) == []


async def test_order_that_fails_is_said(start: Starter, open_window: Opener) -> None:
    """The proxy is gone, and the page may not know it yet."""
    rig = await start()
    window = await open_window(rig)
    window.allow_failing_calls()
    card = window.card(rig.provider)
    await field(card, "limit").fill("6")
    await rig.proxy.kill()
    await card.action("save-limit").click()
    await expect(window.locate('[data-part="toast"], [data-part="limit"]').get_by_text("reached").first).to_be_visible()


async def test_cooldown_is_taken_with_its_unit(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await save(card, "cooldown", "1.5s")
    await rig.until_status(cooldownMs=1500)
    await expect(field(card, "cooldown")).to_have_value("1500")


@pytest.mark.parametrize("width", [360, 1280, 2560])
async def test_what_is_typed_moves_no_control(rig: Rig, window: Window, width: int) -> None:
    await window.page.set_viewport_size({"width": width, "height": 800})
    card = window.card(rig.provider)

    async def places() -> list[object]:
        boxes = [await each.bounding_box() for each in (field(card, "limit"), field(card, "cooldown"))]
        return [box and (box["x"], box["width"]) for box in [*boxes, await card.action("pause").bounding_box()]]

    before = await places()
    await field(card, "limit").fill("abc")
    assert await places() == before
    await card.action("save-limit").click()
    await expect(field(card, "limit")).to_have_attribute("aria-invalid", "true")
    await save(card, "cooldown", "soon")
    await expect(card.part("cooldown")).to_contain_text("ms, or a length like 1.5s")
    assert await places() == before


async def test_last_step_up_is_the_restoring(start: Starter, open_window: Opener) -> None:
    rig = await start({"up": LIMITED})
    window = await open_window(rig)
    card = window.card(rig.provider)
    await refused(rig)
    await card.shows("reduced", "Reduced from 4 to 3 after a 429.")
    await expect(card.action("restore")).to_have_text("Restore 4")
    await expect(card.action("step-up")).to_be_hidden()
