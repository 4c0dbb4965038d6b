# Qwen Code.

import json

from clients.program import NOTES, Dialect, Npm, Program, Tool, Workplace

_SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}},
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}


def tool(workplace: Workplace) -> Tool:
    return "read_file", {"file_path": str(workplace.project / NOTES)}


def prepare(workplace: Workplace) -> None:
    workplace.write(".qwen/settings.json", json.dumps(_SETTINGS))


def command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("qwen"), prompt]


def environment(workplace: Workplace) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": f"{workplace.base_url}/v1",
        "OPENAI_API_KEY": workplace.key,
        "OPENAI_MODEL": "fake",
    }


PROGRAM = Program(
    name="qwen-code",
    install=Npm(packages=("@qwen-code/qwen-code@0.24.4",)),
    dialect=Dialect.CHAT,
    tool=tool,
    prepare=prepare,
    command=command,
    environment=environment,
    header_limit_s=120,
    keepalive=False,
    conversation="fp",
)
