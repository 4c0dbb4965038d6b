# What a request's JSON body says about its conversation and its turn (spec §5).
#
# Rule 1: only read, never changed, and never a reason to refuse: whatever the bytes, nothing here raises.
# Rule 2: bounded: over PARSED_BYTES, or content-encoded, a body says nothing.
#
# A request that starts a prompt ends with a person's text, one that continues it with tool results: measured for every
# agent in the OpenAI chat, OpenAI Responses, Anthropic and Gemini formats.

from collections.abc import Mapping
from types import MappingProxyType

from proxy.web.identity_headers import BAD, Unreadable, identifier, json_object

PARSED_BYTES = 8 * 1024 * 1024  # parsing costs 5 to 10 ms per MiB, and nothing else runs meanwhile

NOTHING: Mapping[str, object] = MappingProxyType({})  # what a body says that says nothing
_PLAIN = (b"", b"identity")  # content codings that leave a body as it is
_TOOL_ROLES = ("tool", "function")
_SKIPPED_ROLES = ("system", "developer")  # Claude Code may end with role:system
_TOOL_RESULT = ("tool_result", "_output")  # Anthropic blocks; Responses items: function_call_output and its kin
_FUNCTION_RESPONSE = frozenset(("functionResponse", "function_response"))
_REMINDER = "<system-reminder>"  # Claude Code appends such text by itself


def parse(raw: bytes, coding: bytes | None) -> Mapping[str, object]:
    """The body as a JSON object; NOTHING when it is none, is too large to look, or has a content `coding`."""
    if len(raw) > PARSED_BYTES or raw[:64].lstrip()[:1] != b"{":
        return NOTHING
    if coding is not None and coding.strip().lower() not in _PLAIN:
        return NOTHING
    encoding = "utf-8"
    if raw.startswith(b"{\0"):  # RFC 8259 has UTF-8 alone, the one before it had these too
        encoding = "utf-32-le" if raw.startswith(b"{\0\0\0") else "utf-16-le"
    try:
        text = raw.decode(encoding, "surrogatepass")  # JSON itself can hold lone surrogates
    except UnicodeDecodeError:
        return NOTHING
    return json_object(text) or NOTHING


def conversation(body: Mapping[str, object]) -> str | Unreadable | None:
    """`prompt_cache_key`, else `metadata.user_id` (an id, or JSON with `session_id`), else `metadata.session_id`."""
    key, metadata = identifier(body.get("prompt_cache_key")), body.get("metadata")
    if isinstance(key, str) or not isinstance(metadata, dict):
        return key
    user = _user(metadata.get("user_id"))
    if isinstance(user, str):
        return user
    session = identifier(metadata.get("session_id"))
    return session if isinstance(session, str) else key or user or session


def _user(value: object) -> str | Unreadable | None:
    if not isinstance(value, str) or not value.startswith("{"):
        return identifier(value)
    inner = json_object(value)  # Claude Code: {"device_id", "account_uuid", "session_id"}
    return BAD if inner is None else identifier(inner.get("session_id"))


def continues(body: Mapping[str, object]) -> bool | None:
    """True: the last message is a tool's result. False: it is a person's text. None: neither, or not known."""
    messages = body.get("messages", body.get("input", body.get("contents")))  # chat and Anthropic; Responses; Gemini
    if isinstance(messages, str):
        return False  # Responses: the input may be the text itself
    for message in reversed(messages if isinstance(messages, list) else []):
        if not isinstance(message, dict):
            return None
        role, parts = message.get("role"), _parts(message)
        if role in _SKIPPED_ROLES or _are_reminders(parts):
            continue
        if role in _TOOL_ROLES or _holds_result(message) or any(map(_holds_result, parts)):
            return True
        return False if role == "user" else None
    return None


_Parts = list[Mapping[str, object]]


def _parts(message: Mapping[str, object]) -> _Parts:
    content = message.get("content", message.get("parts"))
    if isinstance(content, str):
        return [{"text": content}]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _are_reminders(parts: _Parts) -> bool:
    return bool(parts) and all(map(_is_reminder, parts))


def _is_reminder(part: Mapping[str, object]) -> bool:
    text = part.get("text")
    return isinstance(text, str) and text.startswith(_REMINDER)


def _holds_result(part: Mapping[str, object]) -> bool:
    kind = part.get("type")
    return (isinstance(kind, str) and kind.endswith(_TOOL_RESULT)) or not _FUNCTION_RESPONSE.isdisjoint(part)
