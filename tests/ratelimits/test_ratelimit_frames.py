# Errors inside successful answers, found whatever the framing, the coding, and the pieces in which the bytes come.

import gzip
import json
import struct
import zlib
from pathlib import Path

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from proxy.ratelimits import classify
from proxy.ratelimits.frames import DOCUMENT_MAX, FRAME_MAX, may_be_marked
from proxy.ratelimits.reading import UNPACKED_MAX, reading_of

SSE, JSON, NDJSON, AWS = (
    "text/event-stream",
    "application/json",
    "application/x-ndjson",
    "application/vnd.amazon.eventstream",
)
ANTHROPIC = b'event: error\ndata: {"type":"error","error":{"type":"rate_limit_error","message":"Too fast"}}\n\n'
OVERLOADED = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
DELTA = b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"hello"}}\n\n'


def framing_of(kind, coding):
    reading = reading_of(kind.encode(), coding.encode())
    return None if reading is None else reading.framing()


def pieces(body, size):
    return [body[at : at + size] for at in range(0, len(body), size)]


def frames(parts, kind=SSE, coding=""):
    """What is cut out of a body that comes in these parts."""
    framing = framing_of(kind, coding)
    if framing is None:
        return []
    found = []
    for part in parts:
        more = framing.feed(part)
        if more is None:
            return found
        found += more
    return [*found, *framing.end()]


def verdict(parts, kind=SSE, coding=""):
    """The kind and the wait of the first refusal that is found."""
    for frame in frames(parts, kind, coding):
        said = classify(200, [("content-type", kind)], frame, now=1_790_000_000.0)
        if said.kind != "none":
            return said.kind, said.retry_after_ms
    return None


def aws(payload, **headers):
    """One message of AWS' event stream; the checksums are not looked at."""
    packed = b""
    for name, value in headers.items():
        name = ":" + name.replace("_", "-")
        packed += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    return struct.pack(">II4x", 16 + len(packed) + len(payload), len(packed)) + packed + payload + b"\0" * 4


def dumped(**fields):
    return json.dumps(fields).encode()


def event(**fields):
    return b"data: " + dumped(**fields) + b"\n\n"


THROTTLED = aws(b'{"message":"Too many requests"}', exception_type="throttlingException", message_type="exception")
AWS_TEXT = aws(b'{"delta":{"text":":exception-type throttlingException"}}', event_type="contentBlockDelta")
GEMINI = b'[{\n "candidates": [{"content": {"parts": [{"text": "a \\" ] } [ {"}]}}]\n}\n,\r\n'
GEMINI_ERROR = (
    b'{\n  "error": {\n    "code": 503,\n    "message": "overloaded",\n    "status": "UNAVAILABLE"\n  }\n}\n]\n'
)
SHAPES = {
    "anthropic rate": (SSE, DELTA + ANTHROPIC, "rate"),
    "anthropic overload": (SSE, OVERLOADED, "overload"),
    "anthropic without a space": (SSE, b'event:error\ndata:{"error":{"type":"overloaded_error"}}\n\n', "overload"),
    "openai chat": (
        SSE,
        DELTA + event(error={"message": "x", "type": "tokens", "code": "rate_limit_exceeded"}),
        "rate",
    ),
    "responses flat": (SSE, DELTA + event(type="error", code="rate_limit_exceeded", message="x", param=None), "rate"),
    "responses nested": (
        SSE,
        event(type="error", error={"code": "server_is_overloaded"}, sequence_number=2),
        "overload",
    ),
    "responses failed": (
        SSE,
        event(type="response.created", response={"error": None})
        + event(type="response.failed", response={"error": {"code": "rate_limit_exceeded", "message": "x"}}),
        "rate",
    ),
    "openrouter stream": (
        SSE,
        b": OPENROUTER PROCESSING\n\n" + event(error={"code": 429}, choices=[{"finish_reason": "error"}]),
        "rate",
    ),
    "openrouter whole": (JSON, b"\n\n  " + dumped(error={"code": 429, "message": "Rate limited"}), "rate"),
    "openrouter choice": (JSON, dumped(choices=[{"error": {"code": 429, "message": "Rate limited"}}]), "rate"),
    "gemini array": ("application/json; charset=UTF-8", GEMINI + GEMINI_ERROR, "overload"),
    "gemini with brackets in a text": (JSON, b'[{"text":"{[ \\\\"},\n' + GEMINI_ERROR, "overload"),
    "gemini with closing brackets in a text": (JSON, b'[{"text":"}] \\\\"},\n' + GEMINI_ERROR, "overload"),
    "gemini only an error": (JSON, b"[" + GEMINI_ERROR, "overload"),
    "gemini sse": (SSE, b'data: {"error":{"code":503,"status":"UNAVAILABLE"}}\r\n\r\n', "overload"),
    "gemini interactions": (SSE, event(event_type="error", error={"code": "too_many_requests"}), "rate"),
    "sglang string": (SSE, event(error="The request queue is full.", code=503), "overload"),
    "sglang object": (SSE, event(error={"message": "The request queue is full.", "code": 503}), "overload"),
    "minimax": (JSON, dumped(id="x", base_resp={"status_code": 1002, "status_msg": "rate limit"}), "rate"),
    "minimax stream": (SSE, event(base_resp={"status_code": 1002, "status_msg": "rate limit"}), "rate"),
    "ollama": (NDJSON, b'{"response":"a"}\n{"error":"too many concurrent requests"}\n', "concurrency"),
    "bedrock": (AWS, AWS_TEXT + THROTTLED, "rate"),
    "bedrock by day": (
        AWS,
        aws(b'{"message":"Too many tokens per day"}', exception_type="throttlingException"),
        "quota",
    ),
    "stream called json": (JSON, DELTA + ANTHROPIC, "rate"),
    "stream called nothing": ("", b"\xef\xbb\xbf" + DELTA + ANTHROPIC, "rate"),
    "json called a stream": (SSE, b'{"error":{"type":"rate_limit_error"}}', "rate"),
    "array called nothing": ("", b"[" + GEMINI_ERROR, "overload"),
    "json printed on few lines, called nothing": ("", b'{"a": {},\n "error": {"code": 429}}\n', "rate"),
    "lines called json": (JSON, b'{"message":"a"}\r\n\r\n{"error":"too many concurrent requests"}\r\n', "concurrency"),
    "line called json": (JSON, b'{"error":"too many concurrent requests"}\n\n', "concurrency"),
    "json on many lines": (JSON, json.dumps({"error": {"code": 429, "message": "x"}}, indent=2).encode(), "rate"),
    "problem json": ("application/problem+json", dumped(error={"code": 429}), "rate"),
    "frame without an end": (SSE, DELTA + ANTHROPIC.rstrip(), "rate"),
    "field that nobody knows": (SSE, b"x-id: 1\n" + ANTHROPIC, "rate"),
    "field without a value": (SSE, DELTA + b"data\n" + ANTHROPIC, "rate"),
    "data on two lines": (SSE, b'data: {"error":\ndata: {"type":"rate_limit_error"}}\n\n', "rate"),
}


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize(("kind", "body", "expected"), SHAPES.values(), ids=SHAPES)
def test_each_shape_is_found_in_pieces_of_any_size(kind, body, expected, size):
    found = verdict(pieces(body, size), kind)
    assert found is not None
    assert found[0] == expected


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 1 << 20])
def test_lines_of_a_stream_end_in_any_of_three_ways(line_end, size):
    body = (DELTA + ANTHROPIC + DELTA).replace(b"\n", line_end)
    assert verdict(pieces(body, size)) == ("rate", None)


@pytest.mark.parametrize("field", ["code", "status_code", "status"])
def test_number_inside_stands_for_the_status(field):
    assert verdict([event(error={field: 429, "message": "x"})]) == ("rate", None)


def test_used_up_bucket_of_what_served_the_answer_says_nothing_of_the_error_in_it():
    headers = [("x-ratelimit-remaining-requests-day", "0"), ("x-ratelimit-reset-requests-day", "9")]
    error = dumped(error={"code": 429, "message": "x"})
    kinds = [classify(status, headers, error, now=1_790_000_000.0).kind for status in (429, 200)]
    assert kinds == ["quota", "rate"]


def test_wait_comes_with_it():
    body = event(error={"code": 429, "metadata": {"retry_after_seconds": 7}})
    assert verdict([body]) == ("rate", 7000)


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_frame_is_found_with_its_end_and_nothing_is_kept_behind_it(line_end):
    framing = framing_of(SSE, "")
    for frame in (ANTHROPIC, OVERLOADED):
        frame = frame.replace(b"\n", line_end)
        for at in range(len(frame) - 2):
            assert list(framing.feed(frame[at : at + 1])) == []
        found = [*framing.feed(frame[-2:-1]), *framing.feed(frame[-1:])]
        assert found == [frame.rstrip()]
        assert not framing._rest, "the next piece takes the short way"


def test_element_is_found_with_its_end():
    array = framing_of(JSON, "")
    assert list(array.feed(GEMINI)) == []
    assert len(array.feed(GEMINI_ERROR[: GEMINI_ERROR.rindex(b"}") + 1])) == 1


VECTORS = [
    vector
    for path in sorted(Path(__file__).parent.glob("vectors*.json"))
    for vector in json.loads(path.read_text())
    if 200 <= vector["status"] < 300 and ["content-type", AWS] not in vector["headers"]  # those are not framed well
]


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_vectors_say_the_same_in_pieces(vector, size):
    headers = [tuple(header) for header in vector["headers"]]
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    body = vector["body"].encode("utf-8", "surrogateescape")

    def read(frame):
        return classify(vector["status"], headers, frame, preset=vector["provider"], now=1_790_000_000.0)

    seen = [read(frame) for frame in frames(pieces(body, size), kind)]
    assert next((said for said in seen if said.kind != "none"), None) == (
        None if read(body).kind == "none" else read(body)
    )


TALK = 'error: 429 rate_limit_error, {"error":{"type":"rate_limit_error"}} \n\nevent: error\ndata: {"error":"x"}\n\n'
HARMLESS = {
    "text about limits": (SSE, event(type="content_block_delta", delta={"text": TALK})),
    "arguments of a tool": (SSE, event(choices=[{"delta": {"tool_calls": [{"arguments": TALK}]}}])),
    "a token that is the word": (SSE, event(choices=[{"delta": {"content": "error"}}])),
    "an object in a tool's input": (SSE, event(type="content_block_start", input={"error": "rate_limit_exceeded 429"})),
    "schema of a tool": (SSE, event(type="response.created", response={"tools": [{"error": {"code": 429}}]})),
    "no error": (SSE, event(type="response.completed", response={"error": None})),
    "whole answer about limits": (JSON, dumped(choices=[{"message": {"content": TALK}}], error=None)),
    "whole answer on many lines": (JSON, json.dumps({"a": {"error": {"code": 429}}}, indent=1).encode()),
    "whole answer with an object on a line of its own": (
        JSON,
        b'{"args":\n{"error":{"code":"rate_limit_exceeded"}}\n}',
    ),
    "whole answer with an object in its first line": (JSON, b'{"args":{"error":{"code":429}}\n}\n'),
    "the same, called text": ("text/plain", b'{"args":{"error":{"code":429}}\n}\n'),
    "text that begins as an object": ("", b'{x}\n{"error":{"code":429}}\n'),
    "text that begins with an error": ("", b'{"error":{"code":429}}\n\nis what a server says\n'),
    "text that begins with errors": ("", b'[{"error":{"code":429}},\n{"error":{"code":503}}]\n\nare two of them\n'),
    "lines without a type": ("", b'{"response":"a"}\n{"error":"too many concurrent requests"}\n'),
    "a stream in a text": ("text/plain; charset=utf-8", ANTHROPIC),
    "an error in a text": ("text/plain", b'{"error":{"code":429}}\n'),
    "a file": ("application/octet-stream", ANTHROPIC),
    "a tool's server": (SSE, event(jsonrpc="2.0", id=1, error={"code": -32000, "message": "Rate limit exceeded"})),
    "the same, cut": (JSON, b'{"args":\n{"error":{"code":"rate_limit_exceeded"}}\n'),
    "gemini's arguments": (JSON, b'[{"functionCall":{"args":\n{"error":{"code":"rate_limit_exceeded"}}\n}}]'),
    "gemini's arguments, cut": (JSON, b'[{"functionCall":{"args":{"error":{"code":429}}'),
    "gemini's text": (JSON, json.dumps([{"text": TALK}, {"text": '\\"},{"error":{"code":429}}'}]).encode()),
    "array in an array": (JSON, b'[[{"error":{"code":"rate_limit_exceeded"}}]]'[:-1]),
    "lines about limits": (NDJSON, dumped(response=TALK) + b"\n"),
    "minimax' good answer": (JSON, dumped(base_resp={"status_code": 0, "status_msg": "success"})),
    "minimax' good frame": (SSE, event(choices=[], base_resp={"status_code": 0, "status_msg": ""})),
    "bedrock's text": (AWS, AWS_TEXT + aws(b":exception-type\x07\x00\x13throttlingException", event_type="chunk")),
    "plain text": ("text/plain", b'error\n{"error":{"type":"rate_limit_error"}}\n'),
    "plain text with a frame in it": ("text/plain", b"You get:\n\n" + ANTHROPIC),
    "text without a type": ("", b"You get:\n\n" + ANTHROPIC),
    "web page": ("text/html", b'<p>{"error":{"type":"rate_limit_error"}}'),
    "image": ("image/png", ANTHROPIC),
    "done": (SSE, b"data: [DONE]\n\n"),
    "nothing": (SSE, b""),
    "keep-alives": (SSE, b": keep-alive\n\n" * 9 + DELTA),
}


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize(("kind", "body"), HARMLESS.values(), ids=HARMLESS)
def test_what_is_no_error_is_none(kind, body, size):
    assert verdict(pieces(body, size), kind) is None


def test_usual_frames_are_not_even_cut_out():
    text = event(delta={"text": "an error in line 3"}) + event(type="response.completed", response={"error": None})
    assert frames(pieces(text, 5)) == []


@pytest.mark.parametrize(
    "field",
    [
        b'"error":null',
        b'"error" : null',
        b'"error":false',
        b'"error": ""',
        b'"base_resp":{"status_code":0}',
        b'"base_resp" : { "status_code" : 0, "status_msg": ""}',
        b'"text":"an event: error"',
    ],
)
def test_fields_that_say_nothing_are_not_even_cut_out(field):
    assert frames([b"data: {" + field + b"}\n\n"]) == []


@pytest.mark.parametrize("start", [b": ping\n\n", b"id: 1\n", b"retry: 5\n\n", b"data: {}\n\n", b"event: ping\n\n"])
def test_stream_is_known_by_any_field_that_it_begins_with(start):
    assert verdict([start + ANTHROPIC], "") == ("rate", None)


def test_error_before_a_broken_coding_counts():
    packed = gzip.compress(ANTHROPIC)
    assert verdict([packed + b"garbage"], SSE, "gzip") == ("rate", None)


def test_the_word_alone_ends_no_reading():
    assert frames([event(content="an error"), ANTHROPIC]) == [ANTHROPIC.rstrip()]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_two_errors_in_one_piece_are_two(line_end):
    body = (ANTHROPIC + OVERLOADED).replace(b"\n", line_end)
    assert len(frames([body])) == 2


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_line_is_found_with_its_end(line_end):
    lines = framing_of(NDJSON, "")
    assert list(lines.feed(b'{"error":"x"}' + line_end)) == [b'{"error":"x"}']


@pytest.mark.parametrize(
    "kind",
    [
        NDJSON,
        "application/ndjson",
        "application/jsonl",
        "application/x-jsonlines",
        "application/stream+json",
        "text/json",
        "Application/JSON ; charset=utf-8",
        "application/vnd.api+json",
    ],
)
def test_every_name_of_json_is_known(kind):
    body = b'{"a":1}\n{"error":"too many concurrent requests"}\n'
    assert verdict([body], kind) == ("concurrency", None)


def test_array_of_something_else_is_read_no_further():
    assert framing_of(JSON, "").feed(b'["one", "two"') is None
    array = framing_of(JSON, "")
    assert list(array.feed(b'[{"error":1},"x",')) == [b'{"error":1}']
    assert array.feed(b'{"error":2}]') is None


@pytest.mark.parametrize("broken", [b"\0" * 16, struct.pack(">II4x", 15, 0) + b"x" * 9, struct.pack(">II8x", 16, 9)])
def test_message_that_is_too_short_for_itself_ends_the_reading(broken):
    assert framing_of(AWS, "").feed(broken) is None
    assert list(framing_of(AWS, "").feed(THROTTLED + broken)) == [THROTTLED]


def test_message_without_a_payload_is_one():
    bare = aws(b"", exception_type="throttlingException")
    assert frames([bare], AWS) == [bare]


# --- any split ---

TEXTS = st.sampled_from(
    [DELTA, ANTHROPIC, OVERLOADED, b": ping\n\n", b"data: [DONE]\n\n", b"id: 1\nretry: 5\n\n", b"\n", b"data: error"]
) | st.text('error \n\r:{}"', max_size=12).map(str.encode)
STREAMS = st.lists(st.tuples(TEXTS, st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=6).map(
    lambda parts: b"".join(text.replace(b"\n", line_end) for text, line_end in parts)
)
OBJECTS = st.sampled_from(
    [
        '{"error": {"code": 429}}',
        '{"error":null}',
        '{"a":"\\"}]{\\\\"}',
        "[1,[]]",
        '"error"',
        "{}",
        '{"b":[{"error":1}]}',
    ]
)
ARRAYS = st.lists(OBJECTS, max_size=5).map(lambda objects: ("[" + "\n,\r\n".join(objects) + "]").encode())
MESSAGES = st.lists(st.sampled_from([THROTTLED, AWS_TEXT, aws(b"")]), max_size=4).map(b"".join)
OBJECT_LINES = st.lists(OBJECTS | st.sampled_from(["", "{", " ", "}"]), max_size=5).map(
    lambda each: "\n".join(each).encode()
)
BODIES = st.one_of(
    st.tuples(st.sampled_from([NDJSON, JSON, ""]), OBJECT_LINES),
    st.tuples(st.sampled_from([SSE, NDJSON, JSON, ""]), STREAMS),
    st.tuples(st.sampled_from([SSE, NDJSON, JSON, ""]), ARRAYS | OBJECTS.map(str.encode)),
    st.tuples(st.just(AWS), MESSAGES | st.binary(max_size=40)),
)


@st.composite
def splits(draw):
    kind, body = draw(BODIES)
    body = body[: draw(st.integers(0, len(body)))] if draw(st.booleans()) else body
    cuts = sorted(draw(st.lists(st.integers(0, len(body)), max_size=12)))
    return kind, body, [body[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(body)], strict=True)]


@given(splits())
def test_any_split_gives_the_same_frames(split):
    kind, body, parts = split
    assert frames(parts, kind) == frames([body], kind) == frames(pieces(body, 1), kind)


@given(splits(), st.sampled_from(["gzip", "deflate", "br", "zstd", "deflate, gzip"]))
def test_any_split_of_a_packed_body_gives_the_same_frames(split, coding):
    kind, body, _ = split
    packed = pack(body, coding)
    assert frames(pieces(packed, 1), kind, coding) == frames([packed], kind, coding) == frames([body], kind)


@given(
    st.sampled_from([SSE, JSON, NDJSON, AWS, ""]),
    st.lists(st.binary(max_size=20), max_size=8),
    st.sampled_from(["", "gzip", "deflate", "br", "zstd", "what", "gzip, br"]),
)
def test_garbage_raises_nothing(kind, parts, coding):
    verdict(parts, kind, coding)


# --- bounds ---


@pytest.mark.parametrize("size", [4096, 1 << 20])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_frame_that_is_too_long_is_dropped_and_the_next_one_is_read(size, line_end):
    def long(length):
        start = b'data: {"error":"too many requests'
        return start + b"x" * (length - len(start) - 2) + b'"}' + line_end * 2

    assert len(frames(pieces(long(FRAME_MAX), size))) == 1
    assert frames(pieces(long(FRAME_MAX + 1), size)) == []
    for left in range(5):  # whatever has come of its end
        whole = long(FRAME_MAX)
        stop = len(whole) - left
        assert len(frames([whole[:stop], whole[stop:]])) == 1
    body = long(3 * FRAME_MAX) + ANTHROPIC + long(2 * FRAME_MAX)
    assert frames(pieces(body, size)) == [ANTHROPIC.rstrip()]
    assert frames([*pieces(long(3 * FRAME_MAX), size), DELTA, ANTHROPIC]) == [ANTHROPIC.rstrip()]


def test_end_of_a_frame_that_is_too_long_is_no_frame():
    body = b'data: {"x":"' + b"x" * 3 * FRAME_MAX + b'","error":{"code":429}}\n\n'
    assert frames(pieces(body, 4096)) == []


def test_element_that_is_too_long_is_dropped_and_the_next_one_is_read():
    body = b'[{"error":"' + b"x" * FRAME_MAX + b'"},' + GEMINI_ERROR
    assert [json.loads(frame) for frame in frames(pieces(body, 4096), JSON)] == json.loads(b"[" + GEMINI_ERROR)


@pytest.mark.parametrize("size", [4096, 1 << 20])
def test_message_that_is_too_long_is_dropped_and_the_next_one_is_read(size):
    body = aws(b"x" * FRAME_MAX, exception_type="throttlingException") + THROTTLED
    assert frames(pieces(body, size), AWS) == [THROTTLED]


@pytest.mark.parametrize("over", [0, 1])
def test_longest_element_and_message_are_read(over):
    element = b'{"error":"' + b"x" * (FRAME_MAX + over - 12) + b'"}'
    assert len(frames([b"[" + element + b"]"], JSON)) == 1 - over
    bare = len(aws(b"", exception_type="throttlingException"))
    message = aws(b"x" * (FRAME_MAX + over - bare), exception_type="throttlingException")
    assert len(frames([message, THROTTLED], AWS)) == 2 - over


def test_what_is_kept_of_an_element_stays_small():
    array = framing_of(JSON, "")
    array.feed(b'[{"error":"')
    for _ in range(20):
        array.feed(b"x" * 65_536)
    assert len(array._inner._element) <= FRAME_MAX + 1


def test_longest_document_is_read():
    body = b'{"error":"' + b"x" * (DOCUMENT_MAX - 12) + b'"}'
    assert frames(pieces(body, 4096), JSON) == [body]
    assert frames(pieces(body.replace(b"x", b"xx", 1), 4096), JSON) == []


def test_array_may_be_as_long_as_it_likes():
    body = GEMINI + b'{"a": "b"}\n,\r\n' * 100_000 + GEMINI_ERROR
    assert len(body) > 1_000_000
    assert verdict(pieces(body, 50_000), JSON) == ("overload", None)


def test_long_document_is_no_error_and_read_no_further():
    framing = framing_of(JSON, "")
    assert framing.feed(b'{"error":"' + b"x" * DOCUMENT_MAX) is None
    assert list(framing.end()) == []


def test_lines_may_be_as_many_as_they_like_and_each_is_found_with_its_end():
    lines = framing_of(JSON, "")
    for _ in range(5):
        assert list(lines.feed(b'{"message":"a"}\n' * 5000)) == []
    assert list(lines.feed(b'{"error":{"code":429}}\n')) == [b'{"error":{"code":429}}']


@pytest.mark.parametrize("filler", [b" ", b"\n"])
def test_first_line_is_waited_for_only_so_long(filler):
    first, second = b'{"a":1}\n', b'{"error":{"code":429}}\n'
    for over in (0, 1):
        body = first + filler * (DOCUMENT_MAX - len(first) + over) + second
        for parts in ([body], pieces(body, 4096), [body[: -len(second)], second]):
            assert len(frames(parts, JSON)) == 1 - over


def test_what_is_kept_stays_small_while_a_frame_does_not_end():
    framing = framing_of(SSE, "")
    kept = []
    for _ in range(20):
        framing.feed(b"data: error " + b"x" * 65_536)
        kept.append(len(framing._rest))
    assert max(kept) <= FRAME_MAX
    assert set(kept[5:]) == {1}


PARTS = [
    ANTHROPIC,
    DELTA,
    DELTA[:30],
    DELTA[30:],
    b"data: 1\n",
    b"\n",
    b"\r\n",
    b"data: 2\r\n\r\n",
    b"{",
    b"}\n",
    b"[",
    b"",
]
PARTS += [b'{"error":{"code":429}}\n', b'{"a":1}\n', b'{"base_resp":{"status_code":1002}}', b"x" * FRAME_MAX]


@given(st.sampled_from([SSE, JSON, NDJSON, AWS, ""]), st.lists(st.sampled_from(PARTS), max_size=12))
def test_piece_with_the_right_end_that_is_not_marked_may_be_left_out(kind, parts):
    fed, spared = framing_of(kind, ""), framing_of(kind, "")
    for part in parts:
        spare = part.endswith(spared.ends) and not may_be_marked(part)
        found = fed.feed(part)
        assert list(found or ()) == ([] if spare else list(spared.feed(part) or ()))
        assert fed.ends == spared.ends
        if found is None:
            break
    assert list(fed.end()) == list(spared.end())


@given(st.sampled_from([SSE, JSON, NDJSON, ""]), st.binary() | st.sampled_from([ANTHROPIC, OVERLOADED, GEMINI_ERROR]))
def test_body_in_clear_that_is_not_marked_holds_nothing(kind, body):
    assert reading_of(kind.encode(), b"").in_clear
    assert may_be_marked(body) or frames([body], kind) == []


@pytest.mark.parametrize(("kind", "coding"), [(AWS, ""), (SSE, "gzip")])
def test_what_is_no_text_is_not_in_clear(kind, coding):
    assert not reading_of(kind.encode(), coding.encode()).in_clear


# --- content codings ---


def pack(body, coding):
    packers = {
        "gzip": lambda data: gzip.compress(data, mtime=0),
        "deflate": zlib.compress,
        "br": brotli.compress,
        "zstd": zstandard.compress,
    }
    for each in coding.split(", "):
        body = packers[each](body)
    return body


def flushing(coding):
    """A packer that lets go of each piece, as servers of streams do."""
    if coding == "br":
        stream = brotli.Compressor()
        return lambda data: stream.process(data) + stream.flush()
    if coding == "zstd":
        stream = zstandard.ZstdCompressor().compressobj()
        return lambda data: stream.compress(data) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    stream = zlib.compressobj(wbits={"gzip": 31, "deflate": 15, "bare deflate": -15}[coding])
    return lambda data: stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "bare deflate", "br", "zstd"])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_packed_stream_is_read_while_it_goes_on(coding, size):
    pack_piece, framing = flushing(coding), framing_of(SSE, coding.removeprefix("bare "))
    found = []
    for part in (DELTA, DELTA, ANTHROPIC):
        assert found == []
        for piece in pieces(pack_piece(part), size):
            found += framing.feed(piece)
    assert found == [ANTHROPIC.rstrip()]


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_each_event_may_be_a_gzip_member(size):
    packed = b"".join(gzip.compress(part, mtime=0) for part in (DELTA, DELTA, ANTHROPIC))
    assert verdict(pieces(packed, size), SSE, "gzip") == ("rate", None)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_bomb_is_given_up(coding):
    framing = framing_of(SSE, coding)
    bomb = pack(DELTA + bytes(50_000_000), coding)
    seen = [framing.feed(piece) for piece in pieces(bomb, 65_536)]
    assert None in seen
    assert framing.feed(bomb) is None
    assert UNPACKED_MAX < 50_000_000


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "compress", "gzip, gzip, gzip, gzip, gzip"])
def test_broken_or_unknown_coding_is_given_up(coding):
    assert framing_of(SSE, coding).feed(b"\xff\xfe no such stream") is None
    if coding in ("gzip", "br", "zstd"):
        framing = framing_of(SSE, coding)
        pack_piece = flushing(coding)
        framing.feed(pack_piece(DELTA))
        seen = [framing.feed(b"\xff" * 100) for _ in range(3)]
        assert seen[-1] is None


def test_identity_is_no_coding():
    assert verdict([ANTHROPIC], SSE, "identity") == ("rate", None)
