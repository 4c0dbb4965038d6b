# Anthropic's messages.

import json
from collections.abc import Mapping

from clients.model.asked import Asked
from clients.model.says import IN, OUT, Said, Text
from clients.model.sse import event, halves


def streamed(asked: Asked, said: Said, id: str) -> list[bytes]:
    begun = {**whole(asked, said, id), "content": [], "stop_reason": None}
    block: Mapping[str, object]
    deltas: list[Mapping[str, object]]
    if isinstance(said, Text):
        block = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in said.pieces]
    else:
        block = {**_block(said), "input": {}}
        pieces = halves(json.dumps(said.arguments))
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    ended = {"stop_reason": _stop(said), "stop_sequence": None}
    found: list[dict[str, object]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": OUT}},
        {"type": "message_stop"},
    ]
    return [event(data, str(data["type"])) for data in found]


def whole(asked: Asked, said: Said, id: str) -> Mapping[str, object]:
    return {
        "id": f"msg_{id}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [_block(said)],
        "stop_reason": _stop(said),
        "stop_sequence": None,
        "usage": {
            "input_tokens": IN,
            "output_tokens": OUT,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def _block(said: Said) -> Mapping[str, object]:
    if isinstance(said, Text):
        return {"type": "text", "text": said.text}
    return {"type": "tool_use", "id": said.id, "name": said.name, "input": said.arguments}


def _stop(said: Said) -> str:
    return "end_turn" if isinstance(said, Text) else "tool_use"
