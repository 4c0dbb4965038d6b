# OpenAI's responses.

import json
from collections.abc import Mapping

from clients.model.asked import Asked
from clients.model.says import IN, OUT, Said, Text
from clients.model.sse import event, halves

_USAGE = {
    "input_tokens": IN,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": OUT,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": IN + OUT,
}


def streamed(asked: Asked, said: Said, id: str) -> list[bytes]:
    return [event(data, str(data["type"])) for data in events(asked, said, id)]


def events(asked: Asked, said: Said, id: str) -> list[Mapping[str, object]]:
    """The events of one answer; over a WebSocket each is a message."""
    found: list[dict[str, object]] = []

    def add(kind: str, **fields: object) -> None:
        found.append({"type": kind, "sequence_number": len(found), **fields})

    item, begun = _item(said, id), _response(asked, id, "in_progress", [])
    at: dict[str, object] = {"item_id": item["id"], "output_index": 0}
    add("response.created", response=begun)
    add("response.in_progress", response=begun)
    if isinstance(said, Text):
        at["content_index"] = 0
        add("response.output_item.added", output_index=0, item={**item, "status": "in_progress", "content": []})
        add("response.content_part.added", **at, part=_part(""))
        for piece in said.pieces:
            add("response.output_text.delta", **at, delta=piece, logprobs=[])
        add("response.output_text.done", **at, text=said.text, logprobs=[])
        add("response.content_part.done", **at, part=_part(said.text))
    else:
        arguments = json.dumps(said.arguments)
        add("response.output_item.added", output_index=0, item={**item, "status": "in_progress", "arguments": ""})
        for piece in halves(arguments):
            add("response.function_call_arguments.delta", **at, delta=piece)
        add("response.function_call_arguments.done", **at, name=said.name, arguments=arguments)
    add("response.output_item.done", output_index=0, item=item)
    add("response.completed", response=_response(asked, id, "completed", [item]))
    return list(found)


def whole(asked: Asked, said: Said, id: str) -> Mapping[str, object]:
    return _response(asked, id, "completed", [_item(said, id)])


def _item(said: Said, id: str) -> dict[str, object]:
    if isinstance(said, Text):
        content = [_part(said.text)]
        return {"id": f"msg_{id}", "type": "message", "status": "completed", "role": "assistant", "content": content}
    return {
        "id": f"fc_{id}",
        "type": "function_call",
        "status": "completed",
        "call_id": said.id,
        "name": said.name,
        "arguments": json.dumps(said.arguments),
    }


def _part(text: str) -> Mapping[str, object]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _response(asked: Asked, id: str, status: str, output: list[dict[str, object]]) -> Mapping[str, object]:
    return {
        "id": f"resp_{id}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": asked.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": _USAGE if status == "completed" else None,
    }
