# Whether a frame of an answer is its last one, as the dialects end an answer. Pure.
#
# Many clients close their connection as soon as they have read it: OpenAI's SDKs, LangChain, llm, aider, Vibe, Copilot
# at `[DONE]`, Codex at `response.completed` (docs/clients.md). So this is asked once for an answer, when its client
# leaves, and may take as long as reading a JSON does.
#
# Rule 1: what a model says ends nothing: a frame is read as what it is, never searched for words.
# Rule 2: Chat's `finish_reason` is not the end: the usage and `[DONE]` are to come.
# Rule 3: of a frame that is not whole, or too long to be kept, its beginning speaks: the name of the event, or a `type`
#         that stands first.

import json
import re

BEGINNING = 256  # bytes of a frame by which it is known
_NAMES = frozenset(("message_stop", "response.completed", "response.failed", "response.incomplete"))
_LINE_ENDS = re.compile(rb"\r\n|\r|\n")
_TYPE_FIRST = re.compile(rb'\s*\{\s*"type"\s*:\s*"([a-z_.]{1,40})"')


def is_final_event(frame: bytes) -> bool:
    """Of a stream of server-sent events."""
    name, said = b"", []
    for line in _LINE_ENDS.split(frame):
        field, _, value = line.partition(b":")
        if field == b"event":
            name = value.removeprefix(b" ")
        elif field == b"data":
            said.append(value.removeprefix(b" "))
    data = b"\n".join(said)
    return name.decode("latin-1") in _NAMES or data.strip() == b"[DONE]" or is_final_element(data)


def is_final_line(frame: bytes) -> bool:
    """Of a stream with a JSON value on each line."""
    value = _value(frame)
    return (isinstance(value, dict) and value.get("done") is True) or is_final_element(frame)  # Ollama's own API


def is_final_element(data: bytes) -> bool:
    """Of a JSON array, or the data of an event: OpenAI's Responses, Anthropic, or Gemini."""
    value = _value(data)
    if isinstance(value, dict):
        return value.get("type") in _NAMES if isinstance(value.get("type"), str) else _stops(value)
    begins = _TYPE_FIRST.match(data) if value is None else None
    return begins is not None and begins[1].decode() in _NAMES


def _stops(value: dict[str, object]) -> bool:
    """Gemini: each candidate says why it stopped; Code Assist puts the answer into a `response`."""
    inner = value.get("response", value)
    candidates = inner.get("candidates") if isinstance(inner, dict) else None
    if not isinstance(candidates, list) or not candidates:
        return False
    return all(isinstance(each, dict) and each.get("finishReason") for each in candidates)


def _value(data: bytes) -> object:
    """The JSON value; None if it is none, or not whole."""
    if data[:64].lstrip()[:1] != b"{":
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
