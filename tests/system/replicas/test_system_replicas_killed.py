# A replica dies by kill -9, with slots held or with requests that wait.
#
# Rule 1: what it held is given to others after its lease, not before: whoever is taken for dead might be only slow.
# Rule 2: the lease began with the replica's last word, at most RENEWED before its death.

import signal

import pytest
from blackbox.call import now
from blackbox.waiting import PATIENCE

from replicas.conftest import FleetStarter, RedisStarter
from replicas.fleet import LEASE, NOTICED, RENEWED
from replicas.scene import LIMIT, a_scene

pytestmark = pytest.mark.slow


async def test_slots_of_a_killed_replica_come_back_with_its_lease_and_not_before(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    fleet = await start_fleet(*[redis.url] * 3)
    running = [await fleet.ask(name, 0) for name in ("a", "b")]
    held = await fleet.up.take(LIMIT)
    waiting = [await fleet.ask(name, at) for at, name in enumerate(("c", "d"), 1)]
    await fleet.queued(2)
    await fleet[0].proxy.kill()
    died_at = now()
    for client, call in zip(running, held, strict=True):
        await call.stopped(timeout=1)
        assert await client.closed() in ("cut", "reset")
    for _ in waiting:
        call = await fleet.up.call(timeout=LEASE + PATIENCE)
        assert LEASE - RENEWED - 1 <= call.arrived_at - died_at <= LEASE + NOTICED
        await call.answer()
    for client in waiting:
        assert (await client.answer()).status == 200
    await fleet.at_rest()
    assert fleet.up.peak == LIMIT
    await fleet.grants_at_once(LIMIT)


async def test_replica_that_is_killed_and_started_again_finds_its_old_slots_held_until_the_lease_ends(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    fleet = await start_fleet(redis.url)
    for name in ("a", "b"):
        await fleet.ask(name, 0)
    await fleet.up.take(LIMIT)
    await fleet[0].proxy.kill()
    died_at = now()
    await fleet[0].proxy.come_back()
    client = await fleet.ask("c", 0)
    asked_at = now()
    call = await fleet.up.call(timeout=LEASE + PATIENCE)
    assert call.arrived_at - died_at >= LEASE - RENEWED - 1
    assert call.arrived_at - asked_at <= LEASE + NOTICED
    await call.answer()
    assert (await client.answer()).status == 200
    await fleet.at_rest()
    await fleet.grants_at_once(LIMIT)


async def test_waiters_of_a_killed_replica_are_forgotten_and_the_others_keep_their_order(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    scene = await a_scene(await start_fleet(*[redis.url] * 3), runs_at=(0, 2))
    await scene.fleet[1].proxy.kill()  # "fourth" waited there
    assert await scene.waiting.pop("fourth").closed() in ("cut", "reset")
    await scene.comes("after the kill", at=2)
    await scene.one_ends()
    await scene.go("first", "second", "third", "after the kill")
    await scene.goes_on()
    await scene.one_ends()
    await scene.fleet.at_rest(timeout=LEASE + PATIENCE)
    assert scene.fleet.up.peak == LIMIT
    await scene.fleet.grants_at_once(LIMIT)


async def test_dead_waiter_at_the_head_of_the_queue_holds_up_the_others_for_a_lease_at_most(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    scene = await a_scene(await start_fleet(*[redis.url] * 3), runs_at=(1, 2))
    await scene.fleet[2].proxy.kill()  # "first" waited there, and one answer ran
    assert await scene.waiting.pop("first").closed() in ("cut", "reset")
    died_at = now()
    scene.running.pop()
    await scene.one_ends()
    await scene.go("second")
    assert now() - died_at <= LEASE + NOTICED
    await scene.go("third", "fourth")
    await scene.fleet.at_rest()
    assert scene.fleet.up.peak == LIMIT
    await scene.fleet.grants_at_once(LIMIT)


async def test_replica_that_ends_in_order_gives_its_slots_back_at_once(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    fleet = await start_fleet(redis.url, redis.url)
    for name in ("a", "b"):
        await fleet.ask(name, 0)
    await fleet.up.take(LIMIT)
    client = await fleet.ask("c", 1)
    await fleet.queued(1)
    fleet[0].proxy.signal(signal.SIGTERM)
    await fleet[0].proxy.logged(lambda line: line["event"] == "proxy.stopping")
    fleet[0].proxy.signal(signal.SIGTERM)  # and what runs is cut at once
    await fleet[0].proxy.ended()
    await (await fleet.up.call(timeout=NOTICED)).answer()
    assert (await client.answer()).status == 200
    await fleet.at_rest()
    assert fleet.up.peak == LIMIT
