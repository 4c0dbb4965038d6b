# Looking names up: a name server that hangs holds up nobody else, and nothing is remembered.

import asyncio
import socket
import threading

import pytest

from proxy.wire.resolve import Resolver

FOUND = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 80))]
ask = socket.getaddrinfo


class NameServer:
    """Stands in for the system's look-up of names; literals are the system's own business."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.release = threading.Event()

    def getaddrinfo(self, host, port, *args, **kwargs):
        if kwargs.get("flags"):
            return ask(host, port, *args, **kwargs)
        self.asked.append(host)
        if host == "hanging.example":
            self.release.wait(30)
        if host == "missing.example":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return FOUND


@pytest.fixture
def names(monkeypatch):
    server = NameServer()
    monkeypatch.setattr(socket, "getaddrinfo", server.getaddrinfo)
    yield server
    server.release.set()


@pytest.mark.parametrize(("literal", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
async def test_a_literal_needs_no_name_server(names, literal, family):
    (found,) = await Resolver(asyncio.get_running_loop()).look_up(literal, 80)
    assert found[0] == family
    assert found[4][:2] == (literal, 80)
    assert names.asked == []


async def test_a_name_that_hangs_holds_up_no_other_and_is_asked_for_once(names):
    """Bug case SYS-02."""
    resolver = Resolver(asyncio.get_running_loop())
    hanging = [asyncio.create_task(resolver.look_up("hanging.example", 80)) for _ in range(50)]
    await asyncio.sleep(0)
    assert await resolver.look_up("good.example", 80) == FOUND
    assert names.asked.count("hanging.example") == 1
    hanging[0].cancel()
    names.release.set()
    assert await asyncio.gather(*hanging[1:]) == [FOUND] * 49


async def test_each_connection_asks_again(names):
    resolver = Resolver(asyncio.get_running_loop())
    for _ in range(2):
        await resolver.look_up("good.example", 80)
    assert names.asked == ["good.example"] * 2


async def test_a_name_that_is_none_is_an_error_for_everybody_who_asked(names):
    resolver = Resolver(asyncio.get_running_loop())
    told = await asyncio.gather(*(resolver.look_up("missing.example", 80) for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in told] == [socket.gaierror] * 3
