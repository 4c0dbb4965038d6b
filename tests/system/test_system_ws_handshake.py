# The handshake is between the two ends: the client sees the server's choice or its refusal, never one of the proxy's.
# Bug cases WS-01 and the second half of WS-09.

import asyncio
from typing import Any

import pytest
from blackbox.ws import Refusal, RefusedError, Socket
from blackbox.ws_rig import PAIRS, Tunnels

TUNNELS = {
    "websockets": {},
    "aiohttp": {},
    "absorbing": {"server": "websockets", "limit": 1, "absorb": 1, "pause": {"max": "300ms"}},
}
each_pair = pytest.mark.parametrize(("client_library", "server_library"), PAIRS)


@each_pair
@pytest.mark.parametrize(("offered", "chosen"), [(["a", "b"], "b"), (["a"], None), ([], None)])
async def test_sub_protocol_is_the_servers_choice(
    tunnels: Tunnels, client_library: str, server_library: str, offered: list[str], chosen: str | None
) -> None:
    client, server = await tunnels.pair(server_library, by=client_library, subprotocols=offered)
    assert client.subprotocol == server.subprotocol == chosen


@each_pair
async def test_compression_is_agreed_on_end_to_end(tunnels: Tunnels, client_library: str, server_library: str) -> None:
    client, server = await tunnels.pair(server_library, by=client_library, compress=True)
    assert client.extensions
    assert server.extensions
    await server.say("a" * 1_000_000)
    assert await client.hear() == "a" * 1_000_000
    assert await passed(tunnels, server_library) < 100_000, "it went through the proxy uncompressed"


@each_pair
async def test_without_an_offer_nothing_is_compressed(
    tunnels: Tunnels, client_library: str, server_library: str
) -> None:
    client, server = await tunnels.pair(server_library, by=client_library, compress=False)
    assert (client.extensions, server.extensions) == ("", "")
    await server.say("a" * 1_000_000)
    await client.hear()
    assert await passed(tunnels, server_library) > 1_000_000


async def passed(tunnels: Tunnels, provider: str) -> int:
    """Bytes that the one tunnel has brought its client; who does not hold it knows them some seconds later."""
    told = [await admin.get(f"/concurrency/slots/{provider}") for admin in tunnels.rig.proxy.admins]
    return max(int(slot["bytes"]) for reply in told for slot in reply.json["slots"])


async def refused(tunnels: Tunnels, server_library: str, client_library: str, refusal: Refusal) -> RefusedError:
    tunnels.door(server_library).refusal = refusal
    with pytest.raises(RefusedError) as caught:
        await tunnels.connect(server_library, by=client_library)
    await tunnels.rig.in_flight(0, server_library)
    return caught.value


@each_pair
@pytest.mark.parametrize("status", [401, 403, 404, 426, 429, 503])
async def test_refusal_passes_as_it_is(tunnels: Tunnels, client_library: str, server_library: str, status: int) -> None:
    headers = (("WWW-Authenticate", "Bearer"), ("Retry-After", "7"), ("x-request-id", "r1"))
    refusal = Refusal(status, b'{"error":{"message":"no"}}', headers)
    told = await refused(tunnels, server_library, client_library, refusal)
    assert told.status == status
    assert [told.headers[name] for name, _ in headers] == [value for _, value in headers]
    assert "x-slotgate-error" not in told.headers
    assert told.body in (None, refusal.body), "None: aiohttp does not show it"


async def test_429_to_an_upgrade_pauses_the_provider_for_as_long_as_it_says(tunnels: Tunnels) -> None:
    await tunnels.rig.limit(4, "websockets")
    await refused(tunnels, "websockets", "websockets", Refusal(429, b"slow down", (("Retry-After", "7"),)))
    entry: dict[str, Any] = await tunnels.rig.status("websockets")
    assert entry["paused"]
    assert (entry["limit"], entry["autoReducedFrom"]) == (3, 4)
    assert (entry["lastRateLimit"]["status"], entry["lastRateLimit"]["retryAfterMs"]) == (429, 7000)
    assert not (await tunnels.rig.status("aiohttp"))["paused"]


@pytest.mark.parametrize("status", [401, 403, 404, 426])
async def test_any_other_refusal_pauses_nothing(tunnels: Tunnels, status: int) -> None:
    await tunnels.rig.limit(4, "websockets")
    await refused(tunnels, "websockets", "websockets", Refusal(status, b"no"))
    entry = await tunnels.rig.status("websockets")
    assert (entry["paused"], entry["limit"]) == (False, 4)
    tunnels.door("websockets").refusal = None
    client: Socket
    client, server = await tunnels.pair("websockets")
    await client.say("at once")
    assert await server.hear() == "at once"


async def test_429_to_an_upgrade_may_be_absorbed_and_another_try_become_the_tunnel(tunnels: Tunnels) -> None:
    tunnels.door("absorbing").refusal = Refusal(429, b"too many concurrent requests")
    connecting = asyncio.create_task(tunnels.connect("absorbing"))
    await tunnels.rig.until_status("absorbing", paused=True, queued=1)
    tunnels.door("absorbing").refusal = None
    client, server = await connecting, await tunnels.door("absorbing").socket()
    await client.say("at last")
    assert await server.hear() == "at last"
