# Everything on the page can be done without a mouse.

from blackbox.rig import Rig
from onscreen.traffic import hold_slots, refused, wait_in_line
from onscreen.window import Opener, Window
from playwright.async_api import expect

SEEN = "(element) => element.checkVisibility({visibilityProperty: true}) && !element.disabled"
ACTIONS = f'[...document.querySelectorAll("[data-action]")].filter({SEEN})'
SAME = "[element.dataset.action ?? element.tagName, element.closest('[data-slot]')?.dataset.slot ?? '', " + (
    "element.closest('[data-waiter]')?.dataset.waiter ?? ''].join(' ')"
)


async def reached_by_tab(window: Window, most: int = 150) -> list[str]:
    """What gets the focus, one after the other, from the page's beginning until it leaves the page."""
    await window.page.evaluate("document.activeElement.blur()")
    reached: list[str] = []
    for _ in range(most):
        await window.page.keyboard.press("Tab")
        what = await window.focused(SAME)
        if what.startswith("BODY") or (reached and what == reached[0]):
            return reached
        reached.append(what)
    raise AssertionError(f"the focus never left the page: {reached}")


async def test_tab_reaches_every_action(rig: Rig, window: Window) -> None:
    await hold_slots(rig)
    await wait_in_line(rig, "first", "second")
    card = window.card(rig.provider)
    await expect(card.waiters).to_have_count(2)
    there = await window.page.evaluate(f"{ACTIONS}.map((element) => {SAME})")
    reached = await reached_by_tab(window)
    assert set(there) <= set(reached)
    names = {each.split(" ")[0] for each in there}
    assert {"theme", "pause", "reclaim", "drop", "star"} <= names
    for name in ("limit", "cooldown"):
        await card.part(name).locator("input").fill("7")
        await expect(card.action(f"save-{name}")).to_be_visible()
        for _ in range(2):  # the first may be what removes the limit
            await window.page.keyboard.press("Tab")
            if await window.focused("element.dataset.action") == f"save-{name}":
                break
        await expect(card.action(f"save-{name}")).to_be_focused()


async def test_focus_can_be_seen(rig: Rig, window: Window) -> None:
    await expect(window.card(rig.provider).root).to_be_visible()
    for _ in range(6):
        await window.page.keyboard.press("Tab")
        ring = await window.focused(
            "[getComputedStyle(element).outlineStyle, parseFloat(getComputedStyle(element).outlineWidth), "
            "getComputedStyle(element).boxShadow]"
        )
        assert (ring[0] != "none" and ring[1] >= 1) or ring[2] != "none", await window.focused()


async def test_question_keeps_the_focus_and_gives_it_back(rig: Rig, window: Window) -> None:
    await hold_slots(rig)
    card = window.card(rig.provider)
    reclaim = card.slots.first.locator('[data-action="reclaim"]')
    await reclaim.focus()
    await window.page.keyboard.press("Enter")
    await expect(window.dialog).to_be_visible()
    for _ in range(6):
        inside = await window.focused("element === document.body || element.closest('dialog') !== null")
        assert inside, await window.focused()
        await window.page.keyboard.press("Tab")
    await window.page.keyboard.press("Escape")
    await expect(window.dialog).to_be_hidden()
    await expect(reclaim).to_be_focused()


async def test_question_begins_at_the_answer_that_changes_nothing(rig: Rig, window: Window) -> None:
    """So that Enter, pressed once too often, reclaims nothing."""
    await hold_slots(rig)
    await window.card(rig.provider).slots.first.locator('[data-action="reclaim"]').focus()
    await window.page.keyboard.press("Enter")
    await expect(window.dialog.locator('[data-action="cancel"]')).to_be_focused()


async def test_focus_stays_where_it_is_while_lists_are_drawn_anew(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await hold_slots(rig)
    await wait_in_line(rig, "first", "second")
    star = card.waiters.nth(1).locator('[data-action="star"]')
    await star.focus()
    await wait_in_line(rig, "third")
    await rig.up.calls[0].finish()
    await expect(card.waiters).to_have_count(2)
    await expect(card.waiters.nth(0).locator('[data-action="star"]')).to_be_focused()


async def test_whole_day_without_a_mouse(rig: Rig, open_window: Opener) -> None:
    """A limit is raised, a pause resumed and a waiter starred with keys alone."""
    await refused(rig)
    await rig.pause(600_000)
    await wait_in_line(rig, "first")
    window = await open_window(rig)
    card = window.card(rig.provider)
    keys = window.page.keyboard
    for action, expected in (("star", {}), ("restore", {"limit": 2}), ("resume", {"paused": False})):
        await expect(card.action(action)).to_be_visible()
        await window.page.evaluate("document.activeElement.blur()")
        for _ in range(150):
            await keys.press("Tab")
            if await window.focused(f"element.matches('[data-provider] [data-action={action}]')"):
                break
        await keys.press("Enter")
        await rig.until_status(**expected)
        if action == "star":
            await expect(card.waiters.first.locator('[data-action="unstar"]')).to_be_focused()
    workspaces = (await rig.admin.get("/concurrency/workspaces")).json["workspaces"]
    assert [each["workspaceId"] for each in workspaces if each["starred"]] == ["beta"]
