# Minutes, the events of one provider, and the changes by hand: all stores keep them alike, and no more than they may.

import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace

import pytest

from proxy.errors import StoreError
from proxy.store import (
    AUDIT_MS,
    HISTORY_MS,
    MINUTE_MS,
    SavedEvent,
    Span,
    Store,
    audit,
    memory,
    minutes,
    open_store,
    sqlite,
    steps,
)

NOW = 1_700_000_040_000
BOUNDS = [(0.0, 1.0), (1.0, 2.5), (250.0, 500.0), (250.0, 1000.0), (600_000.0, None)]
EVER = {"since_ms": 0, "until_ms": 2**62}


@pytest.fixture(params=["sqlite", "memory", "redis"])
async def store(request, path) -> AsyncIterator[Store]:
    made = open_store(request.param, request.getfixturevalue("redis_url") if request.param == "redis" else str(path))
    await made.open()
    yield made
    await made.close()


# --- minutes ---------------------------------------------------------------------------------------------------------


async def test_minutes_come_back_as_they_were_in_the_order_of_time(store, minute):
    bare = minute(NOW, limit=None, waits=(), first_bytes=())
    later, other = minute(NOW + MINUTE_MS), minute(NOW, "other.example.com")
    assert await store.append_minutes([later, other])
    assert await store.append_minutes([bare])
    assert await store.append_minutes([])
    assert await store.minutes("api.example.com", **EVER) == [bare, later]
    assert await store.minutes("other.example.com", **EVER) == [other]
    assert await store.minutes("nobody", **EVER) == []


async def test_minutes_are_asked_for_by_their_beginning(store, minute):
    await store.append_minutes([minute(NOW + number * MINUTE_MS) for number in range(4)])
    found = await store.minutes("api.example.com", since_ms=NOW + MINUTE_MS, until_ms=NOW + 3 * MINUTE_MS)
    assert [each.at for each in found] == [NOW + MINUTE_MS, NOW + 2 * MINUTE_MS]


async def test_what_two_saw_of_one_minute_adds_up(store, minute):
    await store.append_minutes([minute(NOW, granted=50, in_flight_max=4, limit=4)])
    await store.append_minutes([minute(NOW, granted=1, in_flight_max=1, limit=None)])
    (found,) = await store.minutes("api.example.com", **EVER)
    assert (found.granted, found.in_flight_max, found.limit, found.seen_ms) == (51, 4, None, 2 * MINUTE_MS)


@pytest.mark.parametrize("step", [1, 7, 10, 60, 1440])
async def test_both_stores_put_minutes_together_alike(path, minute, step):
    chance = random.Random(step)
    numbers = ("in_flight_max", "in_flight_ms", "queued_ms", "granted", "completed", "rate_limited", "oldest_wait_ms")
    made = [
        minute(
            NOW + chance.randrange(300) * MINUTE_MS,
            limit=chance.choice([None, 1, 2]),
            waits=tuple(Span(*bounds, chance.randint(1, 9)) for bounds in BOUNDS if chance.random() < 0.5),
            first_bytes=(),
            **{name: chance.randrange(100) for name in numbers},
        )
        for _ in range(400)
    ]
    found = []
    for kind in ("sqlite", "memory"):
        store = open_store(kind, str(path))
        await store.open()
        for each in made:
            await store.append_minutes([each, replace(each, provider_id="other")])
        found.append(await store.minutes("api.example.com", **EVER, step_ms=step * MINUTE_MS))
        await store.close()
    assert found[0] == found[1] == steps(made, step * MINUTE_MS)
    assert sum(each.granted for each in found[0]) == sum(each.granted for each in made)
    assert [each.at % (step * MINUTE_MS) for each in found[0]] == [0] * len(found[0])


async def test_a_step_has_the_sums_the_greatest_and_the_last_limit_of_its_minutes(store, minute):
    at = NOW - NOW % (10 * MINUTE_MS)
    other = minute(
        at + MINUTE_MS,
        seen_ms=30_000,
        limit=3,
        in_flight_max=3,
        in_flight_ms=60_000,
        queued_max=9,
        queued_ms=10_000,
        oldest_wait_ms=40_000,
        granted=5,
        completed=6,
        rate_limited=1,
        reduced=2,
        paused_ms=7_000,
        waits=(Span(0.0, 1.0, 1),),
        first_bytes=(Span(2.5, 5.0, 3),),
    )
    await store.append_minutes([minute(at), other])
    assert await store.minutes("api.example.com", **EVER, step_ms=10 * MINUTE_MS) == [
        minute(
            at,
            seen_ms=90_000,
            limit=3,
            in_flight_max=4,
            in_flight_ms=210_000,
            queued_max=9,
            queued_ms=100_000,
            oldest_wait_ms=40_000,
            granted=17,
            completed=17,
            rate_limited=3,
            reduced=3,
            paused_ms=37_000,
            waits=(Span(0.0, 1.0, 11), Span(600_000.0, None, 2)),
            first_bytes=(Span(1.0, 2.5, 11), Span(2.5, 5.0, 3)),
        )
    ]


async def test_minutes_older_than_seven_days_are_dropped(store, minute, monkeypatch):
    monkeypatch.setattr(sqlite, "PRUNE_MINUTES", 1)
    for at in (NOW - MINUTE_MS, NOW, NOW + HISTORY_MS):
        await store.append_minutes([minute(at)])
    await store.append_minutes([minute(NOW + HISTORY_MS)])
    assert [each.at for each in await store.minutes("api.example.com", **EVER)] == [NOW, NOW + HISTORY_MS]


async def test_many_providers_do_not_fill_what_keeps_them(path, minute, monkeypatch):
    monkeypatch.setattr(minutes, "MINUTES_KEPT", 10)
    monkeypatch.setattr(memory, "MINUTES_KEPT", 10)
    monkeypatch.setattr(sqlite, "PRUNE_MINUTES", 8)
    for kind in ("sqlite", "memory"):
        store = open_store(kind, str(path))
        await store.open()
        for number in range(9):
            await store.append_minutes([minute(NOW + number * MINUTE_MS, f"p{each}") for each in range(4)])
        kept = [each for name in range(4) for each in await store.minutes(f"p{name}", **EVER)]
        assert 10 <= len(kept) <= 10 + 8
        assert max(each.at for each in kept) == NOW + 8 * MINUTE_MS
        await store.close()


async def test_next_start_knows_of_whom_there_are_minutes(path, stores, minute):
    first = stores(path)
    assert (await first.open()).recorded == frozenset()
    await first.append_minutes([minute(NOW, "a"), minute(NOW, "b"), minute(NOW + MINUTE_MS, "a")])
    await first.close()
    assert (await stores(path).open()).recorded == {"a", "b"}


async def test_minutes_that_met_a_lock_are_stored_with_the_next_write(path, stores, minute, monkeypatch):
    monkeypatch.setattr("proxy.store.database.BUSY_S", 0.05)
    store = stores(path)
    await store.open()
    with closing(sqlite3.connect(path, isolation_level=None)) as blocker:
        blocker.execute("BEGIN IMMEDIATE")
        assert not await store.append_minutes([minute(NOW)])
        assert not store.ok
        blocker.execute("ROLLBACK")
    assert await store.append_minutes([minute(NOW + MINUTE_MS)])
    assert store.ok
    assert [each.at for each in await store.minutes("api.example.com", **EVER)] == [NOW, NOW + MINUTE_MS]


async def test_what_is_owed_does_not_grow_without_bounds(path, stores, minute, change, monkeypatch):
    monkeypatch.setattr("proxy.store.database.BUSY_S", 0.0)
    monkeypatch.setattr(audit, "AUDIT_OWED", 5)
    store = stores(path)
    await store.open()
    with closing(sqlite3.connect(path, isolation_level=None)) as blocker:
        blocker.execute("BEGIN IMMEDIATE")
        for number in range(70):
            assert not await store.append_minutes([minute(NOW + number * MINUTE_MS)])
            assert not await store.append_changes([change(NOW + number)])
        blocker.execute("ROLLBACK")
    assert await store.save_star("w", True)
    found = await store.minutes("api.example.com", **EVER)
    assert [each.at for each in found] == [NOW + number * MINUTE_MS for number in range(10, 70)]
    assert [each.at - NOW for each in await store.changes(since_ms=0, most=99)] == [69, 68, 67, 66, 65]


def spoil(path, sql):
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(sql)


@pytest.mark.parametrize("spoiled", ["waits = '{'", "waits = '[[1]]'", "waits = '1'", "granted = 'many'"])
async def test_minute_that_does_not_decode_is_an_error_that_names_the_file(path, stores, minute, spoiled):
    store = stores(path)
    await store.open()
    await store.append_minutes([minute(NOW)])
    spoil(path, f"UPDATE minutes SET {spoiled}")
    with pytest.raises(StoreError, match=r"state\.db cannot be read"):
        await store.minutes("api.example.com", **EVER)
    assert await store.append_minutes([minute(NOW)])


async def test_file_with_minutes_of_no_provider_is_set_aside(path, stores, minute):
    store = stores(path)
    await store.open()
    await store.append_minutes([minute(NOW)])
    await store.close()
    spoil(path, "UPDATE minutes SET provider_id = x'ff'")
    again = stores(path)
    assert (await again.open()).recorded == frozenset()
    assert again.damaged is not None


async def test_closed_store_neither_takes_nor_gives_a_history(path, stores, minute, change):
    store = stores(path)
    await store.open()
    await store.close()
    assert not await store.append_minutes([minute(NOW)])
    assert not await store.append_changes([change()])
    with pytest.raises(StoreError, match="closed"):
        await store.minutes("p", **EVER)
    with pytest.raises(StoreError, match="closed"):
        await store.changes(since_ms=0, most=1)
    with pytest.raises(StoreError, match="closed"):
        await store.events_of("p", ["paused"], **EVER, most=1)


# --- the events of one provider --------------------------------------------------------------------------------------


async def test_newest_events_of_one_provider_oldest_first(store, event):
    wanted = [event(NOW + number, "paused", number=number) for number in range(5)]
    others = [event(NOW + 2, "reloaded"), replace(event(NOW + 2, "paused"), provider_id="other.example.com")]
    await store.append_events([*wanted[:2], *others, *wanted[2:]])
    names = ["paused", "resumed"]
    assert await store.events_of("api.example.com", names, **EVER, most=99) == wanted
    assert await store.events_of("api.example.com", names, **EVER, most=2) == wanted[3:]
    found = await store.events_of("api.example.com", names, since_ms=NOW + 1, until_ms=NOW + 3, most=99)
    assert found == wanted[1:3]
    assert await store.events_of("api.example.com", ["resumed"], **EVER, most=99) == []


# --- changes by hand -------------------------------------------------------------------------------------------------


async def test_changes_come_back_the_last_one_first(store, change):
    made = [
        change(NOW),
        change(NOW + 1, what="star", provider_id=None, workspace="größer\n=1+1", before=False, after=True),
        change(NOW + 2, what="pause", before={"until": NOW}, after={"until": NOW + 9}),
    ]
    for each in made:
        assert await store.append_changes([each])
    assert await store.changes(since_ms=0, most=99) == made[::-1]
    assert await store.changes(since_ms=0, most=2) == [made[2], made[1]]
    assert await store.changes(since_ms=NOW + 2, most=99) == [made[2]]
    assert await store.changes(since_ms=0, most=99, provider_id="api.example.com") == [made[2], made[0]]


async def test_changes_survive_a_restart_for_a_year_and_not_too_many(path, stores, change, monkeypatch):
    monkeypatch.setattr(sqlite, "PRUNE_EVERY", 1)
    monkeypatch.setattr(audit, "AUDIT_KEPT", 4)
    store = stores(path)
    await store.open()
    for at in (NOW - 1, NOW, NOW + AUDIT_MS, NOW + AUDIT_MS):
        await store.append_changes([change(at)])
    assert [each.at for each in await store.changes(since_ms=0, most=99)] == [NOW + AUDIT_MS, NOW + AUDIT_MS, NOW]
    for number in range(6):
        await store.append_changes([change(NOW + AUDIT_MS + number)])
    await store.close()
    store = stores(path)
    await store.open()
    kept = await store.changes(since_ms=0, most=99)
    assert [each.at - NOW - AUDIT_MS for each in kept] == [5, 4, 3, 2]


async def test_memory_keeps_so_many_changes(change, monkeypatch):
    monkeypatch.setattr(memory, "CHANGES_KEPT", 3)
    store = open_store("memory", "")
    for number in range(5):
        await store.append_changes([change(NOW + number)])
    assert [each.at - NOW for each in await store.changes(since_ms=0, most=99)] == [4, 3, 2]


async def test_change_that_does_not_decode_is_an_error(path, stores, change):
    store = stores(path)
    await store.open()
    await store.append_changes([change()])
    spoil(path, "UPDATE audit SET before = '{'")
    with pytest.raises(StoreError, match=r"state\.db cannot be read"):
        await store.changes(since_ms=0, most=9)


# --- clocks that are wrong --------------------------------------------------------------------------------------------


async def test_one_run_with_a_clock_that_is_ahead_takes_nothing_away(path, stores, minute, change, event):
    """Each run prunes with its first batch; the next one, with the right clock, does, too."""
    ahead_ms = 400 * 24 * 3600 * 1000
    for at in (NOW, NOW + ahead_ms, NOW + MINUTE_MS):
        store = stores(path)
        await store.open()
        await store.append_minutes([minute(at)])
        await store.append_changes([change(at)])
        await store.append_events([event(at)])
        await store.close()
    store = stores(path)
    await store.open()
    known = {NOW, NOW + MINUTE_MS, NOW + ahead_ms}
    assert {each.at for each in await store.minutes("api.example.com", **EVER)} == known
    assert {each.at for each in await store.changes(since_ms=0, most=9)} == known
    assert {each.at for each in await store.history(0)} == known


# --- what nobody wrote -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE minutes SET waits = '[[1,2,Infinity]]'",
        "UPDATE minutes SET waits = '[[NaN,Infinity,3]]'",
        "UPDATE minutes SET waits = '[[1e400,2,3]]'",
        "UPDATE minutes SET waits = '[[1,\"2\",3]]'",
        "UPDATE minutes SET waits = '[[1,2,-3]]'",
        "UPDATE minutes SET first_bytes = '[[1' || replace(hex(zeroblob(200)), '0', '1') || ',null,3]]'",
        "UPDATE minutes SET first_bytes = '7'",
        "UPDATE minutes SET seen_ms = -1, in_flight_ms = -9223372036854775808",
        "UPDATE minutes SET granted = -1",
        "UPDATE minutes SET at = 8639999999940000",
        "UPDATE events SET data = '[]'",
        "UPDATE events SET data = 'NaN'",
        "UPDATE events SET at = -5",
        "UPDATE audit SET before = replace(hex(zeroblob(50000)), '00', '[')",
        "UPDATE audit SET after = 'NaN'",
        "UPDATE audit SET after = '1e999'",
        "UPDATE audit SET at = 99999999999999999",
    ],
)
async def test_row_that_nobody_wrote_cannot_be_read(path, minute, change, damage):
    table = damage.split()[1]
    store = open_store("sqlite", str(path))
    await store.open()
    await store.append_minutes([minute(NOW)])
    await store.append_changes([change(1)])
    await store.append_events([SavedEvent(at=NOW, name="paused", provider_id="api.example.com", data={"until": NOW})])

    async def read() -> None:
        if table == "minutes":
            await store.minutes("api.example.com", since_ms=-(2**62), until_ms=2**62)
        elif table == "events":
            await store.events_of("api.example.com", ["paused"], since_ms=-(2**62), until_ms=2**62, most=9)
        else:
            await store.changes(since_ms=0, most=9)

    await read()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(damage)
    with pytest.raises(StoreError, match="cannot be read"):
        await read()
    await store.close()


async def test_negative_number_does_not_hide_behind_others_of_its_step(path, minute):
    store = open_store("sqlite", str(path))
    await store.open()
    await store.append_minutes([minute(NOW), minute(NOW + MINUTE_MS)])
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE minutes SET queued_ms = -1 WHERE at = ?", (NOW,))
    with pytest.raises(StoreError, match="less than nothing"):
        await store.minutes("api.example.com", **EVER, step_ms=1440 * MINUTE_MS)
    await store.close()
