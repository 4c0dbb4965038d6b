# Agents for the page to show: some hold slots, the rest waits, with the names and ages that a working day has.

import asyncio
import time

from blackbox.client import RawClient
from blackbox.rig import Rig

WORKSPACES = ("checkout-api", "mobile-app", "docs", "data-pipeline", "infra", "design-system")
AT_ONCE = 50  # connections that are opened together


async def hold_slots(rig: Rig, count: int = 2, *workspaces: str) -> list[RawClient]:
    """`count` agents that stream: `holder-0` of `alpha` (or of the workspaces in turn), and so on."""
    clients = []
    for number in range(count):
        workspace = workspaces[number % len(workspaces)] if workspaces else "alpha"
        client = await rig.ask(f"holder-{number}", workspace=workspace, conversation=f"holder-{number}")
        call = await rig.up.call()
        call.begin()
        call.event("hello")
        await client.until(b"\n\n")
        clients.append(client)
    return clients


async def wait_in_line(rig: Rig, *names: str, workspace: str = "beta") -> list[RawClient]:
    """One waiter after the other; each is known by its name as conversation."""
    clients = []
    for name in names:
        clients += await rig.line_up(name, workspace=workspace, conversation=name)
    return clients


async def crowd(rig: Rig, count: int) -> None:
    """`count` waiters more, of several workspaces, whose prompts began up to an hour ago."""
    already = (await rig.status())["queued"]
    now = int(time.time() * 1000)

    async def one(number: int) -> None:
        workspace = WORKSPACES[number * 7 // 3 % len(WORKSPACES)]
        started_at = now - (number * 7919 % 3600) * 1000
        await rig.ask("", workspace=workspace, conversation=f"agent-{number:04}", started_at=started_at)

    for first in range(0, count, AT_ONCE):
        await asyncio.gather(*map(one, range(first, min(first + AT_ONCE, count))))
    await rig.queued(already + count)


async def refused(rig: Rig) -> None:
    """An agent whose request the provider refuses: too many at once."""
    client = await rig.ask("refused", workspace="alpha", conversation="refused")
    await (await rig.up.call()).answer(429, b'{"error":{"message":"too many concurrent requests"}}')
    assert (await client.answer()).status == 429
