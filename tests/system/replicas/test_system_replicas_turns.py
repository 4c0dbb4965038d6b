"""An agent whose requests go through several replicas keeps the place of its prompt."""

import json
from typing import Any

import pytest

from replicas.conftest import FleetStarter, RedisStarter

pytestmark = pytest.mark.slow
PROMPT = {"role": "user", "content": "fix the build"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {}}]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "done"}
TOOLS = [{"type": "function", "function": {"name": "run"}}]


def body(*messages: dict[str, Any]) -> bytes:
    return json.dumps({"messages": messages, "tools": TOOLS}).encode()


@pytest.mark.parametrize("conversation", ["stated", None], ids=["stated", "by its beginning"])
async def test_step_of_a_turn_that_began_elsewhere_goes_before_a_younger_prompt(
    a_redis: RedisStarter, start_fleet: FleetStarter, conversation: str | None
) -> None:
    redis = await a_redis()
    fleet = await start_fleet(*[redis.url] * 2, limit=1)
    first = await fleet.ask("older", 0, body=body(PROMPT), conversation=conversation)
    await (await fleet.up.call()).answer()
    assert (await first.answer()).status == 200
    await fleet.ask("in the way", 0, body=body({"role": "user", "content": "hold"}))
    held = await fleet.up.call()
    await fleet.ask("younger", 1, body=body({"role": "user", "content": "another"}))
    await fleet.queued(1)
    await fleet.ask("older goes on", 1, body=body(PROMPT, CALL, RESULT), conversation=conversation)
    await fleet.queued(2)
    await held.answer()
    for name in ("older goes on", "younger"):
        call = await fleet.up.call()
        assert call.name == name
        await call.answer()
    await fleet.at_rest()
