# A request that is sent twice, because its answer was absorbed or its kept connection was closed, is the same twice.

from ear import Ear
from model import Seen, upstream_sees
from rawsides.fixtures import Start
from rawsides.message import answer, get
from rawsides.peer import Peer
from rawsides.rig import Rig
from uploads import BODIES, COUNTED, sent

BUSY = answer(b'{"error":{"type":"overloaded_error"}}', status="529 ")  # absorbed, and pauses nothing
LAST = answer(b"x", "X-A:  b ", "Alt-Svc: c", status="529 Still")


async def hears(link: Peer, message: bytes) -> None:
    assert await Ear(link).hear(len(message)) == Seen(message)
    assert link.unheard() == 0


async def test_absorbed_answer_makes_the_same_request_again(start: Start):
    rig = await start({"limit": 1, "absorb": 1})
    for name in BODIES:
        message = sent(COUNTED, name)
        expected = upstream_sees(message, rig.upstream.authority.encode())
        client, link = await rig.ask(message)
        for told in (BUSY, LAST):
            await hears(link, expected)
            await link.send(told)
        passed = LAST.replace(b"Alt-Svc: c\r\n", b"")
        assert await Ear(client).hear(len(passed)) == Seen(passed)
        for peer in (client, link):
            peer.close()


async def test_connection_that_was_closed_meanwhile_makes_the_same_request_again(rig: Rig):
    for name in BODIES:
        message = sent(COUNTED, name)
        expected = upstream_sees(message, rig.upstream.authority.encode())
        client, link = await rig.ask(get("/up/first"))
        await link.head()
        await link.send(answer(b"ok"))
        await client.exactly(len(answer(b"ok")))
        await client.send(message)
        await hears(link, expected)
        link.close()
        other = await rig.upstream.link()
        await hears(other, expected)
        await other.send(LAST)
        passed = LAST.replace(b"Alt-Svc: c\r\n", b"")
        assert await Ear(client).hear(len(passed)) == Seen(passed)
        for peer in (client, other):
            peer.close()
