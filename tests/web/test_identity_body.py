# What a body says: whether it starts or continues a prompt, by the last message of each API's format; and what is no
# body to be read.

import gzip
import json
import time
import tracemalloc
import zlib

import brotli
import pytest
import zstandard

from proxy.config import load
from proxy.web.identity import Reader
from proxy.web.identity_body import LAST, READ_BYTES, continues, offers_tools, plain
from proxy.web.identity_fields import NOTHING, Fields
from proxy.web.identity_json import COMMAS, PARTS, read

READER = Reader(load(None, env={"HOME": "/"}, text="{}").identity, b"key")
USER = {"role": "user", "content": "do it"}
ASSISTANT = {"role": "assistant", "content": "doing it"}
REMINDER = {"type": "text", "text": "<system-reminder>\nbe brief"}
TOOL_RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "done"}


def fields(body: object) -> Fields:
    return read(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        # OpenAI chat
        ({"messages": [USER]}, False),
        ({"messages": [ASSISTANT, {"role": "tool", "tool_call_id": "t", "content": "done"}]}, True),
        ({"messages": [ASSISTANT, {"role": "function", "content": "done"}]}, True),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "do it"}, {"type": "image_url"}]}]},
            False,
        ),
        ({"messages": [USER, ASSISTANT]}, None),
        ({"messages": [USER, {"role": "system", "content": "x"}]}, False),
        ({"messages": [{"role": "tool", "content": "x"}, {"role": "developer", "content": "x"}]}, True),
        # Anthropic
        ({"messages": [USER, ASSISTANT, {"role": "user", "content": [TOOL_RESULT]}]}, True),
        ({"messages": [{"role": "user", "content": [TOOL_RESULT, REMINDER]}]}, True),
        ({"messages": [{"role": "user", "content": [TOOL_RESULT]}, {"role": "user", "content": [REMINDER]}]}, True),
        ({"messages": [{"role": "user", "content": [REMINDER, {"type": "text", "text": "do it"}]}]}, False),
        ({"messages": [{"role": "user", "content": [{"type": "mcp_tool_result"}]}]}, True),
        # OpenAI Responses
        ({"input": "do it"}, False),
        ({"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "do it"}]}]}, False),
        ({"input": [USER, {"type": "function_call"}, {"type": "function_call_output", "output": "done"}]}, True),
        ({"input": [{"type": "custom_tool_call_output", "output": "done"}]}, True),
        ({"input": [{"type": "reasoning", "content": []}]}, None),
        # Gemini
        ({"contents": [{"role": "user", "parts": [{"text": "do it"}]}]}, False),
        ({"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "f"}}]}]}, True),
        ({"contents": [{"role": "model", "parts": [{"text": "x"}]}]}, None),
        ({"contents": [{"parts": [{"text": "do it"}]}]}, False),
        # nothing to go by
        ({}, None),
        ({"messages": []}, None),
        ({"messages": None}, None),
        ({"messages": {"role": "user"}}, None),
        ({"messages": ["do it"]}, None),
        ({"messages": [{"role": ["user"], "content": 5}]}, None),
        ({"messages": [{"content": [None, "x", {"type": 5, "text": 5}]}]}, None),
        ({"messages": [{"role": "user", "content": [REMINDER]}]}, None),
    ],
)
def test_the_last_message_says_whether_a_prompt_continues(body: dict[str, object], said: bool | None) -> None:
    assert continues(fields(body)) is said


@pytest.mark.parametrize("reminders", [LAST - 1, LAST])
def test_so_many_reminders_behind_the_last_message_are_passed_over(reminders: int) -> None:
    body = {"messages": [USER, *[{"role": "user", "content": [REMINDER]}] * reminders]}
    assert continues(fields(body)) is (False if reminders < LAST else None)


@pytest.mark.parametrize(
    ("body", "offers"),
    [
        ({"messages": [USER], "tools": [{"name": "read"}]}, True),
        ({"messages": [USER], "functions": [{"name": "read"}]}, True),
        ({"contents": [], "tools": {"functionDeclarations": []}}, True),
        ({"messages": [USER], "tools": []}, False),
        ({"input": "do it", "tools": None}, False),
        ({"contents": []}, False),
        ({"tools": []}, None),
        ({}, None),
    ],
)
def test_a_conversation_offers_tools_or_not(body: dict[str, object], offers: bool | None) -> None:
    assert offers_tools(fields(body)) is offers


INSIDE = b'"input": "do it"'


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"[]", b"{", b"5", b"{" + INSIDE, b"[{" + INSIDE + b"}]", b"{" + b"\x00" * 99, b" " * 99),
        *(b'{"a":' * 100_000, b'{"input":' + b"[" * 100_000, b"{" + INSIDE + b', "a": \xff}', b"{'input': 5}"),
        *(b"{" + INSIDE + end for end in (b"} x", b"}{}", b"}\x00", b",}", b', "a": NaN}', b', "\\ud800": ]}')),
        *(
            b"\xef\xbb\xbf{" + INSIDE + b"}",
            b"{\x00\x00\x00\xff\xff\xff\xff",
        ),
    ],
)
def test_what_is_no_json_object_is_nothing(raw: bytes) -> None:
    assert read(raw) is NOTHING


def test_an_object_is_found_between_white_space() -> None:
    assert read(b"\r\n\t {" + INSIDE + b"}\r\n\t ").input == "do it"


@pytest.mark.parametrize("number", [b"9" * 5000, b"1e999", b"-0.5e-9"])
def test_an_odd_number_beside_what_is_looked_at_does_no_harm(number: bytes) -> None:
    assert read(b"{" + INSIDE + b', "a": ' + number + b"}").input == "do it"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-le"])
@pytest.mark.parametrize("emoji", ["\\ud83d", "\\ude00", "\\ud83d\\ude00", "é"])
def test_an_object_is_read_in_any_encoding_that_begins_with_its_brace_half_an_emoji_included(
    encoding: str, emoji: str
) -> None:
    text = f'{{"messages": [{{"role": "tool", "content": "{emoji}"}}], "pad": "{emoji}"}}'
    assert continues(read(text.encode(encoding, "surrogatepass"))) is True


HIGH, LOW = "\\ud83d", "\\ude00"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (HIGH, "\ufffd"),
        (LOW, "\ufffd"),
        (HIGH + LOW + HIGH, "😀\ufffd"),
        (LOW + HIGH + LOW + LOW, "\ufffd😀\ufffd"),
        (HIGH + HIGH + LOW, "\ufffd😀"),
        ("\\\\ud83d" + HIGH, "\\ud83d\ufffd"),  # a backslash of its own
        ("\\\\\\ud83d", "\\\ufffd"),
        (HIGH.upper().replace("U", "u"), "\ufffd"),
        (HIGH + "\\n" + LOW, "\ufffd\n\ufffd"),
        ("\ud83d", "\ufffd" * 3),
    ],
)
def test_half_an_emoji_is_mended_where_it_is_and_nothing_else(written: str, text: str) -> None:
    raw = f'{{"a": "{HIGH}", "input": "{written}"}}'
    assert read(raw.encode("utf-8", "surrogatepass")).input == text


N = READ_BYTES // 2 - 100
COMMAS_ONLY = [
    b'{"messages":[' + b"0," * N + b"0]}",
    b'{"messages":[' + b"[]," * (N * 2 // 3) + b'0],"a":"\\ud800"}',
    b'{"messages":{' + b'"a":0,' * (N // 3) + b'"a":0}}',
    b'{"metadata":{' + b",".join(b'"%06d":0' % n for n in range(N // 6)) + b"}}",
    b'{"messages":[{"role":"user","content":[' + b'{"text":"a"},' * (N // 7) + b"{}]}]}",
    b'{"messages":[{"role":"user","content":[' + b"[]," * (N * 2 // 3) + b"{}]}]}",
]
IDLE = [  # commas alone are not what makes work
    b'{"messages":[{"role":"user","content":[' + b'{"text":"a"},' * (COMMAS - 9) + b"{}]}]}",
    b'{"messages":[{"role":"user","content":[' + b"[]," * (COMMAS - 9) + b"{}]}]}",
    b'{"messages":[' + b"{}," * (COMMAS - 9) + b'{}],"a":"\\ud800"}',
    b'{"metadata":{"user_id":"{' + b'\\"a\\":0,' * (COMMAS - 9) + b'\\"a\\":0}"}}',
    b'{"a":"' + b"\\ud800" * (N // 3) + b'"}',
    b'{"a":"' + b"\xed\xa0\x80" * (N * 2 // 3) + b'"}',
    b'{"a":"' + b"\\\\" * N + b'\\ud800"}',
    b'{"a":' + b"[" * N + b',"\\ud800"}',
    '{"messages":"'.encode("utf-16-le") + b"\x00\xd8" * N,
]


@pytest.mark.parametrize("raw", COMMAS_ONLY, ids=range(len(COMMAS_ONLY)))
def test_a_body_of_too_many_values_says_nothing(raw: bytes) -> None:
    assert len(raw) <= READ_BYTES
    assert read(raw) is NOTHING


@pytest.mark.parametrize("raw", [*COMMAS_ONLY, *IDLE], ids=range(len(COMMAS_ONLY) + len(IDLE)))
def test_no_body_keeps_the_others_waiting(raw: bytes) -> None:
    """Milliseconds each; where all was built that stands in them it took seconds."""
    assert len(raw) <= READ_BYTES
    for coding, body in ((None, raw), (b"gzip", gzip.compress(raw, 1))):
        began = time.process_time()
        who = READER.read(
            {b"content-encoding": coding} if coding else {}, lambda body=body: body, None, 1, fingerprint=True
        )
        spent = time.process_time() - began
        assert who.workspace == "default"
        assert spent < 0.5


def test_of_many_parts_the_first_count() -> None:
    results = [{"type": "text", "text": "x"}] * (PARTS - 1) + [TOOL_RESULT]
    assert continues(fields({"messages": [{"role": "user", "content": results}]})) is True
    assert continues(fields({"messages": [{"role": "user", "content": results[:1] + results}]})) is False


BODY = b'{"input": "do it"}'
CODED = {
    "gzip": gzip.compress(BODY),
    "deflate": zlib.compress(BODY),
    "br": brotli.compress(BODY),
    "zstd": zstandard.compress(BODY),
    "gzip, zstd": zstandard.compress(gzip.compress(BODY)),
}


@pytest.mark.parametrize("coding", CODED)
def test_a_content_coded_body_is_read_through_a_copy(coding: str) -> None:
    assert plain(CODED[coding], coding.upper().encode()) == BODY
    assert plain(CODED[coding][: len(CODED[coding]) // 2], coding.encode()) != BODY


@pytest.mark.parametrize("coding", [None, b"", b" Identity "])
def test_a_body_without_a_coding_is_no_copy(coding: bytes | None) -> None:
    assert plain(BODY, coding) is BODY


@pytest.mark.parametrize("coding", [b"compress", b"gzip", b"\xff", b"gzip," * 9])
def test_a_body_of_another_coding_than_it_says_is_empty(coding: bytes) -> None:
    assert plain(BODY, coding) == b""


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_decoded_no_further_than_what_is_read(coding: str) -> None:
    bomb = BODY.replace(b"it", b" " * 4 * READ_BYTES)
    coded = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}[
        coding
    ](bomb)
    tracemalloc.start()
    try:
        copy = plain(coded, coding.encode())
        assert len(copy) <= READ_BYTES
        assert tracemalloc.get_traced_memory()[1] < 3.5 * READ_BYTES
    finally:
        tracemalloc.stop()
    assert read(copy) is NOTHING


def test_a_body_over_the_bound_is_not_looked_at() -> None:
    assert plain(b" " * READ_BYTES, None)
    assert plain(b" " * (READ_BYTES + 1), None) == b""
    assert plain(gzip.compress(b"")[:-8] + b"x" * READ_BYTES, b"gzip") == b""


def test_a_file_that_aider_adds_by_itself_is_no_persons_text() -> None:
    added = {"role": "user", "content": "I added these files to the chat: more.txt\nLet me know"}
    said = [{"role": "user", "content": "Fix it"}, {"role": "assistant", "content": "more.txt?"}, added]
    assert continues(read(json.dumps({"messages": said}).encode())) is None
