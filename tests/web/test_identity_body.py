# Whether a request starts or continues a prompt, by the last message of each API's body.

import pytest

from proxy.web.identity_body import NOTHING, continues, parse

USER = {"role": "user", "content": "do it"}
ASSISTANT = {"role": "assistant", "content": "doing it"}
REMINDER = {"type": "text", "text": "<system-reminder>\nbe brief"}
TOOL_RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "done"}


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
    assert continues(body) is said


@pytest.mark.parametrize(
    "raw",
    [
        *(b"", b"[]", b"{", b"5", b'{"a":' * 100_000, b'{"a": \xff}', b"{" + b"\x00" * 99, b" " * 99),
        *(b'{"a": 1} x', b'{"a": 1}{}', b'{"a": 1}\x00', b'\xef\xbb\xbf{"a": 1}', b'{"a": ' + b"9" * 5000 + b"}"),
    ],
)
def test_what_is_no_json_object_is_nothing(raw: bytes) -> None:
    assert parse(raw, None) is NOTHING


def test_an_object_is_found_between_white_space() -> None:
    assert parse(b'\r\n\t {"a": 1}\r\n\t ', None) == {"a": 1}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-le"])
def test_an_object_is_read_in_any_encoding_that_begins_with_its_brace(encoding: str) -> None:
    text = '{"é": "\ud800"}'
    assert parse(text.encode(encoding, "surrogatepass"), None) == {"é": "\ud800"}
