# Messages as bytes, spelled out as little as a test allows.


def request(method: str, target: str, *lines: str, body: bytes | None = None) -> bytes:
    """With a Host; a body, also an empty one, is framed by Content-Length."""
    head = [f"{method} {target} HTTP/1.1", "Host: proxy.test", *lines]
    if body is not None:
        head.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(head) + "\r\n\r\n").encode("latin-1") + (body or b"")


def get(target: str, *lines: str) -> bytes:
    return request("GET", target, *lines)


def post(target: str, body: bytes, *lines: str) -> bytes:
    return request("POST", target, *lines, body=body)


def answer(body: bytes = b"", *lines: str, status: str = "200 OK") -> bytes:
    """Framed by Content-Length."""
    head = [f"HTTP/1.1 {status}", *lines, f"Content-Length: {len(body)}"]
    return ("\r\n".join(head) + "\r\n\r\n").encode("latin-1") + body


def begun(*lines: str, status: str = "200 OK") -> bytes:
    """A head alone: `lines` say how the body is framed; none of them means by the connection's end."""
    return ("\r\n".join([f"HTTP/1.1 {status}", *lines]) + "\r\n\r\n").encode("latin-1")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


CHUNKED = "Transfer-Encoding: chunked"
LAST_CHUNK = b"0\r\n\r\n"
