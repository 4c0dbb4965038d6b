# The state that replicas share: what each sees of the others', a server that goes and returns, and what nobody wrote.

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, replace
from pathlib import Path

import msgspec
import pytest
from servers.redis_server import RedisServer, free_port

from proxy.errors import StoreError
from proxy.replicas.server import Server
from proxy.store import AUDIT_MS, HISTORY_MS, MINUTE_MS, Store, open_store
from proxy.store import redis as redis_store
from proxy.store.redis import RedisStore

NOW = 1_700_000_040_000
EVER = {"since_ms": 0, "until_ms": 2**62}

Open = Callable[..., RedisStore]


@pytest.fixture
async def made() -> AsyncIterator[Open]:
    """Makes stores, and closes them at the end."""
    stores: list[RedisStore] = []

    def make(url: str, replica: str = "", **options: object) -> RedisStore:
        stores.append(RedisStore(Server(url), replica, **options))  # type: ignore[arg-type]
        return stores[-1]

    yield make
    for store in stores:
        await store.close()


@pytest.fixture
def own_server(tmp_path: Path):
    """One that the test may kill."""
    with RedisServer(tmp_path) as server:
        yield server


def raw(url: str) -> str:
    return f"{url.partition('prefix=')[2]}:{{state}}:"


# --- replicas --------------------------------------------------------------------------------------------------------


async def test_new_place_is_empty(made, redis_url):
    store = made(redis_url)
    saved = await store.open()
    assert (dict(saved.providers), saved.stars, saved.recorded) == ({}, frozenset(), frozenset())
    assert (store.kind, store.ok, store.error, store.damaged, store.damage) == ("redis", True, None, None, None)
    assert repr(store) == f"<RedisStore {redis_url.partition('?')[0]} ok>"


async def test_replica_reads_anew_what_another_wrote(made, redis_url, reduced, record):
    one, other = made(redis_url), made(redis_url)
    await one.open()
    await other.open()
    assert await other.provider("api.example.com") is None
    assert await one.save_provider(reduced)
    assert await other.provider("api.example.com") == reduced
    assert await other.save_provider(record(limit=9))
    assert (await one.provider("api.example.com")).limit == 9
    await one.save_star("dear", True)
    assert await other.stars() == {"dear"}
    await other.save_star("dear", False)
    assert await one.stars() == frozenset()


async def test_two_prefixes_are_two_states(made, redis_server, redis_url, record):
    one, other = made(redis_url), made(f"{redis_url}x")
    await one.save_provider(record())
    assert await other.provider("api.example.com") is None


async def test_every_key_has_the_prefix_and_one_hash_tag(made, redis_server, redis_url, minute, event, change, record):
    store = made(redis_url, "a")
    await store.append_minutes([minute(NOW, "{p}")])
    await store.append_events([event(NOW)])
    await store.append_changes([change()])
    await store.save_star("w", True)
    await store.save_provider(record())
    with redis_server.connection() as connection:
        keys = {key.decode().removeprefix(raw(redis_url)) for key in connection.keys(f"{raw(redis_url)}*")}
    assert keys == {
        *("minutes:{p}", "recorded", "events:api.example.com", "eventful", "changes", "stars", "providers"),
    }


async def test_minutes_of_replicas_are_put_together(made, redis_url, minute):
    one, other = made(redis_url, "a"), made(redis_url)
    other.replica = "b"
    await one.open()
    await other.open()
    await one.append_minutes([minute(NOW, in_flight_ms=100_000, granted=2), minute(NOW + MINUTE_MS)])
    await other.append_minutes([minute(NOW, seen_ms=60_001, in_flight_ms=90_000, granted=40, limit=3)])
    first, second = await one.minutes("api.example.com", **EVER)
    assert (first.granted, first.in_flight_ms, first.seen_ms, first.limit) == (42, 90_000, 60_001, 3)
    assert second == minute(NOW + MINUTE_MS)
    assert await other.minutes("api.example.com", **EVER) == [first, second]


async def test_next_start_knows_of_whom_there_are_minutes(made, redis_server, redis_url, minute):
    store = made(redis_url, "a")
    await store.append_minutes([minute(NOW, "p"), minute(NOW, "q"), minute(NOW + MINUTE_MS, "p")])
    assert (await made(redis_url).open()).recorded == {"p", "q"}
    with redis_server.connection() as connection:
        connection.delete(f"{raw(redis_url)}minutes:q")  # as it ends by itself
    assert (await made(redis_url).open()).recorded == {"p"}


async def test_same_write_twice_is_there_once(made, redis_url, minute, change, event):
    """What went through, though the answer was lost, is written again."""
    store = made(redis_url, "a")
    commit = store._commit

    async def twice(changes):
        changes = list(changes)
        await commit(changes)
        await commit(changes)

    store._commit = twice
    assert await store.append_minutes([minute(NOW), minute(NOW)])
    assert await store.append_changes([change(), change()])
    assert await store.append_events([event(NOW), event(NOW)])
    assert [each.granted for each in await store.minutes("api.example.com", **EVER)] == [24]
    assert len(await store.changes(since_ms=0, most=9)) == 2
    assert len(await store.history(0)) == 2


async def test_pages_leave_nothing_out_and_say_nothing_twice(made, redis_url, event, change, monkeypatch):
    monkeypatch.setattr(redis_store, "PAGE", 4)
    store = made(redis_url)
    moments = [0, 0, 0, 1, 1, 2, 3, 4, 4, 4, 4, 4, 4, 5, 6]  # more of one moment than a page has
    events = [event(NOW + at, "paused", number=number) for number, at in enumerate(moments)]
    await store.append_events(events)
    await store.append_changes([change(NOW + at, after=number) for number, at in enumerate(moments)])
    assert await store.history(0) == events
    for most in range(1, 17):
        assert await store.events_of("api.example.com", ["paused"], **EVER, most=most) == events[-most:]
    numbers = [each.after for each in await store.changes(since_ms=0, most=99)]
    assert numbers == list(range(len(moments)))[::-1]
    assert [each.after for each in await store.changes(since_ms=NOW + 4, most=99)] == [14, 13, 12, 11, 10, 9, 8, 7][:8]


# --- how much is kept ------------------------------------------------------------------------------------------------


async def test_histories_are_bounded_in_age_and_number(made, redis_url, event, minute, change, monkeypatch):
    for name in ("EVENTS_KEPT", "MINUTES_KEPT", "CHANGES_KEPT"):
        monkeypatch.setattr(redis_store, name, 4)
    store = made(redis_url, "a")
    for at in (NOW - 1, NOW, NOW + HISTORY_MS, NOW + HISTORY_MS):
        await store.append_events([event(at)])
    assert [each.at for each in await store.history(0)] == [NOW, NOW + HISTORY_MS, NOW + HISTORY_MS]
    for at in (NOW - 1, NOW, NOW + AUDIT_MS, NOW + AUDIT_MS):
        await store.append_changes([change(at)])
    assert [each.at for each in await store.changes(since_ms=0, most=9)] == [NOW + AUDIT_MS, NOW + AUDIT_MS, NOW]
    for number in range(9):
        await store.append_events([event(NOW + HISTORY_MS + number)])
        await store.append_minutes([minute(NOW + number * MINUTE_MS)])
        await store.append_changes([change(NOW + AUDIT_MS + number)])
    assert [each.at - NOW - HISTORY_MS for each in await store.history(0)] == [5, 6, 7, 8]
    assert len(await store.minutes("api.example.com", **EVER)) == 4
    assert [each.at - NOW - AUDIT_MS for each in await store.changes(since_ms=0, most=9)] == [8, 7, 6, 5]


async def test_what_nobody_adds_to_ends_by_itself(made, redis_server, redis_url, event, minute, change):
    store = made(redis_url, "a")
    await store.append_events([event(NOW)])
    await store.append_minutes([minute(NOW)])
    await store.append_changes([change()])
    with redis_server.connection() as connection:
        for key, kept_ms in (("events:api.example.com", HISTORY_MS), ("minutes:api.example.com", HISTORY_MS)):
            assert kept_ms - 60_000 < connection.pttl(raw(redis_url) + key) <= kept_ms
        assert AUDIT_MS - 60_000 < connection.pttl(f"{raw(redis_url)}changes") <= AUDIT_MS


async def test_one_run_with_a_clock_that_is_ahead_takes_nothing_away(made, redis_url, event, minute, change):
    ahead_ms = 400 * 24 * 3600 * 1000
    for at in (NOW, NOW + ahead_ms, NOW + MINUTE_MS):
        store = made(redis_url, "a")
        await store.append_minutes([minute(at)])
        await store.append_changes([change(at)])
        await store.append_events([event(at)])
    known = {NOW, NOW + MINUTE_MS, NOW + ahead_ms}
    assert {each.at for each in await store.minutes("api.example.com", **EVER)} == known
    assert {each.at for each in await store.changes(since_ms=0, most=9)} == known
    assert {each.at for each in await store.history(0)} == known


# --- a server that is away -------------------------------------------------------------------------------------------


async def test_write_is_false_while_the_server_is_away_and_goes_with_the_next(made, own_server, record, minute, change):
    store = made(own_server.url, "a")
    await store.open()
    own_server.kill()
    assert not await store.save_provider(record(limit=1))
    assert not await store.save_provider(record(limit=2))
    assert not await store.save_star("w", True)
    assert not await store.append_minutes([minute(NOW)])
    assert not await store.append_changes([change()])
    assert not store.ok
    assert store.error == f"state {own_server.url} cannot be reached: Connection refused"
    assert repr(store) == f"<RedisStore {own_server.url} {store.error}>"
    with pytest.raises(StoreError, match=r"state unix:.* cannot be reached"):
        await store.stars()
    own_server.start()
    assert await store.save_star("x", True)
    assert (store.ok, store.error) == (True, None)
    assert (await store.provider("api.example.com")).limit == 2
    assert await store.stars() == {"w", "x"}
    assert [each.at for each in await store.minutes("api.example.com", **EVER)] == [NOW]
    assert await store.changes(since_ms=0, most=9) == [change()]


async def test_what_is_owed_does_not_grow_without_bounds(made, own_server, minute, change, monkeypatch):
    monkeypatch.setattr(redis_store, "CHANGES_OWED", 5)
    store = made(own_server.url, "a")
    own_server.kill()
    for number in range(70):
        assert not await store.append_minutes([minute(NOW + number * MINUTE_MS)])
        assert not await store.append_changes([change(NOW + number)])
    own_server.start()
    assert await store.save_star("w", True)
    found = await store.minutes("api.example.com", **EVER)
    assert [each.at for each in found] == [NOW + number * MINUTE_MS for number in range(10, 70)]
    assert [each.at - NOW for each in await store.changes(since_ms=0, most=99)] == [69, 68, 67, 66, 65]


async def test_later_star_is_written_after_the_one_that_is_owed(made, own_server):
    store = made(own_server.url)
    own_server.kill()
    assert not await store.save_star("w", True)
    assert not await store.save_star("w", False)
    own_server.start()
    assert await store.save_star("x", True)
    assert await store.stars() == {"x"}


async def test_what_is_owed_is_stored_by_close(made, own_server, record):
    store = made(own_server.url)
    own_server.kill()
    assert not await store.save_provider(record(limit=7))
    own_server.start()
    await store.close()
    assert (await made(own_server.url).open()).providers["api.example.com"].limit == 7


async def test_close_ends_though_the_server_is_away(made, own_server, record):
    store = made(own_server.url)
    await store.open()
    own_server.kill()
    assert not await store.save_provider(record())
    await store.close()
    assert not await store.save_provider(record())
    assert "is closed" in store.error


async def test_closed_store_neither_takes_nor_gives(made, redis_url, minute, change):
    store = made(redis_url)
    await store.open()
    await store.close()
    assert not await store.append_minutes([minute(NOW)])
    assert not await store.append_changes([change()])
    for read in (
        store.minutes("p", **EVER),
        store.changes(since_ms=0, most=1),
        store.events_of("p", ["paused"], **EVER, most=1),
        store.provider("p"),
        store.stars(),
    ):
        with pytest.raises(StoreError, match="closed"):
            await read


async def test_cancelled_wait_does_not_cancel_the_write(made, own_server, record):
    store = made(own_server.url)
    await store.open()
    with own_server.connection() as connection:
        connection.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")
        tasks = [asyncio.create_task(store.save_provider(record(f"p{number}"))) for number in range(3)]
        while store._writing is None or store._asked:  # until the first is on its way
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in ended] == [asyncio.CancelledError] * 3
        connection.execute_command("CLIENT", "UNPAUSE")
    await store.close()
    assert set((await made(own_server.url).open()).providers) == {"p0", "p1", "p2"}


async def test_reader_does_not_wait_for_a_write_that_hangs(made, own_server, record):
    store = made(own_server.url)
    await store.open()
    with own_server.connection() as connection:
        connection.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")
        task = asyncio.create_task(store.save_provider(record()))
        while store._writing is None or store._asked:
            await asyncio.sleep(0)
        assert await store.stars() == frozenset()
        assert not task.done()
        connection.execute_command("CLIENT", "UNPAUSE")
    assert await task


async def test_close_that_is_given_up_leaves_no_task(made, own_server, record):
    store = made(own_server.url)
    await store.open()
    with own_server.connection() as connection:
        connection.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")
        task = asyncio.create_task(store.save_provider(record()))
        while store._writing is None or store._asked:
            await asyncio.sleep(0)
        closing = asyncio.create_task(store.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        with pytest.raises(asyncio.CancelledError):
            await task
        connection.execute_command("CLIENT", "UNPAUSE")


async def test_full_server_takes_no_write_and_says_so(made, own_server, record):
    store = made(own_server.url)
    await store.open()
    with own_server.connection() as connection:
        connection.config_set("maxmemory", "1")
        assert not await store.save_provider(record())
        assert store.error == f"state {own_server.url} has no memory left for what is to be kept (maxmemory)"
        connection.config_set("maxmemory", "0")
    assert await store.save_star("w", True)
    assert await store.provider("api.example.com") == record()


async def test_server_that_is_away_at_the_start_is_an_error_and_the_start_may_be_tried_again(made, own_server, record):
    store = made(own_server.url)
    own_server.kill()
    with pytest.raises(StoreError, match=r"^state unix:\S+ cannot be reached: Connection refused$"):
        await store.open()
    own_server.start()
    assert (await store.open()).providers == {}
    assert await store.save_provider(record())


# --- what nobody wrote -----------------------------------------------------------------------------------------------


async def test_what_a_newer_version_adds_is_ignored(made, redis_server, redis_url, reduced, minute, event, change):
    store = made(redis_url, "a")
    await store.append_minutes([minute(NOW)])
    await store.append_events([event(NOW)])
    await store.append_changes([change(NOW)])
    with redis_server.connection() as connection:
        newer = {**asdict(reduced), "mood": {"good": True}}
        connection.hset(f"{raw(redis_url)}providers", "api.example.com", msgspec.json.encode(newer))
        for key in ("minutes:api.example.com", "events:api.example.com", "changes"):
            ((member, at),) = connection.zrange(raw(redis_url) + key, 0, -1, withscores=True)
            longer = member[:-1] + (b',"more"]' if member.endswith(b"]") else b',"more":[1]}')
            connection.delete(raw(redis_url) + key)
            connection.zadd(raw(redis_url) + key, {longer: at})
    assert await store.provider("api.example.com") == reduced
    assert await store.minutes("api.example.com", **EVER) == [minute(NOW)]
    assert await store.history(0) == [event(NOW)]
    assert await store.changes(since_ms=0, most=9) == [change(NOW)]


async def test_what_an_older_version_did_not_write_has_its_default(made, redis_server, redis_url, record):
    older = {name: value for name, value in asdict(record()).items() if not name.startswith(("strikes", "restore"))}
    with redis_server.connection() as connection:
        connection.hset(f"{raw(redis_url)}providers", "api.example.com", msgspec.json.encode(older))
    assert await made(redis_url).provider("api.example.com") == record()


SPOILED = [
    ("providers", b"{"),
    ("providers", b'{"secret": 1}'),
    ("providers", b"\xff"),
    ("stars", b"\xff secret"),
    ("events:api.example.com", b"0" * 16 + b"[]"),
    ("events:api.example.com", b"0" * 16 + b'{"at": -5, "name": "paused", "provider_id": null, "data": {}}'),
    ("events:api.example.com", b"0" * 16 + b'{"at": 5, "name": "paused", "provider_id": null, "data": NaN}'),
    ("minutes:api.example.com", b"secret"),
    ("minutes:api.example.com", b"0" * 16 + b'[5,"a",-1,4,0,0,0,0,0,0,0,0,0,0,[],[]]'),
    ("minutes:api.example.com", b"0" * 16 + b'[5,"a",1,-4,0,0,0,0,0,0,0,0,0,0,[],[]]'),
    ("minutes:api.example.com", b"0" * 16 + b'[5,"a",1,4,0,0,0,0,0,0,0,0,0,0,[[1,1e300,1]],[]]'),
    ("minutes:api.example.com", b"0" * 16 + b'[5,"a",1,4,0,0,0,0,0,0,0,0,0,0,[],[[1,2,-3]]]'),
    ("minutes:api.example.com", b"0" * 16 + b'[5,"a",1,4,0,0,0,0,0,0,0,0,0,0,[[1,1e999,1]],[]]'),
    (
        "changes",
        b"0" * 16 + b'{"at": 99999999999999999, "by": "page", "what": "limit", "provider_id": null, "workspace"'
        b': null, "before": 1, "after": 2}',
    ),
    ("changes", b"0" * 16 + b"[" * 50_000),
]


@pytest.mark.parametrize(("key", "spoiled"), SPOILED, ids=range(len(SPOILED)))
async def test_what_nobody_wrote_is_an_error_that_names_the_key_and_not_what_is_there(
    made, redis_server, redis_url, key, spoiled
):
    store = made(redis_url)
    with redis_server.connection() as connection:
        if key == "providers":
            connection.hset(raw(redis_url) + key, "api.example.com", spoiled)
        elif key == "stars":
            connection.sadd(raw(redis_url) + key, spoiled)
        else:
            connection.zadd(raw(redis_url) + key, {spoiled: NOW})
    reads = {
        "providers": lambda: store.provider("api.example.com"),
        "stars": lambda: store.stars(),
        "events": lambda: store.events_of("api.example.com", ["paused"], **EVER, most=9),
        "minutes": lambda: store.minutes("api.example.com", **EVER),
        "changes": lambda: store.changes(since_ms=0, most=9),
    }
    with pytest.raises(StoreError) as error:
        await reads[key.partition(":")[0]]()
    assert f"cannot be read: {raw(redis_url)}{key}: " in str(error.value)
    assert "secret" not in str(error.value)
    assert await store.save_star("fine", True)


async def test_key_of_another_kind_is_an_error(made, redis_server, redis_url, record):
    store = made(redis_url)
    with redis_server.connection() as connection:
        connection.set(f"{raw(redis_url)}providers", "x")
    with pytest.raises(StoreError, match="WRONGTYPE"):
        await store.open()
    assert not await store.save_provider(record())
    assert "WRONGTYPE" in store.error


async def test_value_that_cannot_be_written_stands_in_nobodys_way(made, redis_url, event, change):
    store = made(redis_url)
    assert not await store.append_events([event(NOW, what="\udc80")])
    assert not await store.append_changes([replace(change(), after=object())])
    assert store.error.endswith("TypeError; this value cannot be stored")
    assert await store.append_events([event(NOW)])
    assert store.ok


# --- how it is made --------------------------------------------------------------------------------------------------


def test_open_store_touches_nothing():
    store: Store = open_store("redis", f"redis://u:hunter2@127.0.0.1:{free_port()}/3?prefix=x")
    assert repr(store).startswith("<RedisStore redis://127.0.0.1:")
    assert "hunter2" not in repr(store)


def test_url_that_is_wrong_is_an_error():
    with pytest.raises(StoreError, match="the database is a whole number"):
        open_store("redis", "redis://u:hunter2@h/hunter2")


def test_without_the_package_it_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "redis"]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("proxy.store.redis", "proxy.replicas.server"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(StoreError, match=r"pip install 'slotgate\[redis\]'") as error:
        open_store("redis", "redis://u:hunter2@h")
    assert "hunter2" not in str(error.value)
