# Each request ends in exactly one record, and an error of ours harms nobody else.

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post
from rawsides.rig import becomes

from proxy.web.passage import Passage
from proxy.web.turn import Turn
from proxy.wire.relay import Relay

TOO_MANY = "429 Too Many Requests"


async def test_record_of_a_counted_request(start):
    rig = await start({"limit": 1})
    client, link = await rig.ask(
        post("/~proj/up/v1/messages?key=secret", b"{}", "X-Conversation-Id: c1", "Authorization: Bearer secret")
    )
    await link.until(b"{}")
    await link.send(begun(CHUNKED) + chunk(b"abc"))
    await client.until(b"abc\r\n")
    await link.send(LAST_CHUNK)
    record = await rig.record()
    assert (record.method, record.upstream, record.provider_id) == ("POST", "up", "up")
    assert record.path == "/v1/messages"
    assert (record.workspace, record.conversation, record.counted) == ("proj", "c1", True)
    assert (record.status, record.outcome, record.code) == (200, "completed", None)
    assert record.bytes == len(chunk(b"abc") + LAST_CHUNK)
    assert record.first_byte_ms is not None
    assert "secret" not in repr(record)


async def test_record_of_an_uncounted_request(rig):
    client, link = await rig.ask(get("/up/v1/models"))
    await link.head()
    await link.send(answer(b"ok"))
    await client.until(b"ok")
    record = await rig.record()
    assert (record.method, record.counted, record.outcome, record.bytes) == ("GET", False, "completed", 2)
    assert (record.waited_ms, record.held_ms, record.workspace) == (0, 0, None)
    assert (record.ticket_id, record.absorbed, record.refused) == (None, 0, None)


@pytest.mark.parametrize(
    ("message", "code", "path"),
    [
        (get("/nowhere/v1?key=secret"), "unknown_upstream", "/nowhere/v1"),
        (get("/~%ff/up/"), "bad_request", "/~%ff/up/"),
        (get("http://me:secret@nowhere/?key=secret"), "unknown_upstream", None),
    ],
)
async def test_record_of_a_refusal_says_what_was_asked_for(rig, message, code, path):
    client = await rig.client()
    await client.send(message)
    await client.until(b"}}")
    record = await rig.record()
    assert (record.outcome, record.code, record.provider_id, record.path) == ("refused", code, None, path)
    assert "secret" not in repr(record)
    assert record.status in (400, 404)


async def test_record_of_a_wait_and_a_hold(start):
    rig = await start({"limit": 1})
    holder, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    waiting = await rig.client()
    await waiting.send(post("/up/", b"{}"))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    began_at = rig.runtime.clock.now()
    await becomes(lambda: rig.runtime.clock.now() - began_at > 0.03)
    await link.send(answer(b"ok"))
    await holder.until(b"ok")
    await link.until(b"{}")
    await link.send(answer(b"ok"))
    await waiting.until(b"ok")
    await rig.at_rest()
    held, waited = sorted(rig.records, key=lambda record: record.waited_ms)
    assert held.held_ms >= 28
    assert waited.waited_ms >= 28 > held.waited_ms


async def test_record_of_absorbed_refusals_counts_them_and_has_the_ticket_s_id(start):
    rig = await start({"limit": 1, "absorb": 2, "auto_reduce": False, "pause": {"max": "20ms"}})
    client, link = await rig.ask(post("/up/", b"{}"))
    for code in ("concurrency_limit", "rate_limit_exceeded"):
        await link.until(b"{}")
        (slot,) = rig.scheduler.slots()
        await link.send(answer(f'{{"error":{{"code":"{code}"}}}}'.encode(), "Retry-After: 0", status=TOO_MANY))
    await link.until(b"{}")
    await link.send(answer(b"ok"))
    await client.until(b"ok")
    record = await rig.record()
    assert (record.status, record.absorbed, record.refused) == (200, 2, "rate")
    assert record.ticket_id == slot.id


async def test_record_of_a_refusal_by_the_provider_names_its_kind(start):
    rig = await start({"limit": 3})
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(answer(b'{"error":{"code":"insufficient_quota"}}', status=TOO_MANY))
    await client.until(b"}}")
    await rig.at_rest()
    inside = b'data: {"error":{"code":"concurrency_limit","message":"too many concurrent requests"}}\n\n'
    await client.send(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(begun(CHUNKED, "Content-Type: text/event-stream") + chunk(inside) + LAST_CHUNK)
    await client.until(LAST_CHUNK)
    first, second = await rig.record(1), await rig.record(2)
    assert (first.status, first.outcome, first.refused) == (429, "completed", "quota")
    assert (second.status, second.outcome, second.refused) == (200, "completed", "concurrency")


async def test_record_names_the_refusal_of_its_own_request_alone(start):
    rig = await start({"limit": 3})
    client, link = await rig.ask(post("/up/", b"{}"))
    for number, status in enumerate((TOO_MANY, "200 OK"), 1):
        await link.until(b"{}")
        await link.send(answer(b'{"error":{"code":"insufficient_quota"}}' if number == 1 else b"ok", status=status))
        await rig.record(number)
        if number == 1:
            await client.send(post("/up/", b"{}"))
    first, second = await rig.record(1), await rig.record(2)
    assert (first.refused, second.refused) == ("quota", None)


@pytest.mark.plain
async def test_error_of_ours_is_a_500_and_a_line_and_the_next_request_is_served(rig, monkeypatch):
    async def fail(self, share) -> None:
        raise RuntimeError("a fault")

    with monkeypatch.context() as patched:
        patched.setattr(Turn, "run", fail)
        client = await rig.client()
        await client.send(post("/up/", b"{}"))
        head = await client.head()
    assert head.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert b"X-Slotgate-Error: internal\r\n" in head
    assert b"a fault" not in await client.until(b"}}")
    record = await rig.record()
    assert (record.outcome, record.code) == ("failed", "internal")
    (line,) = rig.errors
    assert "a fault" in line
    rig.errors.clear()


@pytest.mark.plain
async def test_error_of_ours_in_the_middle_of_an_answer_cuts_it(rig, monkeypatch):
    def fail(self, exchange) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(Passage, "_end", fail)
    monkeypatch.setattr(Relay, "end", lambda self: None)
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(answer(b"ok") + b"")
    await client.end()  # not kept, since nobody knows what was sent
    assert len(rig.errors) == 1
    rig.errors.clear()


async def test_new_requests_during_a_drain_are_told_so(rig):
    client, link = await rig.ask(get("/up/1") + get("/up/2"))
    await link.head()
    rig.forwarder.draining = True
    rig.listener.draining = True
    await link.send(answer(b"ok"))
    head = await client.head()
    assert b"\r\nConnection: close\r\n" in head
    assert (await client.end())[0] == b"ok"


async def test_request_that_begins_during_a_drain_is_a_503(rig):
    client = await rig.client()
    rig.forwarder.draining = True
    await client.send(get("/up/"))
    head = await client.head()
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"X-Slotgate-Error: draining\r\n" in head


async def test_drain_closes_idle_connections_and_lets_the_others_end(rig):
    idle, half = await rig.client(), await rig.client()
    await half.send(b"GET /up/ HT")
    busy, link = await rig.ask(get("/up/"))
    await link.head()
    rig.listener.stop_accepting()
    assert await idle.ended() == "fin"
    assert await half.ended() == "fin"
    await link.send(answer(b"ok"))
    assert (await busy.end())[0].endswith(b"ok")


@pytest.mark.parametrize(("head", "how"), [(begun(CHUNKED), ("fin", "rst")), (begun(), ("rst",))])
async def test_end_of_the_grace_cuts_what_is_left(rig, head, how):
    """By RST where a FIN would look like the end."""
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(head + chunk(b"abc"))
    await client.until(chunk(b"abc"))
    rig.listener.stop_accepting()
    rig.listener.cut_all()
    assert await client.ended() in how
    assert await link.ended() in ("fin", "rst")


async def test_request_keeps_the_configuration_that_it_began_with(start):
    rig = await start({"limit": 1, "connect_timeout": "1s"})
    holder, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    waiting = await rig.client()
    await waiting.send(post("/up/waiting", b"{}"))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    await rig.reconfigure({"url": "http://127.0.0.1:9"})
    fresh = await rig.client()
    await fresh.send(get("/up/"))
    assert (await fresh.head()).startswith(b"HTTP/1.1 502 ")
    await link.send(answer(b"ok"))
    await holder.until(b"ok")
    again = await rig.upstream.link()
    assert f"Host: {rig.upstream.authority}\r\n".encode() in await again.until(b"{}")


async def test_reload_that_does_not_touch_an_upstream_keeps_its_connections(rig):
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    await link.send(answer(b"ok"))
    await client.until(b"ok")
    await rig.reconfigure({"limit": 7})
    await client.send(get("/up/2"))
    assert (await link.head()).startswith(b"GET /2 ")


async def test_reload_that_changes_an_upstream_closes_its_idle_connections(rig):
    client, link = await rig.ask(get("/up/1"))
    await link.head()
    await link.send(answer(b"ok"))
    await client.until(b"ok")
    await rig.reconfigure({"connect_timeout": "1s"})
    await client.send(get("/up/2"))
    assert (await (await rig.upstream.link()).head()).startswith(b"GET /2 ")
    assert await link.ended() in ("fin", "rst")


async def test_record_of_what_we_cut_ourselves_does_not_blame_the_client(rig):
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    await link.send(begun(CHUNKED) + chunk(b"abc"))
    await client.until(b"abc\r\n")
    rig.listener.cut_all()
    await client.end()
    assert (await rig.record()).outcome == "cut"


async def test_record_of_a_failure_says_why(rig):
    client, link = await rig.ask(post("/up/", b"{}"))
    await link.until(b"{}")
    link.close()
    await client.until(b"}}")
    record = await rig.record()
    assert (record.outcome, record.code) == ("failed", "upstream_bad_response")
    assert "ended before an answer" in record.why
