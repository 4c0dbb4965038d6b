# What a rate limit does to the queue: a pause that only grows, that ends by itself or by hand, and a probe after it
# (spec §7.2).

import time

import pytest
from blackbox.call import Call
from blackbox.client import RawClient
from blackbox.rig import Rig
from blackbox.waiting import never, until

UPSTREAMS = {
    "up": {"limit": 4, "cooldown": "0s", "auto_reduce": False, "pause": {"default": "40s", "max": "10m"}},
}


def epoch_ms() -> float:
    return time.time() * 1000


async def refuse(call: Call, retry_after: str | None = None, status: int = 429, body: bytes = b"{}") -> None:
    await call.answer(status, body, () if retry_after is None else (("Retry-After", retry_after),))


async def refused(rig: Rig, retry_after: str | None = None, **answer: object) -> None:
    """One request that was answered 429 (or what `answer` says)."""
    client = await rig.ask("refused")
    await refuse(await rig.up.call(), retry_after, **answer)  # type: ignore[arg-type]
    await client.answer()


async def test_429_holds_the_queue_for_its_retry_after(rig: Rig) -> None:
    await rig.ask("long")
    long = await rig.up.call()
    long.begin()
    before = epoch_ms()
    await refused(rig, "30")
    entry = await rig.until_status(paused=True)
    assert before + 29_000 <= entry["pausedUntil"] <= epoch_ms() + 30_500
    assert (entry["lastRateLimit"]["status"], entry["lastRateLimit"]["retryAfterMs"]) == (429, 30_000)
    waiter = await rig.ask("waiter")
    await rig.queued(1)
    long.event("still running")
    assert not long.gone.is_set()
    await never(lambda: len(rig.up.calls) > 2, during=0.3, what="granted while paused")
    await rig.resume()
    await rig.finish(await rig.up.call(), waiter)
    assert (await rig.status())["paused"] is False


async def test_429_without_a_wait_pauses_for_the_default(rig: Rig) -> None:
    before = epoch_ms()
    await refused(rig)
    entry = await rig.until_status(paused=True)
    assert before + 39_000 <= entry["pausedUntil"] <= epoch_ms() + 40_500


async def test_pause_ends_by_itself(rig: Rig) -> None:
    await refused(rig, "1")
    await rig.until_status(paused=True)  # who asks another replica in the same moment may come before its word
    client = await rig.ask("next")
    call = await rig.up.call()
    ended = rig.up.calls[0].ended_at
    assert ended is not None
    assert call.arrived_at - ended >= 0.95
    await rig.finish(call, client)


@pytest.mark.parametrize("waits", [("60", "1"), ("1", "60")], ids=["longer first", "shorter first"])
async def test_pause_is_only_ever_lengthened(rig: Rig, waits: tuple[str, str]) -> None:
    """PAUSE-01: of two refusals the longer wait counts, and a late good answer lifts nothing."""
    for name in ("a", "b", "good"):
        await rig.ask(name)
    a, b, good = await rig.up.take(3)
    await refuse(a, waits[0])
    await rig.until_status(paused=True)
    await refuse(b, waits[1])
    await rig.in_flight(1)
    await good.answer()
    await rig.in_flight(0)
    await rig.ask("waiter")
    await rig.queued(1)
    entry = await rig.status()
    assert entry["paused"] is True
    assert entry["pausedUntil"] > epoch_ms() + 50_000
    await never(lambda: len(rig.up.calls) > 3, during=1.3, what="the shorter wait won")


async def test_wait_of_days_parks_nothing(rig: Rig) -> None:
    """PAUSE-04: it is the end of a quota, which holds nothing; the status says why, and the upstream is usable."""
    await refused(rig, "568157")
    client = await rig.ask("next")
    await rig.finish(await rig.up.call(), client)
    entry = await rig.status()
    assert (entry["paused"], entry["limit"]) == (False, 4)
    assert (entry["lastRateLimit"]["kind"], entry["lastRateLimit"]["retryAfterMs"]) == ("quota", 568_157_000)


async def test_long_wait_is_capped_and_ended_by_hand(rig: Rig) -> None:
    """PAUSE-04: the pause has a stated maximum, the status says until when, and no restart is needed."""
    await refused(rig, "3000")
    entry = await rig.until_status(paused=True)
    assert epoch_ms() + 590_000 < entry["pausedUntil"] < epoch_ms() + 601_000
    reply = await rig.resume()
    assert (reply.json["providerId"], reply.json["paused"]) == (rig.provider, False)
    client = await rig.ask("next")
    await rig.finish(await rig.up.call(), client)


@pytest.mark.parametrize(
    ("status", "times"),
    [(529, 1), (529, 10), (503, 1), (500, 1), (502, 1)],
)
async def test_overload_without_a_stated_wait_holds_nothing(rig: Rig, status: int, times: int) -> None:
    """PAUSE-07 and PAUSE-10: the provider's trouble is no limit of ours."""
    for _ in range(times):
        await refused(rig, status=status)
    client = await rig.ask("next")
    await rig.finish(await rig.up.call(), client)
    entry = await rig.status()
    assert (entry["paused"], entry["limit"], entry["autoReduced"]) == (False, 4, False)


async def test_overload_with_a_stated_wait_pauses_for_a_minute_at_most(rig: Rig) -> None:
    await refused(rig, "300", status=529)
    entry = await rig.until_status(paused=True)
    assert epoch_ms() + 50_000 < entry["pausedUntil"] < epoch_ms() + 61_000


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (402, b'{"error":{"message":"Insufficient balance"}}'),
        (
            429,
            b'{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}',
        ),
    ],
    ids=["402", "429 insufficient_quota"],
)
async def test_exhausted_quota_holds_nothing(rig: Rig, status: int, body: bytes) -> None:
    client = await rig.ask("a")
    await refuse(await rig.up.call(), "3600", status, body)
    answer = await client.answer()
    assert (answer.status, answer.body) == (status, body)
    await rig.in_flight(0)
    entry = await rig.status()
    assert (entry["paused"], entry["limit"]) == (False, 4)
    client = await rig.ask("next")
    await rig.finish(await rig.up.call(), client)


async def three_waiters_after_a_pause(rig: Rig) -> tuple[Call, list[RawClient]]:
    await refused(rig, "1")
    await rig.until_status(paused=True)
    clients = await rig.line_up("a", "b", "c")
    probe = await rig.up.call()
    assert probe.name == "a"
    return probe, clients


async def test_after_a_pause_one_goes_first_and_the_others_follow_its_good_answer(rig: Rig) -> None:
    probe, _ = await three_waiters_after_a_pause(rig)
    probe.begin()
    probe.event("good")
    b, c = await rig.up.take(2)
    assert probe.answered_at is not None
    assert min(b.arrived_at, c.arrived_at) >= probe.answered_at
    assert {b.name, c.name} == {"b", "c"}
    for call in (probe, b, c):
        await call.end()


async def test_after_a_pause_the_others_follow_a_silent_probe_after_a_second(rig: Rig) -> None:
    probe, _ = await three_waiters_after_a_pause(rig)
    b, c = await rig.up.take(2)
    assert min(b.arrived_at, c.arrived_at) - probe.arrived_at >= 0.9
    for call in (probe, b, c):
        await call.answer()


async def test_newcomer_does_not_pass_those_who_wait_for_a_probe(rig: Rig) -> None:
    """There is a free place and no pause any more, but somebody waits."""
    probe, _ = await three_waiters_after_a_pause(rig)
    await rig.ask("newcomer")
    b, c, newcomer = await rig.up.take(3)
    assert newcomer.arrived_at - probe.arrived_at >= 0.9, "it went while others waited for the probe"
    for call in (probe, b, c, newcomer):
        await call.answer()


async def test_probe_that_is_refused_keeps_the_others_waiting(rig: Rig) -> None:
    probe, clients = await three_waiters_after_a_pause(rig)
    await refuse(probe, "60")
    assert (await clients[0].answer()).status == 429
    await rig.until_status(paused=True, queued=2)
    await never(lambda: len(rig.up.calls) > 2, during=1.3, what="followed a probe that was refused")


async def test_pause_by_hand_holds_and_ends(rig: Rig) -> None:
    reply = await rig.pause(60_000)
    assert (reply.json["providerId"], reply.json["paused"]) == (rig.provider, True)
    assert reply.json["pausedUntil"] > epoch_ms() + 55_000
    client = await rig.ask("a")
    await rig.queued(1)
    await never(lambda: len(rig.up.calls) > 0, during=0.2)
    await rig.resume()
    await rig.finish(await rig.up.call(), client)
    await rig.pause(300)
    client = await rig.ask("b")
    await rig.finish(await rig.up.call(), client)


async def test_pause_by_hand_is_validated(rig: Rig) -> None:
    for bad in (None, "1s", -1, True):
        reply = await rig.admin.put(f"/concurrency/pause/{rig.provider}", {"durationMs": bad})
        assert (reply.status, "durationMs" in reply.json["error"]["message"]) == (400, True), bad


async def test_bucket_reported_empty_on_a_good_answer_holds_the_queue_until_its_reset(rig: Rig) -> None:
    client = await rig.ask("a")
    headers = (("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1s"))
    first = await rig.up.call()
    await first.answer(headers=headers)
    assert (await client.answer()).status == 200
    await rig.until_status(paused=True)
    client = await rig.ask("b")
    second = await rig.up.call()
    assert first.ended_at is not None
    assert second.arrived_at - first.ended_at >= 0.9
    assert (await rig.status())["limit"] == 4
    await rig.finish(second, client)


async def test_burst_after_burst_leaves_the_provider_usable(rig: Rig) -> None:
    """PAUSE-18: nothing is struck out for the rest of the session."""
    for _ in range(3):
        clients = [await rig.ask(str(number)) for number in range(4)]
        await until(lambda: rig.up.open == 4)
        for call in await rig.up.take(4):
            await refuse(call, "30")
        for client in clients:
            assert (await client.answer()).status == 429
        await rig.until_status(paused=True)
        await rig.resume()
        client = await rig.ask("next")
        await rig.finish(await rig.up.call(), client)
        await rig.at_rest()
