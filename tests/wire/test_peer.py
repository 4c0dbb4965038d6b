# The process at the other end of a connection of this machine is found; nobody else's is.

import os
import socket
import subprocess
import sys

import pytest

from proxy.wire import peer
from proxy.wire.peer import Whose, can_be_known, holder, whose

pytestmark = pytest.mark.skipif(not can_be_known(), reason="this system does not tell")

CONNECT = "import socket, sys; s = socket.socket(int(sys.argv[1])); s.connect(eval(sys.argv[2])); sys.stdin.read()"


def connected(family, address):
    """A listener's side of a connection from a process of its own, and that process."""
    with socket.socket(family) as listener:
        listener.bind(address)
        listener.listen()
        where = repr(listener.getsockname())
        process = subprocess.Popen([sys.executable, "-c", CONNECT, str(int(family)), where], stdin=subprocess.PIPE)
        listener.settimeout(30)
        return listener.accept()[0], process


def ended(process):
    process.stdin.close()
    process.wait()


@pytest.mark.parametrize(
    ("family", "address"),
    [(socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET6, ("::1", 0)), (socket.AF_INET6, ("::", 0))],
)
def test_the_process_of_a_loopback_connection_is_found_by_its_socket(family, address):
    sock, process = connected(family, address)
    try:
        found = whose(sock)
        assert found is not None
        assert found.inode
        assert holder(found.inode, ()) == process.pid
        assert holder(found.inode, (os.getpid(), process.pid)) == process.pid
    finally:
        ended(process)
    assert holder(found.inode, ()) is None, "it has ended"
    assert whose(sock) is None
    sock.close()
    assert whose(sock) is None


def test_ipv4_in_an_ipv6_socket_is_the_loopback_too():
    with socket.socket(socket.AF_INET6) as listener:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(("::", 0))
        listener.listen()
        with socket.create_connection(("127.0.0.1", listener.getsockname()[1])) as ours, listener.accept()[0] as theirs:
            found = whose(theirs)
            assert found == Whose(inode=os.fstat(ours.fileno()).st_ino)


def test_the_process_of_a_unix_connection_is_told_by_the_kernel(tmp_path):
    sock, process = connected(socket.AF_UNIX, str(tmp_path / "s"))
    assert whose(sock) == Whose(pid=process.pid)
    ended(process)
    sock.close()


class Far:
    """A socket whose other end is on another machine; asking the kernel about it is a mistake."""

    family = socket.AF_INET

    def __init__(self, host):
        self._host = host

    def getpeername(self):
        return (self._host, 5000)


@pytest.mark.parametrize("host", ["192.0.2.1", "10.0.0.1", "128.0.0.1"])
def test_connections_from_elsewhere_are_nobody_s(host):
    assert whose(Far(host)) is None


def test_search_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(peer, "SEARCH_S", -1.0)
    with socket.socket() as mine:
        assert holder(os.fstat(mine.fileno()).st_ino, (1,)) is None
        assert holder(os.fstat(mine.fileno()).st_ino, (os.getpid(),)) == os.getpid()


def test_system_that_does_not_tell_is_known(monkeypatch):
    monkeypatch.delattr(socket, "AF_NETLINK")
    assert not can_be_known()
