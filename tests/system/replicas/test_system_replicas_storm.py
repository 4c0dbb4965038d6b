# Everything at once for a while: replicas and Redis that die, connections that are killed, clients that leave.

import asyncio
from pathlib import Path

import pytest
from blackbox.storm import Weather

from replicas.conftest import FleetStarter, RedisStarter
from replicas.scene import LIMIT
from replicas.storm import storm

pytestmark = pytest.mark.slow


async def test_storm_at_one_process_with_its_own_file_shows_that_the_judge_is_right(tmp_path: Path) -> None:
    journal = await storm(tmp_path, seconds=5, replicas=0, seed=1, every=3)
    print(journal)
    assert not journal.faults
    assert journal.outcomes["answered"] > 20


async def test_storm_costs_no_slot_no_place_and_no_answer(tmp_path: Path) -> None:
    journal = await storm(tmp_path, seconds=20, replicas=3, seed=1, every=3)
    print(journal)
    assert not journal.faults
    assert journal.outcomes["answered"] > 50


async def test_clients_that_leave_at_any_moment_leave_nothing_behind_at_any_replica(
    a_redis: RedisStarter, start_fleet: FleetStarter
) -> None:
    redis = await a_redis()
    fleet = await start_fleet(*[redis.url] * 3)
    weather = Weather(1)
    fleet.up.behaviour = weather.serve
    gate = asyncio.Semaphore(30)

    async def visit(number: int) -> None:
        async with gate:
            await weather.visit(fleet[number])

    async with asyncio.TaskGroup() as group:
        for number in range(300):
            group.create_task(visit(number))
    await fleet.at_rest()
    assert fleet.up.peak <= LIMIT
    await fleet.grants_at_once(LIMIT, timeout=1)
