# Beside h11: what we accept it accepts, and reads the same message with the same end. Whoever stands behind us then
# reads no other message than we did. h11 may accept what we refuse; by_h11 has what is known the other way round.

from random import Random

from hostile import by_h11, grammar
from hostile.driver import fuzzed
from hostile.mutation import pick
from hostile.reading import Message, answers, requests

from proxy.wire.head import UNTIL_CLOSE, RequestHead, ResponseHead


def fields_as_h11_keeps_them(head: RequestHead | ResponseHead) -> list[tuple[bytes, bytes]]:
    """It lowers names, and the value of Transfer-Encoding too."""
    lower = zip(head.names, (value for _, value in head.fields), strict=True)
    return [(name, value.lower() if name == b"transfer-encoding" else value) for name, value in lower]


def assert_alike(ours: Message, theirs: by_h11.Read | None, raw: bytes) -> None:
    assert theirs is not None, raw
    assert list(theirs.head.headers) == fields_as_h11_keeps_them(ours.head), raw
    assert theirs.whole == ours.whole, raw
    if ours.whole:
        assert theirs.payload == ours.payload, raw


@fuzzed(300)
def test_requests_that_we_accept_h11_reads_alike(rng: Random) -> None:
    raw = left = b"".join(grammar.request(rng, b"%d" % number) for number in range(rng.randint(1, 4)))
    if by_h11.stricter(raw):
        return
    reading = requests([raw])
    for message in reading.messages:
        if reading.refused and not message.whole:
            return  # its body was refused
        theirs = by_h11.request(left)
        assert_alike(message, theirs, left)
        assert theirs.head.method == message.head.method, raw
        assert theirs.head.target == by_h11.plain_target(message.head.target), raw
        assert theirs.head.http_version == b"1.%d" % message.head.minor, raw
        left = theirs.rest
    if not reading.refused and reading.messages and reading.messages[-1].whole:
        assert left.lstrip(b"\r\n") == reading.rest.lstrip(b"\r\n"), raw


@fuzzed(300)
def test_answer_that_we_accept_h11_reads_alike(rng: Random) -> None:
    raw, method = grammar.answer(rng, b"1"), pick(rng, (b"GET", b"HEAD"))
    reading = answers([raw], method)
    message = reading.messages[-1] if reading.messages else None
    if message is None or message.head.status < 200 or (reading.refused and not message.whole) or by_h11.stricter(raw):
        return
    theirs = by_h11.answer(raw, method)
    assert_alike(message, theirs, raw)
    assert (theirs.head.status_code, theirs.head.reason) == (message.head.status, message.head.phrase[1:]), raw
    if message.whole and message.length != UNTIL_CLOSE:
        assert theirs.rest == reading.rest, raw
