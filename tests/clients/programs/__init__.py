# Every program that the tests run. One line each.

import pytest

from clients.program import Program
from clients.programs import aider, langchain, litellm_sdk, llm, mini_swe_agent, openai_agents, python_sdks, vibe

PROGRAMS: tuple[Program, ...] = (
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
