# The model's end of a WebSocket: each answer that is asked for in it is served like a POST.
#
# Rule: to its upstream and to the tests an answer is a call as any other, counted while it is open; what the model says
#       as events of a stream goes out as messages, a refusal as an error.

import asyncio
import json
from typing import Any

from blackbox.call import Call, Connection, now
from websockets.protocol import Side
from websockets.utils import accept_key

from clients.model import responses
from clients.model.asked import Asked, read
from clients.model.says import Text
from clients.program import Dialect
from clients.sockets import Reader, as_post, generates, is_create


class Answer:
    """One answer in a socket, as a `Call` is one on a connection."""

    def __init__(self, socket: "Socket", body: bytes) -> None:
        self.connection, self.upstream = socket.connection, socket.connection.upstream
        self.head, self.body, self.counted = socket.head, body, True
        self.arrived_at = now()
        self.answered_at: float | None = None  # when its first message left
        self.ended_at: float | None = None
        self.gone, self.done = asyncio.Event(), asyncio.Event()
        self.refused = False
        self._socket = socket

    def __repr__(self) -> str:
        return f"<Answer {'gone' if self.gone.is_set() else 'done' if self.done.is_set() else 'open'}>"

    async def answer(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...] = ()) -> None:
        """An error, instead of events."""
        said = {name.lower(): value for name, value in headers}
        self._say(json.dumps({"type": "error", "status": status, "headers": said, **json.loads(body)}))
        self.over()

    def begin(self) -> None:
        """The first event begins it."""

    def say(self, event: bytes) -> None:
        """An event as it stands in a stream."""
        (data,) = (line for line in event.splitlines() if line.startswith(b"data: "))
        self._say(data.removeprefix(b"data: ").decode())

    async def finish(self) -> None:
        self.over()

    def over(self) -> None:
        if self.ended_at is None:
            self.ended_at = now()
            self.done.set()
            self.upstream.closed(self)  # type: ignore[arg-type]

    def _say(self, text: str) -> None:
        if self.answered_at is None:
            self.answered_at = now()
        self._socket.say(text)


class Socket(asyncio.Protocol):
    """Answers a handshake and takes over its connection."""

    def __init__(self, handshake: Call) -> None:
        self.connection: Connection = handshake.connection
        self.head = as_post(handshake.head)
        self._reader = Reader(Side.SERVER)
        self._open: list[Answer] = []
        key = handshake.head.get("sec-websocket-key")
        assert key is not None
        agreed = f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accept_key(key)}"
        handshake.raw(f"HTTP/1.1 101 Switching Protocols\r\n{agreed}\r\n\r\n".encode())
        self.connection.transport.set_protocol(self)

    def data_received(self, data: bytes) -> None:
        for message in self._reader.read(data):
            if generates(message):
                self._ask(Answer(self, message))
            elif is_create(message):
                self._warm(message)
        self._send()

    def eof_received(self) -> bool:
        self._left()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._left()
        self.connection.connection_lost(exc)

    def say(self, text: str) -> None:
        """Nothing once the other side has gone."""
        if not self.connection.transport.is_closing():
            self._reader.protocol.send_text(text.encode())
            self._send()

    def _ask(self, answer: Any) -> None:
        self._open.append(answer)
        self.connection.calls.append(answer)
        self.connection.upstream.open += 1
        self.connection.upstream.ready(answer)

    def _warm(self, message: bytes) -> None:
        """An answer without a word: what a client asks for so that the model has read what is coming."""
        asked: Asked = read(Dialect.RESPONSES, self.head.target, message)
        first, *_, last = responses.events(asked, Text(text=""), "warm")
        for event in (first, {**last, "response": {**_response(last), "output": []}}):
            self.say(json.dumps(event))

    def _left(self) -> None:
        for answer in self._open:
            if not answer.done.is_set():
                answer.gone.set()
                answer.over()
        self._open.clear()

    def _send(self) -> None:
        for data in self._reader.protocol.data_to_send():
            if data:
                self.connection.transport.write(data)
        if self._reader.protocol.close_expected():
            self.connection.transport.close()


def _response(event: Any) -> dict[str, object]:
    found: dict[str, object] = event["response"]
    return found
