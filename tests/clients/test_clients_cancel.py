# Ctrl-C in the middle: whoever it belonged to, the slot is free and the upstream knows, both at once.

import asyncio

import pytest
from blackbox.waiting import until

from clients.program import Program
from clients.programs import each_program
from clients.stage import START_S, Stage, Stages

pytestmark = pytest.mark.clients

AT_ONCE_S = 1.0  # from the client's close to the upstream's, and to a free slot


@each_program
async def test_a_cancel_while_it_waits_leaves_the_queue(program: Program, stages: Stages) -> None:
    stage = await stages()
    stage.model.begin.clear()
    await stage.holds_the_slot()
    running = await stage.start(program)
    await stage.rig.queued(1, timeout=START_S)
    running.interrupt()
    left_at = await _left(stage)
    await stage.rig.queued(0)
    assert asyncio.get_running_loop().time() - left_at < AT_ONCE_S
    await running.ended()
    assert not stage.model.main(running.key), "sent upstream all the same"


@each_program
async def test_a_cancel_in_the_middle_of_an_answer_reaches_the_upstream(program: Program, stages: Stages) -> None:
    stage = await stages()
    stage.model.go_on.clear()
    running = await stage.start(program)
    await until(lambda: any(call.answered_at for call in stage.model.main(running.key)), timeout=START_S)
    running.interrupt()
    left_at = await _left(stage)
    await stage.rig.in_flight(0)
    assert asyncio.get_running_loop().time() - left_at < AT_ONCE_S
    (call,) = stage.model.main(running.key)
    await until(lambda: call.ended_at is not None, what="the upstream to see it")
    assert call.gone.is_set()
    assert call.ended_at is not None
    assert call.ended_at - left_at < AT_ONCE_S
    await running.ended()


async def _left(stage: Stage) -> float:
    """When the client closed the connection that had asked for an answer."""

    def left() -> float | None:
        asking = [
            line for line in stage.tap.lines if b"POST /" in line.sent or b"sec-websocket-key" in line.sent.lower()
        ]
        times = [line.left_at for line in asking]
        return max(time for time in times if time is not None) if times and all(times) else None

    found: float = await until(left, what="the client to close")
    return found
