# What goes on is looked at by itself, again and again.

import asyncio
from pathlib import Path

from runtime_desk import Desk

from proxy.service.watch import watch_history


async def test_what_came_and_went_between_two_questions_was_seen(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("proxy.service.history.history.LOOK_S", 0.001)
    desk = Desk(tmp_path)
    await desk.start()
    watching = asyncio.create_task(watch_history(desk.runtime))
    slots = [await desk.slot(), await desk.slot()]
    looks, seen = 0, asyncio.Event()
    real = desk.runtime.history.look

    def look() -> None:
        nonlocal looks
        real()
        looks += 1
        if looks == 3:
            seen.set()

    monkeypatch.setattr(desk.runtime.history, "look", look)
    await seen.wait()
    for slot in slots:
        desk.admission.release(slot, reached=False)
    now_ms = desk.runtime.clock.wall_ms()
    points = await desk.runtime.history.points("p", since_ms=0, until_ms=now_ms + 60_000, step_ms=60_000)
    assert max(point.in_flight_max for point in points) == 2
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    await desk.stop()
