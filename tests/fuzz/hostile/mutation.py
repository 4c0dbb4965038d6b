# What a hostile peer does to a message that was right: small changes of bytes, and how the bytes are cut into pieces.
#
# Rule 1: everything is drawn from the Random that is given: the same seed gives the same bytes.
# Rule 2: the first of each list is the plainest, since that is what Hypothesis shrinks to.

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

_T = TypeVar("_T")

NASTY = (
    b" ",
    b"\r\n",
    b"\n",
    b"\r",
    b"\t",
    b"\x00",
    b"\x0b",
    b"\x0c",
    b"\x1f",
    b"\x7f",
    b"\x80",
    b"\x85",
    b"\xa0",
    b"\xff",
    b":",
    b",",
    b";",
    b"/",
    b"?",
    b"#",
    b"%0d%0a",
    b"-",
    b"+1",
    b"0",
    b"_",
    b"0x",
    b"\r\n\r\n",
    b"\r\r\n",
    b"\r\n ",
    b"0\r\n\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length : 0\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding:\x0bchunked\r\n",
    b" HTTP/1.1",
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    b"GET /up/smuggled HTTP/1.1\r\nHost: smuggled\r\n\r\n",
    b"9223372036854775808",
    b"ffffffffffffffff",
    b"x" * 4100,
    b"x" * 16500,
    b"x" * 33000,
)


def pick(rng: Random, choices: Sequence[_T]) -> _T:
    """One of them, each as likely."""
    return choices[rng.randrange(len(choices))]


def chance(rng: Random, percent: int) -> bool:
    """True in so many of a hundred cases; false is the plain one."""
    return rng.randrange(100) >= 100 - percent


def mutated(rng: Random, raw: bytes) -> bytes:
    """`raw` with one to three changes."""
    for _ in range(rng.randint(1, 3)):
        raw = pick(rng, _CHANGES)(rng, raw)
    return raw


def cut(rng: Random, raw: bytes, most: int = 6) -> list[bytes]:
    """`raw` in up to `most` pieces, none of them empty."""
    places = sorted({rng.randint(0, len(raw)) for _ in range(rng.randrange(most))} - {0, len(raw)})
    return [raw[start:stop] for start, stop in zip([0, *places], [*places, len(raw)], strict=True)] if raw else []


def _replace(rng: Random, raw: bytes) -> bytes:
    at = _place(rng, raw)
    return raw[:at] + pick(rng, NASTY[:27]) + raw[at + 1 :]


def _insert(rng: Random, raw: bytes) -> bytes:
    at = _place(rng, raw)
    return raw[:at] + pick(rng, NASTY) + raw[at:]


def _delete(rng: Random, raw: bytes) -> bytes:
    at = _place(rng, raw)
    return raw[:at] + raw[at + rng.randint(1, 4) :]


def _flip_case(rng: Random, raw: bytes) -> bytes:
    at = _place(rng, raw)
    return raw[:at] + raw[at : at + 12].swapcase() + raw[at + 12 :]


def _repeat_line(rng: Random, raw: bytes) -> bytes:
    lines = raw.split(b"\r\n")
    at = rng.randrange(len(lines))
    lines[at:at] = [lines[at]] * pick(rng, (1, 2, 201))
    return b"\r\n".join(lines)


def _swap_lines(rng: Random, raw: bytes) -> bytes:
    lines = raw.split(b"\r\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\r\n".join(lines)


def _drop_line(rng: Random, raw: bytes) -> bytes:
    lines = raw.split(b"\r\n")
    del lines[rng.randrange(len(lines))]
    return b"\r\n".join(lines)


def _other_line_ends(rng: Random, raw: bytes) -> bytes:
    return raw.replace(b"\r\n", pick(rng, (b"\n", b"\r", b"\r\r\n", b"\r\n ")), pick(rng, (1, 2, -1)))


def _truncate(rng: Random, raw: bytes) -> bytes:
    return raw[: rng.randint(0, len(raw))]


def _place(rng: Random, raw: bytes) -> int:
    """Somewhere; every second time at a line's end or beginning, where readers err."""
    if raw and chance(rng, 50):
        at = raw.find(b"\r\n", rng.randrange(len(raw)))
        if at >= 0:
            return at + rng.randrange(3)
    return rng.randint(0, len(raw))


_CHANGES: tuple[Callable[[Random, bytes], bytes], ...] = (
    _replace,
    _insert,
    _delete,
    _flip_case,
    _swap_lines,
    _drop_line,
    _repeat_line,
    _other_line_ends,
    _truncate,
)
