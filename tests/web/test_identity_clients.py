# Who is asking, by what real clients send: heads and bodies as they came from each of them, shortened.
#
# Seen from Claude Code 2.1.332, Codex 0.171.0, opencode 1.18.33, Kilo 7.8.1, Gemini CLI 0.61.0, Qwen Code 0.24.4, Cline
# 3.0.65, Continue 1.5.47, Copilot CLI 1.0.102, pi 0.73.1, Mistral Vibe 3.0.2, aider 0.86.2, llm 0.36 and the SDKs of
# November 2026. What goes to the makers' own providers alone (opencode, Cline), to DashScope (Qwen), or comes from
# Goose was not seen: that is by their code or their makers' word.

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from proxy.config import load
from proxy.core.turns import TurnHints, Turns
from proxy.web.identity import Identity, Reader

NOW_MS = 1_764_412_200_000
BEGAN_MS = NOW_MS - 90_000
FINGERPRINT = "fp:"
READER = Reader(load(None, env={"HOME": "/"}, text="{}").identity, b"key")

Json = dict[str, Any]
TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}]
CLAUDE_TOOLS = [{"name": "Read", "input_schema": {"type": "object"}}]
GEMINI_TOOLS = [{"functionDeclarations": [{"name": "read_file"}]}]
ASKED = "Fix the failing test."

# --- how the four formats look, at a prompt's beginning and after a tool call ---


def chat(*, system: str = "You are an agent in /home/me/shop.", tools: bool = True, step: bool = False) -> Json:
    messages: list[Json] = [{"role": "system", "content": system}, {"role": "user", "content": ASKED}]
    if step:
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function"}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "1 failed"},
        ]
    return {"model": "m", "messages": messages, "stream": True, **({"tools": TOOLS} if tools else {})}


def claude(*, tools: bool = True, step: bool = False, **more: object) -> Json:
    reminder = {"type": "text", "text": "<system-reminder>\nToday is a day.\n</system-reminder>"}
    messages: list[Json] = [{"role": "user", "content": [reminder, {"type": "text", "text": ASKED}]}]
    if step:
        messages += [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "1 failed"}]},
            {"role": "user", "content": [reminder]},
        ]
    messages[-1]["content"][-1] |= {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": "Primary working directory: /home/me/shop"}]
    return {
        "model": "m",
        "max_tokens": 32000,
        "system": system,
        "messages": messages,
        **({"tools": CLAUDE_TOOLS} if tools else {}),
        **more,
    }


def responses(*, step: bool = False, **more: object) -> Json:
    items: list[Json] = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "<permissions>"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASKED}]},
    ]
    if step:
        items += [
            {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "1 failed"},
        ]
    return {"model": "m", "instructions": "You are an agent.", "input": items, "tools": TOOLS, "stream": True, **more}


def gemini(*, step: bool = False) -> Json:
    contents: list[Json] = [
        {"role": "user", "parts": [{"text": "Workspace Directories:\n  - /home/me/shop"}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
        {"role": "user", "parts": [{"text": ASKED}]},
    ]
    if step:
        contents += [
            {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {}}}]},
        ]
    return {
        "systemInstruction": {"parts": [{"text": "You are an agent."}]},
        "contents": contents,
        "tools": GEMINI_TOOLS,
    }


# --- what each of them sends beside it ---

UUID = "3f1c2a9e-5b7d-4c11-9f0a-2d6f8f0f5a11"
OTHER_UUID = "9a7b6c5d-0000-4c11-9f0a-2d6f8f0f5a11"
CLAUDE_UA = "claude-cli/2.1.332 (external, cli)"
CLAUDE = {"User-Agent": CLAUDE_UA, "x-api-key": "sk-1", "X-Claude-Code-Session-Id": UUID}
CLAUDE_USER = json.dumps({"device_id": "d" * 64, "account_uuid": "", "session_id": UUID})
HINTED = {**CLAUDE, "x-claude-code-prompt-id": "p-1", "x-claude-code-request-class": "main"}
CODEX_SAID = {
    "turn_id": "turn-2",
    "root_turn_id": "turn-2",
    "turn_started_at_unix_ms": BEGAN_MS,
    "request_kind": "turn",
    "turn_trigger": "user",
    "workspaces": {"/home/me/shop": {"associated_remote_urls": {}, "latest_git_commit_hash": "abc"}},
}
CODEX = {"User-Agent": "codex_exec/0.171.0", "session-id": UUID, "thread-id": UUID, "x-client-request-id": UUID}
CODEX_TURN = {**CODEX, "x-codex-turn-metadata": json.dumps(CODEX_SAID)}
CODEX_CHILD = {
    **CODEX,
    "thread-id": OTHER_UUID,
    "x-codex-parent-thread-id": UUID,
    "x-openai-subagent": "collab_spawn",
    "x-codex-turn-metadata": json.dumps(
        {**CODEX_SAID, "turn_id": "turn-9", "parent_thread_id": UUID, "subagent_kind": "collab_spawn"}
    ),
}
OPENCODE = {"User-Agent": "opencode/1.18.33", "x-session-affinity": "ses_1", "x-session-id": "ses_1"}
OPENCODE_CHILD = {**OPENCODE, "x-session-affinity": "ses_2", "x-session-id": "ses_2", "x-parent-session-id": "ses_1"}
OPENCODE_ITSELF = {
    "User-Agent": "opencode/1.18.33",
    "x-opencode-project": "4b0ea68d",
    "x-opencode-session": "ses_1",
    "x-opencode-request": "msg_1",
    "x-opencode-client": "cli",
}
COPILOT = {"User-Agent": "OpenAI/JS 5.20.1", "Authorization": "Bearer k"}
COPILOT_FIRST = {**COPILOT, "x-initiator": "user", "x-interaction-type": "conversation-user"}
COPILOT_LATER = {**COPILOT, "x-initiator": "agent"}
PI = {"User-Agent": "OpenAI/JS 6.26.0"}
PROMPT = TurnHints(continues=False, tools=True)
STEP = TurnHints(continues=True, tools=True)
BARE = TurnHints(continues=False, tools=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A request, and who asks. `conversation` FINGERPRINT: one that is made of the beginning."""

    headers: Mapping[str, str]
    body: Json
    conversation: str
    turn: TurnHints
    workspace: str = "default"
    began_ms: int | None = None
    bad: tuple[str, ...] = field(default=())


def nameless(agent: str, body: Json, turn: TurnHints, **headers: str) -> Row:
    return Row(
        headers={"User-Agent": agent, "Authorization": "Bearer k", **headers},
        body=body,
        conversation=FINGERPRINT,
        turn=turn,
    )


ROWS = {
    "Claude Code": Row(headers=CLAUDE, body=claude(), conversation=UUID, turn=PROMPT),
    "Claude Code, a step": Row(headers=CLAUDE, body=claude(step=True), conversation=UUID, turn=STEP),
    "Claude Code without its header": Row(
        headers={"User-Agent": CLAUDE_UA},
        body=claude(metadata={"user_id": CLAUDE_USER}),
        conversation=UUID,
        turn=PROMPT,
    ),
    "Claude Code, a title": Row(
        headers=CLAUDE,
        body=claude(tools=False, output_config={"format": {"type": "json_schema"}}),
        conversation=UUID,
        turn=BARE,
    ),
    "Claude Code, a sub-agent": Row(
        headers={**CLAUDE, "x-claude-code-agent-id": "a1", "x-claude-code-parent-agent-id": "main"},
        body=claude(),
        conversation=UUID,
        turn=TurnHints(continues=False, tools=True, side=True),
    ),
    "Claude Code with hints": Row(headers=HINTED, body=claude(), conversation=UUID, turn=TurnHints(prompt_id="p-1")),
    "Claude Code with hints, a sub-agent": Row(
        headers={**HINTED, "x-claude-code-request-class": "subagent", "x-claude-code-agent-id": "a1"},
        body=claude(),
        conversation=UUID,
        turn=TurnHints(prompt_id="p-1", side=True),
    ),
    **{
        f"Claude Code with hints, {kind}": Row(
            headers={**CLAUDE, "x-claude-code-request-class": kind},
            body=claude(),
            conversation=UUID,
            turn=TurnHints(continues=False, tools=True, side=True),
        )
        for kind in ("auxiliary", "compaction", "side_reply")
    },
    "Claude Agent SDK": Row(
        headers={**CLAUDE, "User-Agent": "claude-cli/2.1.332 (external, sdk-py, agent-sdk/0.2.189)"},
        body=claude(metadata={"user_id": CLAUDE_USER}),
        conversation=UUID,
        turn=PROMPT,
    ),
    "Codex": Row(
        headers=CODEX_TURN,
        body=responses(prompt_cache_key=UUID, client_metadata={"session_id": UUID, "thread_id": UUID}),
        conversation=UUID,
        turn=TurnHints(prompt_id="turn-2"),
        workspace="shop",
        began_ms=BEGAN_MS,
    ),
    "Codex, a sub-agent": Row(
        headers=CODEX_CHILD,
        body=responses(),
        conversation=UUID,
        turn=TurnHints(parent=UUID, prompt_id="turn-2", side=True),
        workspace="shop",
        began_ms=BEGAN_MS,
    ),
    "Codex, before the turn": Row(
        headers={**CODEX, "x-codex-turn-metadata": json.dumps({"turn_id": "", "request_kind": "prewarm"})},
        body=responses(),
        conversation=UUID,
        turn=PROMPT,
    ),
    "Codex, one frame": Row(
        headers={"User-Agent": "codex-tui/0.171.0"},
        body=responses(
            step=True,
            type="response.create",
            previous_response_id="resp_1",
            client_metadata={
                "thread_id": OTHER_UUID,
                "x-codex-turn-metadata": json.dumps(CODEX_SAID),
                "session_id": UUID,
            },
        ),
        conversation=UUID,
        turn=TurnHints(prompt_id="turn-2"),
        workspace="shop",
        began_ms=BEGAN_MS,
    ),
    "opencode": Row(headers=OPENCODE, body=chat(), conversation="ses_1", turn=PROMPT),
    "opencode with OpenAI": Row(
        headers={**OPENCODE, "session-id": "ses_1"},
        body=responses(prompt_cache_key="ses_1", step=True),
        conversation="ses_1",
        turn=STEP,
    ),
    "opencode, a title": Row(
        headers=OPENCODE,
        body=chat(system="You are a title generator.", tools=False),
        conversation="ses_1",
        turn=BARE,
    ),
    "opencode, a sub-agent": Row(
        headers=OPENCODE_CHILD,
        body=chat(),
        conversation="ses_2",
        turn=TurnHints(parent="ses_1", continues=False, tools=True, side=True),
    ),
    "opencode at its own provider": Row(
        headers=OPENCODE_ITSELF,
        body=chat(),
        conversation="ses_1",
        turn=TurnHints(prompt_id="msg_1"),
        workspace="4b0ea68d",
    ),
    "Kilo": Row(
        headers={**OPENCODE, "User-Agent": "Kilo-Code/7.8.1", "x-title": "Kilo Code"},
        body=chat(step=True),
        conversation="ses_1",
        turn=STEP,
    ),
    "Mistral Vibe": Row(
        headers={"User-Agent": "python-httpx/0.28.1", "x-affinity": UUID}, body=chat(), conversation=UUID, turn=PROMPT
    ),
    "Copilot, chat": Row(
        headers=COPILOT_FIRST,
        body=chat(),
        conversation=FINGERPRINT,
        turn=TurnHints(user_initiated=True, continues=False, tools=True),
    ),
    "Copilot, chat, a step": Row(
        headers=COPILOT_LATER,
        body=chat(step=True),
        conversation=FINGERPRINT,
        turn=TurnHints(user_initiated=False),
    ),
    "Copilot, Anthropic": Row(
        headers={**COPILOT_FIRST, "User-Agent": "Anthropic/JS 0.80.0"},
        body=claude(),
        conversation=FINGERPRINT,
        turn=TurnHints(user_initiated=True, continues=False, tools=True),
    ),
    "Copilot, Responses": Row(
        headers=COPILOT_LATER,
        body=responses(prompt_cache_key="0123456789abcdef" * 2, step=True),
        conversation="0123456789abcdef" * 2,
        turn=TurnHints(user_initiated=False),
    ),
    "pi, Responses": Row(
        headers={**PI, "session_id": UUID, "x-client-request-id": UUID},
        body=responses(prompt_cache_key=UUID),
        conversation=UUID,
        turn=PROMPT,
    ),
    "pi, chat": Row(headers=PI, body=chat(), conversation=FINGERPRINT, turn=PROMPT),
    "pi, Anthropic": Row(headers=PI, body=claude(step=True), conversation=FINGERPRINT, turn=STEP),
    "Qwen Code at DashScope": Row(
        headers={"User-Agent": "QwenCode/0.24.4 (linux; x64)"},
        body=chat() | {"metadata": {"sessionId": UUID, "promptId": f"{UUID}########3", "channel": "cli"}},
        conversation=UUID,
        turn=TurnHints(prompt_id=f"{UUID}########3"),
    ),
    "Cline at its own provider": Row(
        headers={"User-Agent": "ai-sdk/openai-compatible/3.0.92", "X-Task-ID": "1764412000000"},
        body=chat(),
        conversation="1764412000000",
        turn=PROMPT,
    ),
    "Goose": Row(
        headers={"User-Agent": "goose/1.30.0", "agent-session-id": "20251129_1"},
        body=chat(),
        conversation="20251129_1",
        turn=PROMPT,
    ),
    "Goose, older": Row(
        headers={"User-Agent": "goose/1.9.0", "goose-session-id": "20251129_1"},
        body=chat(),
        conversation="20251129_1",
        turn=PROMPT,
    ),
    "LiteLLM with a session": Row(
        headers={"User-Agent": "OpenAI/Python 2.20.0", "x-litellm-session-id": "s1"},
        body=chat(),
        conversation="s1",
        turn=PROMPT,
    ),
    "Qwen Code": nameless("QwenCode/0.24.4 (linux; x64)", chat(), PROMPT),
    "Gemini CLI": nameless(
        "GeminiCLI-tui/0.61.0/m", gemini(), PROMPT, **{"x-gemini-api-privileged-user-id": UUID, "x-goog-api-key": "k"}
    ),
    "Gemini CLI, a step": nameless("GeminiCLI-tui/0.61.0/m", gemini(step=True), STEP, **{"x-goog-api-key": "k"}),
    "Cline": nameless("ai-sdk/openai-compatible/3.0.92", chat(step=True), STEP),
    "Continue": nameless("ls/JS 5.23.2", chat(), PROMPT),
    "aider": nameless("OpenAI/Python 2.20.0", chat(tools=False), BARE, **{"x-stainless-retry-count": "0"}),
    "llm": nameless("OpenAI/Python 3.57.0", chat(tools=False), BARE),
    "mini-swe-agent": nameless("OpenAI/Python 3.57.0", chat(), PROMPT),
    "LiteLLM, Anthropic": nameless("litellm/1.110.2", claude(step=True), STEP),
    "langchain": nameless("OpenAI/Python 3.57.0", chat(step=True), STEP),
    "pydantic-ai": nameless("OpenAI/Python 3.57.0", chat(step=True), STEP),
    "openai-agents": nameless("OpenAI/Python 3.57.0", responses(step=True), STEP),
    "OpenAI SDK, Responses": nameless("OpenAI/Python 3.57.0", {"model": "m", "input": ASKED}, BARE),
    "Anthropic SDK": nameless("Anthropic/Python 2.14.0", claude(tools=False), BARE),
    "google-genai": nameless("google-genai-sdk/3.6.1 gl-python/3.11", gemini(step=True), STEP),
    "AI SDK": nameless(
        "ai-sdk-openai/4.0.118 ai-sdk-provider-utils/5.0.81 node.js/v20.20.2", responses(step=True), STEP
    ),
}


def asks(headers: Mapping[str, str], body: Json) -> Identity:
    values = {name.lower().encode(): value.encode() for name, value in headers.items()}
    raw = json.dumps(body).encode()
    return READER.read(values, lambda: raw, None, NOW_MS, fingerprint=True)


@pytest.mark.parametrize("name", ROWS)
def test_who_asks_is_read_from_what_the_client_sends(name: str) -> None:
    row = ROWS[name]
    found = asks(row.headers, row.body)
    assert found.turn._replace(body_hash=None, nameless=False) == row.turn
    assert not found.turn.nameless or row.conversation == FINGERPRINT
    assert (found.workspace, found.prompt_started_at, found.bad) == (row.workspace, row.began_ms, row.bad)
    if row.conversation != FINGERPRINT:
        assert found.conversation == row.conversation
    else:
        assert found.conversation is not None
        assert found.conversation.startswith(FINGERPRINT)


# --- one prompt of each, from the first request to the last ---


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("Claude Code", "Claude Code, a step"),
        ("Copilot, chat", "Copilot, chat, a step"),
        ("Gemini CLI", "Gemini CLI, a step"),
        ("Codex", "Codex, a sub-agent"),
        ("Claude Code with hints", "Claude Code with hints, a sub-agent"),
        ("opencode", "opencode, a sub-agent"),
        ("opencode", "opencode, a title"),
        ("Claude Code", "Claude Code, a title"),
        ("Claude Code", "Claude Code, a sub-agent"),
        ("Claude Code", "Claude Code with hints, compaction"),
        ("Claude Code", "Claude Code with hints, auxiliary"),
    ],
)
def test_what_belongs_to_a_prompt_shares_its_start(first: str, later: str) -> None:
    turns = Turns()
    resent = later if later.endswith("a step") else first
    rows = [ROWS[name] for name in (first, later, resent)]
    starts = []
    for n, row in enumerate(rows):
        found = asks(row.headers, row.body)
        request = turns.begin(
            "p",
            found.conversation,
            found.turn,
            stated_ms=found.prompt_started_at,
            now=float(n),
            now_ms=NOW_MS + n * 1000,
        )
        turns.end(request, n + 0.5)
        starts.append(request.started_at)
    assert starts == [BEGAN_MS if first == "Codex" else NOW_MS] * 3


def test_nameless_clients_with_one_key_are_told_apart_by_what_they_begin_with() -> None:
    agents = ["Qwen Code", "Continue", "aider", "llm", "Anthropic SDK", "google-genai", "openai-agents", "AI SDK"]
    found = {asks(ROWS[name].headers, ROWS[name].body).conversation for name in agents}
    assert len(found) == len(agents)
