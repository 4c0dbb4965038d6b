# What we accept is what RFC 9112 writes down and no more, said here once again in the plainest words: one expression
# for a whole head, one for each line of a chunked body.

import re
from random import Random

from hostile import grammar
from hostile.driver import fuzzed
from hostile.mutation import mutated, pick
from hostile.reading import Message, answers, requests

from proxy.errors import BadMessage
from proxy.wire.body import Chunked

TOKEN = rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+"
TEXT = rb"[\t\x20-\x7e\x80-\xff]*"
REQUEST_LINE = re.compile(TOKEN + rb" [\x21-\x7e\x80-\xff]+ HTTP/1\.[01]")
STATUS_LINE = re.compile(rb"HTTP/1\.[01] [1-9][0-9][0-9](?: " + TEXT + rb")?")
FIELD_LINE = re.compile(TOKEN + rb":" + TEXT)
SIZE_LINE = re.compile(rb"([0-9A-Fa-f]+)(?:[ \t]*;" + TEXT + rb")?")
FRAMING = (b"content-length", b"transfer-encoding")


def assert_strict(message: Message, raw: bytes) -> None:
    head = message.head
    assert all(FIELD_LINE.fullmatch(line) for line in head.lines), raw
    assert [line.partition(b":")[0].lower() for line in head.lines] == head.names, raw
    said = [(name, value.strip(b" \t")) for name, _, value in (line.partition(b":") for line in head.lines)]
    assert said == head.fields, raw
    framing = [(name.lower(), value.lower()) for name, value in said if name.lower() in FRAMING]
    assert len(framing) <= 1, raw
    for name, value in framing:
        assert value == b"chunked" if name == b"transfer-encoding" else re.fullmatch(rb"[0-9]+", value), raw
        assert name == b"content-length" or head.minor == 1, raw


@fuzzed(300)
def test_request_that_is_accepted_is_one(rng: Random) -> None:
    raw = grammar.request(rng, b"1")
    for message in requests([raw]).messages:
        first = raw.lstrip(b"\r\n").partition(b"\r\n")[0]
        assert REQUEST_LINE.fullmatch(first), raw
        method, target, version = first.split(b" ")
        assert (method, target, version) == (
            message.head.method,
            message.head.target,
            b"HTTP/1.%d" % message.head.minor,
        )
        assert message.head.names.count(b"host") == 1 or message.head.minor == 0, raw
        assert_strict(message, raw)
        return  # a second one may have been in the body of the first


@fuzzed(300)
def test_answer_that_is_accepted_is_one(rng: Random) -> None:
    raw = grammar.answer(rng, b"1")
    for message in answers([raw], b"GET").messages[:1]:
        first = raw.partition(b"\r\n")[0]
        assert STATUS_LINE.fullmatch(first), raw
        assert first == b"HTTP/1.%d %d%s" % (message.head.minor, message.head.status, message.head.phrase), raw
        assert_strict(message, raw)


def by_the_book(raw: bytes) -> tuple[bytes, int] | None:
    """The payload of a whole chunked body and where it ends; None if it is none, or not whole."""
    payload, at = b"", 0
    while (stop := raw.find(b"\r\n", at)) >= 0:
        size = SIZE_LINE.fullmatch(raw[at:stop])
        if size is None:
            return None
        at = stop + 2 + int(size[1], 16)
        if int(size[1], 16) == 0:
            return _behind_trailers(raw, payload, at)
        payload += raw[stop + 2 : at]
        if raw[at : at + 2] != b"\r\n":
            return None
        at += 2
    return None


def _behind_trailers(raw: bytes, payload: bytes, at: int) -> tuple[bytes, int] | None:
    while (stop := raw.find(b"\r\n", at)) > at:
        if not FIELD_LINE.fullmatch(raw[at:stop]):
            return None
        at = stop + 2
    return None if stop < 0 else (payload, stop + 2)


@fuzzed(300)
def test_chunked_body_that_is_accepted_is_one(rng: Random) -> None:
    raw = grammar.chunked(rng, b"\r\n0\r\n\r\n" * rng.randint(0, 3) + b"a" * pick(rng, (1, 0, 300)))
    if rng.randrange(2):
        raw = mutated(rng, raw)
    decoded: list[bytes] = []
    body = Chunked(decoded)
    try:
        taken = body.feed(raw)
    except BadMessage:
        return  # by limits that are not in the book, too
    if body.done:
        assert by_the_book(raw) == (b"".join(decoded), taken), raw
    else:
        assert by_the_book(raw) is None, raw
