# Reading HTTP/1.1 messages out of raw bytes, for both sides of the proxy. As little as a test needs.
#
# Rule 1: bytes are kept as they came; what is parsed stands beside them.

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A start line and header lines. `raw` holds every byte up to and including the empty line."""

    raw: bytes
    start: str
    headers: list[tuple[str, str]]

    def get(self, name: str) -> str | None:
        """The first value of that header, whatever its spelling."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    @property
    def status(self) -> int:
        return int(self.start.split(" ", 2)[1])

    @property
    def method(self) -> str:
        return self.start.split(" ", 1)[0]

    @property
    def target(self) -> str:
        return self.start.split(" ")[1]

    @property
    def chunked(self) -> bool:
        return (self.get("transfer-encoding") or "").lower().endswith("chunked")

    @property
    def length(self) -> int | None:
        value = self.get("content-length")
        return None if value is None else int(value)


def parse_head(raw: bytes) -> Head:
    lines = raw[:-4].decode("latin-1").split("\r\n")
    headers = [(name, value.strip(" \t")) for name, _, value in (line.partition(":") for line in lines[1:])]
    return Head(raw=raw, start=lines[0], headers=headers)


_CHUNK = re.compile(rb"([0-9A-Fa-f]+)[^\r\n]*\r\n")


class Dechunker:
    """Takes a chunked body's bytes as they come. `data` grows; `ended` turns true at the end of the trailers."""

    def __init__(self) -> None:
        self._raw = bytearray()
        self._at = 0
        self.data = bytearray()
        self.ended = False
        self.rest = b""

    def feed(self, more: bytes) -> None:
        self._raw += more
        while not self.ended:
            line = _CHUNK.match(self._raw, self._at)
            if line is None:
                return
            size, begin = int(line[1], 16), line.end()
            if size == 0:
                self._trailers(begin)
                return
            if len(self._raw) < begin + size + 2:
                return
            assert self._raw[begin + size : begin + size + 2] == b"\r\n", "a chunk does not end where it says"
            self.data += self._raw[begin : begin + size]
            self._at = begin + size + 2

    def _trailers(self, begin: int) -> None:
        if self._raw[begin : begin + 2] == b"\r\n":
            end = begin + 2
        else:
            end = self._raw.find(b"\r\n\r\n", begin) + 4
            if end < 4:
                return
        self.ended, self.rest = True, bytes(self._raw[end:])
