# The headers that say who is asking, and how their values are read (spec §5).
#
# Rule 1: names here are lower-case; each tuple is in the order in which it is asked, ours before what is configured.
# Rule 2: whatever the octets, reading one gives a value, nothing, or BAD; it never raises.
#
# Which tool sends which header was measured with Claude Code 2.1.332, Codex 0.171.0, opencode 1.18.33, Kilo 7.8.1,
# Mistral Vibe 3.0.2, Copilot CLI 1.0.102 and pi 0.73.1; what opencode and Cline send to their makers' own providers was
# read in their code, and of Goose its makers say it.

import json
import math
import re
from datetime import UTC, datetime
from enum import Enum
from typing import Final

OWN_WORKSPACE = b"x-slotgate-workspace"
OWN_CONVERSATION = b"x-slotgate-conversation"
OWN_PROMPT_STARTED_AT = b"x-slotgate-prompt-started-at"
OWN_HEADERS: frozenset[bytes] = frozenset({OWN_WORKSPACE, OWN_CONVERSATION, OWN_PROMPT_STARTED_AT})
"""For the proxy alone: removed before a request is forwarded."""

WORKSPACE = (b"x-workspace-id",)
LAST_WORKSPACE = (b"x-opencode-project",)  # a hash, no name: asked after Codex' paths
CONVERSATION = (
    b"x-conversation-id",
    b"x-claude-code-session-id",  # Claude Code, Claude Agent SDK; sub-agents share it
    b"session-id",  # Codex: the root session, its sub-agents share it
    b"session_id",  # pi
    b"x-session-id",  # opencode, Kilo
    b"x-session-affinity",  # opencode, Kilo
    b"x-affinity",  # Mistral Vibe
    b"x-litellm-session-id",
    b"x-opencode-session",
    b"x-task-id",  # Cline
    b"agent-session-id",  # Goose
    b"goose-session-id",  # older ones
    b"thread-id",  # Codex: its sub-agents have their own
)
PROMPT_STARTED_AT = (b"x-prompt-started-at",)
CODEX_TURN = b"x-codex-turn-metadata"
"""JSON: workspaces, turn_started_at_unix_ms, root_turn_id, turn_id, parent_thread_id, subagent_kind."""
PARENT = (
    b"x-parent-session-id",  # opencode, Kilo
    b"x-codex-parent-thread-id",
)
PROMPT_ID = (
    b"x-claude-code-prompt-id",  # new for each prompt, shared by its sub-agents
    b"x-opencode-request",  # the user's message
)
INITIATOR = b"x-initiator"  # Copilot: "user" on a prompt's first request, "agent" on the later ones
REQUEST_CLASS = b"x-claude-code-request-class"  # "main", or subagent, auxiliary, compaction, …
# Sent by sub-agents alone; their first request ends in text that no person has typed.
SUB_AGENT = frozenset(
    (*PARENT, b"x-claude-code-agent-id", b"x-claude-code-parent-agent-id", b"x-openai-subagent"),
)
CONTENT_ENCODING = b"content-encoding"
_SINGLE = (OWN_WORKSPACE, OWN_PROMPT_STARTED_AT, CODEX_TURN, INITIATOR, REQUEST_CLASS)
BESIDE_CONVERSATION = SUB_AGENT.union(_SINGLE, WORKSPACE, LAST_WORKSPACE, PROMPT_STARTED_AT, PROMPT_ID)
"""Whatever says more than which conversation it is: most tools send none of these."""

ID_CHARACTERS = 256  # longest conversation or prompt id that is believed; measured ones have 26 to 150
# Control characters, the lone surrogates that JSON can hold and nothing can store, and what stands for them or for
# other characters that somebody could not read: more than one id would come to the same.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffd]")

_SECONDS_BELOW = 100_000_000_000  # as seconds the year 5138, as milliseconds 1973: tells the two apart
_NUMBER = re.compile(r"\d{1,20}(\.\d{1,9})?", re.ASCII)
_TIME_CHARACTERS = 64

_JSON = json.JSONDecoder()
_JSON_BLANKS = " \t\r\n"  # RFC 8259 2
_JSON_CHARACTERS = 32 * 1024  # as long as a header may be; in a body such a text could be as long as that


class Unreadable(Enum):
    """A header is there, but says nothing that can be used."""

    BAD = "bad"


BAD: Final = Unreadable.BAD


def text(value: bytes) -> str:
    """A header value as text: UTF-8 where it is that, else latin-1."""
    try:
        return value.decode().strip()
    except UnicodeDecodeError:
        return value.decode("latin-1").strip()


def identifier(value: object, longest: int = ID_CHARACTERS) -> str | Unreadable | None:
    """An id as its sender wrote it; blank is none; what is no text, too long or has control characters is BAD."""
    if not isinstance(value, str):
        return None if value is None else BAD
    if not value.strip():
        return None
    return BAD if len(value) > longest or _UNPRINTABLE.search(value) else value


def prompt_start(value: object, now_ms: int) -> int | Unreadable | None:
    """Epoch milliseconds, at most `now_ms`, of a number (ms or s), its text, or ISO 8601 (without an offset: UTC)."""
    if value is None or value == "":
        return None
    ms = _epoch_ms(value)
    if isinstance(ms, int):
        return min(ms, now_ms) if ms > 0 else BAD
    return ms


def _epoch_ms(value: object) -> int | Unreadable:
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return _iso_ms(value)
        value = float(value)  # exact for milliseconds until the year 287396
    if isinstance(value, bool) or not isinstance(value, int | float):
        return BAD
    if not 0 < value < math.inf:  # nor is "not a number"
        return BAD
    return round(value * 1000 if value < _SECONDS_BELOW else value)


def _iso_ms(value: str) -> int | Unreadable:
    if len(value) > _TIME_CHARACTERS:
        return BAD
    try:
        moment = datetime.fromisoformat(value.upper())
    except ValueError:
        return BAD
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def json_object(value: str) -> dict[str, object] | None:
    """The JSON object that this is, or None."""
    if len(value) > _JSON_CHARACTERS:
        return None
    value = value.strip(_JSON_BLANKS)
    try:
        found, end = _JSON.raw_decode(value)
    except (ValueError, RecursionError):
        return None
    return found if end == len(value) and isinstance(found, dict) else None
