# Answers of every framing, and who asks for them.

import gzip

from model import FIN, OPEN, RST
from rawsides.message import CHUNKED, LAST_CHUNK, begun, chunk, get, post, request

EVENTS = b"".join(b'event: delta\ndata: {"n":%d}\n\n' % number for number in range(20)) + b"data: [DONE]\n\n"
COMPRESSED = gzip.compress(b"text" * 100, mtime=0)
ODD_CHUNKS = b'5;a\r\nhello\r\n00A ; b="c;d"\r\n0123456789\r\n0a\r\n0123456789\r\n000;e\r\n\r\n'
BODIES: dict[str, tuple[bytes, str]] = {  # answers, and how the upstream then ends
    "empty": (begun("Content-Length: 0"), OPEN),
    "a length": (begun("Content-Length: 5") + b"hello", OPEN),
    "a length with zeros": (begun("content-length:\t0005 ") + b"hello", OPEN),
    "every octet": (begun("Content-Length: 256") + bytes(range(256)), OPEN),
    "looks like an answer": (begun("Content-Length: 38") + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", OPEN),
    "gzip": (begun("Content-Encoding: gzip", f"Content-Length: {len(COMPRESSED)}") + COMPRESSED, OPEN),
    "gzip that is none": (begun("Content-Encoding: gzip", "Content-Length: 4") + b"\x1f\x8b!!", OPEN),
    "br": (begun("Content-Encoding: br", CHUNKED) + chunk(b"\x8b\x00\x80x\x03") + LAST_CHUNK, OPEN),
    "zstd": (begun("Content-Encoding: zstd", "Content-Length: 5") + b"\x28\xb5\x2f\xfdx", OPEN),
    "chunked": (begun(CHUNKED) + chunk(b"hello") + LAST_CHUNK, OPEN),
    "chunked, other spelling": (begun("transfer-encoding:  CHUNKED\t") + chunk(b"hello") + LAST_CHUNK, OPEN),
    "chunked and empty": (begun(CHUNKED) + LAST_CHUNK, OPEN),
    "odd chunks": (begun(CHUNKED) + ODD_CHUNKS, OPEN),
    "many chunks": (begun(CHUNKED) + b"".join(chunk(b"x" * size) for size in range(1, 300)) + LAST_CHUNK, OPEN),
    "sixteen digits": (begun(CHUNKED) + b"0000000000000005\r\nhello\r\n0000000000000000\r\n\r\n", OPEN),
    "a long extension": (begun(CHUNKED) + b"5;a=" + b"b" * 4000 + b"\r\nhello\r\n0\r\n\r\n", OPEN),
    "a long trailer": (begun(CHUNKED) + b"0\r\nX-T: " + b"u" * 32_000 + b"\r\n\r\n", OPEN),
    "chunks of line ends": (begun(CHUNKED) + chunk(b"\r\n0\r\n\r\n") + chunk(b"\r") + chunk(b"\n") + LAST_CHUNK, OPEN),
    "trailers": (begun(CHUNKED, "Trailer: X-T, X-U") + chunk(b"a") + b"0\r\nX-T: u\r\nx-u:\xff \r\n\r\n", OPEN),
    "trailers without a word": (begun(CHUNKED) + chunk(b"a") + b"0\r\nX-T: u\r\nX-T:\r\n\r\n", OPEN),
    "events": (begun("Content-Type: text/event-stream", CHUNKED) + chunk(EVENTS) + LAST_CHUNK, OPEN),
    "events until the end": (begun("Content-Type: text/event-stream") + EVENTS, FIN),
    "until the end": (begun("X-A: b") + b"hello", FIN),
    "until the end, said so": (begun("Connection: close") + b"hello", FIN),
    "until the end, and empty": (begun(), FIN),
    "until a reset": (begun("X-A: b") + b"hello", RST),
    "a length and a close": (begun("Content-Length: 5", "Connection: close") + b"hello", FIN),
    "a length and a reset": (begun("Content-Length: 5") + b"hello", RST),
    "chunked and a close": (begun("connection: CLOSE", CHUNKED) + chunk(b"hello") + LAST_CHUNK, FIN),
    "a close that is announced only": (begun("Connection: close", CHUNKED) + chunk(b"hello") + LAST_CHUNK, OPEN),
    "more than the length": (begun("Content-Length: 5") + b"hello and more", OPEN),
    "more than the chunks": (begun(CHUNKED) + LAST_CHUNK + b"HTTP/1.1 200 OK\r\n\r\n", OPEN),
    "HTTP/1.0, until the end": (b"HTTP/1.0 200 OK\r\nX-A: b\r\n\r\nhello", FIN),
    "HTTP/1.0, a length": (b"HTTP/1.0 404 Not\r\nContent-Length: 5\r\n\r\nhello", FIN),
    "HTTP/1.0, kept alive": (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", OPEN),
    "205": (begun("Content-Length: 0", status="205 Reset Content"), OPEN),
    "205, chunked": (begun(CHUNKED, status="205 Reset Content") + LAST_CHUNK, OPEN),
    "206": (begun("Content-Range: bytes 0-1/9", "Content-Length: 2", status="206 Partial Content") + b"he", OPEN),
    "a redirect with a body": (begun("Location: /x", "Content-Length: 2", status="307 x") + b"he", OPEN),
    "1 MB": (begun("Content-Length: 1000000") + bytes(range(250)) * 4000, OPEN),
}
ONE_OF_A_KIND = [
    *("empty", "a length", "looks like an answer", "chunked", "chunked and empty", "odd chunks", "trailers", "205"),
    *(
        "until the end",
        "until a reset",
        "a length and a close",
        "a length and a reset",
        "a close that is announced only",
    ),
    *("more than the length", "more than the chunks", "HTTP/1.0, a length"),
]
WITHOUT: dict[str, bytes] = {
    "nothing": begun(),
    "a length": begun("Content-Length: 1000"),
    "a length of many digits": begun("Content-Length: 999999999999999999"),
    "a length of 0": begun("Content-Length: 0"),
    "chunked": begun(CHUNKED),
    "a trailer": begun(CHUNKED, "Trailer: X-T"),
    "a close": begun("Connection: close"),
    "a type": begun("Content-Type: text/event-stream", "ETag: x"),
    "a body all the same": begun("Content-Length: 5") + b"hello",
}
CLIENTS = {
    "GET": get("/up/x"),
    "POST": post("/up/v1/messages", b"{}"),
    "GET, close": get("/up/x", "Connection: close"),
    "POST, close": post("/up/v1/messages", b"{}", "connection: keep-alive, CLOSE"),
    "GET 1.0": b"GET /up/x HTTP/1.0\r\n\r\n",
    "GET 1.0, keep-alive": b"GET /up/x HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
    "POST 1.0": b"POST /up/v1/messages HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}",
}
HEADS = {
    "HEAD": request("HEAD", "/up/"),
    "HEAD, close": request("HEAD", "/up/", "Connection: close"),
    "HEAD 1.0": b"HEAD /up/ HTTP/1.0\r\n\r\n",
}
