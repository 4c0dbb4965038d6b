# The bytes that go through the fronts.
#
# Rule 1: MARK is in each event once and nowhere else, so that events are counted however their bytes were cut.
# Rule 2: the upstream knows what to do by the query: ?short, ?late, ?stream, ?up, ?down=BYTES, ?paced=KEY.

import json
import time

MARK = b"~"
EVENT_BYTES = 100
POST_BYTES = 1024
PATH = "/up/v1/messages"
UNDATED = "0" * 13
STREAM_END = b"0\r\n\r\n"


def padded(shape: str, size: int) -> bytes:
    """`shape` with its one %s replaced by as many letters as make it `size` bytes long."""
    return (shape % ("x" * (size - len(shape) + 2))).encode()


_ASKED = padded('{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"%s"}]}', POST_BYTES)
ANSWER = padded('{"type":"message","model":"m","content":[{"type":"text","text":"%s"}]}', POST_BYTES)
EVENT = padded('event: content_block_delta\ndata: {"delta":{"text":"~%s"}}\n\n', EVENT_BYTES)
CHUNK = b"%x\r\n%b\r\n" % (len(EVENT), EVENT)
STAMP = 20  # digits after the MARK of an event that says when it was sent, in ns
_BEGIN, _, _REST = CHUNK.partition(MARK)
_STAMPED = _BEGIN + MARK + b"%020d" + _REST[STAMP:]

SHORT = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nRequest-Id: req_0123456789\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)
)
STREAM_BEGIN = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK
)


def stamped(sent_ns: int) -> bytes:
    """A CHUNK that says when it was sent."""
    return _STAMPED % sent_ns


def stamps(data: bytes) -> list[int]:
    """When the events in `data` were sent. One that was cut in the middle of its stamp says nothing."""
    said = [part[:STAMP] for part in data.split(MARK)[1:]]
    return [int(digits) for digits in said if len(digits) == STAMP and digits.isdigit()]


def head(method: str, target: str, length: int, dated: bool = False) -> bytes:
    """Of a request as a coding agent sends it."""
    fields = {
        "Host": "bench.example",
        "User-Agent": "bench/1.0",
        "Accept": "application/json",
        "Authorization": "Bearer sk-0123456789abcdef",
        "Anthropic-Version": "2023-06-01",
        "Content-Type": "application/json",
        **({"X-Slotgate-Prompt-Started-At": UNDATED} if dated else {}),
        **({"Content-Length": str(length)} if method != "GET" else {}),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode()


def post(target: str, dated: bool = False) -> bytes:
    """A request of 1 KiB; a dated one says when its prompt began, once `dated_now` has put that in."""
    return head("POST", target, len(_ASKED), dated) + _ASKED


def dated_now(message: bytes) -> bytes:
    return message.replace(UNDATED.encode(), b"%d" % (time.time_ns() // 10**6), 1)


def json_line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"
