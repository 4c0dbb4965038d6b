# Limits, pauses and stars are one truth for all replicas, and outlive a Redis that forgets while somebody knows.

from collections.abc import Sequence

import pytest
from blackbox.rig import Rig
from blackbox.waiting import until

from replicas import telling
from replicas.conftest import FleetStarter, RedisStarter
from replicas.fleet import Fleet
from replicas.redis_server import FORGETS, KEEPS
from replicas.scene import BEGAN, LIMIT, a_scene

pytestmark = pytest.mark.slow
kept_or_forgot = pytest.mark.parametrize("options", [KEEPS, FORGETS], ids=["kept", "forgot"])


async def all_say(fleet: Fleet, **expected: object) -> None:
    for rig in fleet.living:
        await rig.until_status(**expected)


async def all_know_the_star(fleet: Fleet, workspace: str) -> None:
    for rig in fleet.living:
        await until(lambda rig=rig: _knows_the_star(rig, workspace), what=f"a star at {rig.proxy.directory.name}")


async def _knows_the_star(rig: Rig, workspace: str) -> bool:
    listed = (await rig.admin.get("/concurrency/workspaces")).json["workspaces"]
    return any(one["workspaceId"] == workspace and one["starred"] for one in listed)


@kept_or_forgot
async def test_what_was_set_at_one_replica_holds_at_all_and_after_a_restart_of_redis(
    a_redis: RedisStarter, start_fleet: FleetStarter, options: Sequence[str]
) -> None:
    redis = await a_redis(options)
    fleet = await start_fleet(*[redis.url] * 3)
    await fleet[0].limit(5)
    await fleet[1].star("important")
    await fleet[2].pause(600_000)
    await fleet[0].cooldown(1234)
    await all_say(fleet, limit=5, paused=True, cooldownMs=1234)
    await all_know_the_star(fleet, "important")
    await redis.kill()
    await telling.away(fleet)
    await redis.start()
    await telling.back(fleet)
    await all_say(fleet, limit=5, paused=True, cooldownMs=1234)
    await all_know_the_star(fleet, "important")
    client = await fleet.ask("waits", 1)
    await fleet.queued(1)
    await fleet[1].resume()
    await (await fleet.up.call()).answer()
    assert (await client.answer()).status == 200


@kept_or_forgot
async def test_refusal_that_one_replica_heard_pauses_and_reduces_at_all_and_after_a_restart_of_redis(
    a_redis: RedisStarter, start_fleet: FleetStarter, options: Sequence[str]
) -> None:
    """What would lock an account is known to all: forgotten, the next would ask at once again."""
    redis = await a_redis(options)
    fleet = await start_fleet(*[redis.url] * 3)
    client = await fleet.ask("refused", 0)
    await (await fleet.up.call()).answer(429, b"{}", (("Retry-After", "120"),))
    assert (await client.answer()).status == 429
    await all_say(fleet, limit=LIMIT - 1, paused=True, autoReducedFrom=LIMIT)
    await redis.kill()
    await telling.away(fleet)
    waits = await fleet.ask("waits", 1)
    await redis.start()
    await telling.back(fleet)
    await all_say(fleet, limit=LIMIT - 1, paused=True, autoReducedFrom=LIMIT, queued=1)
    await fleet[2].resume()
    await (await fleet.up.call()).answer()
    assert (await waits.answer()).status == 200


async def test_star_set_at_one_replica_moves_the_waiters_of_all_at_once(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    scene = await a_scene(await start_fleet(*[redis.url] * 3))
    scene.waiting["starred"] = await scene.fleet.ask("starred", 1, workspace="important", started_at=BEGAN + 90_000)
    await scene.fleet.queued(5)
    await scene.fleet[2].star("important")
    await scene.one_ends()
    await scene.go("starred")
    await scene.ends()


async def test_rest_of_a_slot_outlives_the_replica_that_released_it(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    fleet = await start_fleet(redis.url, redis.url, limit=1, cooldown="4s")
    client = await fleet.ask("first", 0)
    call = await fleet.up.call()
    await call.answer()
    assert (await client.answer()).status == 200
    waiting = await fleet.ask("second", 1)
    await fleet.queued(1)
    await fleet[0].proxy.kill()
    second = await fleet.up.call()
    assert call.ended_at is not None
    assert 3.9 <= second.arrived_at - call.ended_at <= 6
    await second.answer()
    assert (await waiting.answer()).status == 200
