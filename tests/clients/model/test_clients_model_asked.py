# What the fake model takes for the beginning of a tool loop and what for its end, in each dialect.

import json

import pytest

from clients.model.asked import dialect_of, read
from clients.program import Dialect

TOOLS = {"tools": [{"name": "read"}], "stream": True}
USER = {"role": "user", "content": "Read it."}
BEGINNINGS = {
    "/v1/chat/completions": {"messages": [{"role": "system", "content": "s"}, USER]},
    "/v1/responses": {"input": [{"type": "message", **USER}]},
    "/up/v1/messages": {"messages": [USER]},
    "/v1beta/models/g-1:streamGenerateContent": {"contents": [{"role": "user", "parts": [{"text": "Read it."}]}]},
}
RESULTS = {
    "/v1/chat/completions": {
        "messages": [
            *({**USER, "content": "MARKER-000000000000"}, {"role": "assistant", "tool_calls": []}),
            {"role": "tool", "tool_call_id": "1", "content": "marker: MARKER-0123456789ab"},
        ]
    },
    "/v1/responses": {
        "previous_response_id": "r",
        "input": [{"type": "function_call_output", "call_id": "1", "output": "marker: MARKER-0123456789ab"}],
    },
    "/up/v1/messages": {
        "messages": [
            *(USER, {"role": "assistant", "content": []}),
            {"role": "user", "content": [{"type": "tool_result", "content": "MARKER-0123456789ab"}]},
            {"role": "user", "content": [{"type": "text", "text": "<system-reminder>"}]},
        ]
    },
    "/v1beta/models/g-1:streamGenerateContent": {
        "contents": [
            *({"role": "user", "parts": []}, {"role": "model", "parts": []}),
            {"role": "user", "parts": [{"functionResponse": {"response": {"a": "MARKER-0123456789ab"}}}]},
        ]
    },
}


@pytest.mark.parametrize(("target", "body"), BEGINNINGS.items())
def test_words_of_the_user_are_a_beginning(target: str, body: dict[str, object]) -> None:
    dialect = dialect_of("POST", target)
    assert dialect is not None
    asked = read(dialect, target, json.dumps({**body, **TOOLS}).encode())
    assert (asked.tools, asked.result, asked.streamed) == (True, False, True)
    assert "Read it." in asked.news


@pytest.mark.parametrize(("target", "body"), RESULTS.items())
def test_what_a_tool_said_is_an_end(target: str, body: dict[str, object]) -> None:
    dialect = dialect_of("POST", target)
    assert dialect is not None
    asked = read(dialect, target, json.dumps({**body, **TOOLS}).encode())
    assert asked.result
    assert "MARKER-0123456789ab" in asked.news
    assert "MARKER-000000000000" not in asked.news


def test_a_streamed_gemini_answer_is_asked_for_by_the_path() -> None:
    asked = read(Dialect.GEMINI, "/v1beta/models/g-1:generateContent?x=1", b'{"contents":[]}')
    assert (asked.model, asked.streamed, asked.tools) == ("g-1", False, False)


@pytest.mark.parametrize(
    ("method", "target"),
    [
        *(("GET", "/v1/models"), ("POST", "/v1/messages/count_tokens"), ("GET", "/v1/responses")),
        ("POST", "/v1beta/models/g-1:countTokens"),
    ],
)
def test_what_generates_nothing_has_no_dialect(method: str, target: str) -> None:
    assert dialect_of(method, target) is None
