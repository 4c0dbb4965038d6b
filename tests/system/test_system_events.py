# The stream of events, the metrics and the log tell what happened, and never a secret (spec §14).

import asyncio
import json

import pytest
import redis
from blackbox.rig import Rig
from blackbox.waiting import until

KEY, COOKIE, QUERY, BODY = "sk-key-5f3a", "cookie-77c1", "query-90be", "body-marker-1d2c"
GAUGES = ("limit", "in_flight", "held", "cooling", "queued", "oldest_wait_seconds", "paused", "auto_reduced")
HISTOGRAMS = ("queue_wait_seconds", "hold_seconds", "time_to_first_byte_seconds")
COUNTERS = (
    "requests_total",
    "rate_limited_total",
    "auto_reductions_total",
    "reclaimed_total",
    "own_answers_total",
    "usage_poll_errors_total",
)


async def test_each_step_is_an_event_in_order(rig: Rig) -> None:
    events = await rig.events()
    assert (events.head.get("content-type") or "").startswith("text/event-stream")
    first = await rig.ask("a", workspace="w", conversation="c1")
    call = await rig.up.call()
    granted = await events.until("granted", conversationId="c1")
    assert granted.data["providerId"] == rig.provider
    assert granted.data["workspaceId"] == "w"
    assert granted.data["at"] > 1_600_000_000_000
    (waiter,) = await rig.line_up("b", conversation="c2")
    await events.until("queued", conversationId="c2")
    waiter.rst()
    await events.until("left", conversationId="c2")
    await rig.star("w")
    assert (await events.until("starred")).data["workspaceId"] == "w"
    await rig.star("w", False)
    await rig.limit(2)
    await events.until("limit_set", providerId=rig.provider, limit=2)
    await rig.pause(60_000)
    await events.until("paused", providerId=rig.provider)
    await rig.resume()
    await events.until("resumed", providerId=rig.provider)
    await call.answer(429, b"{}", (("Retry-After", "7"),))
    await first.answer()
    limited = await events.until("rate_limited", providerId=rig.provider)
    assert limited.data["status"] == 429
    await events.until("reduced", providerId=rig.provider)
    await rig.ask("d")
    await rig.queued(1)


async def test_released_and_refused_are_told(rig: Rig) -> None:
    events = await rig.events()
    client = await rig.ask("a", conversation="done")
    await rig.finish(await rig.up.call(), client)
    await events.until("released", conversationId="done")
    await rig.ask("holder")
    await rig.up.call()
    (waiter,) = await rig.line_up("b", conversation="dropped")
    (entry,) = (await rig.slots())["waiters"]
    await rig.admin.delete(f"/concurrency/slots/{rig.provider}/{entry['id']}")
    await waiter.answer()
    await events.until("refused", conversationId="dropped")


@pytest.mark.one_process(reason="each replica numbers what it tells by itself")
async def test_reader_that_comes_back_gets_what_it_missed(rig: Rig) -> None:
    events = await rig.events()
    await rig.star("first")
    seen = await events.until("starred", workspaceId="first")
    assert seen.id
    events.close()
    await rig.star("second")
    await rig.star("third")
    again = await rig.events(("Last-Event-ID", seen.id))
    assert (await again.until("starred")).data["workspaceId"] == "second"
    assert (await again.until("starred")).data["workspaceId"] == "third"
    for name in ("first", "second", "third"):
        await rig.star(name, False)


async def test_reader_with_an_unreadable_place_gets_what_comes(rig: Rig) -> None:
    for place in ("garbage", "-1", "999999999999"):
        events = await rig.events(("Last-Event-ID", place))
        assert events.head.status == 200
        await rig.star("x")
        await events.until("starred", workspaceId="x")
        await rig.star("x", False)
        events.close()


async def test_metrics_have_every_name(rig: Rig) -> None:
    before = await rig.metric("slotgate_requests_total", provider=rig.provider)
    limited = await rig.metric("slotgate_rate_limited_total", provider=rig.provider)
    client = await rig.ask("a")
    await (await rig.up.call()).answer(429, b"{}", (("Retry-After", "1"),))
    await client.answer()
    await rig.at_rest()
    reply = await rig.admin.get("/metrics")
    assert (reply.head.get("content-type") or "").startswith("text/plain")
    text = reply.body.decode()
    for name in (*GAUGES, *HISTOGRAMS, *COUNTERS, "config_last_reload_successful"):
        assert f"# TYPE slotgate_{name}" in text, name
    for name in GAUGES:
        assert f'slotgate_{name}{{provider="{rig.provider}"}}' in text, name
    assert await rig.metric("slotgate_requests_total", provider=rig.provider) == before + 1
    assert await rig.metric("slotgate_rate_limited_total", provider=rig.provider) == limited + 1
    assert "workspace=" not in text
    assert "conversation=" not in text
    assert "path=" not in text


async def test_gauges_are_the_truth_of_the_moment(rig: Rig) -> None:
    await rig.limit(2)
    await rig.ask("a")
    await rig.ask("b")
    await rig.up.take(2)
    await rig.line_up("c", "d", "e")
    for name, value in (("limit", 2), ("in_flight", 2), ("held", 2), ("cooling", 0), ("queued", 3), ("paused", 0)):
        assert await rig.metric(f"slotgate_{name}", provider=rig.provider) == value, name


async def test_no_secret_is_in_the_logs_the_state_or_the_admin_api(rig: Rig) -> None:
    headers = [
        ("Authorization", f"Bearer {KEY}"),
        ("x-api-key", KEY),
        ("Cookie", f"session={COOKIE}"),
        ("X-Goog-Api-Key", KEY),
    ]
    body = json.dumps({"messages": [BODY]}).encode()
    target = f"/up/v1/messages?key={QUERY}"
    endings = ["answer", "cut", "leave", "bad"]
    for ending in endings:
        client = await rig.ask(ending, headers=headers, body=body, target=target)
        call = await rig.up.call()
        assert call.head.get("authorization") == f"Bearer {KEY}"
        if ending == "answer":
            await call.answer(429, BODY.encode(), (("Set-Cookie", COOKIE), ("Retry-After", "0")))
        elif ending == "cut":
            call.begin()
            call.event(BODY)
            call.cut("rst")
        elif ending == "bad":
            call.raw(f"{BODY}\r\n\r\n".encode())
        else:
            client.rst()
            await call.stopped()
        if ending != "leave":
            await client.closed() if ending == "cut" else await client.answer()
        await rig.resume()
        await rig.at_rest()
    await rig.ask("holder", headers=headers, body=body, target=target)
    await rig.up.call()
    await rig.line_up("waiter", headers=headers, body=body, target=target)
    await rig.client()
    unknown = await rig.ask("lost", headers=headers, body=body, target=f"/nowhere/x?key={QUERY}")
    assert QUERY.encode() not in (await unknown.answer()).body
    told = [
        (await rig.admin.get(path)).body.decode()
        for path in (
            "/concurrency/status?all=1",
            f"/concurrency/slots/{rig.provider}",
            "/metrics",
            "/config",
            "/status",
        )
    ]
    await until(lambda: sum("outcome" in line for line in rig.proxy.log) >= len(endings))
    events = await rig.events(("Last-Event-ID", "0"))
    try:
        async with asyncio.timeout(0.5):
            while True:
                told.append(str(await events.next()))
    except TimeoutError:
        pass
    for place in (*told, *stored(rig), rig.proxy.output):
        for secret in (KEY, COOKIE, QUERY, BODY):
            assert secret not in place, f"{secret} in {place[:300]}"


def stored(rig: Rig) -> list[str]:
    """All that is kept, wherever that is."""
    url, _, prefix = str(rig.proxy.config["state"]).partition("?prefix=")
    if not prefix:
        found = [path.read_bytes() for path in rig.proxy.directory.glob("state.db*")]
    else:
        with redis.Redis.from_url(url) as server:
            server.config_set("rdbcompression", "no")
            found = [server.dump(key) or b"" for key in server.scan_iter(f"{prefix}:*")]
    assert found
    return [content.decode("latin-1") for content in found]
