# Sockets under unrest: whoever leaves whenever, the provider never generates for more than the limit, and no slot is
# lost.

import asyncio
import random
import select

import pytest
from rawsides.frames import CLOSE, create, event, frame, hear, said, socket, text
from rawsides.peer import Peer
from rawsides.rig import Rig, becomes

LIMIT, SOCKETS, ROUNDS = 2, 12, 5
WARM = b'"warm"'
LIMITED = frame(text({"type": "error", "status": 429, "error": {"code": "rate_limit_exceeded", "message": "m"}}))


class Provider:
    """Counts what generates at the same time."""

    def __init__(self, chance: random.Random) -> None:
        self._open: set[Peer] = set()
        self.most = 0
        self.answers = 0
        self._chance = chance

    async def serve(self, link: Peer) -> None:
        """One socket's upstream, which may leave or refuse at any time."""
        chance = self._chance
        try:
            while True:
                heard = await hear(link)
                if heard.opcode == CLOSE:
                    await link.send(frame(heard.payload, CLOSE))
                    return
                if heard.json.get("generate") is False:
                    await link.send(event("created", "warm") + event("completed", "warm"))
                    continue
                self._open.add(link)
                self.answers += 1
                self.most = max(self.most, sum(map(is_there, self._open)))
                await self._answer(link)
        except (AssertionError, OSError):
            return  # the other side has ended
        finally:
            self._open.discard(link)
            if chance.random() < 0.5:
                link.reset()
            else:
                link.close()

    async def _answer(self, link: Peer) -> None:
        chance, response = self._chance, f"r{self.answers}"
        if chance.random() < 0.1:
            self._open.discard(link)
            await link.send(LIMITED)
            return
        await link.send(event("created", response))
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(chance.random() / 200)
            if chance.random() < 0.08:
                raise OSError("hangs up")
            raw = event("output_text.delta", delta="x" * chance.randrange(300))
            cut = chance.randrange(len(raw))
            await link.send(raw[:cut])
            await link.send(raw[cut:])
        self._open.discard(link)
        await link.send(event(chance.choice(["completed", "failed", "incomplete"]), response))


def is_there(link: Peer) -> bool:
    """Whether the proxy has not closed this connection: its FIN counts when it has come, not when it is read."""
    poll = select.poll()
    poll.register(link.sock, select.POLLRDHUP)
    return not poll.poll(0)


async def agent(rig: Rig, provider: Provider, chance: random.Random, tasks: list) -> None:
    """One client that asks now and then, and leaves in every way."""
    client, link = await socket(rig)
    tasks.append(asyncio.create_task(provider.serve(link)))
    try:
        for _ in range(ROUNDS):
            if chance.random() < 0.3:
                await client.send(create(generate=False))
            raw = create(input="x" * chance.randrange(500))
            cut = chance.randrange(len(raw))
            await client.send(raw[:cut])
            await asyncio.sleep(chance.random() / 300)
            await client.send(raw[cut:])
            if chance.random() < 0.2:
                await asyncio.sleep(chance.random() / 50)
                if chance.random() < 0.5:
                    await client.send(said(b"", CLOSE))
                return
            while not ends(await hear(client)):
                pass
    except (AssertionError, OSError):
        return
    finally:
        if chance.random() < 0.5:
            client.reset()
        else:
            client.close()


def ends(heard) -> bool:
    """Whether this is the end of an answer, or of everything."""
    if heard.opcode == CLOSE:
        return True
    kind = heard.json["type"]
    return (
        kind in ("error", "response.completed", "response.failed", "response.incomplete") and WARM not in heard.payload
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("absorb", [0, 2])
async def test_never_more_than_the_limit_and_no_slot_lost(start, seed, absorb):
    chance = random.Random(seed)
    rig = await start(
        {
            "limit": LIMIT,
            "absorb": absorb,
            "auto_reduce": False,
            "cooldown": "2ms",
            "pause": {"default": "5ms", "max": "5ms"},
        }
    )
    provider, tasks, late = Provider(chance), [], []
    # One after the other, so that each handshake meets its own upstream; then all at once.
    for _ in range(SOCKETS):
        before = len(tasks)
        late.append(asyncio.create_task(agent(rig, provider, chance, tasks)))
        await becomes(lambda before=before: len(tasks) > before)
    await asyncio.wait_for(asyncio.gather(*late), 60)
    await asyncio.wait_for(asyncio.gather(*tasks), 60)
    await rig.at_rest()
    assert provider.answers > SOCKETS // 2
    assert provider.most <= LIMIT
    counted = [each for each in rig.records if each.counted]
    assert len({each.ticket_id for each in counted}) == len(counted), "each answer ends in one record"
