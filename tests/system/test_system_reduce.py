# A rate limit lowers the limit by one for a burst, says why, and only a person raises it again (spec §7.3).

import time

from blackbox.admin import part
from blackbox.rig import Rig, Starter

UPSTREAMS = {
    "up": {"limit": 4, "cooldown": "0s", "pause": {"default": "0s", "max": "1s"}},
    "stubborn": {"limit": 2, "cooldown": "0s", "auto_reduce": False, "pause": {"default": "0s", "max": "1s"}},
    "free": {"cooldown": "0s", "pause": {"default": "30s"}},
}
NOTICE = "Concurrency limit auto-reduced to {} after a 429 — restore manually when ready."


async def burst(rig: Rig, count: int) -> None:
    """So many requests in flight together, all refused."""
    clients = [await rig.ask(str(number)) for number in range(count)]
    for call in await rig.up.take(count):
        await call.answer(429, b"{}", (("Retry-After", "0"),))
    for client in clients:
        assert (await client.answer()).status == 429
    await rig.resume()
    await rig.at_rest()


async def test_one_burst_is_one_reduction_and_the_original_is_remembered(rig: Rig) -> None:
    await burst(rig, 4)
    entry = await rig.status()
    assert (entry["limit"], entry["autoReduced"], entry["autoReducedFrom"]) == (3, True, 4)
    assert entry["notice"] == NOTICE.format(3)
    await burst(rig, 3)
    entry = await rig.status()
    assert (entry["limit"], entry["autoReducedFrom"], entry["notice"]) == (2, 4, NOTICE.format(2))


async def test_evidence_says_what_happened(rig: Rig) -> None:
    before = time.time() * 1000
    await burst(rig, 4)
    evidence = (await rig.status())["evidence"]
    assert 1 <= len(evidence) <= 20
    first = evidence[0]
    assert set(first) == {"at", "status", "kind", "retryAfterMs", "inFlight"}
    assert (first["status"], first["retryAfterMs"]) == (429, 0)
    assert first["kind"] in ("concurrency", "rate")
    assert before - 1 <= first["at"] <= time.time() * 1000
    assert max(each["inFlight"] for each in evidence) == 4


async def test_refusals_without_end_lower_the_limit_to_one_and_no_further(rig: Rig) -> None:
    """PAUSE-16: it reacts while everything fails, and stops at the floor. Of many refusals twenty are kept."""
    for _ in range(30):
        await burst(rig, 1)
    entry = await rig.status()
    assert (entry["limit"], entry["autoReducedFrom"], entry["notice"]) == (1, 4, NOTICE.format(1))
    assert len(entry["evidence"]) <= 20


async def test_limit_of_one_has_nothing_to_reduce_and_no_notice(rig: Rig) -> None:
    await rig.limit(1)
    await burst(rig, 1)
    entry = await rig.status()
    assert (entry["limit"], entry["autoReduced"]) == (1, False)
    assert "notice" not in entry
    assert "autoReducedFrom" not in entry


async def test_restore_goes_back_to_the_original(rig: Rig) -> None:
    path = f"/concurrency/restore/{part(rig.provider)}"
    assert (await rig.admin.post(path)).status == 409
    await burst(rig, 4)
    await burst(rig, 3)
    reply = await rig.admin.post(path)
    assert (reply.status, reply.json["limit"], reply.json["autoReduced"]) == (200, 4, False)
    entry = await rig.status()
    assert (entry["limit"], entry["autoReduced"]) == (4, False)
    assert not {"notice", "autoReducedFrom", "evidence"} & set(entry)
    assert (await rig.admin.post(path)).status == 409


async def test_setting_the_limit_clears_the_reduction(rig: Rig) -> None:
    await burst(rig, 2)
    assert (await rig.status())["limit"] == 3
    await rig.limit(3)
    entry = await rig.status()
    assert (entry["limit"], entry["autoReduced"]) == (3, False)
    assert not {"notice", "autoReducedFrom", "evidence"} & set(entry)
    await burst(rig, 1)
    assert (await rig.status())["autoReducedFrom"] == 3


async def test_restore_grants_what_now_fits(rig: Rig) -> None:
    await rig.limit(2)
    await rig.ask("a")
    await rig.ask("b")
    a, b = await rig.up.take(2)
    await a.answer(429, b"{}", (("Retry-After", "0"),))
    await rig.until_status(limit=1)
    await rig.resume()
    await rig.line_up("c")
    await rig.admin.post(f"/concurrency/restore/{part(rig.provider)}")
    c = await rig.up.call()
    assert c.name == "c"
    await b.answer()
    await c.answer()


async def test_auto_reduce_off_leaves_the_limit_alone(rig: Rig) -> None:
    provider, up = rig.provider_of("stubborn"), rig.upstreams["stubborn"]
    client = await rig.ask("a", target="/stubborn/v1/messages")
    await (await up.call()).answer(429, b"{}")
    assert (await client.answer()).status == 429
    await rig.in_flight(0, provider)
    entry = await rig.status(provider)
    assert (entry["limit"], entry["autoReduced"]) == (2, False)
    assert entry["lastRateLimit"]["status"] == 429


async def test_provider_without_a_limit_shows_its_rate_limits_and_holds_nothing(rig: Rig) -> None:
    provider, up = rig.provider_of("free"), rig.upstreams["free"]
    client = await rig.ask("a", target="/free/v1/messages")
    await (await up.call()).answer(429, b"{}", (("Retry-After", "30"),))
    assert (await client.answer()).status == 429
    await rig.in_flight(0, provider)
    entry = await rig.status(provider)
    assert (entry["limit"], entry["paused"], entry["autoReduced"]) == (None, False, False)
    assert entry["lastRateLimit"]["status"] == 429
    client = await rig.ask("b", target="/free/v1/messages")
    await rig.finish(await up.call(), client)


async def test_429_reaches_the_client_byte_for_byte(rig: Rig) -> None:
    client = await rig.ask("a")
    call = await rig.up.call()
    answer = (
        b"HTTP/1.1 429 Slow  Down, please\r\nretry-AFTER: 0\r\nX-Twice: 1\r\nx-twice: 2\r\nX-Octet: caf\xe9\r\n"
        b"Content-Encoding: gzip\r\nContent-Length: 11\r\n\r\nnot\x00gzip\xff!!"
    )
    call.raw(answer)
    await call.end()
    assert await client.until(b"\xff!!") == answer
    await rig.in_flight(0)


async def test_429_to_a_request_granted_before_the_last_reduction_does_not_reduce_again(rig: Rig) -> None:
    for name in "abc":
        await rig.ask(name)
    a, b, c = await rig.up.take(3)
    await a.answer(429, b"{}", (("Retry-After", "0"),))
    await rig.until_status(limit=3)
    await b.answer()
    await rig.in_flight(1)
    await c.answer(429, b"{}", (("Retry-After", "0"),))
    await rig.in_flight(0)
    assert (await rig.status())["limit"] == 3


async def test_reduction_survives_a_restart_and_a_kill(start: Starter) -> None:
    rig = await start({"up": {"limit": 4, "cooldown": "0s", "pause": {"default": "0s"}}})
    await burst(rig, 4)
    before = await rig.status()
    assert before["limit"] == 3
    for end in (rig.proxy.stop, rig.proxy.kill):
        await end()
        await rig.proxy.restart()
        entry = await rig.status()
        for key in ("limit", "autoReduced", "autoReducedFrom", "notice", "evidence"):
            assert entry[key] == before[key], key
    await burst(rig, 3)
    assert (await rig.status())["autoReducedFrom"] == 4
