# WebSocket upgrades: a raw tunnel that holds one slot for its life (spec §10).
# Bug cases LEAK-15 and PAUSE-09 as far as a tunnel goes: a slot a socket, whatever happens in it.

import pytest
from blackbox.call import Call
from blackbox.client import RawClient
from blackbox.rig import Rig
from blackbox.waiting import until

UPSTREAMS = {"up": {"limit": 1, "cooldown": "0s"}, "refusing": {"limit": 1, "websocket": "refuse"}}
UPGRADE = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("Sec-WebSocket-Version", "13"),
]
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-A: 1\r\n\r\n"


async def tunnel(rig: Rig, name: str) -> tuple[RawClient, Call]:
    client = await rig.ask(name, method="GET", target="/up/v1/realtime?x=1", headers=UPGRADE)
    call = await rig.up.call()
    assert (call.head.method, call.head.target, call.head.get("upgrade")) == ("GET", "/v1/realtime?x=1", "websocket")
    call.raw(SWITCH + b"\x81\x05first")
    assert (await client.head()).status == 101
    assert await client.until(b"first") == b"\x81\x05first"
    return client, call


async def test_tunnel_passes_bytes_both_ways_and_holds_one_slot(rig: Rig) -> None:
    client, call = await tunnel(rig, "a")
    await rig.in_flight(1)
    await rig.line_up("b")
    before = call.connection.bytes
    await client.send(b"\x82\x03\x00\xff\r")
    await until(lambda: call.connection.bytes == before + 5)
    call.raw(b"\x88\x00bye")
    assert await client.until(b"bye") == b"\x88\x00bye"
    client.close()
    second = await rig.up.call()
    assert second.name == "b"
    await second.answer()


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("side", ["client", "upstream"])
async def test_tunnel_that_ends_badly_frees_its_slot_and_pauses_nothing(rig: Rig, side: str, how: str) -> None:
    for _ in range(3):
        client, call = await tunnel(rig, "a")
        if side == "client":
            client.leave(how)
            await call.stopped()
        else:
            call.cut(how)
            await client.closed()
        await rig.in_flight(0)
    entry = await rig.status()
    assert (entry["paused"], entry["limit"], entry["autoReduced"]) == (False, 1, False)


async def test_upgrade_waits_its_turn(rig: Rig) -> None:
    await rig.ask("holder")
    holder = await rig.up.call()
    client = await rig.ask("ws", method="GET", target="/up/v1/realtime", headers=UPGRADE)
    await rig.queued(1)
    await holder.answer()
    call = await rig.up.call()
    call.raw(SWITCH)
    assert (await client.head()).status == 101


async def test_upgrade_that_the_upstream_refuses_is_an_answer_like_any_other(rig: Rig) -> None:
    client = await rig.ask("ws", method="GET", target="/up/v1/realtime", headers=UPGRADE)
    await (await rig.up.call()).answer(404, b"none here")
    answer = await client.answer()
    assert (answer.status, answer.body) == (404, b"none here")
    await rig.in_flight(0)


async def test_websocket_can_be_refused(rig: Rig) -> None:
    client = await rig.ask("ws", method="GET", target="/refusing/v1/realtime", headers=UPGRADE)
    answer = await client.answer()
    assert (answer.status, answer.code) == (426, "websocket_refused")
