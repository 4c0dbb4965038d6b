# Redis is there, but is full, has forgotten the scripts, or throws connections out.

import asyncio

import pytest
from redis.exceptions import ResponseError

from replicas.conftest import FleetStarter, RedisStarter
from replicas.fleet import NOTICED, RENEWED
from replicas.load import under_load
from replicas.scene import LIMIT, a_scene

pytestmark = pytest.mark.slow


async def test_full_redis_costs_nobody_a_place_or_a_slot(a_redis: RedisStarter, start_fleet: FleetStarter) -> None:
    """Whether the script's writes are refused depends on the server; if they are, all wait until there is room."""
    redis = await a_redis()
    scene = await a_scene(await start_fleet(*[redis.url] * 3))
    await redis.ask("SET", "filler", "x" * 2_000_000)
    await redis.ask("CONFIG", "SET", "maxmemory", "1mb")
    with pytest.raises(ResponseError, match="maxmemory"):
        await redis.ask("SET", "more", "x")
    await scene.goes_on()
    await scene.comes("while full", at=1)
    await scene.one_ends()
    await asyncio.sleep(RENEWED)  # whatever is said now and then is said once
    await scene.goes_on()
    await redis.ask("CONFIG", "SET", "maxmemory", "0")
    await scene.ends("while full")


async def test_scripts_that_were_flushed_are_loaded_again_without_a_word(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    scene = await a_scene(await start_fleet(*[redis.url] * 3))
    await redis.ask("SCRIPT", "FLUSH")
    await scene.comes("after the flush", at=1)
    await scene.fleet.queued(5, timeout=NOTICED)
    await redis.ask("SCRIPT", "FLUSH")
    await scene.one_ends()
    await scene.go("first", timeout=NOTICED)
    for name in ("second", "third", "fourth"):
        await redis.ask("SCRIPT", "FLUSH")
        await scene.go(name, timeout=NOTICED)
    await scene.go("after the flush", timeout=NOTICED)
    await scene.one_ends()
    await scene.fleet.at_rest()
    assert scene.fleet.up.peak == LIMIT


async def test_emptied_redis_is_told_again_by_those_who_live(a_redis: RedisStarter, start_fleet: FleetStarter) -> None:
    """FLUSHALL by a careless hand: the same server, and nothing in it."""
    redis = await a_redis()
    scene = await a_scene(await start_fleet(*[redis.url] * 3))
    await redis.ask("FLUSHALL")
    await scene.comes("after the flush", at=1)
    await scene.fleet.queued(5)
    await scene.nobody_goes()
    await scene.one_ends()
    await scene.ends("after the flush")


async def test_woken_though_every_subscription_was_cut_a_moment_before(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    """The word of a grant is lost on the way; the waiter hears of it all the same, long before a lease."""
    redis = await a_redis()
    scene = await a_scene(await start_fleet(*[redis.url] * 3), runs_at=(0, 0), waits_from=2)
    await redis.ask("CLIENT", "KILL", "TYPE", "pubsub")
    await scene.one_ends()
    await scene.go("first", timeout=NOTICED)
    for name in ("second", "third", "fourth"):
        await redis.ask("CLIENT", "KILL", "TYPE", "pubsub")
        await scene.go(name, timeout=NOTICED)
    await scene.goes_on()
    await scene.one_ends()
    await scene.fleet.at_rest()
    assert scene.fleet.up.peak == LIMIT


@pytest.mark.parametrize("kind", ["normal", "pubsub"])
async def test_connections_that_are_killed_under_load_cost_no_slot_and_no_request(
    a_redis: RedisStarter, start_fleet: FleetStarter, kind: str
) -> None:
    redis = await a_redis()
    fleet = await start_fleet(*[redis.url] * 3)

    async def kill_them() -> None:
        await redis.ask("CLIENT", "KILL", "TYPE", kind)

    await under_load(fleet, kill_them, times=60, every=0.1)
    await fleet.grants_at_once(LIMIT)
