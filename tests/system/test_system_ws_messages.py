# What is said in a WebSocket arrives as it was said, whichever libraries talk, both ways.
# Bug cases WS-03, WS-05 and the first half of WS-06.

import pytest
from blackbox.ws import Control, Message, Socket
from blackbox.ws_rig import PAIRS, Tunnels

MESSAGES: list[Message] = ["", b"", "zwölf Boxkämpfer \N{PILE OF POO}", bytes(range(256)), "x" * 126, b"y" * 65536]
each_pair = pytest.mark.parametrize(("client_library", "server_library"), PAIRS)


async def passes(source: Socket, target: Socket, message: Message) -> None:
    await source.say(message)
    assert await target.hear() == message


@each_pair
@pytest.mark.parametrize("compress", [True, False])
async def test_text_binary_and_empty_messages_pass_both_ways(
    tunnels: Tunnels, client_library: str, server_library: str, compress: bool
) -> None:
    client, server = await tunnels.pair(server_library, by=client_library, compress=compress)
    for message in MESSAGES:
        await passes(client, server, message)
        await passes(server, client, message)


@pytest.mark.parametrize("frames", [["frag", "", "mented"], [b"\x00", b"\xff" * 300, b""]])
async def test_fragments_are_one_message_for_the_other_side(tunnels: Tunnels, frames: list[Message]) -> None:
    """From the one library that sends any, to both."""
    whole = b"".join(frames) if isinstance(frames[0], bytes) else "".join(frames)  # type: ignore[arg-type]
    client, server = await tunnels.pair("aiohttp")
    await client.say(frames)
    assert await server.hear() == whole
    client, server = await tunnels.pair("websockets", by="aiohttp")
    await server.say(frames)
    assert await client.hear() == whole


async def test_clients_ping_is_heard_and_answered_by_the_server_itself(tunnels: Tunnels) -> None:
    client, server = await tunnels.pair("pinged")
    answered = await client.raw.ping(b"are you there")
    assert await server.hear() == Control("ping", b"are you there")
    await passes(server, client, "no pong before this")
    assert not answered.done(), "somebody between the two answered"
    await server.raw.pong(b"are you there")
    await answered


async def test_servers_ping_is_heard_and_answered_by_the_client_itself(tunnels: Tunnels) -> None:
    client, server = await tunnels.pair("websockets", by="aiohttp", autoping=False)
    answered = await server.raw.ping(b"still there")
    assert await client.hear() == Control("ping", b"still there")
    await passes(client, server, "no pong before this")
    assert not answered.done(), "somebody between the two answered"
    await client.raw.pong(b"still there")
    await answered


async def test_pong_that_nobody_asked_for_passes_both_ways(tunnels: Tunnels) -> None:
    client, server = await tunnels.pair("pinged")
    await client.raw.pong(b"unasked")
    assert await server.hear() == Control("pong", b"unasked")
    client, server = await tunnels.pair("websockets", by="aiohttp", autoping=False)
    await server.raw.pong(b"")
    assert await client.hear() == Control("pong", b"")


async def test_ping_between_two_fragments_comes_between_them(tunnels: Tunnels) -> None:
    client, server = await tunnels.pair("websockets")
    answers = []

    async def frames():  # type: ignore[no-untyped-def]
        yield "before "
        answers.append(await server.raw.ping(b"between"))
        await answers[0]  # answered in the middle of the message
        yield "behind"

    await server.raw.send(frames())
    assert await client.hear() == "before behind"


async def test_client_that_never_answers_pings_is_not_closed(tunnels: Tunnels) -> None:
    client, server = await tunnels.pair("websockets", by="aiohttp", autoping=False)
    for number in range(20):
        await server.raw.ping(b"%d" % number)
        assert await client.hear() == Control("ping", b"%d" % number)
    await passes(client, server, "here all the same")
