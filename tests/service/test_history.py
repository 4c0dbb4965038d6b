# The history of a running proxy: minutes reach the store when they are over and at a clean end, and are read back.

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from records import record_of
from runtime_desk import Desk

from proxy.service.history import Point
from proxy.store import HISTORY_MS, MINUTE_MS, open_store
from proxy.store.memory import MemoryStore

AT = 1_700_000_040_000  # a minute begins


class Watched(Desk):
    """A desk whose wall clock the test sets."""

    wall_ms = AT

    async def begin(self) -> None:
        await self.start()
        self.runtime.clock.wall_ms = lambda: self.wall_ms
        self.runtime.history.begin(frozenset())  # with that clock

    async def again(self) -> None:
        await self.stop()
        await self.begin()

    def look_at(self, wall_ms: int) -> None:
        self.wall_ms = wall_ms
        self.runtime.history.look()

    async def points(self, provider_id: str = "p", step: int = 1) -> list[Point]:
        step_ms = step * MINUTE_MS
        return await self.runtime.history.points(
            provider_id, since_ms=self.wall_ms - HISTORY_MS, until_ms=self.wall_ms + step_ms, step_ms=step_ms
        )

    async def serve(self) -> None:
        slot = await self.slot()
        self.admission.release(slot, reached=False)
        self.runtime.telemetry.request_ended(
            record_of(provider_id="p", outcome="completed", counted=True, first_byte_ms=600)
        )


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Watched]:
    made = Watched(tmp_path)
    await made.begin()
    yield made
    await made.stop()


async def test_minute_that_runs_is_told_as_far_as_it_goes(desk):
    held = await desk.slot()
    await desk.serve()
    (point,) = await desk.points()
    assert (point.at, point.limit, point.in_flight_max, point.granted, point.completed) == (AT, 4, 1, 2, 1)
    assert (point.wait_ms_p50, point.first_byte_ms_p50) == (0, 625)
    desk.admission.release(held)


async def test_requests_that_take_no_slot_are_not_among_the_completed(desk):
    desk.runtime.telemetry.request_ended(record_of(provider_id="p", outcome="completed", counted=False))
    (point,) = await desk.points()
    assert point.completed == 0


async def test_minute_is_in_the_file_as_soon_as_it_is_over(desk):
    await desk.serve()
    desk.look_at(AT + MINUTE_MS)
    await desk.runtime.keeping.done()
    other = open_store("sqlite", str(desk.state))  # as after a kill: nothing is closed
    assert (await other.open()).recorded == {"p"}
    (minute,) = await other.minutes("p", since_ms=0, until_ms=2**60)
    assert (minute.at, minute.granted, minute.completed) == (AT, 1, 1)
    await other.close()


async def test_minute_of_a_restart_is_one_point_of_what_both_saw(desk):
    await desk.serve()
    await desk.again()
    await desk.serve()
    await desk.serve()
    (point,) = await desk.points()
    assert (point.at, point.granted, point.completed) == (AT, 3, 3)


async def test_minutes_in_which_the_proxy_did_not_run_are_no_points(desk):
    await desk.serve()
    await desk.stop()
    desk.wall_ms = AT + 30 * MINUTE_MS
    await desk.begin()
    assert [point.at for point in await desk.points()] == [AT, AT + 30 * MINUTE_MS]
    assert [point.at % (10 * MINUTE_MS) for point in await desk.points(step=10)] == [0, 0]


async def test_limit_that_changed_while_nothing_went_on_is_the_last_one_in_force(desk):
    desk.runtime.history.look()
    await desk.runtime.set_limit("p", 9)
    desk.look_at(AT + MINUTE_MS)
    assert [point.limit for point in await desk.points()] == [9, 9]


async def test_provider_that_is_limited_has_minutes_though_nothing_goes_on(desk):
    for number in (1, 2):
        desk.look_at(AT + number * MINUTE_MS)
    assert [(point.at, point.in_flight_max) for point in await desk.points()] == [
        (AT, 0),
        (AT + MINUTE_MS, 0),
        (AT + 2 * MINUTE_MS, 0),
    ]


async def test_provider_that_nobody_uses_and_limits_has_none_until_somebody_does(tmp_path):
    desk = Watched(tmp_path)
    desk.write({"limit": ...})
    await desk.begin()
    desk.look_at(AT + MINUTE_MS)
    assert await desk.points() == []
    assert not desk.runtime.history.knows("p")
    await desk.serve()
    desk.look_at(AT + 2 * MINUTE_MS)
    desk.look_at(AT + 3 * MINUTE_MS)
    assert [(point.at - AT, point.granted) for point in await desk.points()] == [
        (MINUTE_MS, 1),
        (2 * MINUTE_MS, 0),
        (3 * MINUTE_MS, 0),
    ]
    assert desk.runtime.history.knows("p")
    await desk.stop()


async def test_provider_that_is_known_no_more_has_its_history_still(desk):
    await desk.serve()
    await desk.stop()
    desk.write({"provider": "q"})
    await desk.start()
    assert desk.runtime.history.knows("p")


async def test_clock_that_is_set_back_adds_to_what_was_there(desk):
    await desk.serve()
    desk.look_at(AT + MINUTE_MS)
    desk.look_at(AT)
    await desk.serve()
    desk.look_at(AT + MINUTE_MS)
    assert [(point.at, point.granted) for point in await desk.points()] == [(AT, 2), (AT + MINUTE_MS, 0)]


async def test_minutes_are_read_by_who_is_asked_for(desk):
    await desk.runtime.set_limit("q", 1)
    await desk.serve()
    desk.look_at(AT + MINUTE_MS)
    assert [point.granted for point in await desk.points("q")] == [0, 0]
    assert await desk.points("nobody") == []


@pytest.mark.parametrize(("wall_ms", "until_s"), [(AT, 1.0), (AT + 59_400, 0.6), (AT + 59_999, 0.001)])
async def test_next_look_is_in_a_second_or_when_the_minute_ends(desk, wall_ms, until_s):
    desk.wall_ms = wall_ms
    assert desk.runtime.history.until_look_s == pytest.approx(until_s)


@pytest.mark.plain
async def test_provider_that_rests_is_not_looked_at(desk, monkeypatch):
    desk.runtime.history.look()
    asked: list[str] = []
    real = desk.admission.snapshot
    monkeypatch.setattr(desk.admission, "snapshot", lambda: (asked.append("p"), real())[1])
    desk.runtime.history.look()
    assert asked == []
    slot = await desk.slot()
    desk.runtime.history.look()
    desk.admission.release(slot, reached=False)
    desk.runtime.history.look()  # once more, to see that it rests
    assert asked == ["p", "p"]
    desk.runtime.history.look()
    assert asked == ["p", "p"]
    desk.look_at(AT + MINUTE_MS)
    assert asked == ["p", "p", "p"]


async def test_points_are_as_many_as_a_page_can_show(desk, monkeypatch):
    monkeypatch.setattr("proxy.service.history.history.POINTS_MAX", 3)
    for number in range(1, 6):
        desk.look_at(AT + number * MINUTE_MS)
    assert [(point.at - AT) // MINUTE_MS for point in await desk.points()] == [3, 4, 5]


async def test_what_happened_is_told_in_words(desk):
    slot = await desk.slot()
    desk.admission.rate_limited(slot, status=429, kind="concurrency", retry_after_ms=30_000)
    desk.admission.release(slot)
    await desk.runtime.restore("p")
    await desk.runtime.set_limit("other", 2)
    marks = await desk.runtime.history.marks("p", since_ms=0, until_ms=2**60)
    assert [mark.kind for mark in marks] == ["rate_limited", "reduced", "paused", "restored"]
    assert marks[1].text == "limit reduced to 3; before the first refusal it was 4"


async def test_marks_are_the_newest(desk, monkeypatch):
    monkeypatch.setattr("proxy.service.history.history.MARKS_MAX", 2)
    for limit in (5, 6, 7):
        await desk.runtime.set_limit("p", limit)
    marks = await desk.runtime.history.marks("p", since_ms=0, until_ms=2**60)
    assert [mark.text for mark in marks] == ["limit set to 6 by hand", "limit set to 7 by hand"]


class Slow(MemoryStore):
    """While it is read, a minute ends: before, or after what is read was decided."""

    def __init__(self, before: bool) -> None:
        super().__init__()
        self.before = before
        self.end_minute = lambda: None

    async def minutes(self, *args, **more):  # type: ignore[no-untyped-def]
        end, self.end_minute = self.end_minute, lambda: None
        if self.before:
            end()
            await asyncio.sleep(0.01)
        found = await super().minutes(*args, **more)
        end()
        return found


@pytest.mark.parametrize("before", [True, False])
async def test_minute_that_ends_while_the_state_is_read_is_told_once(tmp_path, before):
    desk = Watched(tmp_path)
    desk.store = Slow(before)
    await desk.begin()
    await desk.serve()
    desk.store.end_minute = lambda: desk.look_at(AT + MINUTE_MS)  # type: ignore[attr-defined]
    told = await desk.runtime.history.points("p", since_ms=AT, until_ms=AT + 2 * MINUTE_MS, step_ms=MINUTE_MS)
    assert [(point.at, point.granted) for point in told] == [(AT, 1), (AT + MINUTE_MS, 0)]
    await desk.stop()


class Stuck(MemoryStore):
    """A disk that hangs."""

    async def append_minutes(self, minutes):  # type: ignore[no-untyped-def]
        await asyncio.Event().wait()

    async def close(self) -> None:
        await asyncio.Event().wait()


async def test_disk_that_hangs_keeps_the_process_for_no_longer_than_it_may(tmp_path, monkeypatch):
    monkeypatch.setattr("proxy.service.runtime.STORE_CLOSE_S", 0.05)
    desk = Watched(tmp_path)
    desk.store = Stuck()
    await desk.begin()
    await desk.serve()
    await desk.stop()
    assert [name for name, _ in desk.said] == ["state.not_closed"]


async def test_nothing_is_looked_at_after_the_end(desk):
    desk.runtime.history.end()
    desk.runtime.history.look()
    desk.runtime.history.end()
    await desk.runtime.keeping.done()
    assert [point.at for point in await desk.points()] == [AT]
    assert repr(desk.runtime.history) == "<History of 1 providers, None>"
