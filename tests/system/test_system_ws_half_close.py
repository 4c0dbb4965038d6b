# A side of a tunnel that has said its last word still hears the other's, and what it said last arrives.
#
# Rule 1: the upstream is a plain socket here: the one of the other tests takes a FIN for the end of everything.

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from blackbox.client import CUT, RawClient
from blackbox.rig import Rig, Starter
from blackbox.waiting import until
from blackbox.ws import UPGRADE

SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
CLOSE = b"\x88\x02\x03\xe8"
NARROW = 4096  # bytes: a reader's receive buffer, so that what it does not read soon waits in the proxy


@dataclass(frozen=True, slots=True)
class Ends:
    """The two ends of one tunnel."""

    rig: Rig
    client: RawClient
    upstream: RawClient

    def first_and_other(self, first: str) -> tuple[RawClient, RawClient]:
        return (self.client, self.upstream) if first == "client" else (self.upstream, self.client)


@pytest_asyncio.fixture(loop_scope="session")
async def ends(start: Starter) -> AsyncIterator[Ends]:
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, NARROW)
        listening.setblocking(False)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        rig = await start({"up": {"url": url, "limit": 1, "cooldown": 0, "slot_timeout": None}})
        client = await rig.ask(method="GET", target="/up/", headers=UPGRADE, receive_buffer=NARROW)
        upstream = RawClient((await asyncio.get_running_loop().sock_accept(listening))[0])
        try:
            await upstream.until(b"\r\n\r\n")
            await upstream.send(SWITCH)
            await client.head()
            yield Ends(rig, client, upstream)
        finally:
            client.close()
            upstream.close()
        await rig.at_rest()


@pytest.mark.parametrize("first", ["client", "upstream"])
async def test_side_that_has_said_all_hears_the_other_to_its_end(ends: Ends, first: str) -> None:
    said_all, other = ends.first_and_other(first)
    await said_all.send(CLOSE)
    said_all.fin()
    assert await other.until(CLOSE) == CLOSE
    assert await other.receive() == b"", "its FIN is passed on"
    await other.send(b"last words" + CLOSE)
    other.close()
    assert await said_all.until(CLOSE) == b"last words" + CLOSE
    assert await said_all.closed() == CUT


@pytest.mark.parametrize("leaving", ["client", "upstream"])
async def test_what_a_side_said_before_it_left_arrives_however_slowly_it_is_read(ends: Ends, leaving: str) -> None:
    """As it would without the proxy: the kernel delivers it after the process has ended."""
    leaver, reader = ends.first_and_other(leaving)
    await leaver.send(b"x" * 4_000_000 + CLOSE)
    leaver.close()
    await asyncio.sleep(0.5)  # nobody tells when the FIN has reached the proxy
    assert len(await reader.until(CLOSE)) == 4_000_000 + len(CLOSE)
    assert await reader.closed() == CUT


@pytest.mark.slow
async def test_client_that_left_does_not_hold_its_slot_for_an_upstream_that_takes_nothing(ends: Ends) -> None:
    await ends.client.send(b"x" * 4_000_000)
    await asyncio.sleep(0.3)  # nobody tells when the proxy has no more room
    ends.client.close()

    async def is_free() -> bool:
        return bool((await ends.rig.status())["inFlight"] == 0)

    await until(is_free, timeout=60)  # each time the upstream's kernel takes a little more, its patience begins anew
