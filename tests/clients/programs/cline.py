# Cline CLI with an OpenAI-compatible provider.

import json

from clients.program import NOTES, Dialect, Npm, Program, Tool, Workplace

_PROVIDER = "openai-compatible"
_MODEL = "fake-model"


def tool(_: Workplace) -> Tool:
    return "run_commands", {"commands": [f"cat {NOTES}"]}


def prepare(workplace: Workplace) -> None:
    # As `cline auth -p openai-compatible -k KEY -m MODEL -b URL` writes it.
    settings = {
        "provider": _PROVIDER,
        "apiKey": workplace.key,
        "model": _MODEL,
        "baseUrl": f"{workplace.base_url}/v1",
    }
    providers = {
        "version": 1,
        "lastUsedProvider": _PROVIDER,
        "modes": {},
        "providers": {
            _PROVIDER: {"settings": settings, "updatedAt": "2026-11-30T00:00:00.000Z", "tokenSource": "manual"}
        },
    }
    workplace.write(".cline/data/settings/providers.json", json.dumps(providers))
    quiet = {"telemetryOptOut": True, "autoUpdateEnabled": False}
    workplace.write(".cline/data/settings/global-settings.json", json.dumps(quiet))


def command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("cline"), "--provider", _PROVIDER, "--model", _MODEL, prompt]


def environment(_: Workplace) -> dict[str, str]:
    # Local: otherwise it leaves a daemon behind that listens on a port of its own.
    return {"CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1"}


PROGRAM = Program(
    name="cline",
    install=Npm(packages=("cline@3.0.65",)),
    dialect=Dialect.CHAT,
    tool=tool,
    prepare=prepare,
    command=command,
    environment=environment,
    header_limit_s=300,
    keepalive=False,
    conversation="fp",
)
