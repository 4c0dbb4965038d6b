# What tests of sockets do again and again: an answer under way, and who waits.

from rawsides.frames import Heard, create, event, hear
from rawsides.peer import Peer
from rawsides.rig import Rig, becomes


async def answering(client: Peer, link: Peer, response: str = "r1", **fields: object) -> Heard:
    """The client has asked, and its answer has begun; what it has asked."""
    await client.send(create(**fields))
    heard = await hear(link)
    await link.send(event("created", response))
    assert (await hear(client)).json["type"] == "response.created"
    return heard


async def waiting(rig: Rig, count: int = 1) -> None:
    """So many wait."""
    await becomes(lambda: len(rig.scheduler.waiting) == count, f"{count} waiting")


async def held(rig: Rig, count: int) -> None:
    """So many slots are held."""
    await becomes(lambda: rig.scheduler.held == count, f"{count} held")
