# What both stores that outlive the process do alike: it comes back after a restart, in the order of the calls.

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from proxy.errors import StoreError
from proxy.store import SavedEvent, Store, open_store

NOW = 1_700_000_000_000


@pytest.fixture(params=["sqlite", "redis"])
async def again(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[Callable[[], Store]]:
    """Makes stores of the same place, not yet open, and closes them at the end."""
    target = str(path) if request.param == "sqlite" else request.getfixturevalue("redis_url")
    made: list[Store] = []

    def make() -> Store:
        made.append(open_store(request.param, target))
        return made[-1]

    yield make
    for store in made:
        await store.close()


async def test_record_with_every_field_survives_a_restart(again, reduced, record):
    store = again()
    await store.open()
    unlimited = record("other.example.com", None, file_limit=None, file_cooldown_s=None, cooldown_s=0.0)
    assert await store.save_provider(reduced)
    assert await store.save_provider(unlimited)
    await store.close()
    saved = await again().open()
    assert saved.providers == {reduced.provider_id: reduced, "other.example.com": unlimited}


async def test_later_record_replaces_the_earlier_one(again, record):
    store = again()
    await store.open()
    for limit in (1, 2, 3):
        await store.save_provider(record(limit=limit))
    await store.close()
    assert (await again().open()).providers["api.example.com"].limit == 3


async def test_star_survives_and_unstarring_deletes_it(again):
    store = again()
    await store.open()
    names = ("plain", "größer/名前 \N{PILE OF POO}", "nul\0inside", "x" * 128)
    for name in names:
        assert await store.save_star(name, True)
        assert await store.save_star(name, True)  # twice is once
    assert await store.save_star("plain", False)
    assert await store.save_star("never starred", False)
    await store.close()
    assert (await again().open()).stars == frozenset(names) - {"plain"}


async def test_writes_are_done_in_the_order_of_the_calls(again, record):
    store = again()
    await store.open()
    done: list[int] = []

    async def save(limit: int) -> None:
        assert await store.save_provider(record(limit=limit))
        done.append(limit)

    await asyncio.gather(*(save(limit) for limit in range(1, 101)))
    assert done == list(range(1, 101))
    await store.close()
    assert (await again().open()).providers["api.example.com"].limit == 100


async def test_close_waits_for_the_writes_asked_for_before(again, record):
    store = again()
    await store.open()
    tasks = [asyncio.create_task(store.save_provider(record(f"p{number}"))) for number in range(50)]
    await asyncio.sleep(0)
    await store.close()
    assert all(await asyncio.gather(*tasks))
    assert len((await again().open()).providers) == 50


async def test_closed_store_answers_false_and_closes_again(again, record, event):
    store = again()
    await store.open()
    await store.close()
    await store.close()
    assert not await store.save_provider(record())
    assert not await store.append_events([event(NOW)])
    assert not store.ok
    with pytest.raises(StoreError, match="closed"):
        await store.history(0)


@pytest.mark.parametrize("name", ["lone surrogate \udc80", "x" * 129])
async def test_name_that_cannot_be_stored_does_not_stand_in_the_way_of_others(again, name):
    store = again()
    await store.open()
    assert not await store.save_star(name, True)
    assert not store.ok
    assert await store.save_star("fine", True)
    assert store.ok
    await store.close()
    assert (await again().open()).stars == {"fine"}


async def test_history_gives_the_events_since_a_moment_in_their_order(again, event):
    store = again()
    await store.open()
    batches = [[event(NOW + 2, "queued", id=1), event(NOW + 1, "granted", id=1, nested={"a": [1, None]})], [event(NOW)]]
    for batch in batches:
        assert await store.append_events(batch)
    assert await store.append_events([])
    await store.close()
    store = again()
    await store.open()
    assert await store.history(NOW) == [*batches[0], *batches[1]]
    assert await store.history(NOW + 1) == batches[0]
    assert await store.history(NOW + 3) == []


async def test_event_without_provider_is_kept_as_such(again):
    store = again()
    await store.open()
    reloaded = SavedEvent(at=NOW, name="reloaded", provider_id=None, data={"changed": ["upstreams.x.limit"]})
    assert await store.append_events([reloaded])
    assert await store.history(0) == [reloaded]


async def test_second_store_may_hold_the_place_while_the_first_hands_over(again, record):
    first, second = again(), again()
    await first.open()
    await first.save_provider(record("a"))
    saved = await second.open()
    assert set(saved.providers) == {"a"}
    assert await first.save_provider(record("b"))
    assert await second.save_provider(record("c"))
    await first.close()
    assert await second.save_provider(record("d"))
    await second.close()
    assert set((await again().open()).providers) == {"a", "b", "c", "d"}
