# Who is asking: the workspace, the conversation and the prompt start of a counted request (spec §5).
#
# Rule 1: none is required and a bad one never fails a request: reading never raises, whatever the bytes. What is there
#         but unreadable counts as absent and is named in `bad`.
# Rule 2: the first source that answers wins: our own header, the URL, configured headers, what tools send, the body.
# Rule 3: a body is asked for, hashed and parsed only where the headers leave something open that it can say.

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from proxy.core.turns import TurnHints
from proxy.web import identity_body
from proxy.web import identity_headers as names
from proxy.web.identity_headers import OWN_HEADERS, Unreadable, identifier, json_object, prompt_start, text
from proxy.web.routing import WORKSPACE_CHARACTERS

if TYPE_CHECKING:
    from proxy.config import Identity as IdentitySettings

__all__ = ["OWN_HEADERS", "Identity", "Reader"]

DEFAULT_WORKSPACE = "default"
_PLAIN = (b"", b"identity")  # content codings that leave a body as it is
_INITIATORS = {"user": True, "agent": False}

_T = TypeVar("_T", int, str)
_Found = Mapping[bytes, bytes]  # lower-case name -> the first value
_Codex = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """`prompt_started_at` is what the client states (epoch ms, never in the future); `bad` names what was there but
    unreadable: "workspace", "conversation", "prompt_started_at", "turn_metadata"."""

    workspace: str
    conversation: str | None
    prompt_started_at: int | None
    turn: TurnHints
    bad: tuple[str, ...]


class Reader:
    """Reads the identity of requests by one configuration; a reload builds a new one."""

    def __init__(self, settings: "IdentitySettings") -> None:
        self._workspace = (*_lower(settings.workspace), *names.WORKSPACE)
        self._conversation = (names.OWN_CONVERSATION, *_lower(settings.conversation), *names.CONVERSATION)
        self._started = (names.OWN_PROMPT_STARTED_AT, *_lower(settings.prompt_started_at), *names.PROMPT_STARTED_AT)
        self._asked = frozenset((*names.ASKED, *self._workspace, *self._conversation, *self._started))

    def read(
        self,
        headers: Mapping[bytes, bytes],
        body: Callable[[], bytes],
        route_workspace: str | None,
        now_ms: int,
    ) -> Identity:
        """Never raises. `headers` has the first value of each name in lower case; `body` gives the whole body without
        its framing and is called at most once; `route_workspace` is the one that the URL names."""
        found = self._find(headers)
        bad: list[str] = []
        codex = _codex(found, bad)
        workspace = _first("workspace", self._workspaces(found, codex, route_workspace), bad)
        started_at = _first("prompt_started_at", self._starts(found, codex, now_ms), bad)
        conversation = _first("conversation", _ids(found, self._conversation), bad)

        prompt_id = _prompt_id(found, codex)
        user_initiated = _INITIATORS.get(text(found.get(names.INITIATOR, b"")).lower())
        undecided = started_at is None and prompt_id is None and user_initiated is not False
        continues = body_hash = None
        if conversation is None or undecided:
            raw = body()
            wanted = conversation is None or user_initiated is None
            parsed = identity_body.parse(raw) if wanted and _is_plain(found) else None
            if parsed is not None and conversation is None:
                conversation = _first("conversation", (identity_body.conversation(parsed),), bad)
            if conversation is not None and undecided:
                body_hash = _hash(raw)
                continues = None if parsed is None else identity_body.continues(parsed)
        turn = TurnHints(
            parent=_first("", _ids(found, names.PARENT), []),
            prompt_id=prompt_id,
            user_initiated=user_initiated,
            continues=continues,
            side=_is_side(found),
            body_hash=body_hash,
        )
        return Identity(
            workspace=DEFAULT_WORKSPACE if workspace is None else workspace,
            conversation=conversation,
            prompt_started_at=started_at,
            turn=turn,
            bad=tuple(bad),
        )

    def _find(self, headers: Mapping[bytes, bytes]) -> _Found:
        asked = self._asked
        return {name: value for name, value in headers.items() if name in asked}

    def _workspaces(self, found: _Found, codex: _Codex, route: str | None) -> Iterator[str | Unreadable | None]:
        yield from _ids(found, (names.OWN_WORKSPACE,), WORKSPACE_CHARACTERS)
        yield route
        yield from _ids(found, self._workspace, WORKSPACE_CHARACTERS)
        if codex:
            yield _codex_workspace(codex)

    def _starts(self, found: _Found, codex: _Codex, now_ms: int) -> Iterator[int | Unreadable | None]:
        for name in self._started:
            if name in found:
                yield prompt_start(text(found[name]), now_ms)
        yield prompt_start(codex.get("turn_started_at_unix_ms"), now_ms)


def _lower(configured: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(name.lower().encode() for name in configured)


def _first(fact: str, candidates: Iterable[_T | Unreadable | None], bad: list[str]) -> _T | None:
    """The first candidate that says something; an unreadable one before it is noted once and passed over."""
    for candidate in candidates:
        if isinstance(candidate, Unreadable):
            if fact not in bad:
                bad.append(fact)
        elif candidate is not None:
            return candidate
    return None


def _ids(
    found: _Found, wanted: Iterable[bytes], longest: int = names.ID_CHARACTERS
) -> Iterator[str | Unreadable | None]:
    return (identifier(text(found[name]), longest) for name in wanted if name in found)


def _codex(found: _Found, bad: list[str]) -> _Codex:
    value = found.get(names.CODEX_TURN)
    codex = json_object(text(value)) if value else {}
    if codex is None:
        bad.append("turn_metadata")
    return codex or {}


def _codex_workspace(codex: _Codex) -> str | Unreadable | None:
    """The last part of the first path of `workspaces`, whose keys are the paths."""
    workspaces = codex.get("workspaces")
    path = next(iter(workspaces), "") if isinstance(workspaces, dict) else ""
    separator = "/" if "/" in path else "\\"
    return identifier(path.rstrip(separator).rpartition(separator)[2], WORKSPACE_CHARACTERS)


def _prompt_id(found: _Found, codex: _Codex) -> str | None:
    return _first("", (*_ids(found, names.PROMPT_ID), identifier(codex.get("root_turn_id"))), [])


def _is_side(found: _Found) -> bool:
    return found.get(names.REQUEST_CLASS, b"main").strip() != b"main" or not names.SUB_AGENT.isdisjoint(found)


def _is_plain(found: _Found) -> bool:
    return found.get(names.CONTENT_ENCODING, b"").strip().lower() in _PLAIN


def _hash(raw: bytes) -> bytes | None:
    return sha256(raw).digest() if 0 < len(raw) <= identity_body.PARSED_BYTES else None
