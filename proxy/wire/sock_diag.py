# What the kernel knows of the other end of a TCP connection, if that is on this machine (sock_diag, Linux).

import socket
import struct
from typing import Any

_SOCK_DIAG = 4  # linux/netlink.h NETLINK_SOCK_DIAG
_BY_FAMILY = 20  # linux/sock_diag.h SOCK_DIAG_BY_FAMILY; its answer has the same type
_REQUEST = 1  # linux/netlink.h NLM_F_REQUEST
_ANY = 0xFFFFFFFF  # all states; no cookie
_HEADER = struct.Struct("=IHHII")  # nlmsghdr
_INODE = struct.Struct("=I")
_INODE_AT = _HEADER.size + 68  # inet_diag_msg.idiag_inode


def peer_inode(sock: Any) -> int | None:
    """The inode of the socket at the other end of a connected one, 0 if no process holds it; None if it is not in this
    network namespace. OSError or ValueError where the kernel cannot be asked."""
    if not hasattr(socket, "AF_NETLINK"):
        return None
    family, peer, here = sock.family, sock.getpeername(), sock.getsockname()
    ports = struct.pack("!HH", peer[1], here[1])
    addresses = b"".join(socket.inet_pton(family, end[0].partition("%")[0]).ljust(16, b"\0") for end in (peer, here))
    asked = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, _ANY) + ports + addresses
    asked += struct.pack("=III", 0, _ANY, _ANY)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel:
        kernel.setblocking(False)  # the kernel answers within the call
        kernel.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 1, 0) + asked)
        told = kernel.recv(4096)
    _, kind, _, _, _ = _HEADER.unpack_from(told)
    inode: int = _INODE.unpack_from(told, _INODE_AT)[0]
    return inode if kind == _BY_FAMILY else None
