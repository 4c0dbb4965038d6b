# Google's generateContent.

from collections.abc import Mapping

from clients.model.asked import Asked
from clients.model.says import IN, OUT, Said, Text
from clients.model.sse import event


def streamed(asked: Asked, said: Said, id: str) -> list[bytes]:
    if isinstance(said, Text):
        parts: list[Mapping[str, object]] = [{"text": piece} for piece in said.pieces]
    else:
        parts = [_part(said)]
    # The finish comes by itself, so that no answer is over with its first event.
    return [*(event(_answer(asked, part, id, None)) for part in parts), event(_answer(asked, {"text": ""}, id, "STOP"))]


def whole(asked: Asked, said: Said, id: str) -> Mapping[str, object]:
    return _answer(asked, _part(said), id, "STOP")


def _part(said: Said) -> Mapping[str, object]:
    if isinstance(said, Text):
        return {"text": said.text}
    return {"functionCall": {"name": said.name, "args": said.arguments}}


def _answer(asked: Asked, part: Mapping[str, object], id: str, finish: str | None) -> Mapping[str, object]:
    candidate: dict[str, object] = {"content": {"role": "model", "parts": [part]}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": IN, "candidatesTokenCount": OUT, "totalTokenCount": IN + OUT},
        "modelVersion": asked.model,
        "responseId": id,
    }
