# What must be true of a batch of hostile clients, by what each side was told.
#
# Rule 1: what a client's bytes mean is what the parsers say, which are held against h11 elsewhere. The upstream gets
#         those requests, each at most as often as it was asked, and nothing else.
# Rule 2: a client hears of its own requests alone, in their order, in messages that can be read.

from collections import Counter
from collections.abc import Iterable, Iterator

from hostile import by_h11
from hostile.client import Client
from hostile.names import Names
from hostile.reading import answers, requests
from hostile.upstream import Link
from proxy.errors import OwnAnswer
from proxy.web.routing import Router

_FORBIDDEN = {b"keep-alive", b"proxy-connection", b"proxy-authorization", b"forwarded", b"x-forwarded-for"}
_FORBIDDEN |= {b"x-slotgate-workspace", b"x-slotgate-prompt-started-at", b"alt-svc", b"proxy-authenticate"}
Asked = tuple[bytes, bytes, bytes]  # method, target, body


def of_client(client: Client, owner: int, names: Names) -> None:
    """AssertionError with the bytes of the one that was told what it must not be told."""
    asked = requests([client.sent])
    told = bytes(client.received)
    assert names.owners(told) <= {owner}, (client.sent, told)
    for message in asked.messages:
        reading = answers([told], message.head.method)
        mine = names.within(message.head.target)
        heard = told[: len(told) - len(reading.rest)]
        assert not reading.refused, (client.sent, bytes(client.received))
        assert names.within(heard) <= mine, (client.sent, bytes(client.received))
        assert not reading.switched or message.head.get(b"upgrade") is not None, (client.sent, bytes(client.received))
        if reading.switched or not reading.messages or not reading.messages[-1].whole:
            return
        told = reading.rest
    if told:
        assert not answers([told], b"GET").refused, (client.sent, bytes(client.received))


def of_upstream(links: Iterable[Link], clients: Iterable[Client], router: Router) -> None:
    """AssertionError with the bytes that nobody asked for, or that h11 does not take for requests."""
    wanted: Counter[Asked] = Counter()
    begun: set[tuple[bytes, bytes]] = set()  # by requests whose bodies were not whole, too
    for message in (message for client in clients for message in requests([client.sent]).messages):
        start = message.head.method, _routed(router, message.head.target)
        begun.add(start)
        wanted[*start, message.payload] += message.whole
    got: Counter[Asked] = Counter()
    for link in links:
        assert link.spoilt is None or b"HTTP/1.1\r\n" not in link.received[link.spoilt :], bytes(link.received)
        for read in _read(link):
            start = read.head.method, read.head.target
            assert start in begun, bytes(link.received)
            headers = dict(read.head.headers)
            assert not _FORBIDDEN & headers.keys(), bytes(link.received)
            assert headers.get(b"te", b"trailers").lower() == b"trailers", bytes(link.received)
            if read.whole and not any(name in read.head.target for name in link.repeated):
                got[*start, read.payload] += 1
    assert got <= wanted, got - wanted


def _read(link: Link) -> Iterator[by_h11.Read]:
    """The requests that came on a connection."""
    raw = bytes(link.received[: link.switched])
    while b"\r\n\r\n" in raw:
        read = by_h11.request(raw)
        if read is None:
            assert by_h11.stricter(raw), raw
            return
        yield read
        raw = read.rest


def _routed(router: Router, target: bytes) -> bytes:
    """What of a target goes to the upstream, as h11 can read it; nothing if none of it does."""
    try:
        return by_h11.plain_target(router.match(target, None).target)
    except OwnAnswer:
        return b""
