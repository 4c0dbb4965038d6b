# Who asks for an answer in a socket: the handshake's headers, with what the message says put over them.
#
# Codex repeats in `client_metadata` what it sends as headers over HTTP; the handshake's own were made before the first
# prompt. Copilot marks a prompt's first request in the handshake alone, and names no conversation at all: its later
# messages name the answer that they go on from.

from collections import OrderedDict
from collections.abc import Mapping

from proxy.web.identity import Identity, Reader
from proxy.web.identity_headers import (
    BESIDE_CONVERSATION,
    CONTENT_ENCODING,
    CONVERSATION,
    INITIATOR,
    OWN_HEADERS,
)
from proxy.web.socket.protocol import Create

ANSWERS_KNOWN = 64  # of one socket, whose conversations are remembered
_OVER = BESIDE_CONVERSATION.union(CONVERSATION) - OWN_HEADERS


class Asking:
    """Reads who asks, message by message of one socket."""

    def __init__(self, reader: Reader, headers: Mapping[bytes, bytes], workspace: str | None) -> None:
        self._reader = reader
        self._headers = {name: value for name, value in headers.items() if name != CONTENT_ENCODING}
        self._workspace = workspace
        self._conversations: OrderedDict[str, str] = OrderedDict()  # by the ids of answers

    def __repr__(self) -> str:
        return f"<Asking {len(self._conversations)} answers>"

    def read(self, create: Create, payload: bytes, now_ms: int, *, fingerprint: bool) -> Identity:
        """Whose message this is. `fingerprint` as a Reader takes it."""
        over = ((name.lower().encode("utf-8", "replace"), value) for name, value in create.metadata.items())
        headers = {**self._headers, **{name: value.encode("utf-8", "replace") for name, value in over if name in _OVER}}
        self._headers.pop(INITIATOR, None)  # it was about the first one
        known = None if create.previous is None else self._conversations.get(create.previous)
        return self._reader.read(
            headers, lambda: payload, self._workspace, now_ms, fingerprint=fingerprint, goes_on=known
        )

    def answered(self, response: str, conversation: str | None) -> None:
        """The answer with this id belongs to `conversation`."""
        if conversation is not None:
            self._conversations[response] = conversation
            if len(self._conversations) > ANSWERS_KNOWN:
                self._conversations.popitem(last=False)
