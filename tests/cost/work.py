# The units of work that are counted. Each prepares itself, and returns what does one unit.

import select
import socket
from collections.abc import Callable

from tests.bench.messages import ANSWER, CHUNK, SHORT, STREAM_BEGIN, post

from .rig import Rig, receive

WAITING = 100
REQUEST_END = post("/").rpartition(b"\r\n\r\n")[2]

Unit = Callable[[], None]


def short_post(rig: Rig) -> Unit:
    """1 KiB each way, on kept connections; nobody waits."""
    client, message = rig.client(), post("/up/v1/messages")
    client.sendall(message)
    upstream = rig.upstream()

    def unit() -> None:
        receive(upstream, REQUEST_END)
        upstream.sendall(SHORT)
        receive(client, ANSWER)
        client.sendall(message)

    return unit


def chunk(rig: Rig) -> Unit:
    """100 bytes of a stream."""
    return _streamed(rig.client(), rig.upstream, "up")


def tls_chunk(rig: Rig) -> Unit:
    """The same from an upstream over TLS."""
    return _streamed(rig.client(), rig.tls_upstream, "tls")


def queued_post(rig: Rig) -> Unit:
    """A short POST is answered, the next of WAITING gets its slot, and its client asks again and lines up."""
    message = post("/one/v1/messages")
    clients = [rig.client() for _ in range(WAITING + 1)]
    for client in clients:
        client.sendall(message)
    upstream = rig.upstream()
    rig.wait_for_queue(WAITING)

    def unit() -> None:
        receive(upstream, REQUEST_END)
        upstream.sendall(SHORT)
        (client,), _, _ = select.select(clients, [], [])
        receive(client, ANSWER)
        client.sendall(message)

    return unit


WORK: dict[str, Callable[[Rig], Unit]] = {
    "short POST": short_post,
    "chunk of a stream": chunk,
    "chunk of a stream over TLS": tls_chunk,
    "short POST that waited": queued_post,
}


def _streamed(client: socket.socket, accept: Callable[[], socket.socket], name: str) -> Unit:
    client.sendall(post(f"/{name}/v1/messages"))
    upstream = accept()
    receive(upstream, REQUEST_END)
    upstream.sendall(STREAM_BEGIN)
    receive(client, CHUNK)

    def unit() -> None:
        upstream.sendall(CHUNK)
        receive(client, CHUNK)

    return unit
