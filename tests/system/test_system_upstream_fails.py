# The upstream's endings: whatever it does, the client is told the truth and the slot goes on to the next
# (spec §6.3, §10).

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from blackbox.admin import part
from blackbox.client import CLEAN, CUT, RESET
from blackbox.rig import Rig
from blackbox.waiting import until

# Bound for as long as this module is there, so that nobody else gets these ports: at the one nothing listens, at the
# other something that never takes a connection.
NOBODY, SILENT = socket.socket(), socket.socket()
for sock in (NOBODY, SILENT):
    sock.bind(("127.0.0.1", 0))
UPSTREAMS = {
    "up": {"limit": 1, "cooldown": "0s"},
    "refusing": {"url": f"http://127.0.0.1:{NOBODY.getsockname()[1]}", "limit": 1, "cooldown": "0s"},
    "silent": {
        "url": f"http://127.0.0.1:{SILENT.getsockname()[1]}",
        "limit": 1,
        "cooldown": "0s",
        "connect_timeout": "1s",
    },
    "nameless": {"url": "http://nowhere.invalid", "limit": 1, "cooldown": "0s"},
}


@pytest_asyncio.fixture(loop_scope="session")
async def silent() -> AsyncIterator[None]:
    """A listener whose backlog is full: the kernel drops what would connect."""
    SILENT.listen(0)
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(SILENT.getsockname())
        yield


async def the_next_one_is_served(rig: Rig) -> None:
    call = await rig.up.call()
    assert call.name == "next"
    assert rig.up.peak == 1
    await call.answer()


@pytest.mark.parametrize("how", ["fin", "rst"])
@pytest.mark.parametrize("framing", ["chunked", "length"])
async def test_answer_cut_in_the_middle_is_cut_for_the_client_too(rig: Rig, how: str, framing: str) -> None:
    client = await rig.ask("a")
    call = await rig.up.call()
    await rig.line_up("next")
    if framing == "chunked":
        call.begin()
        call.event("one")
    else:
        call.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this")
    head = await client.head()
    await asyncio.sleep(0.05)
    call.cut(how)
    body, ended = await client.body(head)
    assert ended in (CUT, RESET)
    assert body in (b"data: one\n\n", b"only this")
    await the_next_one_is_served(rig)


async def test_answer_that_ends_with_its_connection_is_whole(rig: Rig) -> None:
    client = await rig.ask("a")
    call = await rig.up.call()
    await rig.line_up("next")
    call.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil I close")
    await call.drained()
    call.cut("fin")
    answer = await client.answer()
    assert (answer.status, answer.body, answer.ended) == (200, b"until I close", CLEAN)
    await the_next_one_is_served(rig)


async def test_reset_of_an_answer_without_framing_is_a_reset_for_the_client(rig: Rig) -> None:
    client = await rig.ask("a")
    call = await rig.up.call()
    call.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhalf")
    head = await client.head()
    await asyncio.sleep(0.05)
    call.cut("rst")
    _, ended = await client.body(head)
    assert ended == RESET or head.chunked


@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_connection_closed_before_an_answer_is_502(rig: Rig, how: str) -> None:
    client = await rig.ask("a")
    call = await rig.up.call()
    await rig.line_up("next")
    call.cut(how)
    answer = await client.answer()
    assert (answer.status, answer.code) == (502, "upstream_bad_response")
    assert rig.up.names.count("a") == 1, "a request was sent twice on fresh connections"
    await the_next_one_is_served(rig)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 40_000 + b"\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["no HTTP", "two lengths", "long header"],
)
async def test_answer_that_cannot_be_read_is_502_and_its_connection_is_closed(rig: Rig, garbage: bytes) -> None:
    client = await rig.ask("a")
    call = await rig.up.call()
    await rig.line_up("next")
    call.raw(garbage)
    answer = await client.answer()
    assert (answer.status, answer.code) == (502, "upstream_bad_response")
    await call.stopped()
    await the_next_one_is_served(rig)


async def test_refused_connection_is_502_and_skips_the_cooldown(rig: Rig) -> None:
    """Each of them would rest for ten minutes had it reached the upstream."""
    await rig.cooldown(600_000, rig.provider_of("refusing"))
    for _ in range(3):
        answer = await (await rig.ask(target="/refusing/v1/messages")).answer()
        assert (answer.status, answer.code) == (502, "upstream_unreachable")
    await rig.in_flight(0, rig.provider_of("refusing"))


async def test_unknown_host_name_is_502_and_skips_the_cooldown(rig: Rig) -> None:
    await rig.cooldown(600_000, rig.provider_of("nameless"))
    for _ in range(2):
        answer = await (await rig.ask(target="/nameless/v1/messages")).answer()
        assert (answer.status, answer.code) == (502, "upstream_unreachable")


@pytest.mark.usefixtures("silent")
async def test_connection_that_never_comes_about_is_504_and_skips_the_cooldown(rig: Rig) -> None:
    await rig.cooldown(600_000, rig.provider_of("silent"))
    first = await rig.ask(target="/silent/v1/messages")
    second = await rig.ask(target="/silent/v1/messages")
    for client in (first, second):
        answer = await client.answer()
        assert (answer.status, answer.code) == (504, "upstream_timeout")
    await rig.in_flight(0, rig.provider_of("silent"))


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_client_that_leaves_while_connecting_frees_its_slot_without_a_rest(rig: Rig, how: str) -> None:
    provider = rig.provider_of("silent")
    await rig.cooldown(600_000, provider)
    client = await rig.ask(target="/silent/v1/messages")
    await rig.in_flight(1, provider)
    shown = [await admin.get(f"/concurrency/slots/{part(provider)}") for admin in rig.proxy.admins]
    assert "connecting" in {reply.json["slots"][0]["phase"] for reply in shown}, "who holds it knows"
    client.leave(how)
    await rig.in_flight(0, provider)


async def test_answer_without_a_body_frees_the_slot(rig: Rig) -> None:
    client = await rig.ask("a")
    call = await rig.up.call()
    await rig.line_up("next")
    call.raw(b"HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n")
    await call.end()
    assert (await client.answer()).status == 204
    await the_next_one_is_served(rig)


async def test_answer_that_comes_before_the_body_was_taken_frees_the_slot(rig: Rig) -> None:
    client = await rig.ask("a", body=b"x" * 4_000_000)

    async def begun() -> bool:
        return any(connection.calls for connection in rig.up.connections)

    await until(begun)
    (call,) = [call for connection in rig.up.connections for call in connection.calls]
    await call.answer(413, b"too much", (("Connection", "close"),))
    answer = await client.answer()
    assert (answer.status, answer.code) == (413, None)
    await rig.at_rest()
