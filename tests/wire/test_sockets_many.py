# There is no hidden cap: as many requests run at once as come, and each has a connection of its own.

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post
from rawsides.rig import becomes

MANY = 150  # over the 100 of the usual connection pools


@pytest.mark.parametrize("reuse", [True, False])
async def test_many_at_once_are_under_way_at_once(start, reuse):
    """All are answered only after the last one has arrived, the last first."""
    rig = await start({"reuse": reuse})
    for _ in range(2 if reuse else 1):  # the second time on kept connections
        clients, links = {}, dict.fromkeys(rig.upstream.links)
        for number in range(MANY):
            clients[b"/%d" % number] = client = await rig.client()
            await client.send(post(f"/up/{number}", b"{}") if number % 2 else get(f"/up/{number}"))
        fresh = [] if links else [await rig.upstream.link() for _ in range(MANY)]
        heard = {(await link.head()).split()[1]: link for link in fresh or links}
        assert heard.keys() == clients.keys()
        for target, link in reversed(heard.items()):
            if int(target[1:]) % 2:
                await link.exactly(2)
            await link.send(answer(target))
        for target, client in clients.items():
            assert await client.exactly(len(answer(target))) == answer(target)
            client.close()
    assert rig.upstream.was_left_alone()


async def test_many_streams_go_on_side_by_side(rig):
    pairs = [await rig.ask(post("/up/", b"{}")) for _ in range(MANY)]
    for _, link in pairs:
        await link.until(b"{}")
        await link.send(begun(CHUNKED))
    for client, _ in pairs:
        assert await client.head() == begun(CHUNKED)
    for piece in (b"one", b"two"):
        for _, link in pairs:
            await link.send(chunk(piece))
        for client, _ in pairs:
            assert await client.exactly(len(chunk(piece))) == chunk(piece)
    for client, link in pairs:
        await link.send(LAST_CHUNK)
        assert await client.exactly(len(LAST_CHUNK)) == LAST_CHUNK


async def test_as_many_as_the_limit_says_and_no_more(start):
    rig = await start({"limit": 120})
    for _ in range(MANY):
        client = await rig.client()
        await client.send(post("/up/", b"{}"))
    links = [await rig.upstream.link() for _ in range(120)]
    for link in links:
        await link.until(b"{}")
    await becomes(lambda: len(rig.scheduler.waiting) == MANY - 120)
    assert rig.scheduler.held == 120
    assert rig.upstream.was_left_alone()
