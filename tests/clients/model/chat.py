# OpenAI's chat completions.

import json
from collections.abc import Mapping

from clients.model.asked import Asked
from clients.model.says import IN, OUT, Said, Text, ToolCall
from clients.model.sse import event, halves

_USAGE = {"prompt_tokens": IN, "completion_tokens": OUT, "total_tokens": IN + OUT}


def streamed(asked: Asked, said: Said, id: str) -> list[bytes]:
    def chunk(delta: Mapping[str, object] | None, finish: str | None = None, **more: object) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
        head = {"id": f"chatcmpl-{id}", "object": "chat.completion.chunk", "created": 1, "model": asked.model}
        return event({**head, "choices": choices, **more})

    events = [chunk({"role": "assistant", "content": ""})]
    if isinstance(said, Text):
        events += [chunk({"content": piece}) for piece in said.pieces]
    else:
        first, second = halves(json.dumps(said.arguments))
        function = {"name": said.name, "arguments": ""}
        events.append(chunk({"tool_calls": [{"index": 0, "id": said.id, "type": "function", "function": function}]}))
        events += [chunk({"tool_calls": [{"index": 0, "function": {"arguments": part}}]}) for part in (first, second)]
    events.append(chunk({}, _finish(said)))
    if asked.counts:
        events.append(chunk(None, usage=_USAGE))
    return [*events, b"data: [DONE]\n\n"]


def whole(asked: Asked, said: Said, id: str) -> Mapping[str, object]:
    message: dict[str, object] = {"role": "assistant", "content": said.text if isinstance(said, Text) else None}
    if isinstance(said, ToolCall):
        function = {"name": said.name, "arguments": json.dumps(said.arguments)}
        message["tool_calls"] = [{"id": said.id, "type": "function", "function": function}]
    return {
        "id": f"chatcmpl-{id}",
        "object": "chat.completion",
        "created": 1,
        "model": asked.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(said)}],
        "usage": _USAGE,
    }


def _finish(said: Said) -> str:
    return "stop" if isinstance(said, Text) else "tool_calls"
