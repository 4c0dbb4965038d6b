# What makes no tokens passes at once, also while the provider is full and paused, and means nothing to the limit
# (spec §6.1, §7.1).

import pytest
from blackbox.rig import Rig, Starter
from blackbox.waiting import until

UNCOUNTED = [
    ("GET", "/v1/models"),
    ("HEAD", "/"),
    ("OPTIONS", "/v1/messages"),
    ("DELETE", "/v1/files/1"),
    ("PUT", "/v1/thing"),
    ("POST", "/v1/messages/count_tokens"),
    ("POST", "/v1/messages/count_tokens?beta=true"),
    ("POST", "/v1beta/models/m:countTokens"),
    ("POST", "/tokenize"),
    ("POST", "/detokenize"),
    ("POST", "/v1/files"),
    ("POST", "/v1/files/1/content"),
    ("POST", "/v1/uploads/1/parts"),
    ("POST", "/v1/batches"),
    ("POST", "/v1/messages/batches"),
    ("POST", "/api/event_logging/batch"),
    ("POST", "/api/claude_code/metrics"),
    ("POST", "/telemetry"),
]
COUNTED = ["/v1/messages", "/", "/v1/xcount_tokens", "/v1/filesystem", "/v1/count_tokens/x", "/tokenize2", "/api/other"]


@pytest.mark.parametrize(("method", "path"), UNCOUNTED)
async def test_uncounted_request_passes_a_full_and_paused_provider(rig: Rig, method: str, path: str) -> None:
    await rig.ask("holder")
    holder = await rig.up.call()
    await rig.pause(60_000)
    await rig.line_up("waiter")
    client = await rig.ask("free", method=method, target=f"/up{path}")
    call = await rig.up.call()
    assert (call.name, call.head.method, call.head.target) == ("free", method, path)
    assert (await rig.status())["inFlight"] == 1
    await call.answer(headers=(("X-A", "1"),)) if method != "HEAD" else call.raw(b"HTTP/1.1 200 OK\r\n\r\n")
    await call.end()
    assert (await client.answer()).status == 200
    assert (await rig.status())["queued"] == 1
    assert not holder.done.is_set()


@pytest.mark.parametrize("path", COUNTED)
async def test_other_posts_are_counted(rig: Rig, path: str) -> None:
    await rig.ask("a", target=f"/up{path}")
    await rig.up.call()
    assert (await rig.status())["inFlight"] == 1


async def test_429_to_an_uncounted_request_has_no_effect(rig: Rig) -> None:
    client = await rig.ask(method="GET", target="/up/v1/models")
    await (await rig.up.call()).answer(429, b"{}", (("Retry-After", "60"),))
    answer = await client.answer()
    assert (answer.status, answer.head.get("retry-after"), answer.code) == (429, "60", None)
    client = await rig.ask("next")
    await rig.finish(await rig.up.call(), client)
    entry = await rig.status()
    assert (entry["paused"], entry["limit"], entry["autoReduced"]) == (False, 1, False)


async def test_uncounted_request_is_streamed_in_both_directions(rig: Rig) -> None:
    """It is not read whole first: its beginning reaches the upstream while its end is not said yet."""
    client = await rig.client()
    await client.send(b"POST /up/v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + b"x" * 100_000)

    await until(lambda: any(connection.bytes >= 100_000 for connection in rig.up.connections))
    await client.send(b"x" * 100_000)
    call = await rig.up.call()
    assert call.body == b"x" * 200_000
    call.begin()
    call.event("one")
    await client.until(b"data: one\n\n")
    await call.finish()


async def test_what_is_counted_can_be_configured(start: Starter) -> None:
    rig = await start({"up": {"limit": 1, "counted": {"methods": ["PUT"], "except": ["/free"]}}})
    for method, target in (("POST", "/up/v1/messages"), ("PUT", "/up/v1/free")):
        await rig.ask(method=method, target=target)
        await rig.up.call()
    assert (await rig.status())["inFlight"] == 0
    await rig.ask(method="PUT", target="/up/v1/other")
    await rig.up.call()
    assert (await rig.status())["inFlight"] == 1
