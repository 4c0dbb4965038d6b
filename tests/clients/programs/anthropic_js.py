# The Anthropic SDK for JavaScript.

from clients.program import Dialect, Npm, Program, Workplace


def command(workplace: Workplace, prompt: str) -> list[str]:
    return ["node", workplace.script("anthropic.mjs"), prompt]


def environment(workplace: Workplace) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": workplace.base_url, "ANTHROPIC_API_KEY": workplace.key}


PROGRAM = Program(
    name="anthropic-sdk-js",
    install=Npm(packages=("@anthropic-ai/sdk@1.14.0",)),
    dialect=Dialect.ANTHROPIC,
    command=command,
    environment=environment,
    header_limit_s=300,
    keepalive=True,
    conversation="fp",
)
