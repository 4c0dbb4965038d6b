# Codex with its built-in provider: over a WebSocket.

from clients.program import Dialect, Program, Workplace
from clients.programs import codex_http

_CONFIG = """\
model = "gpt-5"
openai_base_url = "{base_url}/v1"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false
"""


def prepare(workplace: Workplace) -> None:
    workplace.write(".codex/config.toml", _CONFIG.format(base_url=workplace.base_url))


def environment(workplace: Workplace) -> dict[str, str]:
    return {"OPENAI_API_KEY": workplace.key, "CODEX_API_KEY": workplace.key}


PROGRAM = Program(
    name="codex-websocket",
    install=codex_http.INSTALL,
    dialect=Dialect.RESPONSES,
    tool=codex_http.tool,
    prepare=prepare,
    command=codex_http.command,
    resume=codex_http.resume,
    environment=environment,
    header_limit_s=300,  # its idle limit begins with what it asks
    keepalive=False,
    conversation="id",
    websocket=True,
)
