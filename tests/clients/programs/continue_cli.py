# Continue CLI with a model of an OpenAI-compatible provider.

import json

from clients.program import NOTES, Dialect, Npm, Program, Tool, Workplace

_CONFIG = ".continue/config.yaml"


def tool(_: Workplace) -> Tool:
    return "Bash", {"command": f"cat {NOTES}"}


def prepare(workplace: Workplace) -> None:
    model = {
        "name": "Fake",
        "provider": "openai",
        "model": "fake-model",
        "apiBase": f"{workplace.base_url}/v1",
        "apiKey": workplace.key,
        "roles": ["chat"],
        "capabilities": ["tool_use"],
    }
    # JSON is YAML too.
    workplace.write(_CONFIG, json.dumps({"name": "fake", "version": "0.0.1", "schema": "v1", "models": [model]}))


def command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("cn"), "--config", str(workplace.home / _CONFIG), "--auto", "--print", prompt]


def resume(workplace: Workplace, prompt: str) -> list[str]:
    return [*command(workplace, prompt), "--resume"]


def environment(_: Workplace) -> dict[str, str]:
    return {"CONTINUE_CLI_ENABLE_TELEMETRY": "0"}


PROGRAM = Program(
    name="continue",
    install=Npm(packages=("@continuedev/cli@1.5.47",)),
    dialect=Dialect.CHAT,
    tool=tool,
    prepare=prepare,
    command=command,
    resume=resume,
    environment=environment,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
)
