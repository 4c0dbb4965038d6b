# Another server takes over, with what the first one had told it by then: by Sentinel, or by hand behind one address.
#
# Rule 1: replication is asynchronous: what the first server acknowledged last may be unknown to the second.

from pathlib import Path

import pytest

from replicas import telling
from replicas.conftest import FleetStarter, RedisStarter
from replicas.redis_server import RedisServer
from replicas.relay import Relay
from replicas.scene import Scene, a_scene
from replicas.sentinel import Sentinel, follows

pytestmark = pytest.mark.slow


async def test_sentinel_that_fails_over_costs_nobody_a_place_or_a_slot(
    a_redis: RedisStarter, start_fleet: FleetStarter, tmp_path: Path
) -> None:
    primary, copy = await a_redis(), await a_redis()
    await follows(copy, primary)
    sentinel = Sentinel(tmp_path / "sentinel", primary)
    try:
        await sentinel.start()
        await sentinel.knows_the_copy()
        scene = await a_scene(await start_fleet(*[sentinel.url] * 3))
        await primary.kill()
        await _while_away(scene)
        await sentinel.has_failed_over(copy)
        await telling.back(scene.fleet)
        await scene.ends("while away")
        assert await copy.ask("DBSIZE") > 0
    finally:
        await sentinel.discard()


@pytest.mark.parametrize("know", ["everything", "half", "nothing"])
async def test_copy_that_takes_over_by_hand_costs_nobody_a_place_or_a_slot_whatever_it_knows(
    a_redis: RedisStarter, start_fleet: FleetStarter, know: str
) -> None:
    """`half`: what it knows ends before the last of the scene came."""
    primary, copy = await a_redis(), await a_redis()
    relay = Relay(primary.address)
    await relay.start()
    try:
        fleet = await start_fleet(*[relay.url] * 3)
        if know == "half":
            client = await fleet.ask("before", 0)
            await follows(copy, primary)
            await copy.ask("REPLICAOF", "NO", "ONE")
            await (await fleet.up.call()).answer()
            assert (await client.answer()).status == 200
        scene = await a_scene(fleet)
        await _takes_over(copy, primary, relay, knows_all=know == "everything")
        await scene.fleet.queued(4)
        await scene.nobody_goes()
        await scene.goes_on()
        await scene.comes("after", at=1)
        await scene.one_ends()
        await scene.ends("after")
    finally:
        await relay.stop()


async def _takes_over(copy: RedisServer, primary: RedisServer, relay: Relay, *, knows_all: bool) -> None:
    if knows_all:
        await follows(copy, primary)
    await copy.ask("REPLICAOF", "NO", "ONE")
    relay.target = copy.address
    relay.reset()
    await primary.kill()


async def _while_away(scene: Scene) -> None:
    await scene.goes_on()
    await scene.comes("while away", at=1)
    await scene.one_ends()
    await telling.away(scene.fleet)


async def test_server_that_was_made_a_copy_under_the_replicas_is_as_good_as_away(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    """It answers, though it takes no writes: they must not go on as if they had written."""
    other, redis = await a_redis(), await a_redis()
    scene = await a_scene(await start_fleet(*[redis.url] * 2))
    await other.ask("SET", "some", "thing")
    await redis.ask("REPLICAOF", other.host, other.port)
    await _while_away(scene)
    await scene.nobody_goes()
    await redis.ask("REPLICAOF", "NO", "ONE")
    await telling.back(scene.fleet)
    await scene.ends("while away")
