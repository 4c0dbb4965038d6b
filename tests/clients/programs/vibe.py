# Mistral Vibe with a provider of its generic kind.

from clients.program import NOTES, Dialect, Pip, Program, Workplace


def _prepare(workplace: Workplace) -> None:
    workplace.write(
        "vibe/config.toml",
        'active_model = "fake"\n'
        "enable_telemetry = false\n"
        "enable_update_checks = false\n"
        "enable_auto_update = false\n"
        "\n"
        "[[providers]]\n"
        'name = "fake"\n'
        f'api_base = "{workplace.base_url}/v1"\n'
        'api_key_env_var = "FAKE_API_KEY"\n'
        'backend = "generic"\n'
        "\n"
        "[[models]]\n"
        'name = "fake-model"\n'
        'provider = "fake"\n'
        'alias = "fake"\n',
    )


def _command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("vibe"), "--agent", "auto-approve", "--output", "streaming", "--prompt", prompt]


def _environment(workplace: Workplace) -> dict[str, str]:
    return {"VIBE_HOME": str(workplace.home / "vibe"), "FAKE_API_KEY": workplace.key}


PROGRAM = Program(
    name="vibe",
    install=Pip(packages=("mistral-vibe==3.0.2",), python="3.12"),
    dialect=Dialect.CHAT,
    tool=lambda _: ("bash", {"command": f"cat {NOTES}"}),
    prepare=_prepare,
    command=_command,
    environment=_environment,
    header_limit_s=720,
    keepalive=False,
    conversation="id",
)
