# Since when an agent has been at its current prompt, for clients that do not say so (spec §5, turn tracker).
#
# Rule 1: pure. `now` is monotonic seconds and measures gaps; `now_ms` is epoch milliseconds and becomes a start.
# Rule 2: what a request says is believed before what the gap suggests: stated start, prompt id, resent body, initiator,
#         last message, gap; the first that knows decides.
# Rule 3: `open` counts requests, and each request gives back its own count: a session may be evicted or folded into
#         another in between. A count that leaks keeps a turn alive, and its agent in front, for ever.
# Rule 4: a start is never in the future and never moves later within a turn.
# Rule 5: what a client asks beside its work (a title, a summary to remember) begins no turn, is no reason for another
#         request to continue one, and is not remembered as the conversation's last body. It is told by what it lacks:
#         a request without tools in a conversation whose others have them.
# Rule 6: a resend presupposes that what it repeats was not answered, where only the conversation's beginning names it:
#         there a script that asks the same words again and again would be one prompt for ever.

from collections import OrderedDict
from math import inf
from typing import NamedTuple

KNOWN_PROMPTS = 4  # prompt ids remembered per session: background sub-agents of an earlier prompt still run with theirs
SPARED = 8  # open conversations that one eviction passes over while it looks for an idle one; bounds its cost


class TurnHints(NamedTuple):
    """What a request says about its turn; `None` is "it does not say".

    `parent`: the conversation that started this one. `prompt_id`: the client's own name of the prompt.
    `user_initiated`: the client marks a prompt's first request (True) or a later one (False).
    `continues`: the last message is a tool's result (True) or a person's text (False).
    `side`: a sub-agent or side request, whose closing user text no person has typed.
    `tools`: the model is offered tools (True) or none (False).
    `body_hash`: equal for equal bodies.
    `nameless`: the conversation is known by its beginning alone, which others may share.
    """

    parent: str | None = None
    prompt_id: str | None = None
    user_initiated: bool | None = None
    continues: bool | None = None
    side: bool = False
    tools: bool | None = None
    body_hash: int | None = None
    nameless: bool = False


NO_HINTS = TurnHints()


class _Session:
    """One conversation with the sub-agents that name it as their parent."""

    __slots__ = ("answered", "body_hash", "idle_at", "open", "open_without_tools", "prompts", "started_at", "tools")

    def __init__(self, started_at: int) -> None:
        self.started_at = started_at  # of the current turn, epoch ms
        self.open = 0
        self.open_without_tools = 0  # among them, and no tool's result
        self.tools = False  # its own requests offer some
        self.idle_at = -inf  # when the last of the conversation's steps ended, monotonic
        self.body_hash: int | None = None  # of the last request that had one
        self.answered = False  # that request was
        self.prompts: dict[str, int] = {}  # prompt id -> its start, oldest first

    def is_beside(self, hints: TurnHints) -> bool:
        """Whether a request is none of the conversation's steps, by what it lacks."""
        return self.tools and hints.tools is False and hints.continues is not True

    def works(self) -> bool:
        """Whether one of the conversation's steps is open."""
        return self.open > (self.open_without_tools if self.tools else 0)

    def remember(self, prompt_id: str, started_at: int) -> None:
        self.prompts[prompt_id] = started_at
        if len(self.prompts) > KNOWN_PROMPTS:
            del self.prompts[next(iter(self.prompts))]


class OpenRequest:
    """One request from `begin` to `end`; `started_at` is its prompt start in epoch milliseconds."""

    __slots__ = ("body_hash", "session", "started_at", "without_tools")

    def __init__(
        self,
        started_at: int,
        session: _Session | None,
        *,
        body_hash: int | None = None,
        without_tools: bool = False,
    ) -> None:
        self.started_at = started_at
        self.session = session
        self.body_hash = body_hash
        self.without_tools = without_tools


class Turns:
    """The turn tracker of all providers, at most `capacity` conversations; the least recently used go first, those
    without an open request before the others. `gap_s` may be set anew at any time (reload)."""

    def __init__(self, *, gap_s: float = 600.0, capacity: int = 10_000) -> None:
        self.gap_s = gap_s
        self._capacity = capacity
        self._sessions: OrderedDict[tuple[str, str], _Session] = OrderedDict()

    def begin(
        self,
        provider: str,
        conversation: str | None,
        hints: TurnHints,
        *,
        stated_ms: int | None = None,
        now: float,
        now_ms: int,
    ) -> OpenRequest:
        """A counted request has arrived. Give what is returned to `end` when it has ended, however it ended.

        Without a conversation nothing is remembered, and the prompt start is what is stated, or now."""
        if stated_ms is not None and stated_ms > now_ms:
            stated_ms = now_ms
        if conversation is None:
            return OpenRequest(now_ms if stated_ms is None else stated_ms, None)
        session = self._session(provider, conversation, hints.parent, now_ms)
        if session.started_at > now_ms:  # the wall clock has been set back
            session.started_at = now_ms
        if hints.tools and not hints.side:
            session.tools = True
        started_at = self._start(session, hints, stated_ms, now, now_ms)
        if hints.prompt_id is not None:
            session.remember(hints.prompt_id, started_at)
        if hints.body_hash is not None and not hints.side and not session.is_beside(hints):
            session.body_hash, session.answered = hints.body_hash, False
        without_tools = hints.tools is False and hints.continues is not True
        session.open += 1
        session.open_without_tools += without_tools
        return OpenRequest(started_at, session, body_hash=hints.body_hash, without_tools=without_tools)

    def end(self, request: OpenRequest, now: float, *, answered: bool = False) -> None:
        """The request has ended; `answered`: with an answer after which a client does not send it again. A second call
        for the same one does nothing."""
        session = request.session
        if session is not None:
            request.session = None
            session.open -= 1
            session.open_without_tools -= request.without_tools
            if answered and request.body_hash == session.body_hash:
                session.answered = True
            beside = session.tools and request.without_tools
            if session.idle_at < now and not beside:
                session.idle_at = now

    def __len__(self) -> int:
        return len(self._sessions)

    def __repr__(self) -> str:
        return f"<Turns {len(self._sessions)}/{self._capacity} conversations>"

    def _start(self, session: _Session, hints: TurnHints, stated_ms: int | None, now: float, now_ms: int) -> int:
        """The start of the turn that this request belongs to; sets the session's when a turn begins."""
        known = None if hints.prompt_id is None else session.prompts.get(hints.prompt_id)
        if stated_ms is not None:
            # One prompt has one start: Codex' sub-agents state their own, later one beside the root's id.
            session.started_at = stated_ms if known is None else min(stated_ms, known)
        elif known is not None:
            return min(known, now_ms)  # also of a prompt before the current one, which stays the current one
        elif hints.prompt_id is None and hints.user_initiated is None and session.is_beside(hints):
            return session.started_at if self._live(session, now) else now_ms
        elif hints.prompt_id is not None or self._begins(session, hints, now):
            session.started_at = now_ms
        return session.started_at

    def _live(self, session: _Session, now: float) -> bool:
        return session.works() or now - session.idle_at <= self.gap_s

    def _begins(self, session: _Session, hints: TurnHints, now: float) -> bool:
        live = self._live(session, now)
        again = hints.body_hash is not None and hints.body_hash == session.body_hash
        if again and live and not (hints.nameless and session.answered):
            return False  # a resend, with all its headers; long after, an equal body is only a habit
        if hints.user_initiated is not None:
            return hints.user_initiated
        if hints.continues:
            return False  # however long the tool took
        if hints.continues is False and not hints.side:
            return not session.works()
        return not live

    def _session(self, provider: str, conversation: str, parent: str | None, now_ms: int) -> _Session:
        """The conversation's session, its parent's if that is known, or a new one; now the most recently used."""
        key = (provider, conversation)
        session = self._sessions.get(key)
        if session is None or parent is not None:
            session = self._root(provider, parent) or session or _Session(now_ms)
            if key not in self._sessions and len(self._sessions) >= self._capacity:
                self._evict()
            self._sessions[key] = session
        self._sessions.move_to_end(key)
        return session

    def _root(self, provider: str, parent: str | None) -> _Session | None:
        """The session of a known parent, which has now been used; None if there is none."""
        if parent is None:
            return None
        session = self._sessions.get((provider, parent))
        if session is not None:
            self._sessions.move_to_end((provider, parent))
        return session

    def _evict(self) -> None:
        for _ in range(SPARED):
            key, session = next(iter(self._sessions.items()))
            if not session.open:
                break
            self._sessions.move_to_end(key)
        self._sessions.popitem(last=False)
