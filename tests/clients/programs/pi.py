# pi, over each of the three APIs that its models.json names.

import json
from collections.abc import Callable

from clients.program import NOTES, Dialect, Npm, Program, Tool, Workplace

_INSTALL = Npm(packages=("@mariozechner/pi-coding-agent@0.73.1",))


def tool(_: Workplace) -> Tool:
    return "bash", {"command": f"cat {NOTES}"}


def _prepare(api: str, suffix: str) -> Callable[[Workplace], None]:
    def prepare(workplace: Workplace) -> None:
        model = {
            "id": "fake-model",
            "name": "Fake",
            "reasoning": False,
            "input": ["text"],
            "contextWindow": 100_000,
            "maxTokens": 4096,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        }
        provider = {"baseUrl": workplace.base_url + suffix, "api": api, "apiKey": workplace.key, "models": [model]}
        workplace.write(".pi/agent/models.json", json.dumps({"providers": {"fake": provider}}))

    return prepare


def command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("pi"), "--provider", "fake", "--model", "fake-model", "--print", prompt]


def resume(workplace: Workplace, prompt: str) -> list[str]:
    return [*command(workplace, prompt), "--continue"]


def environment(_: Workplace) -> dict[str, str]:
    return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}


CHAT = Program(
    name="pi",
    install=_INSTALL,
    dialect=Dialect.CHAT,
    tool=tool,
    prepare=_prepare("openai-completions", "/v1"),
    command=command,
    resume=resume,
    environment=environment,
    header_limit_s=300,
    keepalive=True,
    conversation="fp",
)
RESPONSES = Program(
    name="pi-responses",
    install=_INSTALL,
    dialect=Dialect.RESPONSES,
    tool=tool,
    prepare=_prepare("openai-responses", "/v1"),
    command=command,
    resume=resume,
    environment=environment,
    header_limit_s=300,
    keepalive=True,
    conversation="id",
)
MESSAGES = Program(
    name="pi-messages",
    install=_INSTALL,
    dialect=Dialect.ANTHROPIC,
    tool=tool,
    prepare=_prepare("anthropic-messages", ""),
    command=command,
    resume=resume,
    environment=environment,
    header_limit_s=300,
    keepalive=True,
    conversation="fp",
)
