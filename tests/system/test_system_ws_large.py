# Large messages pass both ways, in one frame and in many: nothing on the way has a cap (bug case WS-03).

import asyncio
import random

import pytest
from blackbox.ws import Socket
from blackbox.ws_rig import Tunnels

MEGABYTE = 1_000_000
PAIRS = [("websockets", "websockets"), ("aiohttp", "aiohttp")]
CHANCE = random.Random(3)  # so that nothing compresses, and a byte in the wrong place shows
LARGE = CHANCE.randbytes(20 * MEGABYTE)


async def carry(source: Socket, target: Socket, message: bytes | list[bytes]) -> bytes:
    """Says and hears at once: it is more than sockets hold."""
    said = asyncio.create_task(source.say(message))
    heard = await target.hear()
    await said
    assert isinstance(heard, bytes)
    return heard


def same(heard: object, said: bytes) -> bool:
    """Compares, without pytest's spelling out a difference of megabytes."""
    return heard == said


@pytest.mark.parametrize("size", [5 * MEGABYTE, 20 * MEGABYTE])
@pytest.mark.parametrize(("client_library", "server_library"), PAIRS)
async def test_one_frame_of_many_megabytes_passes_both_ways(
    tunnels: Tunnels, client_library: str, server_library: str, size: int
) -> None:
    client, server = await tunnels.pair(server_library, by=client_library, compress=False)
    assert same(await carry(client, server, LARGE[:size]), LARGE[:size])
    assert same(await carry(server, client, LARGE[:size]), LARGE[:size])


@pytest.mark.parametrize("size", [5 * MEGABYTE, 20 * MEGABYTE])
async def test_many_frames_of_a_kilobyte_pass_both_ways(tunnels: Tunnels, size: int) -> None:
    frames = [LARGE[at : at + 1000] for at in range(0, size, 1000)]
    client, server = await tunnels.pair("websockets", compress=False)
    assert same(await carry(client, server, frames), LARGE[:size])
    assert same(await carry(server, client, frames), LARGE[:size])


async def test_megabytes_both_ways_at_once_do_not_wait_for_each_other(tunnels: Tunnels) -> None:
    client, server = await tunnels.pair("websockets", compress=False)
    message = LARGE[: 5 * MEGABYTE]
    there, back = await asyncio.gather(carry(client, server, message), carry(server, client, message))
    assert same(there, message)
    assert same(back, message)


async def test_messages_that_are_heard_late_are_whole_and_in_order(tunnels: Tunnels) -> None:
    """Backpressure: what nobody hears yet fills every buffer on the way, until the one who speaks has to wait."""
    client, server = await tunnels.pair("websockets", compress=False)
    # More than the kernel's buffers of two connections.
    messages = [b"%d" % number + LARGE[: 2 * MEGABYTE] for number in range(60)]

    async def say_all(source: Socket) -> None:
        for message in messages:
            await source.say(message)

    for source, target in ((client, server), (server, client)):
        saying = asyncio.create_task(say_all(source))
        done, _ = await asyncio.wait([saying], timeout=0.3)
        assert not done, "nobody ever waited for the one who hears"
        for message in messages:
            assert same(await target.hear(), message)
        await saying
