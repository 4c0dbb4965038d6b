# The OpenAI SDK for JavaScript: chat completions and responses.

from collections.abc import Callable

from clients.program import Dialect, Npm, Program, Workplace

_INSTALL = Npm(packages=("openai@7.59.0",))


def _command(script: str) -> Callable[[Workplace, str], list[str]]:
    return lambda workplace, prompt: ["node", workplace.script(script), prompt]


def environment(workplace: Workplace) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{workplace.base_url}/v1", "OPENAI_API_KEY": workplace.key}


CHAT = Program(
    name="openai-sdk-js",
    install=_INSTALL,
    dialect=Dialect.CHAT,
    command=_command("openai_chat.mjs"),
    environment=environment,
    header_limit_s=300,
    keepalive=True,
    conversation="fp",
)
RESPONSES = Program(
    name="openai-sdk-js-responses",
    install=_INSTALL,
    dialect=Dialect.RESPONSES,
    command=_command("openai_responses.mjs"),
    environment=environment,
    header_limit_s=300,
    keepalive=True,
    conversation="fp",
)
