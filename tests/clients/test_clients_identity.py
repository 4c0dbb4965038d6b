# Who a program is to the proxy: one conversation and one prompt start for a whole tool loop, another for another one.

import asyncio
from typing import Any

import pytest
from blackbox.call import Call

from clients.program import Program
from clients.programs import each_program
from clients.running import Running
from clients.stage import PROMPT, Stage, Stages

pytestmark = pytest.mark.clients


@each_program
async def test_one_tool_loop_is_one_conversation_and_one_prompt(program: Program, stages: Stages) -> None:
    stage = await stages()
    first = await _seen(stage, await stage.start(program, workspace="päth/one"))
    second = await _seen(stage, await stage.start(program, PROMPT + " Be quick.", workspace="two"))

    for seen, workspace in ((first, "päth/one"), (second, "two")):
        assert {slot["workspaceId"] for slot in seen} == {workspace}
        assert len({slot["conversationId"] for slot in seen}) == 1, seen
        assert len({slot["promptStartedAt"] for slot in seen}) == 1, seen
    (one, *_), (two, *_) = first, second
    assert one["promptStartedAt"] < two["promptStartedAt"]
    assert one["conversationId"] != two["conversationId"]
    for slot in (one, two):
        assert isinstance(slot["conversationId"], str), "it has none"
        assert slot["conversationId"].startswith("fp:") == (program.conversation == "fp"), slot["conversationId"]


async def _seen(stage: Stage, running: Running) -> list[dict[str, Any]]:
    """The slots of its tool loop, as the admin API shows them while the model thinks."""
    seen: dict[int, list[dict[str, Any]]] = {}

    async def look(call: Call) -> None:
        seen[id(call)] = (await stage.rig.slots())["slots"]

    stage.model.meets = look
    await running.succeeds()
    await asyncio.sleep(0)
    loop = stage.model.main(running.key)
    assert len(loop) == 2, loop
    for call in loop:
        assert len(seen[id(call)]) == 1, seen[id(call)]  # the limit is 1
    return [seen[id(call)][0] for call in loop]
