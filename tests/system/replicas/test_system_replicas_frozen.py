# A replica stands still for longer than its lease: a machine that was suspended, a process that swaps.
#
# Rule 1: nobody can tell it from a dead one, so its slots go to others; what it had under way it cuts when it is back.

import signal

import pytest
from blackbox.call import now
from blackbox.waiting import PATIENCE, never

from replicas.conftest import FleetStarter, RedisStarter
from replicas.fleet import LEASE, NOTICED, RENEWED
from replicas.scene import LIMIT

pytestmark = pytest.mark.slow
STANDS_STILL = 20.0


async def test_replica_that_stood_still_for_longer_than_its_lease_cuts_what_others_have_got_since(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    fleet = await start_fleet(*[redis.url] * 3)
    ran = [await fleet.ask(name, 0) for name in ("a", "b")]
    for call in await fleet.up.take(LIMIT):
        call.begin()
        call.event("one")
    for client in ran:
        await client.until(b"one")
    others = [await fleet.ask(name, at) for at, name in enumerate(("c", "d"), 1)]
    await fleet.queued(2)
    waited = await fleet.ask("e", 0)  # it waits at the one that stands still
    await fleet.queued(3)
    fleet[0].proxy.signal(signal.SIGSTOP)
    stopped_at = now()
    try:
        taken_over = [await fleet.up.call(timeout=LEASE + PATIENCE) for _ in others]
        for call in taken_over:
            assert LEASE - RENEWED - 1 <= call.arrived_at - stopped_at <= LEASE + NOTICED
        await never(
            lambda: len(fleet.open_by_others_than(0)) > LIMIT, during=max(0, STANDS_STILL - (now() - stopped_at))
        )
    finally:
        fleet[0].proxy.signal(signal.SIGCONT)
    for client, call in zip(ran, fleet.up.calls[:LIMIT], strict=True):
        await call.stopped(timeout=NOTICED)
        assert await client.closed() in ("cut", "reset")
    await fleet.queued(1)  # the one that waited there does so again
    await never(lambda: len(fleet.up.calls) > 2 * LIMIT, during=0.5, what="a third was let go")
    for call in taken_over:
        await call.answer()
    for client in others:
        assert (await client.answer()).status == 200
    await (await fleet.up.call()).answer()
    assert (await waited.answer()).status == 200
    await fleet.at_rest()
    await fleet.grants_at_once(LIMIT)


async def test_replica_that_stood_still_for_less_than_its_lease_loses_nothing(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    fleet = await start_fleet(redis.url, redis.url)
    ran = [await fleet.ask(name, 0) for name in ("a", "b")]
    held = await fleet.up.take(LIMIT)
    waited = await fleet.ask("c", 1)
    await fleet.queued(1)
    fleet[0].proxy.signal(signal.SIGSTOP)
    await never(lambda: len(fleet.up.calls) > LIMIT, during=LEASE - RENEWED - 2, what="its slots were given away")
    fleet[0].proxy.signal(signal.SIGCONT)
    for client, call in zip(ran, held, strict=True):
        await call.answer()
        assert (await client.answer()).status == 200
    await (await fleet.up.call()).answer()
    assert (await waited.answer()).status == 200
    await fleet.at_rest()
    assert fleet.up.peak == LIMIT
