# TCP's own probes, on both sides, so that a peer that vanished without a word is noticed.

import socket
from typing import Any


def keep_alive(sock: Any) -> None:
    """TCP keepalive (spec §9: idle 60 s, 4 probes of 15 s), so that a peer that vanished without FIN is noticed."""
    if sock is None or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
