# A refusal inside an answer that began as a success: the queue learns of it at once, the client gets every byte as it
# came (spec §7.1).

import gc
import gzip
import weakref
import zlib

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post
from rawsides.rig import becomes

from proxy.ratelimits import classify
from proxy.web import judge, success

BODY = b'{"stream":true}'
SSE = "Content-Type: text/event-stream"
JSON = "Content-Type: application/json"
DELTA = b'event: content_block_delta\ndata: {"delta":{"text":"error, or a rate limit"}}\n\n'
RATE = b'event: error\ndata: {"type":"error","error":{"type":"rate_limit_error","message":"Try again in 60 s"}}\n\n'
OVERLOAD = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
QUOTA = b'data: {"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}\n\n'
NO_LIMIT = b'data: {"error":{"message":"no limit"}}\n\n'
LIMIT = {"limit": 3, "pause": {"default": "40s"}}


async def streaming(start, *fields, **options):
    """A stream that has begun, at its client too."""
    rig = await start({**LIMIT, **options})
    client, link = await rig.ask(post("/up/", BODY))
    await link.until(BODY)
    head = begun(CHUNKED, *(fields or (SSE,)))
    await link.send(head)
    assert await client.exactly(len(head)) == head
    return rig, client, link


def seen(rig):
    last = rig.scheduler.last_rate_limit
    return None if last is None else (last.status, last.kind)


async def passes(client, link, *parts):
    """Each part arrives unchanged before the next one is sent."""
    for part in parts:
        await link.send(part)
        assert await client.exactly(len(part)) == part


async def test_error_in_a_stream_counts_while_the_stream_stays_open(start):
    rig, client, link = await streaming(start)
    await passes(client, link, chunk(DELTA), chunk(RATE))
    await becomes(lambda: seen(rig) == (200, "rate"))
    assert (rig.scheduler.limit, rig.scheduler.auto_reduced_from) == (2, 3)
    assert 55 < rig.scheduler.paused_until_at - rig.runtime.clock.now() <= 60
    assert rig.scheduler.held == 1
    await passes(client, link, chunk(DELTA), LAST_CHUNK)
    assert (await rig.record()).outcome == "completed"


def begins(rig):
    """How often the queue hears that an answer has begun well."""
    heard = []
    answered = rig.admission.answered
    rig.admission.answered = lambda *args, **kwargs: (heard.append(kwargs["success"]), answered(*args, **kwargs))
    return heard


@pytest.mark.plain
async def test_answer_has_begun_when_its_first_frame_is_no_refusal(start):
    """The probe of a pause, and what the provider is seen to serve, wait for that: a head proves nothing."""
    rig, client, link = await streaming(start)
    heard = begins(rig)
    await passes(client, link, chunk(DELTA))
    assert heard == [True]
    await passes(client, link, chunk(DELTA), LAST_CHUNK)
    await rig.record()
    assert heard == [True]


@pytest.mark.plain
async def test_answer_that_is_a_refusal_has_not_begun_well(start):
    rig, client, link = await streaming(start)
    heard = begins(rig)
    await passes(client, link, chunk(RATE[:30]), chunk(RATE[30:]), LAST_CHUNK)
    await rig.record()
    assert (heard, seen(rig)) == ([], (200, "rate"))


@pytest.mark.plain
@pytest.mark.parametrize("parts", [(chunk(b"data: 1"), chunk(b"\n\n")), (chunk(b"data: 1"), LAST_CHUNK), (LAST_CHUNK,)])
async def test_answer_in_odd_pieces_begins_once(start, parts):
    rig, client, link = await streaming(start)
    heard = begins(rig)
    await passes(client, link, *parts)
    await becomes(lambda: heard == [True])


@pytest.mark.plain
@pytest.mark.parametrize(("kind", "with_head"), [(SSE, []), (JSON, []), ("Content-Type: image/png", [True])])
async def test_head_of_what_is_watched_says_nothing(start, kind, with_head):
    rig = await start(LIMIT)
    client, link = await rig.ask(post("/up/", BODY))
    await link.until(BODY)
    heard = begins(rig)
    head = begun(CHUNKED, kind)
    await link.send(head)
    assert await client.exactly(len(head)) == head
    assert heard == with_head
    await passes(client, link, chunk(DELTA), LAST_CHUNK)
    await rig.record()
    assert heard == [True]


@pytest.mark.plain
@pytest.mark.parametrize("kind", [SSE, JSON])
async def test_end_that_comes_alone_is_no_second_piece(start, kind):
    rig, client, link = await streaming(start, kind)
    heard = begins(rig)
    await passes(client, link, chunk(QUOTA.rstrip() if kind == SSE else b'{"error":{"code":429}}'), LAST_CHUNK)
    await becomes(lambda: seen(rig) is not None)
    assert heard == []


@pytest.mark.plain
async def test_answer_has_begun_with_its_second_piece_at_the_latest(start):
    rig, client, link = await streaming(start)
    heard = begins(rig)
    await passes(client, link, chunk(b"data: 1"))
    assert heard == []
    await passes(client, link, chunk(b"2"))
    assert heard == [True]
    await passes(client, link, LAST_CHUNK)


@pytest.mark.plain
async def test_answer_has_begun_with_an_error_that_is_no_refusal(start):
    rig, client, link = await streaming(start)
    heard = begins(rig)
    await passes(client, link, chunk(NO_LIMIT))
    assert heard == [True]
    await passes(client, link, LAST_CHUNK)


@pytest.mark.plain
@pytest.mark.parametrize(("looked_at", "kind"), [(2, "rate"), (1, None)])
async def test_only_so_many_errors_that_are_no_refusals_are_looked_at(start, monkeypatch, looked_at, kind):
    monkeypatch.setattr(success, "LOOKED_AT_MAX", looked_at * success._LEAST_COST)
    rig, client, link = await streaming(start)
    heard = begins(rig)
    await passes(client, link, chunk(NO_LIMIT), chunk(RATE), LAST_CHUNK)
    await rig.record()
    assert heard == [True]
    assert seen(rig) == (None if kind is None else (200, kind))


async def test_long_error_counts_for_its_length(start, monkeypatch):
    monkeypatch.setattr(success, "LOOKED_AT_MAX", 3 * success._LEAST_COST)
    rig, client, link = await streaming(start)
    long = b'data: {"error":{"message":"' + b"x" * 4 * success._LEAST_COST + b'"}}\n\n'
    await passes(client, link, chunk(long), chunk(RATE), LAST_CHUNK)
    await rig.record()
    assert seen(rig) is None


async def test_answer_that_was_watched_is_known_to_be_whole(start):
    rig, client, link = await streaming(start)
    (slot,) = rig.scheduler.slots()
    relay = slot.holder.relay
    await passes(client, link, chunk(DELTA), LAST_CHUNK)
    await rig.record()
    assert relay.whole


@pytest.mark.plain
async def test_answer_that_cannot_be_watched_has_begun_with_its_head(start):
    rig, client, link = await streaming(start, "Content-Type: image/png")
    heard = begins(rig)
    await passes(client, link, chunk(RATE), LAST_CHUNK)
    await rig.record()
    assert (heard, seen(rig)) == ([], None)  # it was told before


@pytest.mark.plain
async def test_one_answer_is_one_refusal(start):
    rig, client, link = await streaming(start, auto_reduce=False)
    told = []
    limited = rig.admission.rate_limited
    rig.admission.rate_limited = lambda *args, **kwargs: (told.append(kwargs["kind"]), limited(*args, **kwargs))
    await passes(
        client, link, chunk(b'data: {"error":{"message":"no limit"}}\n\n'), chunk(OVERLOAD + RATE), chunk(RATE)
    )
    await passes(client, link, LAST_CHUNK)
    await rig.record()
    assert told == ["overload"]


async def test_each_frame_is_looked_at_once(start, monkeypatch):
    looked = []

    def nothing(status, headers, body, **about):
        looked.append(body)
        return classify(status, [], b"", now=0)

    monkeypatch.setattr(judge, "classify", nothing)
    _, client, link = await streaming(start)
    await passes(client, link, chunk(RATE), chunk(DELTA), chunk(QUOTA) + chunk(OVERLOAD.rstrip()), LAST_CHUNK)
    assert looked == [RATE.rstrip(), QUOTA.rstrip(), OVERLOAD.rstrip()]


async def test_payload_is_collected_only_while_it_is_read(start):
    rig, client, link = await streaming(start)
    (slot,) = rig.scheduler.slots()
    body = slot.holder.exchange._body
    await passes(client, link, chunk(DELTA))
    assert body.decoded == []
    await passes(client, link, chunk(RATE))
    assert body.decoded is None
    await passes(client, link, LAST_CHUNK)


async def test_payload_of_what_is_not_watched_is_not_collected(start):
    rig, client, link = await streaming(start, "Content-Type: image/png")
    (slot,) = rig.scheduler.slots()
    assert slot.holder.exchange._body.decoded is None
    await passes(client, link, chunk(RATE), LAST_CHUNK)


@pytest.mark.plain
async def test_what_the_last_bytes_say_is_told_with_them(start):
    """Before anybody hears of the end, who might send the next request."""
    rig, client, link = await streaming(start)
    (slot,) = rig.scheduler.slots()
    exchange = slot.holder.exchange
    over = []
    limited = rig.admission.rate_limited
    rig.admission.rate_limited = lambda *args, **about: (over.append(exchange.ended.done()), limited(*args, **about))
    await passes(client, link, chunk(RATE.rstrip()), LAST_CHUNK)
    assert over == [False]


async def test_each_byte_may_come_alone(start):
    rig, client, link = await streaming(start)
    whole = chunk(DELTA) + chunk(RATE) + LAST_CHUNK
    for at in range(len(whole)):
        await passes(client, link, whole[at : at + 1])
    assert seen(rig) == (200, "rate")


@pytest.mark.parametrize("size", [1, 5, 40])
async def test_frame_may_lie_in_many_chunks(start, size):
    rig, client, link = await streaming(start)
    await passes(client, link, b"".join(chunk(RATE[at : at + size]) for at in range(0, len(RATE), size)))
    await becomes(lambda: seen(rig) == (200, "rate"))
    await passes(client, link, LAST_CHUNK)


async def test_error_may_come_in_one_piece_with_the_head(start):
    rig = await start(LIMIT)
    client, link = await rig.ask(post("/up/", BODY))
    await link.until(BODY)
    whole = begun(CHUNKED, SSE) + chunk(RATE) + LAST_CHUNK
    await link.send(whole)
    assert await client.exactly(len(whole)) == whole
    assert seen(rig) == (200, "rate")
    await client.send(get("/up/next"))  # the connections are as good as before
    assert (await link.head()).startswith(b"GET /next ")


@pytest.mark.parametrize(
    "refusal",
    [
        answer(b'{"base_resp":{"status_code":1002,"status_msg":"rate limit"}}', JSON),
        answer(b'[{"a":1}\n,\r\n{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]', JSON),
        answer(b'{"error":{"code":429,"message":"Rate limited"}}', JSON, status="201 Created"),
        answer(gzip.compress(b'{"error":{"code":429}}'), JSON, "Content-Encoding: gzip"),
        answer(
            zlib.compress(gzip.compress(b'{"error":{"code":429}}')),
            "Content-Encoding: gzip",
            JSON,
            "Content-Encoding: deflate",
        ),
        answer(RATE.rstrip(), SSE),
        begun(CHUNKED, JSON) + chunk(b'{"error":{"co') + chunk(b'de":429}}') + LAST_CHUNK,
    ],
    ids=["minimax", "gemini", "created", "gzip", "two codings", "without an end", "chunked"],
)
async def test_whole_answer_may_be_an_error(start, refusal):
    rig = await start(LIMIT)
    client, link = await rig.ask(post("/up/", BODY))
    await link.until(BODY)
    await link.send(refusal)
    assert await client.exactly(len(refusal)) == refusal
    await becomes(lambda: seen(rig) is not None)
    assert seen(rig)[1] == "rate"
    assert rig.scheduler.limit == 2


async def test_answer_framed_by_its_end_is_watched_too(start):
    rig = await start(LIMIT)
    client, link = await rig.ask(post("/up/", BODY))
    await link.until(BODY)
    await link.send(begun(SSE) + RATE.rstrip())
    link.close()
    assert await client.end() == (
        begun(SSE).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + RATE.rstrip(),
        "fin",
    )
    await becomes(lambda: seen(rig) == (200, "rate"))


async def test_stream_that_is_cut_says_what_came_of_it(start):
    rig, client, link = await streaming(start)
    await passes(client, link, chunk(RATE.rstrip()))
    assert seen(rig) is None
    link.close()
    assert (await rig.record()).outcome == "cut"
    assert seen(rig) == (200, "rate")


async def test_client_that_leaves_after_the_error_leaves_it_behind(start):
    rig, client, link = await streaming(start)
    await passes(client, link, chunk(RATE.rstrip()))
    client.close()
    await link.end()
    await rig.record()
    assert seen(rig) == (200, "rate")


async def test_http_1_0_client_is_read_along_too(start):
    rig = await start(LIMIT)
    client, link = await rig.ask(post("/up/", BODY).replace(b"HTTP/1.1", b"HTTP/1.0"))
    await link.until(BODY)
    await link.send(begun(CHUNKED, SSE) + chunk(DELTA) + chunk(RATE) + LAST_CHUNK)
    data, _ = await client.end()
    assert data.endswith(b"\r\n\r\n" + DELTA + RATE)
    assert seen(rig) == (200, "rate")


async def test_overload_without_a_wait_changes_nothing_and_is_recorded(start):
    rig, client, link = await streaming(start)
    await passes(client, link, chunk(OVERLOAD), LAST_CHUNK)
    assert seen(rig) == (200, "overload")
    assert (rig.scheduler.limit, rig.scheduler.paused_until_at) == (3, None)


async def test_quota_changes_nothing_and_is_recorded(start):
    rig, client, link = await streaming(start)
    await passes(client, link, chunk(QUOTA), LAST_CHUNK)
    assert seen(rig) == (200, "quota")
    assert (rig.scheduler.limit, rig.scheduler.paused_until_at) == (3, None)


@pytest.mark.parametrize(
    "whole",
    [
        begun(CHUNKED, SSE) + chunk(DELTA) + chunk(b'data: {"response":{"error":null}}\n\n') + LAST_CHUNK,
        answer(RATE, "Content-Type: image/png"),
        answer(RATE, SSE, status="404 Not Found"),
        answer(RATE, SSE, status="302 Found"),
        answer(b"x" * 300_000, JSON),
        answer(b"no gzip", SSE, "Content-Encoding: gzip"),
        begun(CHUNKED, SSE, "Content-Encoding: what") + chunk(RATE) + LAST_CHUNK,
    ],
    ids=["text", "image", "404", "302", "long", "broken gzip", "unknown coding"],
)
async def test_what_says_no_limit_is_none(start, whole):
    rig = await start(LIMIT)
    client, link = await rig.ask(post("/up/", BODY))
    await link.until(BODY)
    await link.send(whole)
    assert await client.exactly(len(whole)) == whole
    await rig.record()
    assert seen(rig) is None


async def test_error_is_told_although_its_slot_was_taken_back(start):
    """Its provider said it all the same."""
    rig, client, link = await streaming(start, auto_reduce=False)
    (slot,) = rig.scheduler.slots()
    rig.scheduler.reclaim(slot, rig.runtime.clock.now())  # whoever holds it has not heard of it yet
    await passes(client, link, chunk(RATE))
    await becomes(lambda: seen(rig) == (200, "rate"))
    assert rig.scheduler.held == 0
    await passes(client, link, LAST_CHUNK)


async def test_uncounted_answer_is_not_watched(start):
    rig = await start(LIMIT)
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(answer(RATE, SSE))
    await client.until(RATE)
    assert seen(rig) is None


@pytest.mark.plain
async def test_what_watches_goes_with_the_answer(start, monkeypatch):
    """No ring of references: memory is given back at once."""
    made = []

    class Marked(success.Success):
        def __init__(self, *args, **more) -> None:
            super().__init__(*args, **more)
            made.append(weakref.ref(self))

    monkeypatch.setattr("proxy.web.judge.Success", Marked)
    gc.collect()
    gc.disable()
    try:
        rig, client, link = await streaming(start)
        await passes(client, link, chunk(DELTA), LAST_CHUNK)
        await rig.record()
        await rig.at_rest()
        assert [each() for each in made] == [None]
    finally:
        gc.enable()
