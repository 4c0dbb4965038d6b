# What an answer says about limits is acted upon while its bytes pass unchanged (spec §7.1, §7.2).

import asyncio
import gzip
import zlib
from email.utils import formatdate

import pytest
from rawsides.message import CHUNKED, LAST_CHUNK, answer, begun, chunk, get, post
from rawsides.rig import becomes

from proxy.web import judge

BODY = b"{}"
LIMITED = b'{"error":{"code":"concurrency_limit","message":"too many concurrent requests"}}'
TOO_MANY = "429 Too Many Requests"


async def asked(rig):
    client, link = await rig.ask(post("/up/", BODY))
    await link.until(BODY)
    return client, link


@pytest.mark.parametrize(
    "refusal",
    [
        answer(LIMITED, "Retry-After: 60", status=TOO_MANY),
        begun(CHUNKED, "Retry-After: 60", status=TOO_MANY) + chunk(LIMITED) + LAST_CHUNK,
        answer(gzip.compress(LIMITED), "Content-Encoding: gzip", "Retry-After: 60", status=TOO_MANY),
        answer(b"x" * 200_000, "Retry-After: 60", status=TOO_MANY),
        answer(b"", "Retry-After: 60", status=TOO_MANY),
    ],
    ids=["counted", "chunked", "gzip", "large", "empty"],
)
async def test_429_reaches_the_client_unchanged_and_pauses(start, refusal):
    rig = await start({"limit": 3})
    client, link = await asked(rig)
    await link.send(refusal)
    assert await client.exactly(len(refusal)) == refusal
    assert (rig.scheduler.limit, rig.scheduler.auto_reduced_from) == (2, 3)
    left_s = rig.scheduler.paused_until_at - rig.runtime.clock.now()
    assert 55 < left_s <= 60
    await client.send(get("/up/next"))  # the connections are as good as before
    assert (await link.head()).startswith(b"GET /next ")


async def test_wait_that_is_stated_as_a_date_counts_from_now(start):
    rig = await start({"limit": 3})
    client, link = await asked(rig)
    until = formatdate(rig.runtime.clock.wall_ms() / 1000 + 60, usegmt=True)
    refusal = answer(LIMITED, f"Retry-After: {until}", status=TOO_MANY)
    await link.send(refusal)
    assert await client.exactly(len(refusal)) == refusal
    assert 50 < rig.scheduler.paused_until_at - rig.runtime.clock.now() <= 60


async def test_kind_is_read_from_a_body_in_pieces_and_compressed(start):
    rig = await start({"limit": 3})
    client, link = await asked(rig)
    body = gzip.compress(LIMITED)
    await link.send(begun(CHUNKED, "Content-Encoding: gzip", status=TOO_MANY))
    for at in range(0, len(body), 7):
        await link.send(chunk(body[at : at + 7]))
    await link.send(LAST_CHUNK)
    await client.until(LAST_CHUNK)
    assert rig.scheduler.last_rate_limit.kind == "concurrency"


async def test_kind_is_read_through_codings_on_two_lines(start):
    rig = await start({"limit": 3})
    client, link = await asked(rig)
    body = zlib.compress(gzip.compress(LIMITED))
    await link.send(answer(body, "Content-Encoding: gzip", "X-A: b", "Content-Encoding: deflate", status=TOO_MANY))
    await client.until(body)
    assert rig.scheduler.last_rate_limit.kind == "concurrency"


async def test_success_neither_pauses_nor_reduces(start):
    rig = await start({"limit": 3})
    client, link = await asked(rig)
    await link.send(answer(b'{"ok": true}'))
    await client.until(b"true}")
    assert (rig.scheduler.limit, rig.scheduler.paused_until_at) == (3, None)


async def test_uncounted_answer_is_not_judged(start):
    rig = await start({"limit": 3})
    client, link = await rig.ask(get("/up/"))
    await link.head()
    await link.send(answer(LIMITED, "Retry-After: 60", status=TOO_MANY))
    await client.until(LIMITED)
    assert (rig.scheduler.limit, rig.scheduler.last_rate_limit) == (3, None)


@pytest.mark.plain
@pytest.mark.parametrize(
    ("status", "heard"),
    [("403 Forbidden", [False]), ("404 Not Found", [False]), ("302 Found", [True]), (TOO_MANY, [])],
)
async def test_answer_that_is_no_refusal_lets_the_others_follow_and_an_error_shows_no_more(start, status, heard):
    rig = await start({"limit": 3})
    _, link = await asked(rig)
    said = []
    answered = rig.admission.answered
    rig.admission.answered = lambda *args, **kwargs: (said.append(kwargs["success"]), answered(*args, **kwargs))
    await link.send(answer(b"{}", status=status))
    await rig.record()
    assert said == heard


async def test_error_whose_body_hangs_is_judged_by_its_head(start, monkeypatch):
    monkeypatch.setattr(judge, "HANGING_S", 0.02)
    rig = await start({"limit": 3})
    client, link = await asked(rig)
    await link.send(begun("Content-Length: 10", "Retry-After: 60", status=TOO_MANY))
    await client.head()
    await becomes(lambda: rig.scheduler.paused_until_at is not None)
    await link.send(b"0123456789")
    assert await client.exactly(10) == b"0123456789"
    assert rig.scheduler.limit == 2, "one answer is one refusal"


async def test_error_whose_body_is_large_is_judged_by_its_beginning(start, monkeypatch):
    monkeypatch.setattr(judge, "HANGING_S", 1000)
    rig = await start({"limit": 3})
    client, link = await asked(rig)
    await link.send(begun("Content-Length: 1000000", status=TOO_MANY) + LIMITED.ljust(judge.COPY_MAX))
    await becomes(lambda: rig.scheduler.paused_until_at is not None)
    assert rig.scheduler.last_rate_limit.kind == "concurrency"
    await link.send(b"x" * (1_000_000 - judge.COPY_MAX))
    await client.head()
    assert (await client.exactly(1_000_000)).endswith(b"x")


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_error_that_is_cut_says_what_its_beginning_says(start, how):
    rig = await start({"limit": 3})
    client, link = await asked(rig)
    await link.send(begun("Content-Length: 1000", "Retry-After: 60", status=TOO_MANY) + LIMITED)
    await client.until(LIMITED)
    getattr(link, how)()
    await client.end()
    assert (await rig.record()).outcome == "cut"
    assert rig.scheduler.last_rate_limit.kind == "concurrency"
    assert rig.scheduler.paused_until_at is not None


async def test_429_to_a_client_that_left_before_its_body_came_pauses_too(start):
    rig = await start({"limit": 3})
    client, link = await asked(rig)
    await link.send(begun("Content-Length: 1000", "Retry-After: 60", status=TOO_MANY))
    await client.head()
    client.close()
    await link.end()
    await rig.record()
    assert rig.scheduler.paused_until_at is not None


async def test_reported_exhaustion_holds_the_queue_without_reducing(start):
    """Spec §7.6."""
    rig = await start({"limit": 3})
    client, link = await asked(rig)
    await link.send(
        answer(
            b"ok",
            "x-ratelimit-limit-requests: 50",
            "x-ratelimit-remaining-requests: 0",
            "x-ratelimit-reset-requests: 30s",
        )
    )
    await client.until(b"ok")
    assert rig.scheduler.limit == 3
    assert 25 < rig.scheduler.paused_until_at - rig.runtime.clock.now() <= 30


# --- absorb (spec §7.5) ---

REFUSAL = answer(LIMITED, "Retry-After: 0", status=TOO_MANY)


async def absorbing(start, times: int = 1, **options):
    return await start({"limit": 1, "absorb": times, "auto_reduce": False, "pause": {"max": "20ms"}}, **options)


async def test_refusal_behind_an_interim_answer_is_not_absorbed(start):
    """Its client has heard something already."""
    rig = await absorbing(start)
    client, link = await asked(rig)
    early = b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"
    await link.send(early)
    assert await client.exactly(len(early)) == early
    await link.send(REFUSAL)
    assert await client.exactly(len(REFUSAL)) == REFUSAL
    assert rig.upstream.was_left_alone()


async def test_refusal_that_is_too_large_to_be_kept_is_the_clients(start):
    rig = await absorbing(start)
    client, link = await asked(rig)
    large = answer(LIMITED + b" " * judge.COPY_MAX, "Retry-After: 0", status=TOO_MANY)
    await link.send(large)
    assert await client.exactly(len(large)) == large
    assert rig.upstream.was_left_alone()


async def test_absorbed_refusal_rests_for_as_long_as_the_provider_stated(start):
    rig = await start({"absorb": 1, "pause": {"max": "60s"}})
    client, link = await asked(rig)
    await link.send(answer(LIMITED, "Retry-After: 30", status=TOO_MANY))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    assert 25 < rig.scheduler.waiting.next_wake_at - rig.runtime.clock.now() < 40
    client.close()
    await rig.record()


async def test_absorbed_refusal_is_never_seen_and_the_body_is_sent_again(start):
    rig = await absorbing(start)
    body = bytes(range(256))
    client, link = await rig.ask(post("/up/", body, "X-A: b"))
    first = await link.until(body)
    await link.send(REFUSAL)
    assert await link.until(body) == first
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")
    record = await rig.record()
    assert (record.outcome, record.status) == ("completed", 200)
    assert record.waited_ms > 0


async def test_last_answer_is_the_clients(start):
    rig = await absorbing(start, 2)
    client, link = await asked(rig)
    for _ in range(2):
        await link.send(REFUSAL)
        await link.until(BODY)
    last = answer(b"the last", "Retry-After: 0", status=TOO_MANY)
    await link.send(last)
    assert await client.exactly(len(last)) == last
    assert rig.upstream.was_left_alone()


@pytest.mark.parametrize(
    "refusal",
    [
        answer(b'{"error":{"code":"insufficient_quota"}}', status=TOO_MANY),
        answer(b"{}", status="400 Bad Request"),
        answer(b"{}", status="404 Not Found"),
        answer(b"{}", status="500 Internal Server Error"),
        begun(CHUNKED, status="400 Bad Request") + chunk(b"x" * 100_000) + LAST_CHUNK,
    ],
    ids=["quota", "400", "404", "500", "large 400"],
)
async def test_what_another_try_would_not_help_is_passed_on_whole(start, refusal):
    rig = await absorbing(start)
    client, link = await asked(rig)
    await link.send(refusal)
    assert await client.exactly(len(refusal)) == refusal


async def test_success_is_not_held_back(start):
    rig = await absorbing(start)
    client, link = await asked(rig)
    await link.send(begun(CHUNKED))
    assert await client.head() == begun(CHUNKED)
    await link.send(chunk(b"data: 1\n\n") + LAST_CHUNK)
    await client.until(LAST_CHUNK)


async def test_refusal_is_the_clients_where_the_queue_has_no_place_for_another_try(start):
    """The pause outlasts its patience."""
    rig = await start({"limit": 1, "absorb": 1, "auto_reduce": False}, queue={"max_wait": "1s"})
    client, link = await asked(rig)
    refusal = answer(LIMITED, "Retry-After: 60", status=TOO_MANY)
    await link.send(refusal)
    assert await client.exactly(len(refusal)) == refusal
    record = await rig.record()
    assert (record.status, record.code, record.bytes) == (429, None, len(LIMITED))
    assert rig.scheduler.held == 0


async def test_absorbed_refusal_that_hangs_is_not_waited_for(start, monkeypatch):
    monkeypatch.setattr(judge, "HANGING_S", 0.02)
    rig = await absorbing(start)
    client, link = await asked(rig)
    await link.send(begun("Content-Length: 1000", "Retry-After: 0", status=TOO_MANY) + b"part")
    assert await link.ended() in ("fin", "rst")
    again = await rig.upstream.link()
    await again.until(BODY)
    await again.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


async def test_hanging_refusal_without_another_try_is_shown_and_cut(start, monkeypatch):
    monkeypatch.setattr(judge, "HANGING_S", 0.02)
    rig = await start({"limit": 1, "absorb": 1, "auto_reduce": False}, queue={"max_wait": "1s"})
    client, link = await asked(rig)
    head = begun("Content-Length: 1000", "Retry-After: 60", status=TOO_MANY)
    await link.send(head + b"part")
    assert await client.end() == (head + b"part", "fin")
    await rig.at_rest()


async def test_refusal_that_is_cut_while_held_back_goes_again(start):
    rig = await absorbing(start)
    client, link = await asked(rig)
    await link.send(begun("Content-Length: 1000", "Retry-After: 1", status=TOO_MANY) + b"part")
    link.close()
    again = await rig.upstream.link()
    await again.until(BODY)
    await again.send(answer(b"fine"))
    assert await client.exactly(len(answer(b"fine"))) == answer(b"fine")
    assert rig.scheduler.last_rate_limit.status == 429


async def test_refusal_that_is_cut_and_cannot_go_again_is_shown_as_it_came(start):
    rig = await start({"limit": 1, "absorb": 1}, queue={"max_wait": "1s"})
    client, link = await asked(rig)
    await link.send(begun("Content-Length: 1000", "Retry-After: 60", status=TOO_MANY) + b"part")
    link.close()
    assert (await client.head()).startswith(b"HTTP/1.1 429 ")


async def test_client_that_leaves_between_two_tries_leaves_nothing(start):
    rig = await start({"limit": 1, "absorb": 1, "auto_reduce": False})
    client, link = await asked(rig)
    await link.send(answer(LIMITED, "Retry-After: 60", status=TOO_MANY))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    client.close()
    assert (await rig.record()).outcome == "abandoned"
    assert (rig.scheduler.held, len(rig.scheduler.waiting)) == (0, 0)


async def test_no_slot_is_held_between_two_tries(start):
    """ORD-08."""
    rig = await start({"limit": 1, "absorb": 1, "auto_reduce": False})
    client, link = await asked(rig)
    await link.send(answer(LIMITED, "Retry-After: 60", status=TOO_MANY))
    await becomes(lambda: len(rig.scheduler.waiting) == 1)
    assert rig.scheduler.held == 0
    await rig.runtime.resume("up")
    assert await link.until(BODY)
    await link.send(answer(b"ok"))
    assert await client.exactly(len(answer(b"ok"))) == answer(b"ok")


@pytest.mark.plain
async def test_slot_that_is_reclaimed_in_the_moment_of_absorbing_shows_the_refusal(start):
    """The reclaim comes between the end of the answer and the next turn of its task."""
    rig = await absorbing(start)
    client, link = await asked(rig)
    (slot,) = rig.scheduler.slots()
    told = rig.admission.rate_limited

    def limited_and_reclaimed(*args, **kwargs) -> None:
        told(*args, **kwargs)
        asyncio.get_running_loop().call_soon(rig.admission.reclaim, slot)

    rig.admission.rate_limited = limited_and_reclaimed
    await link.send(REFUSAL)
    assert await client.exactly(len(REFUSAL)) == REFUSAL


async def test_a_probe_whose_success_reports_an_empty_bucket_lets_nobody_follow(start):
    """§7.6 beside §7.2: the pause begins before the others are let go."""
    rig = await start({"limit": 3})
    client, link = await asked(rig)
    await link.send(answer(LIMITED, "retry-after-ms: 300", status=TOO_MANY))
    await client.until(LIMITED)
    waiting = [await rig.client() for _ in range(3)]
    for peer in waiting:
        await peer.send(post("/up/", BODY))
    await becomes(lambda: rig.scheduler.held == 1, "the probe is under way")
    await link.until(BODY)
    await link.send(answer(b"ok", "x-ratelimit-remaining-requests: 0", "x-ratelimit-reset-requests: 60s"))
    await becomes(lambda: rig.scheduler.pause_cause == "exhausted", "the bucket is empty")
    assert (rig.scheduler.held, len(rig.scheduler.waiting)) == (0, 2)


async def test_client_that_leaves_in_the_moment_of_the_absorption_takes_its_slot_with_it(start):
    """Both are seen in one turn of the loop: the refusal first, then the client's end."""
    rig = await absorbing(start)
    client, link = await asked(rig)
    (slot,) = rig.scheduler.slots()
    (connection,) = rig.listener.connections
    request = connection.request
    exchange = request.on_gone.__self__.exchange
    exchange.data(answer(LIMITED, "Retry-After: 0", status=TOO_MANY))  # as the socket would tell it
    client.close()
    connection.eof_received()
    await becomes(lambda: rig.scheduler.slot(slot.id) is not slot, "the slot is given back")
    await becomes(lambda: rig.scheduler.held == 0, "nothing is held")
    assert len(rig.scheduler.waiting) == 0
    link.close()
