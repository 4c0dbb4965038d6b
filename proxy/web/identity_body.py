# What a request's JSON body says about its conversation and its turn (spec §5).
#
# Rule 1: only read, never changed, and never a reason to refuse: whatever the bytes, nothing here raises.
# Rule 2: bounded: over PARSED_BYTES, or content-encoded, a body says nothing.
#
# A request that starts a prompt ends with a person's text, one that continues it with tool results: measured for every
# agent in the OpenAI chat, OpenAI Responses, Anthropic and Gemini formats.

from collections.abc import Mapping

from proxy.web.identity_headers import BAD, Unreadable, identifier, json_object

PARSED_BYTES = 8 * 1024 * 1024  # parsing costs 5 to 10 ms per MiB, and nothing else runs meanwhile

_LISTS = ("messages", "input", "contents")  # chat and Anthropic; Responses; Gemini
_TOOL_ROLES = ("tool", "function")
_SKIPPED_ROLES = ("system", "developer")  # Claude Code may end with role:system
_TOOL_RESULT = ("tool_result", "_output")  # Anthropic blocks; Responses items: function_call_output and its kin
_FUNCTION_RESPONSE = ("functionResponse", "function_response")
_REMINDER = "<system-reminder>"  # Claude Code appends such text by itself


def parse(raw: bytes) -> dict[str, object] | None:
    """The body as a JSON object; None when it is none, or too large to look."""
    if len(raw) > PARSED_BYTES or raw[:64].lstrip()[:1] != b"{":
        return None
    return json_object(raw)


def conversation(body: Mapping[str, object]) -> str | Unreadable | None:
    """`prompt_cache_key`, else `metadata.user_id` (an id, or JSON with `session_id`), else `metadata.session_id`."""
    found: str | Unreadable | None = None
    for value in _conversation_fields(body):
        candidate = identifier(value)
        if isinstance(candidate, str):
            return candidate
        found = found or candidate
    return found


def _conversation_fields(body: Mapping[str, object]) -> list[object]:
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        return [body.get("prompt_cache_key")]
    user = metadata.get("user_id")
    if isinstance(user, str) and user.startswith("{"):
        inner = json_object(user)  # Claude Code: {"device_id", "account_uuid", "session_id"}
        user = BAD if inner is None else inner.get("session_id")
    return [body.get("prompt_cache_key"), user, metadata.get("session_id")]


def continues(body: Mapping[str, object]) -> bool | None:
    """True: the last message is a tool's result. False: it is a person's text. None: neither, or not known."""
    messages = next((body[name] for name in _LISTS if name in body), None)
    if isinstance(messages, str):
        return False  # Responses: the input may be the text itself
    for message in reversed(messages if isinstance(messages, list) else []):
        if not isinstance(message, dict):
            return None
        parts = _parts(message)
        if message.get("role") not in _SKIPPED_ROLES and not _are_reminders(parts):
            return _is_tool_result(message, parts)
    return None


_Parts = list[Mapping[str, object]]


def _parts(message: Mapping[str, object]) -> _Parts:
    content = message.get("content", message.get("parts"))
    if isinstance(content, str):
        return [{"text": content}]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _are_reminders(parts: _Parts) -> bool:
    texts = [part.get("text") for part in parts]
    return bool(texts) and all(isinstance(text, str) and text.startswith(_REMINDER) for text in texts)


def _is_tool_result(message: Mapping[str, object], parts: _Parts) -> bool | None:
    role = message.get("role")
    if role in _TOOL_ROLES or any(_holds_result(part) for part in (message, *parts)):
        return True
    return False if role == "user" else None


def _holds_result(part: Mapping[str, object]) -> bool:
    kind = part.get("type")
    return (isinstance(kind, str) and kind.endswith(_TOOL_RESULT)) or any(name in part for name in _FUNCTION_RESPONSE)
