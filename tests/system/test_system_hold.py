# A slot is held until the last byte of the answer, by one holder, once (spec §6.3).

import pytest
from blackbox.client import CLEAN
from blackbox.rig import Rig
from blackbox.waiting import never, until


async def test_next_request_goes_only_after_the_last_byte_of_the_stream(rig: Rig) -> None:
    """EARLY-01: neither the head nor the events free the slot, only the end does."""
    await rig.ask("a")
    first = await rig.up.call()
    first.begin()
    await rig.line_up("b")
    for number in range(5):
        first.event(f"event {number}")
        await never(lambda: len(rig.up.calls) > 1, during=0.05, what="b went while a was streaming")
    await first.finish()
    second = await rig.up.call()
    assert second.name == "b"
    assert first.ended_at is not None
    assert second.arrived_at >= first.ended_at
    await second.answer()


async def test_every_event_reaches_the_client_the_moment_it_is_said(rig: Rig) -> None:
    client = await rig.ask("a")
    call = await rig.up.call()
    call.begin()
    assert (await client.head()).status == 200
    for number in range(3):
        call.event(str(number))
        assert await client.until(b"\n\n") == b"9\r\ndata: %d\n\n" % number
        await client.until(b"\r\n")
    await call.finish()
    assert await client.until(b"0\r\n\r\n") == b"0\r\n\r\n"


async def test_one_request_is_one_slot(rig: Rig) -> None:
    """DBL-07, first half: a stream counts once."""
    await rig.limit(2)
    await rig.ask("a")
    call = await rig.up.call()
    call.begin()
    call.event("x")
    assert (await rig.status())["inFlight"] == 1
    assert len((await rig.slots())["slots"]) == 1
    await call.finish()


@pytest.mark.one_process(reason="one that goes to another replica does not use its connection")
async def test_request_sent_again_on_a_fresh_connection_is_still_one_slot(rig: Rig) -> None:
    """DBL-07, second half: the pooled connection turned out closed before a byte, so it was sent once more."""
    await rig.limit(2)
    client = await rig.ask("a")
    await rig.finish(await rig.up.call(), client)
    client = await rig.ask("b")
    stale = await rig.up.call()
    if stale.connection is not rig.up.calls[0].connection:
        pytest.fail("the connection was not used again, so nothing was tested")
    stale.cut("fin")
    again = await rig.up.call()
    assert (again.name, again.body) == ("b", stale.body)
    assert (await rig.status())["inFlight"] == 1
    again.cut("fin")
    answer = await client.answer()
    assert (answer.status, answer.code) == (502, "upstream_bad_response")
    assert len(rig.up.calls) == 3


async def test_status_lists_every_holder_with_what_it_does(rig: Rig) -> None:
    """LEAK-14, first half: who holds, since when, how far it got."""
    await rig.limit(2)
    await rig.ask("a", workspace="w", conversation="c", started_at=1_700_000_000_000, target="/up/v1/messages?secret=1")
    call = await rig.up.call()
    await rig.ask("b")
    await rig.up.call()
    await rig.line_up("d", workspace="w2", conversation="c2", started_at=1_700_000_100_000)
    answer = await rig.slots()
    first, second = answer["slots"]
    assert (first["workspaceId"], first["conversationId"]) == ("w", "c")
    assert (first["promptStartedAt"], first["path"]) == (1_700_000_000_000, "/v1/messages")
    assert first["phase"] == "waiting"
    assert (second["workspaceId"], second["conversationId"]) == ("default", None)
    assert first["id"] != second["id"]
    (waiter,) = answer["waiters"]
    assert (waiter["position"], waiter["workspaceId"], waiter["conversationId"]) == (1, "w2", "c2")
    assert (waiter["starred"], waiter["promptStartedAt"]) == (False, 1_700_000_100_000)
    assert waiter["waitingMs"] >= 0
    call.begin()
    call.say(b"x" * 1000)

    async def streaming() -> bool:
        slot = (await rig.slots())["slots"][0]
        return bool(slot["phase"] == "streaming" and slot["bytes"] >= 1000 and slot["lastByteAt"] >= slot["grantedAt"])

    await until(streaming)
    await call.finish()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/messages", b'{"stream":true}'),
        ("POST", "/v1/messages", b""),
        ("POST", "/v1/messages/count_tokens", b"{}"),
        ("POST", "/nowhere", b"{}"),
        ("GET", "/v1/models", None),
        ("HEAD", "/", None),
        ("OPTIONS", "/v1/messages", None),
    ],
)
@pytest.mark.parametrize("how", ["length", "stream", "none"])
async def test_sixth_request_of_any_kind_is_served_like_the_first(
    rig: Rig, method: str, path: str, body: bytes | None, how: str
) -> None:
    """LEAK-03: one kind of traffic that forgets its release turns the limit into a lifetime quota."""
    await rig.limit(5)
    client = await rig.client()
    for _ in range(6):
        await client.request(method, f"/up{path}", body=body)
        call = await rig.up.call()
        assert call.head.method == method
        if how == "stream" and method != "HEAD":
            call.begin()
            call.event("one")
            await call.finish()
        elif how == "length" and method != "HEAD":
            await call.answer(404 if path == "/nowhere" else 200)
        else:
            call.raw(b"HTTP/1.1 204 No Content\r\n\r\n")
            await call.end()
        assert (await client.answer()).ended == CLEAN
        await rig.in_flight(0)
