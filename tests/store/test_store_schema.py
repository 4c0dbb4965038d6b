# Older files are brought up to date, newer and foreign ones left alone.

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from proxy.errors import StoreError
from proxy.store import Saved
from proxy.store.schema import MIGRATIONS, migrate, refuse_foreign

V1, V2 = (Path(__file__).with_name(f"state_v{version}.sql") for version in (1, 2))


def dump(connection: sqlite3.Connection) -> list[str]:
    return list(connection.iterdump())


def version(connection: sqlite3.Connection) -> int:
    (value,) = connection.execute("PRAGMA user_version").fetchone()
    return value


@pytest.fixture
def v1(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(V1.read_text())
    return path


@pytest.fixture
def v2(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(V2.read_text())
    return path


@pytest.fixture
def connection(v1):
    with closing(sqlite3.connect(v1, isolation_level=None)) as connection:
        yield connection


async def test_state_of_schema_1_is_read(v1, stores, reduced, event):
    store = stores(v1)
    saved = await store.open()
    assert store.damaged is None
    assert saved.providers == {reduced.provider_id: reduced}
    assert saved.stars == {"important"}
    assert await store.history(0) == [event(1_700_000_000_000, "reduced", limit=3)]


async def test_state_of_schema_2_is_read_and_takes_a_history(v2, stores, reduced, event, minute, change):
    store = stores(v2)
    saved = await store.open()
    assert store.damaged is None
    known = replace(reduced, strikes=2, strikes_until_ms=1_700_006_400_000, restore_after_s=1200.0)
    assert saved == Saved(providers={known.provider_id: known}, stars=frozenset({"important"}))
    told = event(1_700_000_000_000, "reduced", limit=3, originalLimit=4)
    assert await store.events_of(told.provider_id, ["reduced"], since_ms=0, until_ms=told.at + 1, most=9) == [told]
    assert await store.append_minutes([minute()])
    assert await store.append_changes([change()])
    await store.close()
    with closing(sqlite3.connect(v2)) as other:
        assert version(other) == len(MIGRATIONS) == 3


def test_migrations_run_from_the_version_of_the_file(connection):
    more = ("ALTER TABLE stars ADD COLUMN since INTEGER", "UPDATE stars SET since = 5"), ("CREATE TABLE t (x)",)
    migrate(connection, (*MIGRATIONS[:1], *more))
    assert version(connection) == 3
    assert connection.execute("SELECT * FROM stars").fetchall() == [("important", 5)]
    migrate(connection, (*MIGRATIONS[:1], *more))
    assert version(connection) == 3


def test_migration_that_fails_leaves_the_version_before(connection):
    before = dump(connection)
    broken = ("ALTER TABLE stars ADD COLUMN since INTEGER", "INSERT INTO nowhere VALUES (1)")
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(connection, (*MIGRATIONS[:1], broken))
    assert version(connection) == 1
    assert dump(connection) == before


def test_fresh_file_has_the_schema_of_a_migrated_one(connection):
    migrate(connection)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        migrate(fresh)
        sql = "SELECT name, replace(replace(replace(sql, char(10), ''), ' ', ''), char(9), '') FROM sqlite_master"
        assert sorted(fresh.execute(sql).fetchall()) == sorted(connection.execute(sql).fetchall())


async def test_newer_file_is_refused_and_stays_as_it_is(v1, stores):
    with closing(sqlite3.connect(v1)) as other:
        other.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = v1.read_bytes()
    with pytest.raises(StoreError) as refusal:
        await stores(v1).open()
    known = len(MIGRATIONS)
    assert str(refusal.value) == (
        f"state {v1} was written by a newer slotgate (schema {known + 1}; this one knows up to {known}); "
        "install that version again, or set `state` to another path"
    )
    assert v1.read_bytes() == before
    assert [each.name for each in v1.parent.iterdir()] == ["state.db"]


async def test_newer_version_still_in_the_companion_is_refused_too(path, v1, stores):
    store = stores(v1)
    await store.open()
    with closing(sqlite3.connect(v1)) as other:
        other.execute("PRAGMA user_version = 99")
    copy = path.parent / "copy" / "state.db"
    copy.parent.mkdir()
    for suffix in ("", "-wal"):
        copy.with_name(copy.name + suffix).write_bytes(v1.with_name(v1.name + suffix).read_bytes())
    with pytest.raises(StoreError, match="schema 99"):
        await stores(copy).open()


async def test_our_name_without_a_version_of_ours_is_damage(v1, stores):
    with closing(sqlite3.connect(v1)) as other:
        other.execute("PRAGMA user_version = -5")
    store = stores(v1)
    await store.open()
    assert store.damage is not None
    assert "its schema version is -5" in store.damage


async def test_database_of_another_program_is_refused_and_stays_as_it_is(path, stores):
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    path.chmod(0o644)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program's database"):
        await stores(path).open()
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("pragma", ["application_id = 7", "user_version = 7"])
def test_sign_of_another_program_is_enough(pragma):
    with closing(sqlite3.connect(":memory:")) as connection:
        refuse_foreign(connection, Path("state.db"))
        connection.execute(f"PRAGMA {pragma}")
        with pytest.raises(StoreError, match="another program's"):
            refuse_foreign(connection, Path("state.db"))
