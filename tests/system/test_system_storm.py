# Hundreds of clients that leave whenever they like, against an upstream that enforces its limit and fails at random.
# What counts: requests over the limit 0, slots lost 0 (bug cases DBL-01, WAIT-09).

import pytest
from blackbox.rig import Rig, Starter
from blackbox.storm import Weather, as_many_as_the_limit_go_at_once, storm
from blackbox.waiting import until

pytestmark = pytest.mark.slow
LIMIT = 4
UPSTREAMS = {"up": {"limit": LIMIT, "cooldown": "0s"}}


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_slot_is_lost_or_made_in_a_storm_of_disconnects(rig: Rig, seed: int) -> None:
    rig.up.limit = LIMIT
    weather = Weather(seed)
    rig.up.behaviour = weather.serve
    await storm(rig, weather, clients=400, at_once=40)
    await rig.at_rest()
    assert rig.up.violations == []
    assert 1 < rig.up.peak <= LIMIT
    await until(lambda: rig.up.open == 0, what="all upstream connections to be let go")
    await as_many_as_the_limit_go_at_once(rig, LIMIT)


async def test_upstream_whose_books_lag_behind_is_never_overrun_with_a_cooldown(start: Starter) -> None:
    """Twelve agents on four slots at a provider that keeps a call on its books for up to 300 ms after its end."""
    rig = await start({"up": {"limit": LIMIT, "cooldown": "350ms"}})
    rig.up.limit, rig.up.lag = LIMIT, 0.3
    weather = Weather(3)
    rig.up.behaviour = weather.serve
    await storm(rig, weather, clients=60, at_once=12)
    await rig.at_rest()
    assert rig.up.violations == []


@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_leaving_in_every_phase_leaves_the_count_at_zero(rig: Rig, how: str) -> None:
    """DBL-01: two layers that both release would let three go where two may."""
    await rig.limit(2)
    for round_ in range(15):
        queued_behind = []
        for phase in ("waiting", "streaming", "last byte", "after"):
            client = await rig.ask(phase)
            call = await rig.up.call()
            if phase == "waiting":
                await rig.ask("second")
                second = await rig.up.call()
                (queued,) = await rig.line_up("queued")
                queued.leave(how)
                await rig.queued(0)
                client.leave(how)
                await second.answer()
                continue
            call.begin()
            call.event("one")
            await client.until(b"\n\n")
            if phase == "last byte":
                call.raw(b"0\r\n\r\n")
                client.leave(how)
            elif phase == "after":
                await call.finish()
                await client.until(b"0\r\n\r\n")
                client.leave(how)
            else:
                client.leave(how)
            await call.end() if phase == "last byte" else None
            queued_behind.append(phase)
        await rig.in_flight(0)
        status = await rig.status()
        assert (status["held"], status["cooling"], status["queued"]) == (0, 0, 0), round_
    rig.up.clear()
    for number in range(10):
        await rig.ask(f"slow {number}")
    await rig.up.take(2)
    await rig.until_status(inFlight=2, queued=8)
    assert rig.up.peak == 2


async def test_good_requests_go_out_at_once_after_random_resets(start: Starter) -> None:
    """WAIT-09: twenty clients that reset at random against ten slots; then ten good ones find ten slots."""
    rig = await start({"up": {"limit": 10, "cooldown": "0s"}})
    rig.up.limit = 10
    weather = Weather(9)
    rig.up.behaviour = weather.serve
    await storm(rig, weather, clients=300, at_once=20)
    await rig.at_rest()
    assert rig.up.violations == []
    await as_many_as_the_limit_go_at_once(rig, 10)
