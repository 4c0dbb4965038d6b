# The network between the replicas and Redis: silent, cut, cut in the middle of a word, or gone for one replica alone.

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from blackbox.call import now
from blackbox.waiting import PATIENCE

from replicas import telling
from replicas.conftest import FleetStarter, RedisStarter
from replicas.fleet import LEASE, NOTICED, RENEWED
from replicas.load import under_load
from replicas.namespace import a_namespace
from replicas.redis_server import RedisServer
from replicas.relay import COMMAND, REPLY, Relay
from replicas.scene import LIMIT, Scene, a_scene

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Network:
    """A server, and a relay that stands before it."""

    redis: RedisServer
    relay: Relay


@pytest_asyncio.fixture(loop_scope="session")
async def network(a_redis: RedisStarter) -> AsyncIterator[Network]:
    redis = await a_redis()
    relay = Relay(redis.address)
    await relay.start()
    yield Network(redis, relay)
    await relay.stop()


@pytest.mark.parametrize("how", ["hold", "refuse"])
@pytest.mark.parametrize("replicas", [1, 3])
async def test_redis_that_nobody_reaches_holds_who_waits_and_cuts_nobody(
    network: Network, start_fleet: FleetStarter, replicas: int, how: str
) -> None:
    scene = await a_scene(await start_fleet(*[network.relay.url] * replicas))
    getattr(network.relay, how)()
    await _while_away(scene)
    network.relay.let()
    await telling.back(scene.fleet)
    await scene.ends("while away")


async def _while_away(scene: Scene) -> None:
    await telling.away(scene.fleet)
    await scene.goes_on()
    await scene.comes("while away", at=1)
    await scene.one_ends()
    await scene.nobody_goes()


@pytest.mark.parametrize("what", [COMMAND, REPLY])
async def test_connections_cut_in_the_middle_of_a_word_cost_no_slot_and_no_request(
    network: Network, start_fleet: FleetStarter, what: str
) -> None:
    """A command that came by half was not done; a reply that came by half was of one that was."""
    fleet = await start_fleet(*[network.relay.url] * 3)

    async def bite() -> None:
        network.relay.bite(what)

    await under_load(fleet, bite, times=40)
    assert network.relay.bitten > 2
    await fleet.grants_at_once(LIMIT)


@pytest.mark.parametrize("how", ["hold", "refuse"])
async def test_replica_that_alone_reaches_no_redis_for_less_than_its_lease_loses_nothing(
    network: Network, start_fleet: FleetStarter, how: str
) -> None:
    scene = await a_scene(await start_fleet(network.relay.url, *[network.redis.url] * 2))
    getattr(network.relay, how)()
    await scene.nobody_goes(during=LEASE - RENEWED - 2)
    await scene.goes_on()
    network.relay.let()
    await scene.fleet.queued(4)
    await scene.one_ends()
    await scene.ends()
    await telling.back(scene.fleet, 0)


async def test_replica_that_alone_reaches_no_redis_for_longer_than_its_lease_cuts_what_others_have_got_since(
    network: Network, start_fleet: FleetStarter
) -> None:
    fleet = await start_fleet(network.relay.url, *[network.redis.url] * 2)
    ran = [await fleet.ask(name, 0) for name in ("a", "b")]
    held = await fleet.up.take(LIMIT)
    held[0].begin()
    held[0].event("one")
    await ran[0].until(b"one")
    others = [await fleet.ask(name, at) for at, name in enumerate(("c", "d"), 1)]
    await fleet.queued(2)
    network.relay.hold()
    parted_at = now()
    taken_over = [await fleet.up.call(timeout=LEASE + PATIENCE) for _ in others]
    for call in taken_over:
        assert LEASE - RENEWED - 1 <= call.arrived_at - parted_at <= LEASE + NOTICED
    network.relay.let()
    for call in held:
        await call.stopped(timeout=PATIENCE)
    assert await ran[0].closed() in ("cut", "reset")
    assert (await ran[1].answer()).code == "reclaimed"
    for call in taken_over:
        await call.answer()
    for client in others:
        assert (await client.answer()).status == 200
    await fleet.at_rest()
    await fleet.grants_at_once(LIMIT)


async def test_unplugged_redis_holds_who_waits_and_cuts_nobody(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    with a_namespace() as namespace:
        redis = await a_redis(host=namespace.address, within=namespace.within)
        scene = await a_scene(await start_fleet(*[redis.url] * 3))
        namespace.unplug()
        await _while_away(scene)
        namespace.plug()
        await telling.back(scene.fleet)
        await scene.ends("while away")
