# Both parsers against hostile bytes: the same meaning in whatever pieces they come, and no other error than a refusal.

from random import Random

from hostile import grammar
from hostile.driver import fuzzed
from hostile.mutation import cut, mutated, pick
from hostile.reading import Reading, answers, requests

from proxy.errors import BadMessage
from proxy.wire.body import Chunked
from proxy.wire.head import FIELD_MAX, FIELDS_MAX, START_LINE_MAX, RequestHead, ResponseHead

KEPT_MAX = START_LINE_MAX + FIELDS_MAX * (FIELD_MAX + 2)  # lines that a head may have, and nothing besides
LINE_KEPT_MAX = FIELD_MAX + 2


def meaning(reading: Reading) -> tuple[object, ...]:
    """All that may not depend on the pieces. Where bytes are refused, how far a body had come may."""
    messages = [(said(message.head), message.length, message.payload, message.whole) for message in reading.messages]
    if reading.refused and messages and not messages[-1][-1]:
        messages[-1] = (*messages[-1][:2], b"", False)
    return messages, reading.refused, reading.switched, reading.rest


def said(head: RequestHead | ResponseHead) -> tuple[object, ...]:
    start = (head.method, head.target) if isinstance(head, RequestHead) else (head.status, head.phrase)
    return (head.minor, head.block, head.names, head.values, *start)


def byte_by_byte(raw: bytes) -> list[bytes]:
    return [raw[at : at + 1] for at in range(len(raw))]


def pieces_of(rng: Random, raw: bytes) -> list[bytes]:
    return byte_by_byte(raw) if len(raw) < 2000 and rng.randrange(2) else cut(rng, raw)


@fuzzed(300)
def test_requests_mean_the_same_in_whatever_pieces_they_come(rng: Random) -> None:
    raw = b"".join(grammar.request(rng, b"%d" % number) for number in range(rng.randint(1, 4)))
    pieces = pieces_of(rng, raw)
    at_once, apart = requests([raw]), requests(pieces)
    assert meaning(apart) == meaning(at_once), (raw, pieces)
    assert apart.kept <= KEPT_MAX, raw


@fuzzed(300)
def test_answer_means_the_same_in_whatever_pieces_it_comes(rng: Random) -> None:
    raw, method = grammar.answer(rng, b"1"), pick(rng, (b"GET", b"HEAD"))
    pieces = pieces_of(rng, raw)
    at_once, apart = answers([raw], method), answers(pieces, method)
    assert meaning(apart) == meaning(at_once), (raw, pieces)
    assert apart.kept <= KEPT_MAX, raw


def chunks(pieces: list[bytes]) -> tuple[bytes, int, bool, bool]:
    """The payload, how many bytes were the body's, whether it is whole, whether it was refused."""
    decoded: list[bytes] = []
    body, taken = Chunked(decoded), 0
    try:
        for piece in pieces:
            taken += body.feed(piece)
            assert len(body._line) <= LINE_KEPT_MAX
    except BadMessage:
        return b"", 0, False, True
    payload = b"".join(decoded)
    assert body.payload == len(payload)
    return payload, taken, body.done, False


@fuzzed(300)
def test_chunked_body_means_the_same_in_whatever_pieces_it_comes(rng: Random) -> None:
    raw = grammar.chunked(rng, b"\r\n0\r\n\r\n" * rng.randint(0, 3) + b"a" * pick(rng, (1, 0, 300, 20_000)))
    if rng.randrange(2):
        raw = mutated(rng, raw)
    pieces = pieces_of(rng, raw)
    assert chunks(pieces) == chunks([raw]), (raw, pieces)


@fuzzed(200)
def test_noise_is_refused_or_waited_for(rng: Random) -> None:
    raw = rng.randbytes(rng.randint(0, 64))
    for pieces in ([raw], byte_by_byte(raw)):
        requests(pieces)
        answers(pieces, b"GET")
        chunks(pieces)
