# The head writers against hostile heads: what we write is the message that was read, less what a proxy removes. Every
# line is one that came in, in its order; nothing hop-by-hop, and nothing that was meant for us, is among them.

from random import Random

from hostile import by_h11, grammar
from hostile.driver import fuzzed
from hostile.mutation import pick
from hostile.reading import answers, requests

from proxy.web.identity import OWN_HEADERS
from proxy.wire.head import (
    FIELDS_MAX,
    RequestHead,
    ResponseHead,
    connection_options,
    parse_request,
    parse_response,
    request_length,
    response_length,
)
from proxy.wire.head_writer import request_bytes, response_bytes

HOST = b"upstream.test:81"
FRAMING = {b"content-length", b"transfer-encoding", b"host"}
HOP_BY_HOP = {b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization"}


def dropped_from_requests(head: RequestHead, name: bytes, value: bytes) -> bool:
    listed = connection_options(head) - FRAMING
    return (
        name in HOP_BY_HOP | OWN_HEADERS | listed | {b"upgrade", b"te", b"forwarded"}
        or name.startswith(b"x-forwarded-")
        or (name == b"expect" and value.lower() == b"100-continue")
    )


def dropped_from_answers(head: ResponseHead, name: bytes) -> bool:
    listed = connection_options(head) - FRAMING
    return name in HOP_BY_HOP | listed | {b"upgrade", b"te", b"alt-svc"}


def promised(head: RequestHead | ResponseHead) -> set[bytes]:
    """What TE says: of all codings, trailers alone may pass a proxy that passes them on (RFC 9110 10.1.4)."""
    return {value.lower() for name, (_, value) in zip(head.names, head.fields, strict=True) if name == b"te"}


@fuzzed(300)
def test_request_is_written_as_it_was_read_less_what_is_removed(rng: Random) -> None:
    raw = grammar.request(rng, b"1")
    reading = requests([raw])
    if not reading.messages:
        return
    head, target = reading.messages[0].head, b"/to" + pick(rng, (b"", b"?q", b"//\xff"))
    written = request_bytes(head, target, HOST, own=OWN_HEADERS)
    again = parse_request(written)
    assert (again.method, again.target, again.minor) == (head.method, target, 1), raw
    assert request_length(again) == request_length(head), raw

    kept = [
        line
        for line, name, (_, value) in zip(head.lines, head.names, head.fields, strict=True)
        if name != b"host" and not dropped_from_requests(head, name, value)
    ]
    ours = [line for line, name in zip(again.lines, again.names, strict=True) if name not in (b"host", b"te")]
    assert ours == kept, raw
    assert again.get(b"host") == HOST, raw
    assert promised(again) <= {b"trailers"}, raw

    assert request_bytes(again, target, HOST, own=OWN_HEADERS) == written, raw
    if by_h11.stricter(written):
        return
    theirs = by_h11.request(written)
    assert theirs is not None, written
    assert (theirs.head.method, theirs.head.target) == (again.method, by_h11.plain_target(target)), raw
    assert len(theirs.head.headers) == len(again.lines), raw


@fuzzed(300)
def test_upgrade_is_all_that_is_left_of_connection(rng: Random) -> None:
    reading = requests(
        [b"GET /up HTTP/1.1\r\nUpgrade: websocket\r\nConnection: a,upgrade\r\n" + grammar.request(rng, b"1")]
    )
    for message in reading.messages[:1]:
        written = request_bytes(message.head, b"/", HOST, own=OWN_HEADERS, upgrade=True)
        again = parse_request(written)
        assert connection_options(again) == {b"upgrade"}, written
        assert b"Upgrade: websocket" in again.lines, written
        assert request_bytes(again, b"/", HOST, own=OWN_HEADERS, upgrade=True) == written


HOW: tuple[dict[str, bool], ...] = ({}, {"close": True}, {"dechunked": True, "close": True}, {"upgrade": True})


@fuzzed(300)
def test_answer_is_written_as_it_was_read_less_what_is_removed(rng: Random) -> None:
    raw, how = grammar.answer(rng, b"1"), pick(rng, HOW)
    for message in answers([raw], b"GET").messages:
        if len(message.head.lines) < FIELDS_MAX:  # with a line of ours it has one more than we read
            assert_written(message.head, how, raw)


def assert_written(head: ResponseHead, how: dict[str, bool], raw: bytes) -> None:
    written = response_bytes(head, **how)
    again = parse_response(written)
    assert (again.status, again.phrase, again.minor) == (head.status, head.phrase, 1), raw
    if "dechunked" not in how:
        assert response_length(again, b"GET") == response_length(head, b"GET"), raw

    unwanted = {b"te", b"connection"} | ({b"transfer-encoding", b"trailer"} if "dechunked" in how else set())
    tells_upgrade = "upgrade" in how or head.status == 426
    kept = [
        line
        for line, name in zip(head.lines, head.names, strict=True)
        if (name == b"upgrade" and tells_upgrade) or not (dropped_from_answers(head, name) or name in unwanted)
    ]
    assert [line for line, name in zip(again.lines, again.names, strict=True) if name not in unwanted] == kept, raw
    assert promised(again) <= {b"trailers"}, raw
    listed = connection_options(head) & {b"upgrade"} if tells_upgrade else set()
    assert connection_options(again) == listed | {b"upgrade", b"close"} & {option.encode() for option in how}, raw

    assert response_bytes(again, **how) == written, raw
    if head.status >= 200 and not by_h11.stricter(written):
        theirs = by_h11.answer(written, b"GET")
        assert theirs is not None, written
        assert (theirs.head.status_code, theirs.head.reason) == (again.status, again.phrase[1:]), raw
        assert len(theirs.head.headers) == len(again.lines), raw
