# opencode, with a provider that speaks chat completions.

import json

from clients.program import NOTES, Dialect, Npm, Program, Tool, Workplace

_FOLDER = ".config/opencode"
# It installs its plugin's types beside its configuration at each start unless a lock file says that they are there.
_LOCK = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}


def tool(workplace: Workplace) -> Tool:
    return "read", {"filePath": str(workplace.project / NOTES)}


def prepare(workplace: Workplace) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{workplace.base_url}/v1", "apiKey": workplace.key},
        "models": {"fake": {"tool_call": True, "limit": {"context": 200_000, "output": 8_000}}},
    }
    config = {
        "model": "slotgate/fake",
        "small_model": "slotgate/fake",
        "enabled_providers": ["slotgate"],
        "provider": {"slotgate": provider},
        "snapshot": False,
        "autoupdate": False,
        "share": "disabled",
    }
    workplace.write(f"{_FOLDER}/opencode.json", json.dumps(config))
    workplace.write(f"{_FOLDER}/package-lock.json", json.dumps(_LOCK))
    (workplace.home / _FOLDER / "node_modules").mkdir(exist_ok=True)


def command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("opencode"), "run", prompt]


def resume(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("opencode"), "run", "--continue", prompt]


def delegate(task: str) -> Tool:
    return "task", {"description": "Reads a file", "prompt": task, "subagent_type": "general"}


def environment(_: Workplace) -> dict[str, str]:
    return {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }


PROGRAM = Program(
    name="opencode",
    install=Npm(packages=("opencode-ai@1.18.33",)),
    dialect=Dialect.CHAT,
    tool=tool,
    prepare=prepare,
    command=command,
    resume=resume,
    delegate=delegate,
    environment=environment,
    header_limit_s=300,
    keepalive=False,
    conversation="id",
)
