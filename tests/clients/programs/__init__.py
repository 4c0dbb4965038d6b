# Every program that the tests run. One line each.

import pytest

from clients.program import Program
from clients.programs import langchain, litellm_sdk, llm, openai_agents, python_sdks

PROGRAMS: tuple[Program, ...] = (
    python_sdks.OPENAI_CHAT,
    python_sdks.OPENAI_RESPONSES,
    python_sdks.ANTHROPIC,
    python_sdks.GOOGLE,
    litellm_sdk.OPENAI,
    litellm_sdk.ANTHROPIC,
    openai_agents.PROGRAM,
    langchain.PROGRAM,
    llm.PROGRAM,
)

each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
