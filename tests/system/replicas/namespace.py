# A network of its own, with one cable to ours that can be unplugged: packets are then lost without a word.

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from replicas.redis_server import program


@dataclass(frozen=True, slots=True)
class Namespace:
    name: str
    cable: str
    address: str  # of whoever listens within

    @property
    def within(self) -> tuple[str, ...]:
        """What a program is started by that shall run there."""
        return ("ip", "netns", "exec", self.name)

    def plug(self) -> None:
        _ip("link", "set", self.cable, "up")

    def unplug(self) -> None:
        _ip("link", "set", self.cable, "down")


@contextlib.contextmanager
def a_namespace() -> Iterator[Namespace]:
    """The test is skipped where this machine lets nobody make one."""
    program("ip")
    number = os.getpid()  # workers side by side have each their own
    network = f"10.213.{number % 250}"
    space = Namespace(f"slotgate{number}", f"sg{number}", f"{network}.2")
    try:
        _ip("netns", "add", space.name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespace can be made here: {error.stderr.decode().strip()}")
    try:
        _connect(space, f"{network}.1")
        yield space
    finally:
        _ip("netns", "del", space.name)  # and the cable with it


def _connect(space: Namespace, ours: str) -> None:
    theirs = f"{space.cable}i"
    _ip("link", "add", space.cable, "type", "veth", "peer", "name", theirs)
    _ip("link", "set", theirs, "netns", space.name)
    _ip("addr", "add", f"{ours}/30", "dev", space.cable)
    _ip("-n", space.name, "addr", "add", f"{space.address}/30", "dev", theirs)
    _ip("-n", space.name, "link", "set", theirs, "up")
    space.plug()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
