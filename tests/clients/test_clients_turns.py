# What belongs to a prompt, and where the next one begins.

from typing import Any

import pytest
from blackbox.call import Call

from clients.program import Program
from clients.programs import PROGRAMS
from clients.running import Running
from clients.stage import PROMPT, Stage, Stages

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]
DELEGATING = [program for program in PROGRAMS if program.delegate]
RESUMING = [program for program in PROGRAMS if program.resume]


@pytest.mark.parametrize("program", DELEGATING, ids=lambda program: program.name)
async def test_a_sub_agent_belongs_to_the_prompt_it_works_for(program: Program, stages: Stages) -> None:
    stage = await stages()
    seen = _watch(stage)
    running = await stage.start(program, delegates=True)
    await running.succeeds()
    loop = _of_loop(stage, seen, running)
    assert len(loop) == 4, loop  # the agent asks for the sub-agent, that one for the file, and both end
    assert len({slot["promptStartedAt"] for slot in loop}) == 1, loop


@pytest.mark.parametrize("program", RESUMING, ids=lambda program: program.name)
async def test_another_prompt_of_the_session_begins_another_turn(program: Program, stages: Stages) -> None:
    stage = await stages()
    seen = _watch(stage)
    running = await stage.start(program)
    await running.succeeds()
    resumed = await stage.resume(running, PROMPT + " Once more.")
    await resumed.succeeds()
    loop = _of_loop(stage, seen, running)
    started_at = [slot["promptStartedAt"] for slot in loop]
    assert len(started_at) == 4, loop
    assert started_at[0] == started_at[1] < started_at[2] == started_at[3]
    assert len({slot["conversationId"] for slot in loop}) == 1, loop


def _watch(stage: Stage) -> dict[int, dict[str, Any]]:
    """The slot of each call that the model meets; the limit is 1."""
    seen: dict[int, dict[str, Any]] = {}

    async def look(call: Call) -> None:
        (seen[id(call)],) = (await stage.rig.slots())["slots"]

    stage.model.meets = look
    return seen


def _of_loop(stage: Stage, seen: dict[int, dict[str, Any]], running: Running) -> list[dict[str, Any]]:
    return [seen[id(call)] for call in stage.model.main(running.key)]
