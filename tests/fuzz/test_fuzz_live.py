# The real process between hostile clients and a hostile upstream. After each batch: it lives, holds nothing, has told
# of no error, and has as few descriptors as at the beginning; each side was told what it may be told.

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_asyncio
from blackbox.process import Proxy
from blackbox.waiting import until
from hostile import driver, verdict
from hostile.canary import Canary
from hostile.client import Client
from hostile.names import Names
from hostile.upstream import HostileUpstream

from proxy.config import load
from proxy.web.routing import Router

CLIENTS = 40  # at once, in one batch
BATCHES = 8
UP = {"url": "http://up.test"}
SETTINGS = {"presets": False, "state": "memory", "upstreams": {"up": UP, "absorbing": UP}}
ROUTER = Router(load(None, env={}, text=json.dumps(SETTINGS)))

PARTS = 10  # of the time; each check of the parsers has one
driver.share(PARTS)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(driver.minutes() * 60 + 120)]


@pytest_asyncio.fixture
async def upstream() -> AsyncIterator[HostileUpstream]:
    upstream = HostileUpstream()
    await upstream.start()
    yield upstream
    await upstream.stop()


def patient(upstream: HostileUpstream) -> dict[str, Any]:
    """An entry that no answer can pause or reduce."""
    pause = {"default": "0s", "max": "0s"}
    return {"url": upstream.url, "limit": 8, "cooldown": "0s", "auto_reduce": False, "pause": pause}


@pytest_asyncio.fixture
async def proxy(upstream: HostileUpstream, tmp_path: Path) -> AsyncIterator[Proxy]:
    upstreams = {"up": patient(upstream), "absorbing": {**patient(upstream), "provider": "absorbing", "absorb": 2}}
    proxy = Proxy(tmp_path, {"upstreams": upstreams})
    try:
        await proxy.start()
        yield proxy
    finally:
        await proxy.discard()


async def test_nobody_gets_what_is_anothers_and_nothing_is_left(proxy: Proxy, upstream: HostileUpstream) -> None:
    before = await fewest_descriptors(proxy)
    for seed in driver.seeds(BATCHES, PARTS):
        try:
            await a_batch(proxy, upstream, seed, before)
            await until(lambda: descriptors(proxy) <= before, what=f"{before} descriptors")
        except BaseException as error:
            error.add_note(f"FUZZ_SEED={seed} sends the same bytes again\n{proxy.tail(20)}")
            raise


async def a_batch(proxy: Proxy, upstream: HostileUpstream, seed: int, before: int) -> None:
    rng = Random(seed)
    names, upstream.seed = Names(rng), seed
    clients = [Client.drawn(rng, names, owner) for owner in range(CLIENTS)]
    canary = await Canary.connect(proxy.address)
    async with asyncio.TaskGroup() as together:
        together.create_task(canary.sing(rng, names, CLIENTS, 10))
        for client in clients:
            together.create_task(client.visit(proxy.address))
    await canary.leave()

    for owner, client in enumerate(clients):
        verdict.of_client(client, owner, names)
    singing = Client(pieces=[], leaves="", sent=bytes(canary.asked))
    await until(lambda: descriptors(proxy) <= before + upstream.open, what="no descriptor of a client")
    await lives_and_holds_nothing(proxy)
    verdict.of_upstream(upstream.drop(), [*clients, singing], ROUTER)


async def lives_and_holds_nothing(proxy: Proxy) -> None:
    async def resting() -> bool:
        providers = (await proxy.admin.get("/concurrency/status?all=1")).json["providers"]
        return all(entry["held"] == entry["queued"] == entry["inFlight"] == 0 for entry in providers)

    assert (await proxy.admin.get("/healthz")).status == 200
    await until(resting, what="nothing held and nothing queued")
    assert "Traceback" not in proxy.output
    told = [line for line in proxy.log if line["level"] in ("error", "critical") or line.get("code") == "internal"]
    assert not told, told


def descriptors(proxy: Proxy) -> int:
    return len(os.listdir(f"/proc/{proxy.pid}/fd"))


async def fewest_descriptors(proxy: Proxy) -> int:
    """Those it has when nobody is connected: whoever asked whether it is ready may be there yet."""
    seen = []
    for _ in range(50):
        seen.append(descriptors(proxy))
        await asyncio.sleep(0.01)
    return min(seen)
