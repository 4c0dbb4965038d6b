# Every program that the tests run. One line each.

import pytest

from clients.program import Program
from clients.programs import (
    aider,
    claude_code,
    codex_http,
    gemini_cli,
    langchain,
    litellm_sdk,
    llm,
    mini_swe_agent,
    openai_agents,
    opencode,
    python_sdks,
    qwen_code,
    vibe,
)

PROGRAMS: tuple[Program, ...] = (
    claude_code.PROGRAM,
    codex_http.PROGRAM,
    opencode.PROGRAM,
    gemini_cli.PROGRAM,
    qwen_code.PROGRAM,
    python_sdks.OPENAI_CHAT,
    python_sdks.OPENAI_RESPONSES,
    python_sdks.ANTHROPIC,
    python_sdks.GOOGLE,
    litellm_sdk.OPENAI,
    litellm_sdk.ANTHROPIC,
    openai_agents.PROGRAM,
    langchain.PROGRAM,
    aider.PROGRAM,
    llm.PROGRAM,
    vibe.PROGRAM,
    mini_swe_agent.PROGRAM,
)

each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
