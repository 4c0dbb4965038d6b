# The event stream: replay, slow readers, the cost of nobody listening.

import asyncio
import time

import pytest

from proxy.service.clock import Clock
from proxy.service.events import BACKLOG, RING, Event, EventKind, EventStream, Subscription


@pytest.fixture
def stream() -> EventStream:
    return EventStream(Clock(time.monotonic))


def publish(stream: EventStream, count: int, name: str = "queued") -> None:
    for number in range(count):
        stream.publish(name, "p", number=number)


async def read(subscription: Subscription, count: int) -> list[Event]:
    return [await anext(subscription) for _ in range(count)]


async def kept(stream: EventStream) -> list[Event]:
    """All that can be read again."""
    with stream.subscribe(0) as subscription:
        subscription.end()
        return [event async for event in subscription]


async def test_an_event_has_its_time_its_provider_and_its_details(stream: EventStream) -> None:
    before = time.time_ns() // 1_000_000
    with stream.subscribe(None) as subscription:
        stream.publish("paused", "p", until=5)
        event = await anext(subscription)
    at = event.data["at"]
    assert isinstance(at, int)
    assert before <= at <= time.time_ns() // 1_000_000
    assert event.name == "paused"
    assert event.data == {"at": at, "providerId": "p", "until": 5}


async def test_a_reader_gets_what_comes_after_it_began(stream: EventStream) -> None:
    publish(stream, 1, "queued")
    with stream.subscribe(None) as subscription:
        publish(stream, 1, "granted")
        assert [event.name for event in await read(subscription, 1)] == ["granted"]


async def test_a_waiting_reader_is_woken(stream: EventStream) -> None:
    with stream.subscribe(None) as subscription:
        reading = asyncio.create_task(read(subscription, 2))
        await asyncio.sleep(0)
        publish(stream, 2)
        assert [event.data["number"] for event in await reading] == [0, 1]


async def test_every_reader_gets_every_event(stream: EventStream) -> None:
    with stream.subscribe(None) as one, stream.subscribe(None) as other:
        publish(stream, 3)
        assert await read(one, 3) == await read(other, 3)


async def test_ids_grow_and_a_reader_resumes_after_the_last_it_saw(stream: EventStream) -> None:
    publish(stream, 5)
    seen = await kept(stream)
    assert [event.id - seen[0].id for event in seen] == [0, 1, 2, 3, 4]
    with stream.subscribe(seen[2].id) as subscription:
        publish(stream, 1, "granted")
        assert [event.id for event in await read(subscription, 3)] == [seen[3].id, seen[4].id, seen[4].id + 1]


async def test_only_the_last_thousand_can_be_read_again(stream: EventStream) -> None:
    publish(stream, RING + 7)
    assert [event.data["number"] for event in await kept(stream)] == list(range(7, 1007))


async def test_the_newest_id_gets_nothing_again(stream: EventStream) -> None:
    publish(stream, 3)
    newest = (await kept(stream))[-1].id
    with stream.subscribe(newest) as subscription:
        publish(stream, 1, "granted")
        assert (await anext(subscription)).name == "granted"


async def test_a_reader_from_before_a_restart_gets_all_that_it_has_not_seen(stream: EventStream) -> None:
    publish(stream, 3)
    old = (await kept(stream))[-1].id
    while time.time_ns() // 1_000_000 * 1000 <= old:
        pass  # within the same millisecond; a restart takes longer
    restarted = EventStream(Clock(time.monotonic))
    publish(restarted, 5)
    with restarted.subscribe(old) as subscription:
        assert [event.data["number"] for event in await read(subscription, 5)] == [0, 1, 2, 3, 4]


async def test_an_id_from_the_future_gets_all_that_is_kept(stream: EventStream) -> None:
    publish(stream, 2)
    future = (await kept(stream))[-1].id + 1
    with stream.subscribe(future) as subscription:
        assert [event.data["number"] for event in await read(subscription, 2)] == [0, 1]


async def test_a_slow_reader_is_dropped_and_told_while_others_go_on(stream: EventStream) -> None:
    dropped: list[bool] = []
    with stream.subscribe(None) as slow, stream.subscribe(None) as quick:
        slow.on_drop(lambda: dropped.append(True))
        publish(stream, BACKLOG)
        await read(quick, BACKLOG)
        assert not dropped
        publish(stream, 1)
        assert dropped == [True]
        assert [event async for event in slow] == []
        assert (await anext(quick)).data["number"] == 0
    assert repr(stream) == f"<EventStream {RING} kept, 0 readers>"


async def test_a_pause_that_refuses_a_whole_default_queue_drops_nobody(stream: EventStream) -> None:
    with stream.subscribe(None) as subscription:
        publish(stream, 1001)
        assert len(await read(subscription, 1001)) == 1001


async def test_a_cancelled_read_loses_nothing(stream: EventStream) -> None:
    with stream.subscribe(None) as subscription:
        reading = asyncio.create_task(read(subscription, 1))
        await asyncio.sleep(0)
        publish(stream, 1)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert (await anext(subscription)).data["number"] == 0


async def test_a_heartbeat_by_time_out_leaves_the_iteration_usable(stream: EventStream) -> None:
    with stream.subscribe(None) as subscription:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await anext(subscription)
        publish(stream, 1)
        assert (await anext(subscription)).data["number"] == 0


async def test_closing_the_stream_ends_waiting_and_new_readers_after_what_is_left(stream: EventStream) -> None:
    waiting = stream.subscribe(None)
    reading = asyncio.create_task(anext(waiting, None))
    await asyncio.sleep(0)
    behind = stream.subscribe(None)
    publish(stream, 1)
    await reading
    reading = asyncio.create_task(anext(waiting, None))
    await asyncio.sleep(0)
    stream.close()
    assert await reading is None
    assert [event.data["number"] async for event in behind] == [0]
    assert [event.data["number"] async for event in stream.subscribe(0)] == [0]


async def test_a_reader_that_left_is_forgotten(stream: EventStream) -> None:
    with stream.subscribe(None) as subscription:
        assert repr(stream) == "<EventStream 0 kept, 1 readers>"
    publish(stream, 1)
    assert [event async for event in subscription] == []
    assert repr(stream) == "<EventStream 1 kept, 0 readers>"


async def test_text_is_made_at_the_first_look_and_once_for_all_readers(stream: EventStream) -> None:
    made: list[object] = []

    def details_of(fact: object) -> dict[str, object]:
        made.append(fact)
        return {"x": len(made)}

    with stream.subscribe(None) as one, stream.subscribe(None) as other:
        stream.publish_late(EventKind("queued", details_of), "p", "a fact")
        events = [await anext(one), await anext(other), *await kept(stream)]
        assert made == []
        texts = [event.text for event in events]
        assert made == ["a fact"]
        assert texts == [texts[0]] * 3
        assert texts[0].startswith(b"id: %d\nevent: queued\ndata: " % events[0].id)
        assert texts[0].endswith(b', "providerId": "p", "x": 1}\n\n')


async def test_what_is_there_can_be_taken_at_once(stream: EventStream) -> None:
    with stream.subscribe(None) as subscription:
        assert subscription.take(9) == []
        publish(stream, 5)
        assert (await anext(subscription)).data["number"] == 0
        assert [event.data["number"] for event in subscription.take(2)] == [1, 2]
        assert [event.data["number"] for event in subscription.take(9)] == [3, 4]
        publish(stream, 1, "granted")
        assert (await anext(subscription)).name == "granted"
