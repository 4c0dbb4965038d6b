# What a client asks of a model, in whichever dialect: read from the path and the body.
#
# Rule: what counts is what came after the model's last word. A tool's result there asks for the end, all else for the
#       beginning.

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clients.program import Dialect

MARKER = re.compile(r"MARKER-[0-9a-f]{12}")
_GEMINI = re.compile(r"/models/([^/:]+):(stream)?generateContent\Z", re.IGNORECASE)
_NEWS = {"user", "system", "developer", "tool", "function"}  # roles of what is not the model's


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """`news` is all that came after the model's last word, `whole` the body, both as JSON."""

    dialect: Dialect
    model: str
    streamed: bool
    counts: bool  # chat: the stream ends with the usage
    tools: bool  # there are some to call
    result: bool  # a tool has answered since the model's last word
    news: str
    whole: str


def dialect_of(method: str, target: str) -> Dialect | None:
    """None for requests that generate nothing."""
    path = target.partition("?")[0]
    if method != "POST":
        return None
    if path.endswith("/chat/completions"):
        return Dialect.CHAT
    if path.endswith("/responses"):
        return Dialect.RESPONSES
    if path.endswith("/messages"):
        return Dialect.ANTHROPIC
    return Dialect.GEMINI if _GEMINI.search(path) else None


def read(dialect: Dialect, target: str, raw: bytes) -> Asked:
    body = json.loads(raw)
    streamed, model = body.get("stream") is True, str(body.get("model", ""))
    if dialect is Dialect.GEMINI:
        found = _GEMINI.search(target.partition("?")[0])
        assert found is not None
        model, streamed = found[1], found[2] is not None
    news = _news(dialect, body)
    return Asked(
        dialect=dialect,
        model=model,
        streamed=streamed,
        counts=bool((body.get("stream_options") or {}).get("include_usage")),
        tools=bool(body.get("tools")),
        result=any(_is_result(item) for item in news),
        news=json.dumps(news),
        whole=json.dumps(body),
    )


def _news(dialect: Dialect, body: Mapping[str, Any]) -> list[Any]:
    key = {Dialect.RESPONSES: "input", Dialect.GEMINI: "contents"}.get(dialect, "messages")
    items = body.get(key) or []
    if isinstance(items, str):
        return [items]
    last = max((at for at, item in enumerate(items) if not _is_news(item)), default=-1)
    return list(items[last + 1 :])


def _is_news(item: Mapping[str, Any]) -> bool:
    if "role" in item:
        return item["role"] in _NEWS
    kind = str(item.get("type", ""))  # Responses: a call, its output, reasoning; Gemini: contents without a role
    return kind.endswith("_output") or (not kind and "parts" in item)


def _is_result(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    if item.get("role") in ("tool", "function") or str(item.get("type", "")).endswith("_output"):
        return True
    parts = item.get("content") or item.get("parts")
    return isinstance(parts, list) and any(
        isinstance(part, dict) and (part.get("type") == "tool_result" or "functionResponse" in part) for part in parts
    )
