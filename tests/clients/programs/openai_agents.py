# The OpenAI Agents SDK for Python.

from clients.program import Dialect, Pip, Program, Workplace


def _environment(workplace: Workplace) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{workplace.base_url}/v1", "OPENAI_API_KEY": workplace.key}


PROGRAM = Program(
    name="openai-agents",
    install=Pip(packages=("openai-agents==0.24.0",)),
    dialect=Dialect.RESPONSES,
    command=lambda workplace, prompt: [workplace.bin("python"), workplace.script("openai_agents.py"), prompt],
    environment=_environment,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
)
