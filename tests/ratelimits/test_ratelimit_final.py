# The end of an answer, as each dialect says it, is known whatever the pieces, the line ends, the spelling of the JSON
# and the coding; and nothing that a model says is one.

import gzip
import json
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from proxy.ratelimits.frames import FRAME_MAX
from proxy.ratelimits.reading import reading_of

SSE, JSON, NDJSON = "text/event-stream", "application/json", "application/x-ndjson"
DELTA = b'data: {"choices":[{"delta":{"content":"hello"}}]}\n\n'
RESPONSE = {"id": "resp_1", "status": "completed", "output": []}


def told(parts, kind=SSE, coding=""):
    """Whether an answer that has come in these parts is over."""
    framing = reading_of(kind.encode(), coding.encode()).framing()
    for part in parts:
        framing.feed(part)
    return framing.finished()


def pieces(body, size):
    return [body[at : at + size] for at in range(0, len(body), size)]


def event(data, name=None):
    text = data if isinstance(data, str) else json.dumps(data)
    return ("" if name is None else f"event: {name}\n").encode() + f"data: {text}\n\n".encode()


ENDS = {
    "chat": event("[DONE]"),
    "chat without a blank": b"data:[DONE]\n\n",
    "anthropic": event({"type": "message_stop"}, "message_stop"),
    "anthropic without names": event({"type": "message_stop"}),
    "anthropic with more": event({"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 1}}),
    "responses": event({"type": "response.completed", "response": RESPONSE}, "response.completed"),
    "responses, name behind the data": b'data: {"x":1}\nevent: response.failed\n\n',
    "responses in another order": event({"response": RESPONSE, "sequence_number": 9, "type": "response.incomplete"}),
    "responses, spread": b'data: {\ndata: "type" :\ndata: "response.failed"}\n\n',
    "gemini": event({"candidates": [{"content": {}, "finishReason": "STOP"}], "usageMetadata": {}}),
    "code assist": event({"response": {"candidates": [{"finishReason": "MAX_TOKENS"}]}, "traceId": "1"}),
}
GOES_ON = {
    "chat's finish_reason": event({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
    "chat's usage": event({"choices": [], "usage": {"total_tokens": 3}}),
    "words": event({"delta": "data: [DONE]"}),
    "lines of words": event({"delta": "\n\ndata: [DONE]\n\nevent: message_stop\n\n"}),
    "an event inside": event({"delta": {"type": "message_stop"}}),
    "an event quoted": event({"type": "text", "text": '{"type":"message_stop"}'}),
    "message_delta": event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, "message_delta"),
    "response.in_progress": event({"type": "response.in_progress", "response": RESPONSE}, "response.in_progress"),
    "longer name": event({"x": 1}, "response.completed_part"),
    "gemini": event({"candidates": [{"content": {"parts": [{"text": "finishReason"}]}}]}),
    "gemini, no reason": event({"candidates": [{"finishReason": None}]}),
    "gemini, one of two": event({"candidates": [{"finishReason": "STOP"}, {"index": 1}]}),
    "an odd type": event({"type": ["message_stop"]}),
    "a comment": b": data: [DONE]\n\n",
}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("name", ENDS)
def test_final_event_of_each_dialect_is_known_in_pieces_of_any_size(name, line_end):
    body = (DELTA + ENDS[name]).replace(b"\n", line_end)
    for size in range(1, len(body) + 1):
        assert told(pieces(body, size)), size
    for at in range(1, len(body)):
        assert told([body[:at], body[at:]]), at


@pytest.mark.parametrize("name", ENDS)
def test_nothing_in_front_of_the_final_event_is_it(name):
    start = ENDS[name][:6]
    for size in (1, 3, 1000):
        assert not told(pieces(DELTA + start, size))


@pytest.mark.parametrize("name", GOES_ON)
def test_other_events_end_nothing(name):
    body = DELTA + GOES_ON[name]
    for size in (1, 7, len(body)):
        assert not told(pieces(body, size))


@given(st.text())
def test_no_text_of_a_model_ends_an_answer(text):
    for ascii_only in (True, False):
        said = json.dumps({"delta": {"text": text}}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        assert not told([b"data: " + said + b"\n\n"])


@pytest.mark.parametrize("name", [None, "response.completed"])
def test_final_event_that_is_too_long_to_keep_is_known_by_its_beginning(name):
    """OpenAI's response.completed repeats the instructions, the tools and the whole output."""
    long = {"type": "response.completed", "response": {"instructions": "x" * (FRAME_MAX + 10_000)}}
    body = DELTA + event(long, name)
    assert told(pieces(body, 65536))
    assert told(pieces(body, 65536)[:-1]), "in its middle, too"
    assert not told(pieces(DELTA + event({"type": "response.delta", "text": "x" * (FRAME_MAX + 10_000)}), 65536))
    assert not told([*pieces(body, 65536), DELTA + DELTA])


@pytest.mark.parametrize("size", [1, 5, 10_000])
def test_array_of_gemini_is_over_with_its_last_element_or_its_bracket(size):
    going = b'[{"candidates":[{"content":{}}]}'
    assert not told(pieces(going, size), JSON)
    assert told(pieces(going + b',\r\n{"candidates":[{"finishReason":"STOP"}]}', size), JSON)
    assert told(pieces(going + b',{"promptFeedback":{"blockReason":"SAFETY"}}]', size), JSON)


def test_json_answer_is_over_when_it_is_whole():
    body = b'{\n"candidates":[{"finishReason":"STOP"}]}'
    assert told(pieces(body, 3), JSON)
    assert not told(pieces(body, 3)[:-1], JSON)


def test_lines_of_ollama_are_over_when_they_say_so():
    going = b'{"message":{"content":"\\"done\\":true"},"done":false}\n'
    assert not told([going], NDJSON)
    assert told([going, b'{"done":true,"done_reason":"stop"}\n'], NDJSON)


def deflated(body):
    packer = zlib.compressobj()
    return packer.compress(body) + packer.flush(zlib.Z_SYNC_FLUSH)


CODINGS = {
    "gzip": gzip.compress,
    "deflate": deflated,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("coding", CODINGS)
def test_final_event_in_a_coded_answer_is_known(coding):
    for end, over in ((ENDS["chat"], True), (GOES_ON["words"], False)):
        assert told(pieces(CODINGS[coding](DELTA * 20 + end), 7), SSE, coding) is over


@pytest.mark.parametrize("kind", [SSE, JSON, NDJSON, "application/vnd.amazon.eventstream", ""])
@given(body=st.binary())
def test_garbage_is_no_end(kind, body):
    told([body[:3], body[3:]], kind)
    assert not told([], kind)
