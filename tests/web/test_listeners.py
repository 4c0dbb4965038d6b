# Sockets to listen on: opened by us, private where they are files, or handed down by a service manager.

import os
import socket
import stat
from pathlib import Path

import pytest

from proxy.config import Address, parse_address
from proxy.web.listeners import ListenError, Sockets, name_of, open_sockets

ANY = Address(host="127.0.0.1", port=0)


@pytest.fixture
def sockets():
    made = Sockets({})
    yield made
    made.close()


def unix(path: Path) -> Address:
    return parse_address(f"unix:{path}")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def answers(sock: socket.socket) -> bool:
    with socket.socket(sock.family) as client:
        client.connect(sock.getsockname())
        return True


def test_address_is_listened_on_and_named(sockets):
    (sock,) = sockets.of("clients", [ANY])
    port = sock.getsockname()[1]
    assert sockets.name(sock) == name_of(sock) == f"127.0.0.1:{port}"
    assert answers(sock)
    assert not sock.getblocking()


def test_ipv6_address_is_named_in_brackets(sockets):
    (sock,) = sockets.of("clients", [Address(host="::1", port=0)])
    assert sockets.name(sock) == f"[::1]:{sock.getsockname()[1]}"
    assert answers(sock)


def test_each_address_has_its_socket_in_order(sockets, tmp_path):
    found = sockets.of("clients", [ANY, unix(tmp_path / "s")])
    assert [sockets.name(sock).partition(":")[0] for sock in found] == ["127.0.0.1", "unix"]


def test_port_in_use_is_an_error_that_names_it(sockets):
    (sock,) = sockets.of("clients", [ANY])
    taken = name_of(sock)
    with pytest.raises(ListenError, match=f"cannot listen on {taken}: Address already in use; .* `admin.listen`"):
        sockets.of("admin", [parse_address(taken)])


def test_port_is_free_again_at_once(sockets):
    (sock,) = sockets.of("clients", [ANY])
    with socket.create_connection(sock.getsockname()) as client:
        accepted, _ = sock.accept()
        accepted.close()
        client.recv(1)
    name = name_of(sock)
    sockets.close()
    (again,) = open_sockets(parse_address(name))
    again.close()


def test_unknown_host_is_an_error_that_names_it():
    with pytest.raises(ListenError, match=r"cannot listen on nowhere\.invalid:1"):
        open_sockets(Address(host="nowhere.invalid", port=1))


def test_unix_socket_is_private_whatever_the_umask(sockets, tmp_path):
    before = os.umask(0)
    try:
        (sock,) = sockets.of("clients", [unix(tmp_path / "s")])
        assert os.umask(0) == 0, "the umask is as before"
    finally:
        os.umask(before)
    assert mode(tmp_path / "s") == 0o600
    assert sockets.name(sock) == f"unix:{tmp_path / 's'}"
    assert answers(sock)


def test_socket_file_goes_with_the_socket(sockets, tmp_path):
    sockets.of("clients", [unix(tmp_path / "s")])
    sockets.close()
    assert not (tmp_path / "s").exists()
    sockets.close()  # again does no harm


def test_file_of_a_dead_process_is_replaced(sockets, tmp_path):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "s"))
        dead.listen()
    (sock,) = sockets.of("clients", [unix(tmp_path / "s")])
    assert answers(sock)


def test_socket_of_a_living_process_is_left_alone(sockets, tmp_path):
    with socket.socket(socket.AF_UNIX) as living:
        living.bind(str(tmp_path / "s"))
        living.listen()
        with pytest.raises(ListenError, match="Address already in use"):
            sockets.of("clients", [unix(tmp_path / "s")])
        assert answers(living)


def test_file_that_is_no_socket_is_left_alone(sockets, tmp_path):
    (tmp_path / "s").write_text("precious")
    with pytest.raises(ListenError, match="Address already in use"):
        sockets.of("clients", [unix(tmp_path / "s")])
    assert (tmp_path / "s").read_text() == "precious"


def test_directory_that_is_not_there_is_an_error_that_names_it(sockets, tmp_path):
    with pytest.raises(ListenError, match="No such file or directory"):
        sockets.of("clients", [unix(tmp_path / "none" / "s")])


def test_inherited_sockets_are_used_instead_of_addresses_and_stay(tmp_path):
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "s"))
    listening.listen()
    sockets = Sockets({"clients": [listening.detach()]})
    (sock,) = sockets.of("clients", [ANY])
    assert sockets.name(sock) == f"unix:{tmp_path / 's'}"
    assert not sock.getblocking()
    assert answers(sock)
    sockets.close()
    sock.close()
    assert (tmp_path / "s").exists()


def test_name_without_an_inherited_socket_is_opened():
    (sock,) = Sockets({"clients": []}).of("clients", [ANY])
    assert answers(sock)
    sock.close()


def test_an_inherited_socket_without_a_known_name_is_told_by_its_address():
    """As `systemd-socket-activate` hands them down when no names are given."""
    admin, clients = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
    address = parse_address(name_of(admin))
    sockets = Sockets({"unknown": [clients.detach(), admin.detach()]}, address)
    (for_admin,), (for_clients,) = sockets.of("admin", [ANY]), sockets.of("clients", [ANY])
    try:
        assert sockets.name(for_admin) == str(address)
        assert sockets.name(for_clients) != str(address)
    finally:
        for_admin.close()
        for_clients.close()
