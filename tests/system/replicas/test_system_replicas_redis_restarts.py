# Redis goes away in the middle of everything, and comes back with what it knew, or without.
#
# Rule 1: while it is away nobody is let go, running answers go on, and whoever comes waits.
# Rule 2: when it is back everything is as if it had not been away: order, limit, nothing lost.

from collections.abc import Sequence

import pytest
from blackbox.waiting import PATIENCE

from replicas import telling
from replicas.conftest import FleetStarter, RedisStarter
from replicas.fleet import LEASE
from replicas.redis_server import FORGETS, KEEPS
from replicas.scene import LIMIT, a_scene

pytestmark = pytest.mark.slow
both_sizes = pytest.mark.parametrize("replicas", [1, 3])


@both_sizes
@pytest.mark.parametrize("options", [KEEPS, FORGETS], ids=["kept", "forgot"])
async def test_everything_goes_on_after_redis_was_away_whether_it_kept_or_forgot(
    a_redis: RedisStarter, start_fleet: FleetStarter, options: Sequence[str], replicas: int
) -> None:
    redis = await a_redis(options)
    scene = await a_scene(await start_fleet(*[redis.url] * replicas))
    await redis.kill()
    await telling.away(scene.fleet)
    await scene.goes_on()
    await scene.comes("while away", at=1)
    await scene.one_ends()
    await scene.nobody_goes()
    await redis.start()
    await telling.back(scene.fleet)
    await scene.ends("while away")


@pytest.mark.parametrize("options", [KEEPS, FORGETS], ids=["kept", "forgot"])
async def test_restarts_in_the_twinkling_of_an_eye_cost_nobody_a_place_or_a_slot(
    a_redis: RedisStarter, start_fleet: FleetStarter, options: Sequence[str]
) -> None:
    redis = await a_redis(options)
    scene = await a_scene(await start_fleet(*[redis.url] * 3))
    for _ in range(5):
        await redis.restart()
        await scene.goes_on()
    await scene.fleet.queued(4)
    await scene.nobody_goes()
    await scene.one_ends()
    await scene.ends()


@both_sizes
async def test_frozen_redis_holds_who_waits_and_cuts_nobody(
    a_redis: RedisStarter, start_fleet: FleetStarter, replicas: int
) -> None:
    redis = await a_redis()
    scene = await a_scene(await start_fleet(*[redis.url] * replicas))
    redis.freeze()
    await scene.comes("while frozen", at=1)
    await scene.one_ends()
    await scene.nobody_goes(during=5)
    await scene.goes_on()
    await telling.away(scene.fleet)
    redis.thaw()
    await scene.ends("while frozen")
    await telling.back(scene.fleet)


async def test_redis_that_nobody_reached_for_longer_than_a_lease_takes_nobody_for_dead(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis(KEEPS)
    scene = await a_scene(await start_fleet(*[redis.url] * 3))
    await redis.kill()
    await telling.away(scene.fleet)
    await scene.nobody_goes(during=17)
    await scene.goes_on()
    await redis.start()
    await telling.back(scene.fleet)
    await scene.fleet.queued(4)
    await scene.one_ends()
    await scene.ends()


async def test_start_without_redis_waits_for_it_and_then_serves(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    """A machine that boots starts both; which one is first is chance."""
    redis = await a_redis()
    fleet = await start_fleet(redis.url, redis.url)
    await redis.kill()
    await telling.away(fleet)
    await fleet[0].proxy.kill()
    await fleet[0].proxy.spawn()
    await telling.away(fleet)
    client = await fleet.ask("early", 0)
    await redis.start()
    await telling.back(fleet)
    await (await fleet.up.call()).answer()
    assert (await client.answer()).status == 200
    await fleet.at_rest()


async def test_replica_that_starts_at_a_redis_that_forgot_is_taken_for_nobody_else(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis(FORGETS)
    scene = await a_scene(await start_fleet(*[redis.url] * 3), runs_at=(0, 1), waits_from=0)
    await redis.restart()
    await scene.fleet.queued(4)
    await scene.fleet[2].proxy.kill()  # "first" waits there
    scene.waiting.pop("first")
    await scene.fleet[2].proxy.come_back()
    for _ in range(3):
        await scene.comes(f"through the new one {len(scene.waiting)}", at=2)
    names = [name for name in scene.waiting if name.startswith("through")]
    await scene.nobody_goes(during=5)
    await scene.goes_on()
    await scene.one_ends()
    await scene.go("second", "third", "fourth", *names)
    await scene.goes_on()
    await scene.one_ends()
    await scene.fleet.at_rest(timeout=LEASE + PATIENCE)
    assert scene.fleet.up.peak == LIMIT
