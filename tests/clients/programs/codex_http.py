# Codex with a provider of the user's own: over HTTP.

from clients.program import NOTES, Dialect, Npm, Program, Tool, Workplace

INSTALL = Npm(packages=("@openai/codex@0.171.0",))
_CONFIG = """\
model = "gpt-5"
model_provider = "slotgate"
approval_policy = "never"
sandbox_mode = "danger-full-access"  # its sandbox needs a kernel that containers often do not give it
check_for_update_on_startup = false

[model_providers.slotgate]
name = "slotgate"
base_url = "{base_url}/v1"
env_key = "SLOTGATE_TEST_KEY"
wire_api = "responses"

[analytics]
enabled = false
"""


def tool(_: Workplace) -> Tool:
    return "exec_command", {"cmd": f"cat {NOTES}"}


def prepare(workplace: Workplace) -> None:
    workplace.write(".codex/config.toml", _CONFIG.format(base_url=workplace.base_url))


def command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("codex"), "exec", prompt]


def resume(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("codex"), "exec", "resume", "--last", prompt]


def environment(workplace: Workplace) -> dict[str, str]:
    return {"SLOTGATE_TEST_KEY": workplace.key}


PROGRAM = Program(
    name="codex",
    install=INSTALL,
    dialect=Dialect.RESPONSES,
    tool=tool,
    prepare=prepare,
    command=command,
    resume=resume,
    environment=environment,
    header_limit_s=None,
    keepalive=False,
    conversation="id",
    fast=True,
)
