# Many waiters and many providers: the page stays readable and answers the hand.

from blackbox.rig import Rig, Starter
from onscreen.traffic import crowd, hold_slots
from onscreen.window import Opener, Window
from playwright.async_api import expect

FOLDED = 20
# The longest time for which the page answered nothing, over so many milliseconds.
LONGEST_GAP = """(during) => new Promise((done) => {
  const began = performance.now();
  let last = began, longest = 0;
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (now - began < during) setTimeout(tick, 0); else done(longest);
  };
  tick();
})"""
UNHINDERED_MS = 1500  # a hundred times of what it takes: only a page that freezes is that slow


async def test_sixty_waiters_are_folded_and_can_all_be_seen(rig: Rig, window: Window) -> None:
    card = window.card(rig.provider)
    await hold_slots(rig)
    await crowd(rig, 60)
    await expect(card.root).to_contain_text("60")
    await expect(card.waiters).to_have_count(FOLDED)
    await card.action("show-all").click()
    await expect(card.waiters).to_have_count(60)
    shown = [await row.get_attribute("data-waiter") for row in await card.waiters.all()]
    assert shown == [waiter["id"] for waiter in (await rig.slots())["waiters"]]
    await card.action("show-all").click()
    await expect(card.waiters).to_have_count(FOLDED)


async def test_thousand_waiters_freeze_nothing(start: Starter, open_window: Opener) -> None:
    """A click is handled while all of them are shown and the queue moves."""
    rig = await start()
    await hold_slots(rig)
    await crowd(rig, 1000)
    window = await open_window(rig)
    await window.live()
    card = window.card(rig.provider)
    await expect(card.waiters).to_have_count(FOLDED)
    await card.action("show-all").click()
    await expect(card.waiters).to_have_count(1000)
    for call in rig.up.calls[:2]:
        await call.finish()
    await expect(card.waiters).to_have_count(998)
    await card.waiters.nth(500).locator('[data-action="star"]').click()
    # Not `expect`: while that waits it describes the whole page over and over, which takes it longer than the page.
    await card.waiters.first.locator('[data-action="unstar"]').wait_for()
    assert await window.page.evaluate(LONGEST_GAP, 5000) < UNHINDERED_MS


async def test_twenty_providers_stand_side_by_side(start: Starter, open_window: Opener) -> None:
    names = [f"provider-{number:02}.example" for number in range(20)]
    rig = await start({f"up{number}": {"limit": 3, "provider": name} for number, name in enumerate(names)})
    window = await open_window(rig, viewport={"width": 2560, "height": 1440})
    await window.live()
    cards = window.locate("[data-provider]")
    await expect(cards).to_have_count(20)
    boxes = [await card.bounding_box() for card in await cards.all()]
    assert len({round(box["x"]) for box in boxes if box}) >= 2
    assert await window.overflow() <= 0


async def test_large_limit_is_shown_in_a_bounded_space(start: Starter, open_window: Opener) -> None:
    rig = await start({"up": {"limit": 200, "cooldown": "0s", "provider": "api.example"}})
    window = await open_window(rig)
    await window.live()
    await hold_slots(rig, 40)
    card = window.card(rig.provider)
    await expect(card.part("slots")).to_contain_text("40")
    box = await card.part("slots").bounding_box()
    assert box is not None
    assert box["height"] < 1200
    assert await window.overflow() <= 0
