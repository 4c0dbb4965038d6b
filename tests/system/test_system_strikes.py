# The strike ledger: a provider that locks accounts after so many concurrency 429s in a day is never asked again by
# trying; and all that is shown of what refusals teach is as it is described (spec §7.2, §12).

import asyncio
import json
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from blackbox.rig import Options, Rig, Starter
from blackbox.upstream import Usage
from blackbox.waiting import until

STRIKE = (("server", "uvicorn"), ("Retry-After", "1"))  # as Umans says it; no CDN stands before it
UMANS: Options = {"preset": "umans", "limit": 4, "cooldown": "0s"}


async def refused(rig: Rig, *headers: tuple[str, str], body: bytes = b"") -> dict[str, Any]:
    """One request that was answered 429; the status entry during the pause that follows."""
    client = await rig.ask()
    await (await rig.up.call()).answer(429, body, headers)
    assert (await client.answer()).status == 429
    return await rig.until_status(paused=True, inFlight=0)


def pause_ms(entry: dict[str, Any]) -> int:
    """For how long the latest refusal paused, to the half second: two clocks are read, one after the other."""
    return round((entry["pausedUntil"] - entry["lastRateLimit"]["at"]) / 500) * 500


async def told_by_command(rig: Rig, *arguments: str) -> str:
    host, port = rig.proxy.admin_address
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "proxy", "status", "--admin", f"http://{host}:{port}", *arguments),
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await process.communicate()
    assert process.returncode == 0
    return told.decode()


async def stored(rig: Rig) -> None:
    """Everything before this is in the state file: writes are made in order, and this one is acknowledged."""
    await rig.star("stored")


async def test_concurrency_429_is_a_strike_wherever_one_looks(start: Starter) -> None:
    rig = await start({"up": UMANS})
    rig.up.usage = Usage(0)
    assert (await rig.status())["strikes"] == {"today": 0, "allowed": 10}
    entry = await refused(rig, *STRIKE)
    assert (entry["lastRateLimit"]["kind"], entry["lastRateLimit"]["retryAfterMs"]) == ("concurrency", 1000)
    assert (entry["strikes"], entry["limit"]) == ({"today": 1, "allowed": 10}, 3)
    assert await rig.metric("slotgate_strikes", provider=rig.provider) == 1
    assert await rig.metric("slotgate_strikes_allowed", provider=rig.provider) == 10
    assert await rig.metric("slotgate_rate_limited_total", provider=rig.provider, kind="concurrency") == 1
    assert "1 of 10 strikes today" in await told_by_command(rig)
    (shown,) = json.loads(await told_by_command(rig, "--json"))["providers"]
    assert shown["strikes"] == {"today": 1, "allowed": 10}


async def test_each_strike_doubles_the_pause(start: Starter) -> None:
    rig = await start({"up": UMANS})
    for strikes, expected in enumerate((5000, 10_000, 20_000, 40_000), 1):
        entry = await refused(rig, *STRIKE)
        assert (entry["strikes"]["today"], pause_ms(entry)) == (strikes, expected)
        await rig.resume()


async def test_burst_is_as_many_strikes_and_one_reduction(start: Starter) -> None:
    rig = await start({"up": UMANS})
    for name in "abc":
        await rig.ask(name)
    for call in await rig.up.take(3):
        await call.answer(429, b"", STRIKE)
    entry = await rig.until_status(inFlight=0, paused=True)
    assert (entry["strikes"]["today"], entry["limit"], pause_ms(entry)) == (3, 3, 20_000)


async def test_last_strike_that_is_borne_pauses_for_as_long_as_may_be(start: Starter) -> None:
    rig = await start({"up": {**UMANS, "strikes": 2, "pause": {"max": "7m"}}})
    assert pause_ms(await refused(rig, *STRIKE)) == 5000
    await rig.resume()
    entry = await refused(rig, *STRIKE)
    assert (entry["strikes"], pause_ms(entry)) == ({"today": 2, "allowed": 2}, 420_000)


async def test_stated_wait_that_is_longer_than_the_floor_counts(start: Starter) -> None:
    rig = await start({"up": UMANS})
    entry = await refused(rig, ("server", "uvicorn"), ("Retry-After", "9"))
    assert (entry["lastRateLimit"]["kind"], pause_ms(entry)) == ("concurrency", 9000)


async def test_strikes_survive_a_kill_and_the_doubling_goes_on(start: Starter) -> None:
    rig = await start({"up": {**UMANS, "pause": {"min": "1m"}}})  # so that it outlasts the start
    await refused(rig, *STRIKE)
    await rig.resume()
    entry = await refused(rig, *STRIKE)
    await stored(rig)
    await rig.proxy.kill()
    await rig.proxy.restart()
    after = await rig.status()
    assert (after["strikes"], after["paused"], after["limit"]) == ({"today": 2, "allowed": 10}, True, 2)
    assert abs(after["pausedUntil"] - entry["pausedUntil"]) < 2000
    assert await rig.metric("slotgate_strikes", provider=rig.provider) == 2
    await rig.resume()
    entry = await refused(rig, *STRIKE)
    assert (entry["strikes"]["today"], pause_ms(entry)) == (3, 240_000)


@pytest.mark.sqlite(reason="writes into the file")
async def test_strikes_of_yesterday_are_forgotten(start: Starter) -> None:
    rig = await start({"up": UMANS})
    await refused(rig, *STRIKE)
    await rig.proxy.stop()
    with sqlite3.connect(rig.proxy.state) as database:
        ends = database.execute("UPDATE providers SET strikes_until_ms = ?", (int(time.time() * 1000),))
        assert ends.rowcount == 1
    database.close()
    await rig.proxy.restart()
    assert (await rig.status())["strikes"] == {"today": 0, "allowed": 10}
    await rig.resume()
    assert pause_ms(await refused(rig, *STRIKE)) == 5000


@pytest.mark.parametrize(
    "headers",
    [(*STRIKE, ("cf-ray", "8f0-AMS")), (("server", "cloudflare"), ("Retry-After", "1")), (("Retry-After", "30"),)],
    ids=["cf-ray", "server of a CDN", "wait of its request window"],
)
async def test_429_of_the_edge_or_of_the_window_is_rate_and_no_strike(
    start: Starter, headers: tuple[tuple[str, str], ...]
) -> None:
    rig = await start({"up": UMANS})
    entry = await refused(rig, *headers)
    assert (entry["lastRateLimit"]["kind"], entry["strikes"]["today"], entry["limit"]) == ("rate", 0, 3)
    assert pause_ms(entry) == max(5000, entry["lastRateLimit"]["retryAfterMs"]), "the floor is for every 429"
    assert await rig.metric("slotgate_strikes", provider=rig.provider) == 0


async def test_uncounted_requests_and_polls_make_no_strikes(start: Starter) -> None:
    rig = await start({"up": UMANS})
    rig.up.usage = usage = Usage()
    usage.answer = lambda call: call.answer(429, b"", STRIKE)
    client = await rig.ask(method="GET", target="/up/v1/models")
    await (await rig.up.call()).answer(429, b"", STRIKE)
    assert (await client.answer()).status == 429
    for name in "abcd":
        await rig.ask(name)
    first, *_ = await rig.up.take(4)
    await rig.line_up("waiter")
    await first.answer()
    assert (await rig.up.call()).name == "waiter", "a poll without information grants as without a gate"
    entry = await rig.status()
    assert (entry["strikes"]["today"], entry["paused"], entry["limit"], len(usage.polls) > 0) == (0, False, 4, True)


async def test_without_a_limit_strikes_are_counted_and_hold_nothing(start: Starter) -> None:
    rig = await start({"up": {"preset": "umans", "cooldown": "0s"}})
    for _ in range(2):
        client = await rig.ask()
        await (await rig.up.call()).answer(429, b"", STRIKE)
        assert (await client.answer()).status == 429
    await rig.in_flight(0)
    entry = await rig.status()
    assert (entry["limit"], entry["paused"], entry["strikes"]["today"]) == (None, False, 2)
    assert "2 of 10 strikes today" in await told_by_command(rig, "--all")


@pytest.mark.parametrize(
    ("preset", "body"),
    [
        (
            "moonshot",
            b'{"error":{"message":"reached max organization concurrency: 3","type":"rate_limit_reached_error"}}',
        ),
        ("kimi", b'{"error":{"message":"reached max organization concurrency: 3","type":"rate_limit_reached_error"}}'),
    ],
)
async def test_wait_of_zero_is_raised_to_the_floor_and_no_more_where_nobody_counts_strikes(
    start: Starter, preset: str, body: bytes
) -> None:
    rig = await start({"up": {"preset": preset, "limit": 4, "cooldown": "0s"}})
    for strikes in (1, 2, 3):
        client = await rig.ask()
        await (await rig.up.call()).answer(429, body, (("Retry-After", "0"),))
        assert (await client.answer()).status == 429
        entry = await rig.until_status(paused=True)
        assert (entry["lastRateLimit"]["kind"], entry["lastRateLimit"]["retryAfterMs"]) == ("concurrency", 0)
        assert (pause_ms(entry), entry["strikes"]) == (1000, {"today": strikes, "allowed": None})
        await rig.resume()


# --- the description ---


async def test_everything_that_is_shown_of_what_refusals_teach_is_as_it_is_described(
    start: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "web" / "admin"))
    from shapes import faults  # the checker of the admin API's own tests

    polls = {"url": "/v1/usage", "field": "usage.concurrent_sessions", "interval": "100ms"}
    rig = await start(
        {
            "up": {**UMANS, "auto_restore": "10m"},
            "auto": {"limit": "auto"},
            "lags": {"limit": 1, "cooldown": "auto", "usage": polls},
            "few": {"limit": 3},
        }
    )
    client = await rig.ask()
    await (await rig.up.call()).answer(402, b'{"error":{"message":"Insufficient balance"}}')
    assert (await client.answer()).status == 402
    await refused(rig, *STRIKE)
    lags = rig.upstreams["lags"]
    lags.usage = usage = Usage(1)
    await rig.ask("a", target="/lags/v1/messages")
    first = await lags.call()
    waiter = await rig.ask("b", target="/lags/v1/messages")
    await rig.queued(1, rig.provider_of("lags"))
    await first.answer()
    await until(lambda: any(poll.done.is_set() for poll in usage.polls), what="a poll that counts what has ended")
    usage.number = 0
    await rig.finish(await lags.call(), waiter)

    few = rig.upstreams["few"]
    await rig.ask("c", target="/few/v1/messages")
    (await few.call()).begin(headers=[("x-ratelimit-remaining-requests", "1"), ("x-ratelimit-reset-requests", "60s")])
    await rig.ask("d", target="/few/v1/messages")
    await few.call()

    document = (await rig.admin.get("/openapi.json")).json
    described = document["components"]["schemas"]["Provider"]
    entries = (await rig.admin.get("/concurrency/status?all=1")).json["providers"]
    assert [faults(entry, described, document) for entry in entries] == [[], [], [], []]
    assert set().union(*entries) == set(described["properties"]) - {"persisted"}, "a key that nothing here brings about"
    for path, name in (("/concurrency/limits", "Limit"), ("/concurrency/cooldown", "Cooldown")):
        ((_, listed),) = (await rig.admin.get(path)).json.items()
        assert listed
        shape = document["components"]["schemas"][name]
        assert [fault for each in listed for fault in faults(each, shape, document)] == []
