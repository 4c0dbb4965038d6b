"""`workers: N`: several processes at the same addresses, with one truth in Redis."""

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest
from blackbox.process import free_ports
from blackbox.rig import Rig, Starter
from blackbox.waiting import until

from replicas.conftest import RedisStarter

pytestmark = pytest.mark.slow
UP = {"limit": 2, "cooldown": "0s"}
WORKERS = 3


async def a_proxy_of_three(start: Starter, a_redis: RedisStarter, **top: object) -> Rig:
    redis = await a_redis()
    rig = await start({"up": UP}, state=redis.url, workers=WORKERS, **top)
    await started(rig, WORKERS)
    return rig


async def started(rig: Rig, count: int) -> None:
    """So many workers have said that they serve."""
    await until(
        lambda: sum(line["event"] == "proxy.started" for line in rig.proxy.log) == count, what=f"{count} workers"
    )


def workers_of(rig: Rig) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{rig.proxy.pid}/task/{rig.proxy.pid}/children").read_text().split()]


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_all_workers_serve_and_the_limit_is_that_of_all(start: Starter, a_redis: RedisStarter) -> None:
    rig = await a_proxy_of_three(start, a_redis)
    clients = [await rig.ask(f"{number}") for number in range(20)]
    await rig.queued(18)
    found = await rig.slots()
    replicas = {one["replica"] for one in (*found["slots"], *found["waiters"])}
    assert len(replicas) > 1, "one worker has got all connections"
    for _ in clients:
        await (await rig.up.call()).answer()
    assert [(await client.answer()).status for client in clients] == [200] * 20
    await rig.at_rest()
    assert rig.up.peak == 2


async def test_worker_that_dies_is_replaced_and_nobody_is_refused(start: Starter, a_redis: RedisStarter) -> None:
    rig = await a_proxy_of_three(start, a_redis)
    os.kill(workers_of(rig)[1], signal.SIGKILL)
    clients = [await rig.ask(f"{number}") for number in range(12)]
    died = await rig.proxy.logged(lambda line: line["event"] == "worker.died")
    assert died["status"] == -signal.SIGKILL
    for _ in clients:
        await (await rig.up.call()).answer()
    assert [(await client.answer()).status for client in clients] == [200] * 12
    await started(rig, WORKERS + 1)
    assert len(workers_of(rig)) == WORKERS


async def test_sigterm_ends_all_in_order(start: Starter, a_redis: RedisStarter) -> None:
    rig = await a_proxy_of_three(start, a_redis)
    workers = workers_of(rig)
    client = await rig.ask("running")
    call = await rig.up.call()
    rig.proxy.signal(signal.SIGTERM)
    await until(lambda: sum(map(lives, workers)) == 1, what="those without a request to end")
    await call.answer()
    assert (await client.answer()).status == 200
    assert await rig.proxy.ended() == 0
    assert not any(map(lives, workers))


async def test_workers_whose_parent_was_killed_end(start: Starter, a_redis: RedisStarter) -> None:
    rig = await a_proxy_of_three(start, a_redis)
    workers = workers_of(rig)
    rig.proxy.signal(signal.SIGKILL)
    await until(lambda: not any(map(lives, workers)), what="all workers to end")


async def test_workers_that_cannot_start_end_the_proxy(start: Starter, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        rig = await start({"up": UP}, run=False, state="redis://127.0.0.1:1/0", workers=2, listen=address)
        rig.proxy.write({"admin": {"listen": f"127.0.0.1:{free_ports(1)[0]}"}})
        await rig.proxy.spawn()
        assert await rig.proxy.ended() == 1
    assert f"cannot listen on {address}" in rig.proxy.output


async def test_service_manager_hears_once_of_what_concerns_all(
    start: Starter, a_redis: RedisStarter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "n"))
        manager.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "n"))
        rig = await a_proxy_of_three(start, a_redis)

        async def told() -> str:
            async with asyncio.timeout(20):
                return (await asyncio.get_running_loop().sock_recv(manager, 4096)).decode()

        assert await told() == "READY=1"
        rig.proxy.signal(signal.SIGHUP)
        assert (await told()).startswith("RELOADING=1\nMONOTONIC_USEC=")
        assert await told() == "READY=1"
        rig.proxy.signal(signal.SIGTERM)
        assert await told() == "STOPPING=1"
        assert await rig.proxy.ended() == 0
        with pytest.raises(BlockingIOError):
            manager.recv(4096)
