# sd_notify, the watchdog's interval and inherited sockets, over environments that a test makes up.

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from proxy.service.systemd import ALIVE, READY, inherited, notify, reloading, watchdog_interval_s

PID = 4711


@pytest.fixture
def manager() -> Iterator[socket.socket]:
    """A service manager's end, on a socket of the test's choice."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        yield sock


def test_a_message_reaches_the_socket_in_the_file_system(manager: socket.socket, tmp_path: Path) -> None:
    manager.bind(str(tmp_path / "notify"))
    notify(READY, {"NOTIFY_SOCKET": str(tmp_path / "notify")})
    assert manager.recv(100) == b"READY=1"


def test_a_message_reaches_an_abstract_socket(manager: socket.socket, tmp_path: Path) -> None:
    name = f"slotgate-test{tmp_path}"
    manager.bind(f"\0{name}")
    notify(ALIVE, {"NOTIFY_SOCKET": f"@{name}"})
    assert manager.recv(100) == b"WATCHDOG=1"


@pytest.mark.parametrize(
    "address", ["", "relative", "vsock:2:1", "/nobody/is/here", "@nobody is here", "/\udcff", "/" + "x" * 200]
)
def test_a_message_that_nobody_takes_is_dropped_in_silence(address: str) -> None:
    notify(READY, {"NOTIFY_SOCKET": address})
    notify("\udcff", {"NOTIFY_SOCKET": address})


def test_no_manager_means_no_message() -> None:
    notify(READY, {})


def test_a_manager_that_does_not_read_holds_us_up_for_a_second_at_most(manager: socket.socket, tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    manager.bind(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                sender.sendto(b"x", path)
    notify(READY, {"NOTIFY_SOCKET": path})  # would never return without a limit


def test_a_reload_says_when_it_began_in_microseconds() -> None:
    assert reloading(1_234_567_899) == "RELOADING=1\nMONOTONIC_USEC=1234567"


@pytest.mark.parametrize(
    ("env", "interval"),
    [
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(PID)}, 15.0),
        ({"WATCHDOG_USEC": "500000"}, 0.25),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "often"}, None),
        ({"WATCHDOG_USEC": "-5"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_fed_twice_as_often_as_it_bites(env: dict[str, str], interval: float | None) -> None:
    assert watchdog_interval_s(env, PID) == interval


@pytest.mark.parametrize(
    ("env", "found"),
    [
        ({"LISTEN_FDS": "2", "LISTEN_FDNAMES": "clients:admin"}, {"clients": [3], "admin": [4]}),
        ({"LISTEN_FDS": "3", "LISTEN_FDNAMES": "clients:admin:clients"}, {"clients": [3, 5], "admin": [4]}),
        ({"LISTEN_FDS": "2"}, {"unknown": [3, 4]}),
        ({"LISTEN_FDS": "2", "LISTEN_FDNAMES": "admin"}, {"admin": [3], "unknown": [4]}),
        ({"LISTEN_FDS": "0", "LISTEN_FDNAMES": ""}, {}),
        ({"LISTEN_FDS": "many", "LISTEN_FDNAMES": "clients"}, {}),
        ({"LISTEN_FDNAMES": "clients"}, {}),
    ],
)
def test_inherited_sockets_are_known_by_name(env: dict[str, str], found: dict[str, list[int]]) -> None:
    assert inherited({"LISTEN_PID": str(PID), **env}, PID) == found


@pytest.mark.parametrize("env", [{"LISTEN_FDS": "1"}, {"LISTEN_FDS": "1", "LISTEN_PID": "1"}])
def test_sockets_meant_for_another_process_are_left_alone(env: dict[str, str]) -> None:
    assert inherited(env, PID) == {}
