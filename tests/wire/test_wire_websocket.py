# WebSocket upgrades: raw bytes after the upstream's 101, one slot for the tunnel's life; or a 426 (spec §10).

import pytest
from rawsides.message import answer, begun, get, post
from rawsides.rig import becomes

from proxy.service.watch import watch_slots

GONE = ("fin", "rst")
UPGRADE = get("/up/ws?key=1", "Connection: keep-alive, Upgrade", "Upgrade: WebSocket", "Sec-WebSocket-Key: abc")
SWITCHED = begun(
    "Upgrade: websocket", "Sec-WebSocket-Accept: def", "Connection: Upgrade", status="101 Switching Protocols"
)


async def tunnel(rig):
    client, link = await rig.ask(UPGRADE)
    await link.head()
    await link.send(SWITCHED)
    assert await client.head() == SWITCHED
    return client, link


async def test_handshake_passes_both_ways(rig):
    client, link = await rig.ask(UPGRADE)
    host = rig.upstream.authority.encode()
    assert await link.head() == (
        b"GET /ws?key=1 HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n"
        b"Sec-WebSocket-Key: abc\r\n\r\n" % host
    )
    await link.send(SWITCHED)
    assert await client.head() == SWITCHED


async def test_bytes_pass_both_ways(rig):
    client, link = await tunnel(rig)
    for data in (b"\x81\x05hello", b"\x00\xff\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 5_000_000):
        for source, target in ((client, link), (link, client)):
            await source.send(data) if len(data) < 100_000 else await both(source, target, data)
            if len(data) < 100_000:
                assert await target.exactly(len(data)) == data


async def both(source, target, data: bytes) -> None:
    """Send and receive at once: WS-03, more than the sockets hold."""
    at = 0
    while at < len(data):
        sent = source.send_what_fits(data[at : at + 65536])
        assert await target.exactly(sent) == data[at : at + sent]
        at += sent


async def test_bytes_behind_the_101_are_the_tunnels(rig):
    client, link = await rig.ask(UPGRADE)
    await link.head()
    await link.send(SWITCHED + b"\x81\x02hi")
    assert await client.exactly(len(SWITCHED) + 4) == SWITCHED + b"\x81\x02hi"


async def test_bytes_in_the_clients_first_segment_are_the_tunnels(rig):
    client, link = await rig.ask(UPGRADE + b"\x81\x02hi")
    await link.head()
    await link.send(SWITCHED)
    assert await link.exactly(4) == b"\x81\x02hi"
    await client.send(b"more")
    assert await link.exactly(4) == b"more"


async def test_many_bytes_before_the_101_arrive_too(rig):
    """More than is read ahead: reading goes on with the tunnel."""
    client, link = await rig.ask(UPGRADE)
    await link.head()
    (connection,) = rig.listener.connections
    sent = 0

    def held_up() -> bool:
        nonlocal sent
        sent += client.send_what_fits(b"x" * 65536)
        return bool(connection._pauses and connection._pauses.count)

    await becomes(held_up)
    await link.send(SWITCHED)
    assert await link.exactly(sent) == b"x" * sent


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "426 Upgrade Required", "200 OK"])
async def test_upstreams_refusal_is_passed_on(rig, status):
    """WS-01: never a 101 first; and the connection goes on."""
    client, link = await rig.ask(UPGRADE)
    await link.head()
    await link.send(answer(b"no", "X-A: b", status=status))
    assert await client.exactly(len(answer(b"no", "X-A: b", status=status))) == answer(b"no", "X-A: b", status=status)
    await client.send(get("/up/next"))
    assert (await link.head()).startswith(b"GET /next ")


async def test_request_behind_a_failed_upgrade_is_answered(rig):
    """FRM-11."""
    client, link = await rig.ask(UPGRADE + get("/up/next"))
    await link.head()
    await link.send(answer(b"no", status="404 Not Found"))
    assert (await link.head()).startswith(b"GET /next ")
    await link.send(answer(b"yes"))
    await client.until(b"no")
    assert await client.exactly(len(answer(b"yes"))) == answer(b"yes")


async def test_tunnel_holds_a_slot_for_its_life(start):
    rig = await start({"limit": 1})
    client, link = await tunnel(rig)
    waiting = await rig.client()
    await waiting.send(post("/up/", b"{}"))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    await client.send(b"frame")
    assert await link.exactly(5) == b"frame"
    assert rig.scheduler.held == 1
    client.close()
    assert await link.ended() in GONE
    await (await rig.upstream.link()).until(b"{}")


async def test_upgrade_waits_for_its_slot(start):
    """WS-09."""
    rig = await start({"limit": 1})
    holder, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    client = await rig.client()
    await client.send(UPGRADE)
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    await link.send(answer(b"ok"))
    await holder.until(b"ok")
    assert b"Upgrade: WebSocket\r\n" in await link.head()
    await link.send(SWITCHED)
    assert await client.head() == SWITCHED


@pytest.mark.parametrize("leave", ["close", "reset"])
async def test_client_that_leaves_ends_the_tunnel(rig, leave):
    client, link = await tunnel(rig)
    getattr(client, leave)()
    assert await link.ended() in GONE
    assert (await rig.record()).outcome == "completed"


async def test_last_bytes_of_a_client_that_leaves_arrive(rig):
    client, link = await tunnel(rig)
    await client.send(b"last words")
    client.close()
    assert await link.end() == (b"last words", "fin")


async def test_upstream_that_ends_the_tunnel_is_shown_by_a_fin(rig):
    """WS-08."""
    client, link = await tunnel(rig)
    await link.send(b"bye")
    link.close()
    assert await client.end() == (b"bye", "fin")
    assert (await rig.record()).outcome == "completed"


async def test_upstream_that_dies_is_shown_by_a_rst(rig):
    client, link = await tunnel(rig)
    link.reset()
    assert await client.ended() == "rst"
    assert (await rig.record()).outcome == "cut"


async def test_client_connection_is_not_used_again_after_a_tunnel(rig):
    client, link = await tunnel(rig)
    link.close()
    await client.send(get("/up/next"))
    assert (await client.end())[0] == b""
    assert rig.upstream.was_left_alone()


async def test_idle_tunnel_is_closed_after_tunnel_idle(start):
    rig = await start({"tunnel_idle": "100ms"})
    client, link = await tunnel(rig)
    rig.runtime.tasks.start("watch", watch_slots(rig.runtime))
    assert await client.ended() in GONE
    assert await link.ended() in GONE


async def test_idle_tunnel_is_not_stuck(start):
    """WS-06: slot_timeout is for answers."""
    rig = await start({"slot_timeout": "10ms"})
    client, link = await tunnel(rig)
    await becomes(lambda: rig.runtime.clock.now() - rig.scheduler.slots()[0].last_byte_at > 0.02)
    rig.admission.watch()
    await client.send(b"still here")
    assert await link.exactly(10) == b"still here"


# --- modes ---

AMONG_OTHERS = UPGRADE[:-2] + b"OpenAI-Beta: assistants=v2, responses_websockets=2026-02-06\r\n\r\n"
ON_TWO_LINES = UPGRADE[:-2] + b"OpenAI-Beta: assistants=v2\r\nOPENAI-BETA: responses_websockets=2026-02-06\r\n\r\n"
CODEX = UPGRADE[:-2] + b"OpenAI-Beta: responses_websockets=2026-02-06\r\n\r\n"


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("refuse", CODEX),
        ("refuse", AMONG_OTHERS),
        ("refuse", ON_TWO_LINES),
        ("refuse", UPGRADE),
    ],
)
async def test_refused_upgrade_is_a_426_at_once(start, mode, message):
    rig = await start({"websocket": mode})
    client = await rig.client()
    await client.send(message)
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 426 Upgrade Required\r\n")
    assert b"X-Slotgate-Error: websocket_refused\r\n" in head
    await client.until(b"}}")
    assert rig.upstream.was_left_alone()
    await client.send(post("/up/", b"{}"))  # plain HTTP on the same connection, as Codex does
    await (await rig.upstream.link()).until(b"{}")


@pytest.mark.parametrize(
    ("mode", "message", "held"),
    [
        ("auto", UPGRADE, 1),
        ("tunnel", UPGRADE, 1),
        ("tunnel", CODEX, 1),
        ("auto", CODEX, 0),
        ("auto", AMONG_OTHERS, 0),
        ("auto", ON_TWO_LINES, 0),
        ("per_response", UPGRADE, 0),
        ("per_response", CODEX, 0),
    ],
)
async def test_tunnel_takes_a_slot_and_a_socket_that_is_read_takes_none(start, mode, message, held):
    rig = await start({"websocket": mode})
    client, link = await rig.ask(message)
    assert b"Upgrade: WebSocket\r\n" in await link.head()
    await link.send(SWITCHED)
    assert await client.head() == SWITCHED
    assert rig.scheduler.held == held


@pytest.mark.parametrize(
    "message",
    [
        get("/up/", "Connection: Upgrade", "Upgrade: h2c"),
        get("/up/", "Upgrade: websocket"),  # not in Connection: RFC 9110 7.8
        post("/up/", b"", "Connection: Upgrade", "Upgrade: websocket"),
    ],
)
async def test_any_other_upgrade_is_a_plain_request(rig, message):
    client, link = await rig.ask(message)
    head = await link.head()
    assert b"pgrade" not in head
    assert b"onnection" not in head
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
