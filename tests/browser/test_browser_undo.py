# Undo takes back what was done here and nothing else, and says what it does.

import re

from blackbox.rig import Rig, Starter
from onscreen.traffic import hold_slots, refused
from onscreen.window import Card, Opener, Window
from playwright.async_api import Locator, expect

REDUCED = {"limit": 4, "cooldown": "0s", "provider": "api.example", "pause": {"default": "0s"}}


def undo(window: Window) -> Locator:
    return window.toast.locator('[data-action="undo"]')


async def save(card: Card, name: str, value: str) -> None:
    await card.part(name).locator("input").fill(value)
    await card.action(f"save-{name}").click()


async def test_undo_names_what_is_so_again(rig: Rig, window: Window) -> None:
    await save(window.card(rig.provider), "limit", "9")
    await undo(window).click()
    await expect(window.toast).to_contain_text(f"Undone: {rig.provider} has limit 2 again.")
    await rig.until_status(limit=2)


async def test_limit_that_another_has_set_meanwhile_stays(rig: Rig, window: Window) -> None:
    await save(window.card(rig.provider), "limit", "9")
    await expect(undo(window)).to_be_visible()
    await rig.limit(4)
    await undo(window).click()
    await expect(window.toast).to_contain_text(
        re.compile("Not undone: api.example has limit 4 by now, set through the API at .+")
    )
    assert (await rig.status())["limit"] == 4


async def test_cooldown_that_another_has_set_meanwhile_stays(rig: Rig, window: Window) -> None:
    await save(window.card(rig.provider), "cooldown", "900")
    await expect(undo(window)).to_be_visible()
    await rig.cooldown(150)
    await undo(window).click()
    await expect(window.toast).to_contain_text(re.compile("rest 150 ms by now, set through the API at .+"))
    assert (await rig.status())["cooldownMs"] == 150


async def test_pause_and_its_end_are_taken_back(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await card.action("pause").click()
    await undo(window).click()
    await rig.until_status(paused=False)
    await expect(window.toast).to_contain_text("Undone: api.example goes on.")
    await card.action("pause").click()
    until = (await rig.until_status(paused=True))["pausedUntil"]
    await expect(card.part("pause")).to_be_visible()
    await card.action("resume").click()
    await expect(window.toast).to_contain_text("goes on")
    await undo(window).click()
    again = await rig.until_status(paused=True)
    assert abs(again["pausedUntil"] - until) < 1000


async def test_pause_that_another_has_set_meanwhile_stays(rig: Rig, window: Window) -> None:
    await window.card(rig.provider).action("pause").click()
    await expect(undo(window)).to_be_visible()
    await rig.admin.put(f"/concurrency/pause/{rig.provider}", {"durationMs": 3_600_000})
    await undo(window).click()
    await expect(window.toast).to_contain_text("Not undone: api.example is paused until")
    assert (await rig.status())["paused"]


async def test_star_that_another_has_taken_is_told(rig: Rig, window: Window) -> None:
    await rig.star("alpha")
    await window.locate('[data-part="stars"] [data-action="unstar"]').click()
    await expect(undo(window)).to_be_visible()
    await rig.star("alpha")
    await undo(window).click()
    await expect(window.toast).to_contain_text("Not undone: alpha has a star by now")


async def test_what_takes_a_reduction_away_does_not_promise_to_bring_it_back(
    start: Starter, open_window: Opener
) -> None:
    rig = await start({"up": REDUCED})
    window = await open_window(rig)
    card = window.card(rig.provider)
    await refused(rig)
    await rig.until_status(limit=3, autoReducedFrom=4)
    await card.action("restore").click()
    await rig.until_status(limit=4)
    await expect(undo(window)).to_have_text("Set 3 by hand")
    await undo(window).click()
    await rig.until_status(limit=3, autoReduced=False, limitBy="api")
    await expect(window.toast).to_contain_text("has limit 3 by hand")


async def test_limit_that_was_reduced_since_stays_reduced(start: Starter, open_window: Opener) -> None:
    rig = await start({"up": REDUCED})
    window = await open_window(rig)
    await save(window.card(rig.provider), "limit", "5")
    await expect(undo(window)).to_be_visible()
    await refused(rig)
    await rig.until_status(limit=4, autoReducedFrom=5)
    await undo(window).click()
    await expect(window.toast).to_contain_text("Not undone: api.example has limit 4 by now, reduced from 5")
    await rig.until_status(limit=4, autoReducedFrom=5)


async def test_learned_limit_is_not_brought_back_but_learned_anew(start: Starter, open_window: Opener) -> None:
    rig = await start({"up": {**REDUCED, "limit": "auto"}})
    window = await open_window(rig)
    await window.live()
    await hold_slots(rig, 1)
    await refused(rig)
    await rig.until_status(limitAuto=True, limit=1)
    await expect(window.card(rig.provider).part("limit").locator("input")).to_have_value("1")
    await save(window.card(rig.provider), "limit", "5")
    await expect(undo(window)).to_have_text("Learn anew")
    await undo(window).click()
    await rig.until_status(limit=None, limitAuto=True)
