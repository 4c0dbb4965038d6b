# What a request's JSON body says about its conversation and its turn (spec §5).
#
# Rule 1: only read, never changed, and never a reason to refuse: whatever the bytes, nothing here raises.
# Rule 2: bounded: a body of more than READ_BYTES says nothing, and of one with a Content-Encoding no more is decoded;
#         neither does one of too many values (identity_json). The worst costs a tenth of a second, or two.
#
# A request that starts a prompt ends with a person's text, one that continues it with tool results: measured for every
# agent in the OpenAI chat, OpenAI Responses, Anthropic and Gemini formats.

from typing import Final, NamedTuple

from msgspec import UNSET

from proxy.ratelimits.decoding import decoded
from proxy.web.identity_fields import ABSENT, Fields, Item, Items
from proxy.web.identity_headers import BAD, Unreadable, identifier, json_object, text
from proxy.web.identity_json import PARTS, is_empty, names, value

READ_BYTES: Final = (
    8 * 1024 * 1024
)  # one pass over a MiB takes about half a millisecond, and nothing else runs meanwhile
LAST: Final = 16  # messages from the end that are looked at: behind the last that counts there are one or two reminders

_PLAIN: Final = (b"", b"identity")  # content codings that leave a body as it is
_TOOL_ROLES: Final[tuple[str, ...]] = ("tool", "function")
SYSTEM_ROLES: Final[tuple[str, ...]] = ("system", "developer")  # Claude Code may end with role:system
_TOOL_RESULT: Final[tuple[str, ...]] = (
    "tool_result",
    "_output",
)  # Anthropic blocks; Responses items: function_call_output and its kin
# How texts begin that no person has typed. Claude Code's; and aider's 0.86, whose files, as they are at the time, stand
# in front of what the person says, and which goes on by itself after it has added one.
_REMINDERS: Final[tuple[str, ...]] = (
    "<system-reminder>",
    "I have *added these files",
    "Here are summaries of some files",
    "Here are some READ ONLY files",
    "Here is the current content of the file",
    "I am not sharing ",
    "Don't try and edit any existing code without",
    "I added these files to the chat:",
)


def plain(raw: bytes, coding: bytes | None) -> bytes:
    """A copy without its Content-Encoding; b"" where that is unknown or broken, or the body is too large to look."""
    if len(raw) > READ_BYTES:
        return b""
    if coding is None or coding.strip().lower() in _PLAIN:
        return raw
    return decoded(raw, text(coding), READ_BYTES)


class Named(NamedTuple):
    """What a body names. `codex_turn` is what Codex' turn metadata is as a header."""

    conversation: str | Unreadable | None
    prompt_id: str | Unreadable | None  # Qwen Code, to DashScope
    codex_turn: str | Unreadable | None


NAMELESS: Final = Named(None, None, None)


def named(body: Fields) -> Named:
    """The conversation is the first of `prompt_cache_key`, `metadata.user_id` (an id, or JSON with `session_id`),
    `metadata.session_id`, `metadata.sessionId`, `client_metadata.session_id` and `client_metadata.thread_id`."""
    if body.prompt_cache_key is ABSENT and body.metadata is ABSENT and body.client_metadata is ABSENT:
        return NAMELESS
    found = key = identifier(value(body.prompt_cache_key))
    metadata, codex = names(body.metadata), names(body.client_metadata)
    if not isinstance(key, str):
        found = _first(
            key,
            _user(value(metadata.user_id)),
            identifier(value(metadata.session_id)),
            identifier(value(metadata.session_id_camel)),
            identifier(value(codex.session_id)),
            identifier(value(codex.thread_id)),
        )
    turn = value(codex.codex_turn)
    return Named(found, identifier(value(metadata.prompt_id)), turn if turn is None or isinstance(turn, str) else BAD)


def _first(*found: str | Unreadable | None) -> str | Unreadable | None:
    """The first that is an id; else BAD if one is that."""
    for each in found:
        if isinstance(each, str):
            return each
    return BAD if BAD in found else None


def _user(found: object) -> str | Unreadable | None:
    if not isinstance(found, str) or not found.startswith("{"):
        return identifier(found)
    inner = json_object(found)  # Claude Code: {"device_id", "account_uuid", "session_id"}
    return BAD if inner is None else identifier(inner.get("session_id"))


def messages(body: Fields) -> Items:
    """The conversation, in whichever field its format has it."""
    if body.messages is not None:
        return body.messages
    return body.contents if body.input is None else body.input


def offers_tools(body: Fields) -> bool | None:
    """Whether the model may call tools; None where there is no conversation either."""
    if not (is_empty(body.tools) and is_empty(body.functions)):
        return True
    return None if messages(body) is None else False


def continues(body: Fields) -> bool | None:
    """True: the last message is a tool's result. False: it is a person's text. None: neither, or not known."""
    found = messages(body)
    if isinstance(found, str):
        return False  # Responses: the input may be the text itself
    for raw in reversed(found[-LAST:] if isinstance(found, list) else []):
        message = value(raw)
        if not isinstance(message, Item):
            return None
        role, content = role_of(message), content_of(message)
        if role in SYSTEM_ROLES or is_reminder(content):
            continue
        if role in _TOOL_ROLES or _holds_result(message):
            return True
        if isinstance(content, list) and any(_holds_result(value(part)) for part in content[:PARTS]):
            return True
        return False if role == "user" else None
    return None


def role_of(message: Item) -> object:
    """Gemini takes a message without one as the user's."""
    return "user" if message.role is None and message.parts is not UNSET else message.role


def content_of(message: Item) -> object:
    """A text, or a list of parts."""
    return message.parts if message.content is UNSET else message.content


def is_reminder(content: object) -> bool:
    """Whether this is no person's text, but what a client adds by itself."""
    if isinstance(content, str):
        return content.startswith(_REMINDERS)
    parts = (
        [part for part in map(value, content[:PARTS]) if isinstance(part, Item)] if isinstance(content, list) else []
    )
    return bool(parts) and all(map(_is_reminder_part, parts))


def _is_reminder_part(part: Item) -> bool:
    return isinstance(part.text, str) and part.text.startswith(_REMINDERS)


def _holds_result(part: object) -> bool:
    if not isinstance(part, Item):
        return False
    if part.function_response is not ABSENT or part.function_response_camel is not ABSENT:
        return True
    return isinstance(part.type, str) and part.type.endswith(_TOOL_RESULT)
