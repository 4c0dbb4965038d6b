# Six different agents at once where one fits: each has its turn, oldest prompt first, and none of them can tell.

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from blackbox.call import Call
from blackbox.events import EventStream

from clients.model.model import credential
from clients.program import Program, script_tool
from clients.programs import PROGRAMS
from clients.running import Running
from clients.stage import Stage, Stages

SIZE = 6
pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]


async def test_a_crowd_of_agents_is_served_one_by_one_oldest_prompt_first(stages: Stages) -> None:
    stage = await stages()
    stage.model.upstream.limit = 1  # more at once is refused and remembered
    stage.model.begin.clear()
    events = await stage.rig.events()
    steps: list[tuple[str, dict[str, Any]]] = []
    reading = asyncio.create_task(_collect(events, steps))

    holder = await stage.holds_the_slot()
    crowd = await _started(stage)
    victim, *others = crowd
    stage.model.meets = _interrupts(victim)
    stage.model.begin.set()
    await holder.answer()
    for running in others:
        await running.succeeds(limit_s=300)
    await victim.ended()
    await stage.rig.at_rest()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)

    assert not stage.model.upstream.violations
    assert stage.model.upstream.peak == 1
    assert len(stage.model.main(victim.key)) == 1
    assert [len(stage.model.main(running.key)) for running in others] == [2] * len(others)
    assert {answer.head.status for _, answer in stage.passed() if answer is not None} == {200}
    assert not _overtaken(steps)


async def _started(stage: Stage) -> list[Running]:
    """Each is in the queue before the next one starts."""
    crowd: list[Running] = []
    for program in _agents():
        try:
            running = await stage.start(program)
        except pytest.skip.Exception:
            continue
        crowd.append(running)
        await stage.has_asked(running)
        if len(crowd) == SIZE:
            return crowd
    pytest.skip(f"only {len(crowd)} agents are installed: {crowd}")


def _agents() -> list[Program]:
    """Each agent once; dialects by turns, so that the crowd has all of them."""
    installs = {program.install: program for program in reversed(PROGRAMS) if program.tool is not script_tool}
    different = [program for program in PROGRAMS if program in installs.values()]

    def turn(program: Program) -> int:
        same = [other for other in different if other.dialect is program.dialect]
        return same.index(program)

    return sorted(different, key=turn)


def _interrupts(victim: Running) -> Callable[[Call], Awaitable[None]]:
    async def meets(call: Call) -> None:
        if credential(call.head) == victim.key:
            victim.interrupt()
            await call.gone.wait()

    return meets


async def _collect(events: EventStream, steps: list[tuple[str, dict[str, Any]]]) -> None:
    while True:
        event = await events.next()
        steps.append((event.name, event.data))


def _overtaken(steps: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Who was granted while somebody with an older prompt waited."""
    waiting: dict[str, int] = {}
    found = []
    for name, data in steps:
        if name == "queued":
            waiting[data["id"]] = data["promptStartedAt"]
        elif name in ("granted", "left", "refused"):
            started_at = waiting.pop(data["id"], None)
            if name == "granted" and waiting and (started_at is None or started_at > min(waiting.values())):
                found.append(f"{data} before {waiting}")
    return found
