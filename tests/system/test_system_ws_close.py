# How a socket ends at one side is how the other side's library sees it end, at once, and its slot is free (WS-08).

import asyncio

import pytest
from blackbox.ws import ABNORMAL, Ending, Socket
from blackbox.ws_rig import PAIRS, Tunnels

ENDINGS = [
    Ending(1000, ""),
    Ending(1001, "going away"),
    Ending(1011, "failed"),
    Ending(3000, "x" * 123),  # the longest that fits into a close frame
    Ending(4001, "größer als erlaubt ✂"),
]
SOON = 5.0  # seconds: the promise is one, for a machine that has time
each_pair = pytest.mark.parametrize(("client_library", "server_library"), PAIRS)


async def closes(closing: Socket, other: Socket, ending: Ending) -> None:
    async with asyncio.timeout(SOON):
        seen, _ = await asyncio.gather(other.ended(), closing.close(*ending))
    assert seen == ending
    assert (await closing.ended()).code != ABNORMAL, "the answer to the close frame was lost"


@each_pair
@pytest.mark.parametrize("ending", ENDINGS, ids=str)
async def test_code_and_reason_arrive_both_ways(
    tunnels: Tunnels, client_library: str, server_library: str, ending: Ending
) -> None:
    client, server = await tunnels.pair(server_library, by=client_library)
    await closes(client, server, ending)
    client, server = await tunnels.pair(server_library, by=client_library)
    await closes(server, client, ending)
    await tunnels.rig.in_flight(0, server_library)


@each_pair
async def test_last_message_before_a_close_is_not_lost(
    tunnels: Tunnels, client_library: str, server_library: str
) -> None:
    for client_closes in (True, False):
        client, server = await tunnels.pair(server_library, by=client_library, compress=False)
        closing, other = (client, server) if client_closes else (server, client)
        last = b"l" * 300_000
        said = asyncio.gather(closing.say(last), return_exceptions=True)
        assert await other.hear() == last
        await said
        await closes(closing, other, Ending(1000, "done"))


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("server_library", ["websockets", "aiohttp"])
async def test_server_that_dies_ends_an_idle_client_abnormally(tunnels: Tunnels, server_library: str, how: str) -> None:
    client, server = await tunnels.pair(server_library)
    server.leave(how)
    async with asyncio.timeout(SOON):
        assert await client.ended() == Ending(ABNORMAL, "")
    await tunnels.rig.in_flight(0, server_library)


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("client_library", ["websockets", "aiohttp"])
async def test_client_that_dies_ends_an_idle_server_abnormally(tunnels: Tunnels, client_library: str, how: str) -> None:
    client, server = await tunnels.pair(by=client_library)
    client.leave(how)
    async with asyncio.timeout(SOON):
        assert await server.ended() == Ending(ABNORMAL, "")
    await tunnels.rig.in_flight(0, "websockets")


@pytest.mark.parametrize("dying", ["client", "server"])
async def test_death_in_the_middle_of_a_large_message_is_abnormal_too(tunnels: Tunnels, dying: str) -> None:
    """While every buffer on the way is full, and the one who dies would have to read."""
    client, server = await tunnels.pair(compress=False)
    source, target = (server, client) if dying == "client" else (client, server)
    saying = asyncio.create_task(_say_for_ever(source))
    await target.hear()
    target.leave("rst")
    async with asyncio.timeout(SOON):
        assert (await source.ended()).code == ABNORMAL
        await asyncio.gather(saying, return_exceptions=True)
    await tunnels.rig.in_flight(0, "websockets")


async def _say_for_ever(source: Socket) -> None:
    while True:
        await source.say(b"x" * 1_000_000)
