# The OpenAI SDK for Python, chat completions.

from clients.program import Dialect, Pip, Program, Workplace


def command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("python"), workplace.script("openai_chat.py"), prompt]


def environment(workplace: Workplace) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{workplace.base_url}/v1", "OPENAI_API_KEY": workplace.key}


PROGRAM = Program(
    name="openai-sdk",
    install=Pip(packages=("openai==3.57.0",)),
    dialect=Dialect.CHAT,
    command=command,
    environment=environment,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
    fast=True,
)
