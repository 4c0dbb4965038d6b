# What the tests of the stores share: records with sensible values, and stores that are closed at the end.

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from servers.redis_server import RedisServer

import proxy.store.redis  # noqa: F401 — a start imports it, which blocks; the tests' loops are for what comes later
from proxy.core.model import RateLimit
from proxy.store import Minute, ProviderRecord, SavedChange, SavedEvent, Span
from proxy.store.sqlite import SqliteStore


def _record(provider_id: str = "api.example.com", limit: int | None = 4, **changes: object) -> ProviderRecord:
    values: dict[str, object] = {
        "limit_by": "api",
        "file_limit": 8,
        "cooldown_s": 0.35,
        "cooldown_by": "file",
        "file_cooldown_s": 0.35,
        "auto_reduced_from": None,
        "evidence": (),
        "paused_until_ms": None,
        "pause_cause": None,
    }
    return ProviderRecord(provider_id=provider_id, limit=limit, **{**values, **changes})


@pytest.fixture
def record() -> Callable[..., ProviderRecord]:
    return _record


@pytest.fixture
def reduced() -> ProviderRecord:
    """A record with every field set."""
    return _record(
        limit=3,
        limit_by="auto",
        auto_reduced_from=4,
        evidence=(
            RateLimit(at=1_700_000_000_000, status=429, kind="concurrency", retry_after_ms=None, in_flight=4),
            RateLimit(at=1_700_000_001_000, status=429, kind="rate", retry_after_ms=1500, in_flight=3),
        ),
        paused_until_ms=1_700_000_030_000,
        pause_cause="rate",
    )


@pytest.fixture
def event() -> Callable[..., SavedEvent]:
    def build(at: int, name: str = "granted", **data: object) -> SavedEvent:
        return SavedEvent(at=at, name=name, provider_id="api.example.com", data=data)

    return build


@pytest.fixture
def minute() -> Callable[..., Minute]:
    """One with every field set."""

    def build(at: int = 1_700_000_040_000, provider_id: str = "api.example.com", **changes: object) -> Minute:
        values: dict[str, object] = {
            "seen_ms": 60_000,
            "limit": 4,
            "in_flight_max": 4,
            "in_flight_ms": 150_000,
            "queued_max": 7,
            "queued_ms": 90_000,
            "oldest_wait_ms": 31_000,
            "granted": 12,
            "completed": 11,
            "rate_limited": 2,
            "reduced": 1,
            "paused_ms": 30_000,
            "waits": (Span(0.0, 1.0, 10), Span(600_000.0, None, 2)),
            "first_bytes": (Span(1.0, 2.5, 11),),
        }
        return Minute(at=at, provider_id=provider_id, **{**values, **changes})  # type: ignore[arg-type]

    return build


@pytest.fixture
def change() -> Callable[..., SavedChange]:
    def build(at: int = 1_700_000_000_000, **changes: object) -> SavedChange:
        values: dict[str, object] = {
            "by": "page",
            "what": "limit",
            "provider_id": "api.example.com",
            "workspace": None,
            "before": 4,
            "after": None,
        }
        return SavedChange(at=at, **{**values, **changes})  # type: ignore[arg-type]

    return build


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
async def stores() -> AsyncIterator[Callable[[Path], SqliteStore]]:
    """Makes stores, not yet open, and closes them at the end."""
    made: list[SqliteStore] = []

    def make(path: Path) -> SqliteStore:
        made.append(SqliteStore(path))
        return made[-1]

    yield make
    for store in made:
        await store.close()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """A place there that is the test's own."""
    return f"{redis_server.url}?prefix={uuid4()}"
