# Upgrades behind any hop: raw bytes after the upstream's 101, its refusals as they are, and an end on both sides.
#
# HAProxy wants a Sec-WebSocket-Key of the right length, and checks what answers it; so these are real.

import pytest
from rawsides.hop import Head, folded, heard
from rawsides.message import answer, begun, get

pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])

GONE = ("fin", "rst")
KEY, ACCEPT = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="  # of RFC 6455 1.3
LINES = ["Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {KEY}", "Sec-WebSocket-Protocol: a, b"]
UPGRADE = get("/ws?key=1", "Connection: keep-alive, Upgrade", "Upgrade: WebSocket", *LINES)
SWITCHED = begun(
    "Upgrade: websocket",
    f"Sec-WebSocket-Accept: {ACCEPT}",
    "Sec-WebSocket-Protocol: b",
    "X-A: b",
    "Connection: Upgrade",
    status="101 Switching Protocols",
)


def without_order(head: Head) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """Connection and Upgrade are made anew by each hop, where it likes."""
    return head.first, sorted(head.fields)


async def tunnel(hop):
    client, link = await hop.ask(UPGRADE)
    await link.head()
    await link.send(SWITCHED)
    await client.head()
    return client, link


async def test_handshake_passes_both_ways(hop):
    client, link = await hop.ask(UPGRADE)
    wanted = get("/ws?key=1", "Connection: Upgrade", "Upgrade: WebSocket", *LINES)
    wanted = wanted.replace(b"proxy.test", hop.upstream.authority.encode())
    assert without_order(await heard(link)) == without_order(folded(wanted))
    await link.send(SWITCHED)
    assert without_order(await heard(client)) == without_order(folded(SWITCHED))


@pytest.mark.parametrize("data", [b"\x81\x05hello", b"\x00\xff\r\n\r\n", get("/x"), answer(b"x"), b"x" * 60_000])
async def test_bytes_pass_both_ways(hop, data):
    client, link = await tunnel(hop)
    for source, target in ((client, link), (link, client), (link, client), (client, link)):
        await source.send(data)
        assert await target.exactly(len(data)) == data


async def test_both_directions_carry_more_than_the_sockets_hold(hop):
    client, link = await tunnel(hop)
    for source, target in ((client, link), (link, client)):
        at, data = 0, bytes(range(256)) * 20_000
        while at < len(data):
            sent = source.send_what_fits(data[at : at + 65536])
            assert await target.exactly(sent) == data[at : at + sent]
            at += sent


async def test_bytes_in_the_segment_of_a_head_are_the_tunnels(hop):
    client, link = await hop.ask(UPGRADE + b"\x81\x02hi")
    await link.head()
    await link.send(SWITCHED + b"\x81\x02ho")
    await client.head()
    assert await client.exactly(4) == b"\x81\x02ho"
    assert await link.exactly(4) == b"\x81\x02hi"


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "426 Upgrade Required", "429 Slow", "200 OK"])
async def test_upstreams_refusal_is_passed_on_and_the_connections_go_on(hop, status):
    client, link = await hop.ask(UPGRADE)
    await link.head()
    await link.send(answer(b"no", "X-A: b", status=status))
    assert await heard(client) == folded(begun("X-A: b", "Content-Length: 2", status=status))
    assert await client.exactly(2) == b"no"
    await client.send(get("/next"))
    assert (await heard(link)).first == b"GET /next HTTP/1.1"


async def test_request_behind_a_refused_upgrade_is_answered(hop):
    client, link = await hop.ask(UPGRADE + get("/next"))
    await link.head()
    await link.send(answer(b"no", status="404 Not Found"))
    assert (await heard(link)).first == b"GET /next HTTP/1.1"
    await link.send(answer(b"yes"))
    assert (await heard(client)).status == 404
    await client.until(b"no")
    assert (await heard(client)).status == 200
    assert await client.exactly(3) == b"yes"


@pytest.mark.parametrize("leave", ["close", "reset"])
async def test_client_that_leaves_ends_the_tunnel(hop, leave):
    client, link = await tunnel(hop)
    getattr(client, leave)()
    assert await link.ended() in GONE


async def test_last_bytes_of_each_side_arrive(hop):
    client, link = await tunnel(hop)
    await client.send(b"last words")
    client.close()
    assert (await link.end())[0] == b"last words"
    client, link = await tunnel(hop)
    await link.send(b"bye")
    link.close()
    assert await client.end() == (b"bye", "fin")


async def test_upstream_that_dies_is_shown_by_a_rst_only_behind_us(hop, front):
    """As with every answer whose framing cannot show a cut (spec §10); HAProxy makes a clean end of it."""
    client, link = await tunnel(hop)
    link.reset()
    assert await client.ended() == ("rst" if front == "slotgate" else "fin")


async def test_101_that_nobody_asked_for_is_a_502(hop):
    client, link = await hop.ask(get("/x"))
    await link.head()
    await link.send(SWITCHED + b"\x81\x02hi")
    assert (await heard(client)).status == 502
    assert await link.ended() in GONE


async def test_upgrade_without_a_key_is_the_upstreams_to_judge_only_behind_us(hop, front):
    client = await hop.client()
    await client.send(get("/ws", "Connection: Upgrade", "Upgrade: websocket"))
    if front == "haproxy":
        assert (await heard(client)).status == 400
    else:
        assert (await heard(await hop.upstream.link())).values(b"upgrade") == [b"websocket"]
