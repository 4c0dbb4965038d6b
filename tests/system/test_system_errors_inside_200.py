# A refusal that is told inside an answer which began with 200: the status shows what follows from it while the stream
# is still open, and the client has every byte as the upstream sent it (spec §7.1 to §7.3).

import time
import zlib

import pytest
from blackbox.call import Call
from blackbox.client import CLEAN, CUT, RawClient
from blackbox.rig import Rig
from blackbox.waiting import never

UPSTREAMS = {"up": {"limit": 4, "cooldown": "0s", "pause": {"default": "40s", "max": "10m"}}}

DELTA = b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"hello"}}\n\n'
TALK = b'data: {"choices":[{"delta":{"content":"{\\"error\\":{\\"type\\":\\"rate_limit_error\\"}} 429"}}]}\n\n'
RATE = b'event: error\ndata: {"type":"error","error":{"type":"rate_limit_error","message":"Too many requests"}}\n\n'
OVERLOAD = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
OVERLOAD_20_S = b'data: {"error":{"code":"server_is_overloaded","message":"Please try again in 20s."}}\n\n'
QUOTA = b'data: {"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}\n\n'
FAILED = (
    b'event: response.failed\ndata: {"type":"response.failed","response":{"status":"failed","error":'
    b'{"code":"rate_limit_exceeded","message":"Rate limit reached. Please try again in 11.054s."}}}\n\n'
)
CREATED = b'event: response.created\ndata: {"type":"response.created","response":{"error":null}}\n\n'
BEDROCK = (
    b"\0\0\0\xa5\0\0\0aCRC1\x0f:exception-type\x07\0\x13throttlingException\r:content-type\x07\0\x10application/json"
    b'\r:message-type\x07\0\x09exception{"message":"Too many requests, wait a bit, please."}CRC2'
)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def begun(rig: Rig, *headers: tuple[str, str]) -> tuple[RawClient, Call]:
    """A stream whose head its client has."""
    client = await rig.ask("watched")
    call = await rig.up.call()
    call.begin(headers=headers)
    assert (await client.head()).status == 200
    return client, call


async def passes(client: RawClient, call: Call, *parts: bytes) -> None:
    """Each part reaches the client as it is, before the next one is sent."""
    for part in parts:
        call.raw(part)
        got = client.take()
        while len(got) < len(part):
            got += await client.receive()
        assert got == part


async def nothing_follows(rig: Rig) -> None:
    """The queue is as its configuration says."""
    entry = await rig.status()
    assert (entry["paused"], entry["limit"], entry["autoReduced"]) == (False, 4, False)


async def test_error_in_mid_stream_pauses_and_reduces_while_the_stream_stays_open(rig: Rig) -> None:
    client, call = await begun(rig)
    await passes(client, call, chunk(DELTA), chunk(TALK))
    before = time.time() * 1000
    await passes(client, call, chunk(RATE))
    entry = await rig.until_status(paused=True)
    assert before + 39_000 <= entry["pausedUntil"] <= time.time() * 1000 + 40_500
    assert (entry["limit"], entry["autoReducedFrom"], entry["inFlight"]) == (3, 4, 1)
    assert (entry["lastRateLimit"]["status"], entry["lastRateLimit"]["kind"]) == (200, "rate")
    await rig.ask("waiter")
    await rig.queued(1)
    await passes(client, call, chunk(DELTA))
    await never(lambda: len(rig.up.calls) > 1, during=0.2, what="granted while paused")
    call.raw(b"0\r\n\r\n")
    await call.end()
    assert await client.until(b"0\r\n\r\n") == b"0\r\n\r\n"


async def test_response_failed_pauses_for_the_wait_that_it_states(rig: Rig) -> None:
    client, call = await begun(rig)
    await passes(client, call, chunk(CREATED), chunk(DELTA))
    await nothing_follows(rig)
    await passes(client, call, chunk(FAILED))
    entry = await rig.until_status(paused=True)
    assert (entry["lastRateLimit"]["kind"], entry["lastRateLimit"]["retryAfterMs"]) == ("rate", 11_054)
    assert time.time() * 1000 + 5_000 < entry["pausedUntil"] < time.time() * 1000 + 11_500
    await passes(client, call, b"0\r\n\r\n")
    await call.end()


@pytest.mark.parametrize("size", [1, 2, 50], ids=["bytes", "pairs", "parts"])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
async def test_frame_split_over_chunks_and_packets_is_one_frame(rig: Rig, size: int, line_end: bytes) -> None:
    client, call = await begun(rig)
    frame = RATE.replace(b"\n", line_end)
    sent = b"".join(chunk(frame[at : at + size]) for at in range(0, len(frame), size))
    for at in range(0, len(sent), 7):  # packets end where chunks do not
        await passes(client, call, sent[at : at + 7])
    entry = await rig.until_status(paused=True)
    assert (entry["limit"], entry["lastRateLimit"]["kind"]) == (3, "rate")
    await passes(client, call, b"0\r\n\r\n")
    await call.end()


async def test_packed_stream_is_read_as_it_comes_and_passes_packed(rig: Rig) -> None:
    client, call = await begun(rig, ("Content-Encoding", "gzip"))
    stream = zlib.compressobj(wbits=31)

    def packed(data: bytes) -> bytes:
        return chunk(stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH))

    await passes(client, call, packed(DELTA), packed(TALK))
    await nothing_follows(rig)
    await passes(client, call, packed(RATE))
    await rig.until_status(paused=True, limit=3)
    await passes(client, call, packed(DELTA), chunk(stream.flush()), b"0\r\n\r\n")
    await call.end()


async def test_overload_without_a_stated_wait_pauses_nothing(rig: Rig) -> None:
    """SSE-14: it is counted, though."""
    client, call = await begun(rig)
    await passes(client, call, chunk(OVERLOAD), b"0\r\n\r\n")
    await call.end()
    await rig.in_flight(0)
    await nothing_follows(rig)
    entry = await rig.status()
    assert (entry["lastRateLimit"]["status"], entry["lastRateLimit"]["kind"]) == (200, "overload")


async def test_overload_with_a_stated_wait_pauses_for_it(rig: Rig) -> None:
    client, call = await begun(rig)
    await passes(client, call, chunk(OVERLOAD_20_S))
    entry = await rig.until_status(paused=True)
    assert time.time() * 1000 + 10_000 < entry["pausedUntil"] < time.time() * 1000 + 20_500
    assert entry["limit"] == 4
    await passes(client, call, b"0\r\n\r\n")
    await call.end()


async def test_quota_changes_nothing_and_is_recorded(rig: Rig) -> None:
    client, call = await begun(rig)
    await passes(client, call, chunk(QUOTA), b"0\r\n\r\n")
    await call.end()
    await rig.in_flight(0)
    await nothing_follows(rig)
    entry = await rig.status()
    assert (entry["lastRateLimit"]["status"], entry["lastRateLimit"]["kind"]) == (200, "quota")


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("application/json", b'{"base_resp":{"status_code":1002,"status_msg":"rate limit exceeded(RPM)"}}', "rate"),
        (
            "application/json; charset=UTF-8",
            b"["
            + b'{"candidates":[{"index":0}]}\n,\r\n' * 5000
            + b'{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Per minute"}}\n]',
            "rate",
        ),
        ("application/x-ndjson", b'{"response":"a"}\n{"error":"too many concurrent requests"}\n', "concurrency"),
        ("application/vnd.amazon.eventstream", BEDROCK, "rate"),
    ],
    ids=["minimax", "gemini", "ollama", "bedrock"],
)
async def test_other_shapes_reduce_too_and_pass_unchanged(rig: Rig, kind: str, body: bytes, expected: str) -> None:
    client = await rig.ask("whole")
    await (await rig.up.call()).answer(200, body, (("Content-Type", kind),))
    answer = await client.answer()
    assert (answer.status, answer.body, answer.ended) == (200, body, CLEAN)
    entry = await rig.until_status(paused=True, limit=3)
    assert (entry["lastRateLimit"]["status"], entry["lastRateLimit"]["kind"]) == (200, expected)


async def test_frame_that_a_cut_left_without_its_end_counts(rig: Rig) -> None:
    client, call = await begun(rig)
    await passes(client, call, chunk(RATE.rstrip()))
    await nothing_follows(rig)
    call.cut("fin")
    await rig.until_status(paused=True, limit=3)
    assert await client.closed() == CUT


async def test_what_a_model_says_about_limits_is_not_even_recorded(rig: Rig) -> None:
    before = await rig.metric("slotgate_rate_limited_total")
    client, call = await begun(rig)
    await passes(client, call, *[chunk(TALK)] * 5, chunk(CREATED), b"0\r\n\r\n")
    await call.end()
    await rig.in_flight(0)
    await nothing_follows(rig)
    assert await rig.metric("slotgate_rate_limited_total") == before


async def test_error_releases_no_slot_and_the_next_request_reuses_the_connection(rig: Rig) -> None:
    client, call = await begun(rig)
    await passes(client, call, chunk(OVERLOAD))
    await rig.in_flight(1)
    await passes(client, call, b"0\r\n\r\n")
    await call.end()
    await client.request("POST", "/up/v1/messages", (("x-name", "next"),), b"{}")
    again = await rig.up.call()
    assert again.connection is call.connection
    await rig.finish(again, client)
    await rig.at_rest()
