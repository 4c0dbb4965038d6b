# Bodies of any size, up or down, over blocking sockets: only how fast they go is of interest.

import socket
import time
from typing import Any

from .messages import PATH, head

PATIENCE_S = 120.0
PIECE = memoryview(bytes(256 * 1024))


async def transfer(address: list[Any], way: str, size: int, times: int) -> tuple[float, int]:
    """Seconds that `times` bodies took, one after the other on one connection, and how many were lost. `way` is down,
    up (PUT, which is passed on as it comes), or held (POST, which is read whole before it may queue)."""
    lost, room = 0, bytearray(256 * 1024)
    with socket.create_connection(tuple(address), PATIENCE_S) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        for _ in range(times):
            lost += not (_down(sock, size, room) if way == "down" else _up(sock, way, size, room))
        return time.perf_counter() - began, lost


def _down(sock: socket.socket, size: int, room: bytearray) -> bool:
    sock.sendall(head("GET", f"{PATH}?down={size}", 0))
    return _answer(sock, room) == size


def _up(sock: socket.socket, way: str, size: int, room: bytearray) -> bool:
    sock.sendall(head("PUT" if way == "up" else "POST", f"{PATH}?up", size))
    for at in range(0, size, len(PIECE)):
        sock.sendall(PIECE[: size - at])
    return _answer(sock, room) == 2


def _answer(sock: socket.socket, room: bytearray) -> int:
    """How many bytes its body has; less than it says if it was cut, -1 if it is no 200."""
    begun = b""
    while b"\r\n\r\n" not in begun:
        more = sock.recv(4096)
        if not more:
            return -1
        begun += more
    top, _, body = begun.partition(b"\r\n\r\n")
    if not top.startswith(b"HTTP/1.1 200 "):
        return -1
    length = int(top.lower().partition(b"content-length:")[2].partition(b"\r")[0])
    got = len(body)
    while got < length and (more_bytes := sock.recv_into(room)):
        got += more_bytes
    return got
