# Gemini CLI.

import json

from clients.program import NOTES, Dialect, Npm, Program, Tool, Workplace

_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
}


def tool(_: Workplace) -> Tool:
    return "read_file", {"file_path": NOTES}


def prepare(workplace: Workplace) -> None:
    workplace.write(".gemini/settings.json", json.dumps(_SETTINGS))


def command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("gemini"), "--model", "gemini-2.5-flash", "--prompt", prompt]


def environment(workplace: Workplace) -> dict[str, str]:
    return {"GOOGLE_GEMINI_BASE_URL": workplace.base_url, "GEMINI_API_KEY": workplace.key}


PROGRAM = Program(
    name="gemini-cli",
    install=Npm(packages=("@google/gemini-cli@0.61.0",)),
    dialect=Dialect.GEMINI,
    tool=tool,
    prepare=prepare,
    command=command,
    environment=environment,
    header_limit_s=60,
    keepalive=True,
    conversation="fp",
)
