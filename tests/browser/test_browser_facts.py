# What else is known of a provider and of the proxy, and that nobody has to ask for.

from blackbox.rig import Options, Rig, Starter
from blackbox.upstream import Usage
from onscreen.traffic import hold_slots, refused, wait_in_line
from onscreen.window import Opener, Window
from playwright.async_api import expect

GATE: Options = {"url": "/v1/usage", "field": "usage.concurrent_sessions", "interval": "200ms", "timeout": "10s"}
GATED: Options = {"limit": 2, "cooldown": "0s", "provider": "api.example", "usage": GATE}


async def test_gate_that_holds_a_waiter_is_shown_with_its_age(start: Starter, open_window: Opener) -> None:
    rig = await start({"up": GATED})
    rig.up.usage = Usage(2)
    await hold_slots(rig)
    await wait_in_line(rig, "first")
    await rig.up.calls[0].finish()
    window = await open_window(rig)
    card = window.card(rig.provider)
    await card.shows("gate", "2 of 2")
    await card.shows("gate", "now")
    await card.shows("waits-for", "the provider counts 2 of 2")
    rig.up.usage.number = 0
    await expect(card.waiters).to_have_count(0)


async def test_gate_that_is_not_told_says_so(start: Starter, open_window: Opener) -> None:
    rig = await start({"up": GATED})
    rig.up.usage = Usage(2)
    rig.up.usage.answer = lambda call: call.answer(500, b"<b>no</b>")
    await hold_slots(rig)
    await wait_in_line(rig, "first")
    await rig.up.calls[0].finish()
    window = await open_window(rig)
    await window.card(rig.provider).shows("gate", "500")
    assert await window.locate("[data-part=gate] b").count() == 0


async def test_strikes_and_the_last_refusal_are_counted(rig: Rig, window: Window) -> None:
    await refused(rig)
    card = window.card(rig.provider)
    await card.shows("strikes", "1 today")
    await card.shows("last", "429")


async def test_slot_that_rests_says_for_how_long(start: Starter, open_window: Opener) -> None:
    rig = await start({"up": {"limit": 1, "cooldown": "10m", "provider": "api.example"}})
    await hold_slots(rig, 1)
    await rig.up.calls[0].finish()
    await rig.until_status(cooling=1)
    await wait_in_line(rig, "first")
    window = await open_window(rig)
    card = window.card(rig.provider)
    await card.shows("slots", "min")
    await card.shows("waits-for", "rests")
    before = await card.part("slots").inner_text()
    await expect(card.part("slots")).not_to_have_text(before)


async def test_error_of_the_configuration_is_told_until_it_is_put_right(start: Starter, open_window: Opener) -> None:
    rig = await start()
    window = await open_window(rig)
    await window.live()
    good = rig.proxy.file.read_text()
    rig.proxy.file.write_text(good + "nonsense: 1\n")
    assert (await rig.admin.post("/reload")).status == 422
    notice = window.locate('[data-notice="config"]')
    await expect(notice).to_contain_text("nonsense")
    rig.proxy.file.write_text(good)
    assert (await rig.admin.post("/reload")).status == 200
    await expect(notice).to_have_count(0)


async def test_provider_that_a_reload_adds_is_shown(start: Starter, open_window: Opener) -> None:
    rig = await start()
    window = await open_window(rig)
    await window.live()
    new = {"url": "http://127.0.0.1:9", "limit": 3, "provider": "new.example"}
    rig.proxy.write({"upstreams": {**rig.proxy.config["upstreams"], "new": new}})
    await rig.admin.post("/reload")
    await expect(window.card("new.example").part("limit").locator("input")).to_have_value("3")


async def test_gate_that_is_not_told_any_more_says_since_when_and_the_last_count(window: Window) -> None:
    script = """async () => {
      const { Facts } = await import(new URL("page/facts.js", document.baseURI));
      const facts = new Facts();
      const told = (observed, error) => {
        facts.update({ limit: 2, gate: { observed, error, at: 43_000 } }, 100_000);
        return facts.node.querySelector('[data-part="gate"] dd').textContent;
      };
      return [told(2, "status 500"), told(null, "status 500"), told(2, null)];
    }"""
    assert await window.page.evaluate(script) == [
        "not told for 57 s: status 500; last count 2 of 2",
        "not told: status 500",
        "2 of 2; 57 s ago",
    ]


async def test_card_names_the_upstreams_of_its_provider(start: Starter, open_window: Opener) -> None:
    rig = await start({"up": {"limit": 2, "provider": "api.example"}, "other": {"provider": "api.example"}})
    window = await open_window(rig)
    await window.card(rig.provider).shows("upstreams", "up, other")
