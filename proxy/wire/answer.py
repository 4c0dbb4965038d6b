# Answers of our own: JSON that OpenAI and Anthropic clients both read (spec §11). Pure.

import json

from proxy.errors import OwnAnswer

_REASONS = {
    400: b"Bad Request",
    404: b"Not Found",
    408: b"Request Timeout",
    413: b"Content Too Large",
    426: b"Upgrade Required",
    500: b"Internal Server Error",
    501: b"Not Implemented",
    502: b"Bad Gateway",
    503: b"Service Unavailable",
    504: b"Gateway Timeout",
}


def own_answer(error: OwnAnswer, *, method: bytes, close: bool) -> bytes:
    """The whole answer to a request of `method`; `close` announces that the connection ends with it."""
    body = json.dumps(
        {
            "type": "error",
            "error": {"type": error.type, "code": error.code, "message": f"slotgate: {error.message}"},
        },
        ensure_ascii=False,
    ).encode()
    lines = [
        b"HTTP/1.1 %d %s" % (error.status, _REASONS[error.status]),
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(body),
        b"X-Slotgate-Error: " + error.code.encode(),
    ]
    if error.retry_after_s is not None:
        lines.append(b"Retry-After: %d" % error.retry_after_s)
    options = []
    if error.status == 426:  # RFC 9110 15.5.22: says what to upgrade to, though we go on without
        lines.append(b"Upgrade: websocket")
        options.append(b"Upgrade")
    if close:
        options.append(b"close")
    if options:
        lines.append(b"Connection: " + b", ".join(options))
    head = b"\r\n".join(lines) + b"\r\n\r\n"
    return head if method == b"HEAD" else head + body
