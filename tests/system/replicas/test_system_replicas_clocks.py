# Hosts whose clocks differ by minutes: what happened first is decided by Redis' clock alone.

import time
from pathlib import Path

import pytest
from blackbox.waiting import PATIENCE

from replicas.conftest import FleetStarter, RedisStarter
from replicas.fleet import LEASE
from replicas.redis_server import program
from replicas.scene import LIMIT, Scene, a_scene

pytestmark = pytest.mark.slow


def a_clock_that_differs_by(seconds: int) -> dict[str, str]:
    """The environment of a process whose wall clock is so far ahead; its timers are everybody's."""
    program("faketime")
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    ahead = {"LD_PRELOAD": str(library), "FAKETIME": f"{seconds:+d}s"}
    return {**ahead, "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DISABLE_SHM": "1"}


CLOCKS = (0, 300, -300)


async def test_clocks_that_differ_by_minutes_change_no_order_and_no_lease(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    environments = [a_clock_that_differs_by(seconds) for seconds in CLOCKS]
    scene = await a_scene(await start_fleet(*[redis.url] * 3, environments=environments))
    await scene.comes("last", at=1)
    await scene.nobody_goes(during=6)  # nobody is taken for dead
    await scene.one_ends()
    await scene.ends("last")


async def test_arrivals_at_hosts_whose_clocks_differ_go_in_the_order_in_which_they_came(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    environments = [a_clock_that_differs_by(seconds) for seconds in CLOCKS]
    fleet = await start_fleet(*[redis.url] * 3, environments=environments)
    scene = await a_scene(fleet)
    for name, at in (("fast", 1), ("right", 0), ("slow", 2), ("fast again", 1)):
        scene.waiting[name] = await fleet.ask(name, at)
        await fleet.queued(len(scene.waiting))
    await scene.one_ends()
    await scene.ends("fast", "right", "slow", "fast again")


async def test_prompt_start_that_a_client_states_is_no_older_through_a_host_whose_clock_is_behind(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    """There it lies in the future, and would be cut to a now of minutes ago: before those who are really older."""
    redis = await a_redis()
    environments = [a_clock_that_differs_by(seconds) for seconds in CLOCKS]
    scene = await a_scene(await start_fleet(*[redis.url] * 3, environments=environments))
    for name, at, age_ms in (("younger, slow", 2, 5_000), ("older, right", 0, 60_000), ("oldest, fast", 1, 90_000)):
        scene.waiting[name] = await scene.fleet.ask(name, at, started_at=int(time.time() * 1000) - age_ms)
        await scene.fleet.queued(len(scene.waiting))
    await scene.one_ends()
    await scene.ends("oldest, fast", "older, right", "younger, slow")


async def test_killed_replica_whose_clock_was_ahead_keeps_its_slots_no_longer_than_others(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    environments = [a_clock_that_differs_by(300), a_clock_that_differs_by(0)]
    fleet = await start_fleet(redis.url, redis.url, environments=environments)
    for name in ("a", "b"):
        await fleet.ask(name, 0)
    await fleet.up.take(LIMIT)
    scene = Scene(fleet, [])
    scene.waiting["c"] = await fleet.ask("c", 1)
    await fleet.queued(1)
    await fleet[0].proxy.kill()
    await scene.nobody_goes(during=5)
    await scene.go("c", timeout=LEASE + PATIENCE)
    await fleet.at_rest()
