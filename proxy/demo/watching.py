# What the proxy itself says while the demo runs: its events, and once a second how things stand.
#
# Rule 1: only what changes the state is told on; what single requests do is on the page.
# Rule 2: a proxy that does not answer is no fault of ours here: its end is noticed by who started it.

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import aiohttp

from proxy.demo.journal import Document, Journal

EVERY_S = 1.0
_TOLD = ("rate_limited", "reduced", "paused", "resumed", "limit_set", "reclaimed", "starred")
_STATE = ("limit", "inFlight", "queued", "oldestWaitMs", "paused", "pausedUntil", "autoReduced")
_AGAIN_S = 0.5


async def follow_events(session: aiohttp.ClientSession, admin: str, journal: Journal) -> None:
    """Tells what changes and has changed, until cancelled."""
    last = "0"
    while True:
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with session.get(
                f"{admin}/concurrency/events",
                headers={"Last-Event-ID": last},
                timeout=aiohttp.ClientTimeout(total=None),
            ) as response:
                async for event_id, name, data in _events(response.content):
                    last = event_id
                    if name in _TOLD:
                        journal.tell(name, **data)
        await asyncio.sleep(_AGAIN_S)


async def sample_state(session: aiohttp.ClientSession, admin: str, journal: Journal) -> None:
    """Tells how things stand, until cancelled."""
    while True:
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with session.get(f"{admin}/concurrency/status?all=1") as response:
                for entry in (await response.json())["providers"]:
                    if entry["providerId"] == "demo":
                        journal.tell("state", **{name: entry[name] for name in _STATE if name in entry})
        await asyncio.sleep(EVERY_S)


async def star(session: aiohttp.ClientSession, admin: str, workspace: str) -> None:
    """Its agents go first from now on."""
    async with session.put(f"{admin}/concurrency/workspaces/{workspace}", json={"starred": True}) as response:
        response.raise_for_status()


async def _events(stream: aiohttp.StreamReader) -> AsyncIterator[tuple[str, str, Document]]:
    """Id, name and data of each."""
    fields: dict[str, str] = {}
    async for raw in stream:
        line = raw.decode().rstrip("\r\n")
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            yield fields.get("id", ""), fields.get("event", ""), json.loads(fields["data"])
            fields = {}
