# What passed on a WebSocket of the Responses protocol, as the requests and answers that it would have been without it.
#
# Rule 1: an answer that is asked for in a socket is shown as a POST with the handshake's headers, without those about
#         the socket; its body is the message, its answer the events up to the last one of it.
# Rule 2: what generates nothing (`"generate": false`) is no request, but its events are told apart from the others'.

import json
from collections.abc import Iterable, Iterator
from typing import Any

from blackbox.message import Head, parse_head
from websockets.frames import DATA_OPCODES, Frame
from websockets.protocol import OPEN, Protocol, Side

_LAST = {"response.completed", "response.failed", "response.incomplete", "error"}


class Reader:
    """The data messages of one side, whatever pieces the bytes come in. `protocol` has the other side's part: its
    pongs, and what it says."""

    def __init__(self, side: Side) -> None:
        """`side` is the one that reads."""
        self.protocol = Protocol(side, state=OPEN, max_size=None)
        self._begun = b""

    def read(self, data: bytes) -> list[bytes]:
        found = []
        self.protocol.receive_data(data)
        for event in self.protocol.events_received():
            assert isinstance(event, Frame)
            if event.opcode in DATA_OPCODES:
                self._begun += bytes(event.data)
                if event.fin:
                    found.append(self._begun)
                    self._begun = b""
        return found


def asks(head: Head) -> bool:
    """Whether these heads ask for a socket in which answers are asked for."""
    upgrade, path = (head.get("upgrade") or "").lower(), head.target.partition("?")[0]
    return head.method == "GET" and upgrade == "websocket" and path.endswith("/responses")


def is_create(message: bytes) -> bool:
    return bool(json.loads(message).get("type") == "response.create")


def generates(message: bytes) -> bool:
    return is_create(message) and json.loads(message).get("generate") is not False


def as_post(handshake: Head) -> Head:
    """The head of a request that this handshake's socket carries."""
    _, target, version = handshake.start.split(" ")
    lines = handshake.raw[:-4].decode("latin-1").split("\r\n")[1:]
    left = [line for line in lines if not _of_the_socket(line.partition(":")[0].lower())]
    return parse_head("\r\n".join([f"POST {target} {version}", *left, "", ""]).encode("latin-1"))


def carried(sent: bytes, received: bytes) -> list[tuple[bytes, list[bytes] | None]]:
    """What a client asked for behind its handshake, each with the events of its answer; None where none is whole."""
    creates = [message for message in Reader(Side.SERVER).read(sent) if is_create(message)]
    answers: Iterator[list[bytes]] = iter(_answers(Reader(Side.CLIENT).read(received)))
    pairs = [(create, next(answers, None)) for create in creates]
    return [(create, answer) for create, answer in pairs if generates(create)]


def status_of(events: list[bytes]) -> int:
    """What the answer's status would have been."""
    last: dict[str, Any] = json.loads(events[-1])
    return int(last.get("status", 500)) if last["type"] == "error" else 200


def _answers(events: Iterable[bytes]) -> Iterator[list[bytes]]:
    begun = []
    for event in events:
        begun.append(event)
        if json.loads(event).get("type") in _LAST:
            yield begun
            begun = []


def _of_the_socket(name: str) -> bool:
    return name in ("connection", "upgrade") or name.startswith("sec-websocket-")
