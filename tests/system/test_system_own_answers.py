# What the proxy answers by itself: its status, its code, a Retry-After, and JSON that OpenAI and Anthropic clients read
# (spec §6.4, §11); and that whoever was refused leaves no trace (bug cases DBL-05, ORD-09, WAIT-04, LEAK-13).

import asyncio

import pytest
from blackbox.client import Answer
from blackbox.rig import Rig, Starter

UPSTREAMS = {"up": {"limit": 1, "cooldown": "0s"}, "second": {"limit": 1}}
TOP = {
    "queue": {"max_waiting": 4, "body_limit": "64KiB", "body_budget": "200KiB"},
    "client_header_timeout": "1s",
}
RETRY = {"queue_full", "queue_timeout", "paused", "draining", "body_budget", "dropped"}


def check(answer: Answer, status: int, code: str, says: str = "") -> None:
    """An answer of our own is the same everywhere."""
    assert (answer.status, answer.code) == (status, code), answer
    assert (answer.head.get("content-type") or "").startswith("application/json")
    assert answer.json["type"] == "error"
    error = answer.json["error"]
    assert error["code"] == code
    assert error["message"].startswith("slotgate: ")
    assert says in error["message"]
    assert isinstance(error["type"], str)
    if code in RETRY:
        assert 1 <= int(answer.head.get("retry-after") or 0) <= 59
    assert answer.head.get("server") is None


async def test_request_after_the_last_place_in_the_queue_is_refused(rig: Rig) -> None:
    before = await rig.metric("slotgate_own_answers_total", code="queue_full")
    await rig.ask("holder")
    await rig.up.call()
    await rig.line_up("a", "b", "c", "d")
    answer = await (await rig.ask("e")).answer()
    check(answer, 503, "queue_full", rig.provider)
    assert answer.json["error"]["type"] == "overloaded_error"
    assert (await rig.status())["queued"] == 4
    assert await rig.metric("slotgate_own_answers_total", code="queue_full") == before + 1


async def test_waiter_is_refused_after_its_longest_wait_and_both_slots_stay_usable(start: Starter) -> None:
    """WAIT-04: whoever gave up is not handed a slot later."""
    rig = await start({"up": {"limit": 2, "cooldown": "0s"}}, queue={"max_wait": "1s"})
    for name in "ab":
        await rig.ask(name)
    running = await rig.up.take(2)
    for _ in range(2):
        waiters = [await rig.ask("late") for _ in range(3)]
        for answer in await asyncio.gather(*(waiter.answer() for waiter in waiters)):
            check(answer, 503, "queue_timeout", rig.provider)
    for call in running:
        await call.answer()
    await rig.at_rest()
    for name in "cd":
        await rig.ask(name)
    await rig.up.take(2)
    assert "late" not in rig.up.names
    assert rig.up.peak == 2


async def test_waiter_is_refused_as_soon_as_a_pause_outlasts_its_patience(start: Starter) -> None:
    """PAUSE-12: not after its ten seconds, and told to come back when the pause is over, not before."""
    rig = await start({"up": {"limit": 1, "cooldown": "0s"}}, queue={"max_wait": "20s"})
    await rig.ask("holder")
    await rig.up.call()
    (waiter,) = await rig.line_up("waiter")
    await rig.pause(50_000)
    answer = await waiter.answer(timeout=10)
    check(answer, 503, "paused", rig.provider)
    assert int(answer.head.get("retry-after") or 0) >= 30
    check(await (await rig.ask("newcomer")).answer(timeout=10), 503, "paused")
    assert rig.up.names == ["holder"]


@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_body_over_the_limit_is_413_and_can_be_read(rig: Rig, framing: str) -> None:
    client = await rig.client()
    body = b"x" * 70_000
    if framing == "length":
        await client.request("POST", "/up/v1/messages", body=body)
    else:
        head = b"POST /up/v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        await client.send(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
    check(await client.answer(), 413, "body_too_large")
    assert rig.up.calls == []


async def test_refusal_stays_readable_while_megabytes_of_body_arrive(rig: Rig) -> None:
    client = await rig.client()
    await client.request("POST", "/up/v1/messages", body=b"x" * 6_000_000)
    check(await client.answer(), 413, "body_too_large")


async def test_body_of_exactly_the_limit_passes(rig: Rig) -> None:
    client = await rig.ask(body=b"x" * 65_536)
    call = await rig.up.call()
    assert len(call.body) == 65_536
    await rig.finish(call, client)


@pytest.mark.one_process(reason="each replica has a memory of its own, and a budget for it")
async def test_waiting_bodies_share_a_budget(rig: Rig) -> None:
    await rig.ask("holder")
    await rig.up.call()
    waiters = await rig.line_up("a", "b", "c", body=b"x" * 60_000)
    check(await (await rig.ask("d", body=b"x" * 60_000)).answer(), 503, "body_budget")
    waiters[0].rst()
    await rig.queued(2)
    await rig.line_up("e", body=b"x" * 60_000)


async def test_whoever_finds_the_queue_full_gives_back_its_share_of_the_budget(rig: Rig) -> None:
    """LEAK-13: two things are taken one after the other; who fails at the second must give the first back."""
    await rig.ask("holder")
    await rig.up.call()
    waiters = await rig.line_up("a", "b", "c", "d", body=b"x" * 40_000)
    for _ in range(50):
        check(await (await rig.ask("refused", body=b"x" * 30_000)).answer(), 503, "queue_full")
    for waiter in waiters:
        waiter.rst()
    await rig.queued(0)
    await rig.line_up("e", "f", "g", body=b"x" * 60_000)


async def test_unknown_upstream_is_404_and_names_the_known_ones(rig: Rig) -> None:
    for target in ("/nowhere/v1/messages", "/", "//up/x", "/UP/v1/messages", "/%75p/v1/messages"):
        answer = await (await rig.ask(target=target)).answer()
        check(answer, 404, "unknown_upstream", "second")
    assert rig.up.calls == []


@pytest.mark.parametrize("target", ["/~/up/v1/messages", f"/~{'x' * 129}/up/v1/messages"])
async def test_impossible_workspace_in_the_path_is_400(rig: Rig, target: str) -> None:
    check(await (await rig.ask(target=target)).answer(), 400, "bad_request")


@pytest.mark.parametrize("start_line", ["CONNECT api.example.com:443 HTTP/1.1", "OPTIONS * HTTP/1.1"])
async def test_what_the_proxy_does_not_do_is_501(rig: Rig, start_line: str) -> None:
    client = await rig.client()
    await client.send(f"{start_line}\r\nHost: x\r\n\r\n".encode())
    check(await client.answer(), 501, "unsupported")
    assert rig.up.calls == []


async def test_request_head_that_takes_too_long_is_408_and_closed(rig: Rig) -> None:
    client = await rig.client()
    await client.send(b"POST /up/v1/messages HTTP/1.1\r\nHost: x\r\nX-Slow")
    answer = await client.answer()
    assert answer.status == 408
    await client.closed()


async def test_answers_of_the_upstream_are_not_marked_as_ours(rig: Rig) -> None:
    for status in (400, 404, 429, 500, 502, 503, 504):
        client = await rig.ask()
        await (await rig.up.call()).answer(status, b"theirs")
        answer = await client.answer()
        assert (answer.status, answer.code, answer.body) == (status, None, b"theirs")
        await rig.resume()
        await rig.limit(1)


async def test_whoever_never_got_a_slot_gives_none_back(start: Starter) -> None:
    """DBL-05: refused, timed out, reset or dropped in the queue: no unmatched release widens the limit."""
    rig = await start({"up": {"limit": 1, "cooldown": "0s"}}, queue={"max_waiting": 10, "max_wait": "3s"})
    await rig.ask("holder")
    holder = await rig.up.call()
    waiters = await rig.line_up(*(str(number) for number in range(10)))
    for _ in range(25):
        check(await (await rig.ask("refused")).answer(), 503, "queue_full")
    for waiter in waiters[:4]:
        waiter.rst()
    for entry in (await rig.slots())["waiters"][-3:]:
        await rig.admin.delete(f"/concurrency/slots/{rig.provider}/{entry['id']}")
    for waiter in waiters[4:]:
        assert (await waiter.answer()).code in ("queue_timeout", "dropped")
    await rig.pause(60_000)
    for _ in range(25):
        check(await (await rig.ask("refused")).answer(), 503, "paused")
    await rig.resume()
    await holder.answer()
    await rig.at_rest()
    for _ in range(2):
        await rig.ask("slow")
    await rig.up.call()
    await rig.queued(1)
    assert rig.up.names == ["holder", "slow"]
    assert not [line for line in rig.proxy.log if line.get("level") in ("error", "critical")]


async def _line(rig: Rig) -> list[tuple[object, ...]]:
    """Who waits, in order; how long, time alone changes."""
    waiters = (await rig.slots())["waiters"]
    return [tuple(waiter[name] for name in ("id", "position", "conversationId", "starred")) for waiter in waiters]


async def test_refused_requests_change_neither_counts_nor_order(rig: Rig) -> None:
    """ORD-09: being refused uses nothing up."""
    await rig.ask("holder", workspace="w", conversation="h")
    holder = await rig.up.call()
    await rig.line_up("a", workspace="w", conversation="a", started_at=1_700_000_000_000)
    await rig.line_up("b", workspace="w", conversation="b", started_at=1_700_000_100_000)
    await rig.line_up("c", "d", started_at=1_700_000_200_000)
    before = await _line(rig)
    for _ in range(10):
        refused = await rig.ask("r", workspace="w", conversation="a", started_at=1_600_000_000_000)
        check(await refused.answer(), 503, "queue_full")
    assert await _line(rig) == before
    listed = {w["workspaceId"]: w for w in (await rig.admin.get("/concurrency/workspaces")).json["workspaces"]}
    assert (listed["w"]["queued"], listed["w"]["inFlight"]) == (2, 1)
    await holder.answer()
    assert (await rig.up.call()).name == "a"


async def test_every_request_has_one_line_in_the_log(rig: Rig) -> None:
    client = await rig.ask("a", workspace="logged", conversation="conv-1")
    await rig.finish(await rig.up.call(), client)
    line = await rig.proxy.logged(lambda line: line.get("workspace") == "logged")
    assert {"provider", "conversation", "workspace", "status", "outcome", "waited_ms", "held_ms", "bytes"} <= set(line)
    assert (line["provider"], line["conversation"], line["status"]) == (rig.provider, "conv-1", 200)
