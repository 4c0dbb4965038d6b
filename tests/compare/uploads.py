# Requests with bodies of every framing, read whole first (counted) or streamed.

import gzip

from rawsides.message import CHUNKED, LAST_CHUNK, chunk, request

COUNTED, STREAMED = "POST /up/v1/messages", "PUT /up/v1/files/1"
MULTIPART = (
    b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b\r\nContent-Type: x\r\n\r\n\x00\xff\r\n--b--\r\n'
)
COMPRESSED = gzip.compress(b"text" * 100, mtime=0)
BODIES: dict[str, tuple[list[str], bytes]] = {
    "none": ([], b""),
    "empty": (["Content-Length: 0"], b""),
    "a length": (["Content-Length: 5"], b"hello"),
    "a length in front": (["Content-Length: 5", "X-A: b", "Content-Type: text/plain"], b"hello"),
    "a length with zeros": (["content-length: 0005"], b"hello"),
    "a length with white space": (["CONTENT-LENGTH:\t5 \t"], b"hello"),
    "every octet": (["Content-Length: 256"], bytes(range(256))),
    "looks like a request": (["Content-Length: 38"], b"GET /up/ HTTP/1.1\r\nHost: smuggled\r\n\r\n\r\n\0"[:38]),
    "line ends": (["Content-Length: 9"], b"\r\n\r\n\n\n\r\r\n"),
    "JSON": (["Content-Type: application/json", "Content-Length: 23"], b'{"stream": true, "a":1}'),
    "JSON that is none": (["Content-Type: application/json", "Content-Length: 5"], b'{"a":'),
    "gzip": (["Content-Encoding: gzip", f"Content-Length: {len(COMPRESSED)}"], COMPRESSED),
    "gzip that is none": (
        ["Content-Encoding: gzip", "Content-Type: application/json", "Content-Length: 4"],
        b"\x1f\x8b\x08!",
    ),
    "br": (["Content-Encoding: br", "Content-Length: 6"], b"\x8b\x00\x80x\x03\xff"),
    "zstd": (["Content-Encoding: zstd", "Content-Length: 6"], b"\x28\xb5\x2f\xfd\x00\xff"),
    "multipart": (["Content-Type: multipart/form-data; boundary=b", f"Content-Length: {len(MULTIPART)}"], MULTIPART),
    "a form": (["Content-Type: application/x-www-form-urlencoded", "Content-Length: 9"], b"a=b+c&%41"),
    "chunked": ([CHUNKED], chunk(b"hello") + LAST_CHUNK),
    "chunked and empty": ([CHUNKED], LAST_CHUNK),
    "chunked, other spelling": (["transfer-ENCODING:\tChunked "], chunk(b"hello") + LAST_CHUNK),
    "many chunks": ([CHUNKED], b"".join(chunk(b"x" * size) for size in range(1, 300)) + LAST_CHUNK),
    "upper case, zeros": ([CHUNKED], b"0A\r\n0123456789\r\n00000a\r\n0123456789\r\n0000\r\n\r\n"),
    "sixteen digits": ([CHUNKED], b"0000000000000005\r\nhello\r\n0000000000000000\r\n\r\n"),
    "a length with many zeros": (["Content-Length: " + "0" * 30 + "5"], b"hello"),
    "a long extension": ([CHUNKED], b"5;a=" + b"b" * 4000 + b"\r\nhello\r\n0\r\n\r\n"),
    "extensions": ([CHUNKED], b'5;a\r\nhello\r\n5 ; b="c;d" ;e\t=f\r\nhello\r\n0;last=1\r\n\r\n'),
    "a trailer": ([CHUNKED, "Trailer: X-T"], chunk(b"hello") + b"0\r\nX-T: u\r\n\r\n"),
    "trailers without a word": ([CHUNKED], chunk(b"hello") + b"0\r\nx-T:u\r\nX-t: \xff\t\r\nX-U:\r\n\r\n"),
    "chunked gzip": ([CHUNKED, "Content-Encoding: gzip"], chunk(COMPRESSED[:9]) + chunk(COMPRESSED[9:]) + LAST_CHUNK),
    "chunks of line ends": ([CHUNKED], chunk(b"\r\n0\r\n\r\n") + chunk(b"\r") + chunk(b"\n") + LAST_CHUNK),
    "100 kB": (["Content-Length: 100000"], bytes(range(250)) * 400),
    "chunked 100 kB": ([CHUNKED], chunk(bytes(range(250)) * 400) + LAST_CHUNK),
}


ONE_OF_A_KIND = [
    *("none", "empty", "a length", "every octet", "looks like a request", "JSON", "chunked", "chunked and empty"),
    *("extensions", "trailers without a word", "chunks of line ends"),
]


def sent(line: str, name: str) -> bytes:
    method, target = line.split(" ")
    return request(method, target, *BODIES[name][0]) + BODIES[name][1]
