# Who is asking: the workspace, the conversation and the prompt start of a counted request (spec §5).
#
# Rule 1: none is required and a bad one never fails a request: reading never raises, whatever the bytes. What is there
#         but unreadable counts as absent and is named in `bad`.
#         A workspace called `.` or `..` is unreadable too: in the URL by which a star is given these are steps.
# Rule 2: the first source that answers wins: our own header, the URL, configured headers, what tools send, the body.
# Rule 3: a body is asked for, hashed and parsed only where the headers leave something open that it can say, and a
#         fingerprint made only where somebody asks for it and nothing else says which conversation it is.

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from zlib import crc32

from proxy.core.turns import NO_HINTS, TurnHints
from proxy.web import identity_body, identity_fingerprint, identity_json
from proxy.web import identity_headers as names
from proxy.web.identity_body import NAMELESS
from proxy.web.identity_fields import NOTHING
from proxy.web.identity_headers import BAD, OWN_HEADERS, Unreadable, identifier, json_object, prompt_start, text
from proxy.web.routing import STEPS, WORKSPACE_CHARACTERS

if TYPE_CHECKING:
    from proxy.config import Identity as IdentitySettings

__all__ = ["OWN_HEADERS", "Identity", "Reader"]

DEFAULT_WORKSPACE = "default"
_OWN_WORKSPACE = (names.OWN_WORKSPACE,)
_INITIATORS = {"user": True, "agent": False}

_T = TypeVar("_T", int, str)
_Headers = dict[bytes, bytes]  # lower-case name -> the first value
_Codex = Mapping[str, object]
_Read = Callable[[object], str | Unreadable | None]


class Identity(NamedTuple):
    """`prompt_started_at` is what the client states (epoch ms, never in the future); `bad` names what was there but
    unreadable: "workspace", "conversation", "prompt_started_at", "turn_metadata"."""

    workspace: str
    conversation: str | None
    prompt_started_at: int | None
    turn: TurnHints
    bad: tuple[str, ...]


class Reader:
    """Reads the identity of requests by one configuration; a reload builds a new one. `key` is of the fingerprints, and
    secret: with it somebody could try which credential and which text belong to one."""

    def __init__(self, settings: "IdentitySettings", key: bytes) -> None:
        self._key = key
        self._workspace = (*_OWN_WORKSPACE, *_lower(settings.workspace), *names.WORKSPACE)
        self._conversation = (names.OWN_CONVERSATION, *_lower(settings.conversation), *names.CONVERSATION)
        self._started = (names.OWN_PROMPT_STARTED_AT, *_lower(settings.prompt_started_at), *names.PROMPT_STARTED_AT)
        self._beside = names.BESIDE_CONVERSATION.union(self._workspace, self._started)
        self._asked = self._beside.union(self._conversation)

    def read(
        self,
        headers: _Headers,
        body: Callable[[], bytes],
        route_workspace: str | None,
        now_ms: int,
        *,
        fingerprint: bool = False,
        goes_on: str | None = None,
    ) -> Identity:
        """Never raises. `headers` has the first value of each name in lower case; `body` gives the whole body without
        its framing and is called at most once; `route_workspace` is the one that the URL names. A conversation that
        nothing names is the one that it `goes_on` with, or else gets a name made of its beginning (`fingerprint`)."""
        bad: list[str] = []
        if route_workspace in STEPS:
            route_workspace = None
            bad.append("workspace")
        workspace, started_at, conversation = route_workspace, None, None
        codex: _Codex = {}
        turn, undecided = NO_HINTS, True
        if not self._asked.isdisjoint(headers):
            if not self._beside.isdisjoint(headers):
                codex = _codex(text(headers.get(names.CODEX_TURN, b"")), bad)
                workspace = self._find_workspace(headers, codex, route_workspace, bad)
                started_at = self._find_start(headers, codex, now_ms, bad)
                turn = _turn(headers, codex, None)
                undecided = _undecided(started_at, turn)
            conversation = _first_id(headers, self._conversation, "conversation", bad)

        if conversation is None or undecided:
            raw, said = body(), NOTHING
            if conversation is None or turn.user_initiated is None:
                plain = identity_body.plain(raw, headers.get(names.CONTENT_ENCODING))
                said, raw = identity_json.read(plain), plain or raw
            named = identity_body.named(said)
            if named is not NAMELESS:
                if conversation is None:
                    conversation = _noted(named.conversation, "conversation", bad)
                if named.codex_turn is not None and not codex:
                    codex = _codex(named.codex_turn, bad)
                    workspace = workspace or _noted(_codex_workspace(codex), "workspace", bad)
                    started_at = started_at or _codex_start(codex, now_ms, bad)
                turn = _turn(headers, codex, _id(named.prompt_id))
                undecided = _undecided(started_at, turn)
            conversation = conversation or goes_on
            nameless = conversation is None and fingerprint
            if nameless:
                conversation = identity_fingerprint.fingerprint(self._key, headers, said)
            if conversation is not None and undecided:
                turn = TurnHints(  # undecided: there is no prompt id
                    parent=turn.parent,
                    user_initiated=turn.user_initiated,
                    continues=identity_body.continues(said),
                    side=turn.side,
                    tools=identity_body.offers_tools(said),
                    body_hash=crc32(raw) if 0 < len(raw) <= identity_body.READ_BYTES else None,
                    nameless=nameless,
                )
        return Identity(workspace or DEFAULT_WORKSPACE, conversation, started_at, turn, tuple(bad))

    def _find_workspace(self, headers: _Headers, codex: _Codex, route: str | None, bad: list[str]) -> str | None:
        # The URL comes after our own header and before all others.
        wanted = self._workspace if route is None else _OWN_WORKSPACE
        found = _first_id(headers, wanted, "workspace", bad, _workspace) or route
        if found is None and codex:
            found = _noted(_codex_workspace(codex), "workspace", bad)
        return found or _first_id(headers, names.LAST_WORKSPACE, "workspace", bad, _workspace)

    def _find_start(self, headers: _Headers, codex: _Codex, now_ms: int, bad: list[str]) -> int | None:
        for name in filter(headers.__contains__, self._started):
            start = _noted(prompt_start(text(headers[name]), now_ms), "prompt_started_at", bad)
            if start is not None:
                return start
        return _codex_start(codex, now_ms, bad)


def _lower(configured: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(name.lower().encode() for name in configured)


def _noted(value: _T | Unreadable | None, fact: str, bad: list[str]) -> _T | None:
    """The value; an unreadable one is none, and its fact is noted once."""
    if not isinstance(value, Unreadable):
        return value
    if fact not in bad:
        bad.append(fact)
    return None


def _first_id(
    headers: _Headers, wanted: Iterable[bytes], fact: str, bad: list[str], read: _Read = identifier
) -> str | None:
    for name in filter(headers.__contains__, wanted):
        found = read(text(headers[name]))
        if isinstance(found, str):
            return found
        _noted(found, fact, bad)
    return None


def _workspace(value: object) -> str | Unreadable | None:
    name = identifier(value, WORKSPACE_CHARACTERS)
    return BAD if name in STEPS else name


def _codex(value: str | Unreadable, bad: list[str]) -> _Codex:
    """Its turn metadata, which it writes as a JSON text in a header and in the body."""
    if not value:
        return {}
    codex = json_object(value) if isinstance(value, str) else None
    if codex is None:
        _noted(BAD, "turn_metadata", bad)
    return codex or {}


def _codex_start(codex: _Codex, now_ms: int, bad: list[str]) -> int | None:
    return _noted(prompt_start(codex.get("turn_started_at_unix_ms"), now_ms), "prompt_started_at", bad)


def _codex_workspace(codex: _Codex) -> str | Unreadable | None:
    """The last part of the first path of `workspaces`, whose keys are the paths."""
    workspaces = codex.get("workspaces")
    if not isinstance(workspaces, dict):
        return None
    path = next(iter(workspaces), "")
    separator = "/" if "/" in path else "\\"
    return _workspace(path.rstrip(separator).rpartition(separator)[2])


def _turn(headers: _Headers, codex: _Codex, prompt_id: str | None) -> TurnHints:
    """What the headers and Codex' metadata say, `prompt_id` what the body does; an unreadable id is passed over."""
    unread: list[str] = []
    initiator = headers.get(names.INITIATOR)
    sub_agent = not names.SUB_AGENT.isdisjoint(headers) or _id(codex.get("subagent_kind")) is not None
    parent = _first_id(headers, names.PARENT, "", unread) or _id(codex.get("parent_thread_id")) if sub_agent else None
    prompt = _first_id(headers, names.PROMPT_ID, "", unread) or _id(codex.get("root_turn_id")) or prompt_id
    if prompt is None and not sub_agent:
        prompt = _id(codex.get("turn_id"))
    return TurnHints(
        parent=parent,
        prompt_id=prompt,
        user_initiated=None if initiator is None else _INITIATORS.get(text(initiator).lower()),
        side=sub_agent or headers.get(names.REQUEST_CLASS, b"main").strip() != b"main",
    )


def _undecided(started_at: int | None, turn: TurnHints) -> bool:
    """Whether it takes the body to say to which turn a request belongs."""
    return started_at is None and turn.prompt_id is None and turn.user_initiated is not False


def _id(value: object) -> str | None:
    found = identifier(value)
    return found if isinstance(found, str) else None
