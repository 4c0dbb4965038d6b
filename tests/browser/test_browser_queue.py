# Who holds a slot and who waits, in the order of service, and what a person can do about each.

import re
import time

from blackbox.rig import Rig
from onscreen.traffic import hold_slots, wait_in_line
from onscreen.window import Card, Window
from playwright.async_api import expect


async def shown_order(card: Card) -> list[str]:
    """The waiters' ids as they stand on the page."""
    return [str(await row.get_attribute("data-waiter")) for row in await card.waiters.all()]


async def order(rig: Rig) -> list[str]:
    return [waiter["id"] for waiter in (await rig.slots())["waiters"]]


async def test_slot_shows_who_has_it_and_how_far_it_is(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await hold_slots(rig)
    cell = card.slots.first
    for words in ("alpha", "holder-0", "streaming"):
        await expect(cell).to_contain_text(words)
    assert {await cell.get_attribute("data-slot") for cell in await card.slots.all()} == {
        slot["id"] for slot in (await rig.slots())["slots"]
    }


async def test_ages_go_on_while_nothing_happens(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await hold_slots(rig)
    await expect(card.slots).to_have_count(2)
    before = await card.slots.first.inner_text()
    await expect(card.slots.first).not_to_have_text(before)


async def test_queue_stands_in_the_order_of_service_and_says_why(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await hold_slots(rig)
    await wait_in_line(rig, "younger")
    await rig.line_up("older", workspace="beta", conversation="older", started_at=int(time.time() - 240) * 1000)
    await expect(card.waiters).to_have_count(2)
    await expect(card.waiters.nth(0)).to_contain_text("older")
    assert await shown_order(card) == await order(rig)
    await expect(card.waiters.nth(0)).to_contain_text(re.compile(r"prompt began 4 min( \d+ s)? ago"))
    await expect(card.waiters.nth(1)).to_contain_text("prompt began on arrival")
    await card.shows("waits-for", "both slots are in use")


async def test_star_moves_a_waiter_to_the_front_and_unstar_back(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await hold_slots(rig)
    await wait_in_line(rig, "plain")
    await wait_in_line(rig, "preferred", workspace="gamma")
    plain, preferred = await order(rig)
    row = card.part("queue").locator(f'[data-waiter="{preferred}"]')
    await row.locator('[data-action="star"]').click()
    await expect(card.waiters.first).to_have_attribute("data-waiter", preferred)
    assert await order(rig) == [preferred, plain]
    await expect(row).to_contain_text("starred")
    await row.locator('[data-action="unstar"]').click()
    await expect(card.waiters.first).to_have_attribute("data-waiter", plain)
    assert await order(rig) == [plain, preferred]


async def test_workspace_is_starred_by_name_and_loses_its_star(rig: Rig, window: Window) -> None:
    async def starred() -> list[str]:
        workspaces = (await rig.admin.get("/concurrency/workspaces")).json["workspaces"]
        return [each["workspaceId"] for each in workspaces if each["starred"]]

    stars = window.locate('[data-part="stars"]')
    await stars.locator("input").fill("not yet here/ä?#")
    await stars.locator('[data-action="star"]').click()
    await expect(stars.locator('[data-action="unstar"]')).to_have_count(1)
    assert await starred() == ["not yet here/ä?#"]
    await stars.locator('[data-action="unstar"]').click()
    await expect(stars.locator('[data-action="unstar"]')).to_have_count(0)
    assert await starred() == []
    await window.toast.locator('[data-action="undo"]').click()
    await expect(stars.locator('[data-action="unstar"]')).to_have_count(1)
    assert await starred() == ["not yet here/ä?#"]


async def test_waiter_is_dropped_after_a_question_that_names_it(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await hold_slots(rig)
    [dropped, _] = await wait_in_line(rig, "dropped", "stays")
    await expect(card.waiters).to_have_count(2)
    await card.waiters.first.locator('[data-action="drop"]').click()
    await window.confirm(naming="dropped")
    answer = await dropped.answer()
    assert (answer.status, answer.code) == (503, "dropped")
    await expect(card.waiters).to_have_count(1)
    await expect(card.waiters.first).to_contain_text("stays")
    assert len(await order(rig)) == 1


async def test_slot_is_reclaimed_after_a_question_that_names_who_has_it(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    [reclaimed, _] = await hold_slots(rig)
    await wait_in_line(rig, "next")
    await expect(card.slots).to_have_count(2)
    [slot] = [slot for slot in (await rig.slots())["slots"] if slot["conversationId"] == "holder-0"]
    await card.part("slots").locator(f'[data-slot="{slot["id"]}"] [data-action="reclaim"]').click()
    await window.confirm(naming="holder-0")
    await reclaimed.closed()  # cut: never ended as if it were whole
    await rig.up.calls[0].stopped()
    assert (await rig.up.call()).name == "next"
    await expect(card.part("slots").locator(f'[data-slot="{slot["id"]}"]')).to_have_count(0)
    await expect(card.waiters).to_have_count(0)


async def test_question_answered_with_no_changes_nothing(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await hold_slots(rig)
    await wait_in_line(rig, "stays")
    await card.waiters.first.locator('[data-action="drop"]').click()
    await window.dialog.locator('[data-action="cancel"]').click()
    await expect(window.dialog).to_be_hidden()
    await card.slots.first.locator('[data-action="reclaim"]').click()
    await window.page.keyboard.press("Escape")
    await expect(window.dialog).to_be_hidden()
    entry = await rig.status()
    assert (entry["held"], entry["queued"]) == (2, 1)


async def test_question_about_who_has_gone_meanwhile_is_answered_plainly(rig: Rig, window: Window) -> None:
    window.allow_failing_calls()
    card = window.card(rig.provider)
    await hold_slots(rig)
    [leaver] = await wait_in_line(rig, "leaver")
    await card.waiters.first.locator('[data-action="drop"]').click()
    await expect(window.dialog).to_be_visible()
    leaver.close()
    await rig.queued(0)
    if await window.dialog.is_visible():  # the page may also close the question by itself
        await window.dialog.locator('[data-action="confirm"]').click()
        await expect(window.toast).not_to_be_empty()
    await expect(card.waiters).to_have_count(0)
