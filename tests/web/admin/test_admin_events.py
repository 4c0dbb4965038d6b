# The stream of events over HTTP (spec §12, §14).

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from admin_rig import Headers, Rig

from proxy.service.events import BACKLOG
from proxy.web.admin import events as admin_events

PATH = "/concurrency/events"
Block = dict[str, str]


@contextlib.asynccontextmanager
async def listening(rig: Rig, headers: Headers = ()) -> AsyncIterator[Any]:
    url = f"http://{rig.address[0]}:{rig.address[1]}{PATH}"
    async with rig.session.get(url, headers=list(headers)) as answer:
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/event-stream"
        assert answer.headers["Cache-Control"] == "no-store"
        yield answer


async def block(answer: Any) -> Block:
    """The next block's fields, as a browser's parser would see them; of a comment there is ""."""
    text = (await answer.content.readuntil(b"\n\n")).decode()
    return {line.partition(":")[0]: line.partition(":")[2].removeprefix(" ") for line in text.split("\n") if line}


async def test_event_has_its_id_its_name_and_its_data_in_one_line(rig: Rig) -> None:
    async with listening(rig) as answer:
        await rig.runtime.star("new\nline: ü", True)
        fields = await block(answer)
    assert set(fields) == {"id", "event", "data"}
    assert fields["event"] == "starred"
    data = json.loads(fields["data"])
    assert (data["workspaceId"], data["starred"], data["providerId"]) == ("new\nline: ü", True, None)
    assert data["at"] > 1_600_000_000_000
    assert int(fields["id"]) > 0


async def test_request_is_told_step_by_step(rig: Rig) -> None:
    async with listening(rig) as answer:
        slot = await rig.hold(conversation="c")
        rig.provider().release(slot)
        granted, released = await block(answer), await block(answer)
    assert (granted["event"], released["event"]) == ("granted", "released")
    assert int(released["id"]) > int(granted["id"])
    data = json.loads(granted["data"])
    assert (data["providerId"], data["id"], data["conversationId"]) == ("up.example:8443", str(slot.id), "c")


async def test_burst_arrives_whole_and_in_order(rig: Rig) -> None:
    count = 2 * admin_events.TOGETHER + 3
    async with listening(rig) as answer:
        for number in range(count):
            rig.runtime.telemetry.events.publish("queued", "p", number=number)
        blocks = [await block(answer) for _ in range(count)]
    assert [json.loads(each["data"])["number"] for each in blocks] == list(range(count))
    ids = [int(each["id"]) for each in blocks]
    assert ids == list(range(ids[0], ids[0] + count))


async def test_reader_that_comes_back_gets_what_it_missed(rig: Rig) -> None:
    async with listening(rig) as answer:
        await rig.runtime.star("first", True)
        seen = (await block(answer))["id"]
    await rig.runtime.star("second", True)
    async with listening(rig, [("Last-Event-ID", seen)]) as answer:
        await rig.runtime.star("third", True)
        names = [json.loads((await block(answer))["data"])["workspaceId"] for _ in range(2)]
    assert names == ["second", "third"]


@pytest.mark.parametrize("place", ["garbage", "-1", "", "1.5", "٣", "9" * 30])
async def test_reader_with_an_unreadable_place_gets_what_comes(rig: Rig, place: str) -> None:
    await rig.runtime.star("before", True)
    async with listening(rig, [("Last-Event-ID", place)]) as answer:
        await rig.runtime.star("after", True)
        assert json.loads((await block(answer))["data"])["workspaceId"] == "after"


async def test_silence_is_broken_by_a_comment(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_events, "HEARTBEAT_S", 0.01)
    async with listening(rig) as answer:
        assert await block(answer) == {"": ""}
        assert await block(answer) == {"": ""}
        await rig.runtime.star("x", True)
        while (fields := await block(answer)) == {"": ""}:
            pass
        assert fields["event"] == "starred"


async def test_stream_ends_cleanly_when_the_server_shuts_down(rig: Rig) -> None:
    async with listening(rig) as answer:
        await rig.runtime.star("last", True)
        await asyncio.gather(rig.runner.cleanup(), block(answer))
        assert await answer.content.read() == b""


async def test_reader_that_has_gone_is_forgotten(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_events, "HEARTBEAT_S", 0.01)
    async with listening(rig):
        assert "1 readers" in repr(rig.runtime.telemetry.events)
    async with asyncio.timeout(5):
        while "0 readers" not in repr(rig.runtime.telemetry.events):
            await asyncio.sleep(0.01)


async def test_slow_reader_is_dropped_and_never_waited_for(rig: Rig) -> None:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(sock, rig.address)
        await loop.sock_sendall(sock, f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await loop.sock_recv(sock, 100)
        stream = rig.runtime.telemetry.events
        async with asyncio.timeout(20):
            while "1 readers" in repr(stream):
                for _ in range(BACKLOG // 5):
                    stream.publish("queued", "p", filling="x" * 500)
                await asyncio.sleep(0)
            assert not (await _rest(sock)).endswith(b"0\r\n\r\n"), "a cut stream looks whole"


async def _rest(sock: socket.socket) -> bytes:
    """What had arrived before the connection ended."""
    loop, seen = asyncio.get_running_loop(), b""
    with contextlib.suppress(ConnectionResetError):
        while more := await loop.sock_recv(sock, 1_000_000):
            seen += more
    return seen


async def test_stream_that_fails_in_the_middle_is_cut_and_not_ended(rig: Rig) -> None:
    async with listening(rig) as answer:
        await rig.runtime.star("x", True)
        await block(answer)
        rig.runtime.telemetry.events.publish("broken", None, value=object())
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.content.read()
