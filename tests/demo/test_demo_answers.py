# What the simulated model says: streams of a believable length, in the events that clients of the API read.

import json
import random

import pytest

from proxy.demo.answers import plan
from proxy.demo.terms import ANSWER_S, Terms

USER = {"role": "user", "content": "go"}
TURNS = [{"role": "assistant", "content": []}, {"role": "user", "content": []}]


def events(pieces: tuple[bytes, ...]) -> list[dict[str, object]]:
    frames = b"".join(pieces).decode().strip().split("\n\n")
    found = []
    for frame in frames:
        kind, data = frame.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert kind == f"event: {found[-1]['type']}"
    return found


def test_a_stream_has_the_events_of_the_api_in_their_order() -> None:
    kinds = [event["type"] for event in events(plan({"messages": [USER]}, Terms(), random.Random(1)).pieces)]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert set(kinds[2:-3]) == {"content_block_delta"}
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]


@pytest.mark.parametrize("speed", [1.0, 10.0])
def test_answers_take_as_long_as_those_of_models(speed: float) -> None:
    chance = random.Random(1)
    plans = [plan({}, Terms(speed=speed), chance) for _ in range(300)]
    lasting = [(each.first_byte_s + each.pause_s * (len(each.pieces) - 1)) * speed for each in plans]
    assert min(lasting) >= ANSWER_S.low - 0.5
    assert max(lasting) <= ANSWER_S.high + 1
    assert 8 < sum(lasting) / len(lasting) < 12


def test_a_prompt_goes_through_some_tools_and_ends() -> None:
    chance = random.Random(1)

    def stops(calls: int) -> set[str]:
        plans = [plan({"messages": [USER, *TURNS * calls]}, Terms(), chance) for _ in range(50)]
        return {str(event["delta"]["stop_reason"]) for each in plans for event in events(each.pieces[-1:])[1:2]}  # type: ignore[index]

    assert stops(0) == {"tool_use", "end_turn"}
    assert stops(8) == {"end_turn"}
