# What the proxy itself has to say in a socket: an error as the Responses protocol has it, and the socket stays open.

import asyncio

import pytest
from rawsides.answers import answering, held, waiting
from rawsides.frames import BINARY, PING, TEXT, create, event, frame, hear, said, socket, text
from rawsides.rig import becomes

from proxy.web.socket.socket import REST_S, UNTAKEN_MAX


async def told(client):
    """The code of a refusal, after its form was looked at."""
    heard = await hear(client)
    message = heard.json
    assert (heard.opcode, heard.fin, heard.masked, message["type"]) == (TEXT, True, False, "error")
    assert set(message["error"]) == {"type", "code", "message"}
    assert message["error"]["message"].startswith("slotgate: ")
    assert message["headers"]["x-slotgate-error"] == message["error"]["code"]
    return message


async def goes_on(rig, client, link):
    """The socket is still one."""
    await client.send(said(b"", PING))
    assert (await hear(link)).opcode == PING
    assert rig.forwarder._budget.used == 0


async def one_waits(start, entry=None, **options):
    rig = await start({"limit": 1, **(entry or {})}, **options)
    running, link = await socket(rig)
    await answering(running, link)
    client, other = await socket(rig)
    await client.send(create(input="waits"))
    return rig, link, client, other


async def test_wait_that_is_over(start):
    rig, _, client, other = await one_waits(start, queue={"max_wait": "100ms"})
    message = await told(client)
    assert (message["status"], message["error"]["code"]) == (503, "queue_timeout")
    assert 1 <= int(message["headers"]["retry-after"]) <= 59
    await goes_on(rig, client, other)
    record = await rig.record()
    assert (record.outcome, record.code, record.status, record.counted) == ("refused", "queue_timeout", 503, True)
    assert record.waited_ms >= 90


async def test_queue_that_is_full(start):
    rig, _, _, _ = await one_waits(start, queue={"max_waiting": 1})
    await waiting(rig)
    third, link = await socket(rig)
    await third.send(create())
    assert (await told(third))["error"]["code"] == "queue_full"
    await third.send(said(b"", PING))
    assert (await hear(link)).opcode == PING


async def test_pause_that_outlasts_the_patience(start):
    rig, _, client, other = await one_waits(start, queue={"max_wait": "1m"})
    await waiting(rig)
    await rig.runtime.pause("up", 3600.0)
    assert (await told(client))["error"]["code"] == "paused"
    await goes_on(rig, client, other)


async def test_waiter_that_an_operator_drops(start):
    rig, _, client, other = await one_waits(start)
    await waiting(rig)
    (waiter,) = rig.scheduler.waiting.ordered()
    assert await rig.runtime.remove("up", waiter.id)
    assert (await told(client))["error"]["code"] == "dropped"
    await goes_on(rig, client, other)


async def test_waiters_at_the_end_of_the_grace(start):
    rig, _, client, _ = await one_waits(start)
    await waiting(rig)
    rig.admission.apply(rig.scheduler.drop_all("draining"))
    assert (await told(client))["error"]["code"] == "draining"


async def test_what_lies_behind_a_refused_message_goes_on(start):
    rig, _, client, other = await one_waits(start, queue={"max_wait": "100ms"})
    await client.send(said(b"behind", BINARY))
    await told(client)
    assert (await hear(other)).payload == b"behind"
    assert rig.scheduler.held == 1


LARGE = text({"type": "response.create", "input": "x" * 5000})
KINDS = {
    "one frame": said(LARGE),
    "fragments": said(LARGE[:900], fin=False) + said(b"", PING) + said(LARGE[900:], 0),
    "small fragments": said(LARGE[:100], fin=False)
    + b"".join(said(LARGE[at : at + 100], 0, fin=False) for at in range(100, 5000, 100))
    + said(b"", 0),
    "binary": said(LARGE, BINARY),
}


@pytest.mark.parametrize("raw", KINDS.values(), ids=KINDS.keys())
async def test_message_that_is_too_large_is_refused_and_passed_over(start, raw):
    rig = await start({"limit": 1}, queue={"body_limit": "1KiB"})
    client, link = await socket(rig)
    await client.send(raw)
    message = await told(client)
    assert (message["status"], message["error"]["code"]) == (413, "body_too_large")
    await client.send(said(b"next", BINARY))
    heard = await hear(link)
    if heard.opcode == PING:
        heard = await hear(link)
    assert heard.payload == b"next"
    assert rig.forwarder._budget.used == 0
    assert [each.code for each in rig.records] == ["body_too_large"]


async def test_message_that_is_announced_too_large_is_refused_before_it_has_come(start):
    rig = await start(queue={"body_limit": "1KiB"})
    client, _ = await socket(rig)
    await client.send(b"\x81\xff" + (2**40).to_bytes(8, "big") + b"mask")
    assert (await told(client))["error"]["code"] == "body_too_large"


async def test_messages_that_wait_share_the_memory_for_bodies(start):
    rig = await start({"limit": 1}, queue={"body_budget": "4KiB", "body_limit": "4KiB"})
    running, link = await socket(rig)
    await answering(running, link)
    client, other = await socket(rig)
    await client.send(create(input="x" * 3000))
    await waiting(rig)
    third, side = await socket(rig)
    await third.send(create(input="x" * 3000))
    assert (await told(third))["error"]["code"] == "body_budget"
    await link.send(event("completed", "r1"))
    assert len((await hear(other)).payload) > 3000
    await becomes(lambda: rig.forwarder._budget.used == 0)
    await third.send(said(b"x" * 3000, BINARY))
    assert len((await hear(side)).payload) == 3000


async def test_flood_of_empty_frames_is_bounded(start):
    rig = await start(queue={"body_budget": "4KiB", "body_limit": "4KiB"})
    client, _ = await socket(rig)
    await client.send(said(b"", TEXT, fin=False) + said(b"", 0, fin=False) * 2000)
    assert (await told(client))["error"]["code"] in ("body_budget", "body_too_large")


async def test_words_of_ours_stand_between_messages_of_the_upstream(start):
    rig = await start({"limit": 2}, queue={"max_waiting": 1, "body_limit": "4KiB"})
    client, link = await socket(rig)
    await answering(client, link)
    whole = event("output_text.delta", delta="x" * 300)
    fragments = frame(b'{"type":', TEXT, fin=False), frame(b'"x"}', 0)
    await link.send(whole[:100])
    assert await client.exactly(100) == whole[:100]
    await client.send(said(b"x" * 5000))
    await rig.record()
    await link.send(whole[100:] + fragments[0])
    assert await client.exactly(len(whole) - 100) == whole[100:]
    assert (await told(client))["error"]["code"] == "body_too_large"
    assert (await hear(client)).raw == fragments[0]
    await client.send(said(b"x" * 5000))
    await rig.record(2)
    await link.send(fragments[1] + whole)
    assert (await hear(client)).raw == fragments[1]
    assert (await told(client))["error"]["code"] == "body_too_large"
    assert (await hear(client)).raw == whole
    await link.send(event("completed", "r1"))
    await held(rig, 0)


FLOODS = {
    "a full queue": ({"max_waiting": 1}, create(), "queue_full"),
    "large messages": ({"body_limit": "1KiB"}, said(LARGE), "body_too_large"),
}


@pytest.mark.parametrize(("queue", "raw", "code"), FLOODS.values(), ids=FLOODS)
async def test_flood_of_messages_that_are_refused_is_heard_one_after_the_other(start, queue, raw, code):
    rig, _, _, _ = await one_waits(start, queue=queue)
    await waiting(rig)
    before = len(rig.records)
    client, link = await socket(rig)
    await client.send(raw * 8 + said(b"", PING))
    assert (await told(client))["error"]["code"] == code
    assert len(rig.records) - before < 8, "others have their turn between them"
    for _ in range(7):
        assert (await told(client))["error"]["code"] == code
    assert (await hear(link)).opcode == PING


async def test_messages_that_wait_behind_a_refused_one_are_refused_one_after_the_other(start):
    rig, _, client, other = await one_waits(start, queue={"max_wait": "1m"})
    await waiting(rig)
    await client.send(create() * 8 + said(b"", PING))
    assert (await hear(other)).opcode == PING
    await rig.runtime.pause("up", 3600.0)
    assert (await told(client))["error"]["code"] == "paused"
    assert len(rig.records) < 9
    for _ in range(8):
        assert (await told(client))["error"]["code"] == "paused"


async def test_client_that_takes_no_refusal_is_heard_no_further(start, monkeypatch):
    rig, _, _, _ = await one_waits(start, queue={"max_waiting": 1})
    await waiting(rig)
    client, _ = await socket(rig)
    monkeypatch.setattr("proxy.web.socket.socket.UNTAKEN_MAX", -1)
    await client.send(create() * 3)
    await told(client)
    await asyncio.sleep(10 * REST_S)
    assert client.unheard() == 0
    monkeypatch.setattr("proxy.web.socket.socket.UNTAKEN_MAX", UNTAKEN_MAX)
    await told(client)
    await told(client)


async def test_client_that_leaves_in_the_rest_after_a_refusal_is_missed(start):
    rig, _, _, _ = await one_waits(start, queue={"max_waiting": 1})
    await waiting(rig)
    client, link = await socket(rig)
    await client.send(create() * 30)
    await told(client)
    client.close()
    assert (await link.end())[1] in ("fin", "rst")
