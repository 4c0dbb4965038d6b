# GitHub Copilot CLI with a provider of one's own (BYOK), over each of its three APIs, and over a WebSocket.

from clients.program import NOTES, Dialect, Npm, Program, Tool, Workplace

_INSTALL = Npm(packages=("@github/copilot@1.0.102",))


def tool(_: Workplace) -> Tool:
    return "bash", {"command": f"cat {NOTES}", "description": "Read the notes"}


def command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("copilot"), "--prompt", prompt, "--allow-all-tools", "--silent", "--no-color"]


def resume(workplace: Workplace, prompt: str) -> list[str]:
    return [*command(workplace, prompt), "--continue"]


def delegate(task: str) -> Tool:
    return "task", {"agent_type": "task", "name": "reader", "description": "Read the notes", "prompt": task}


def _environment(workplace: Workplace) -> dict[str, str]:
    # Offline is what it calls doing without GitHub: no login, telemetry, update, MCP server.
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_API_KEY": workplace.key,
    }


def chat_environment(workplace: Workplace) -> dict[str, str]:
    return {
        **_environment(workplace),
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_BASE_URL": f"{workplace.base_url}/v1",
        "COPILOT_PROVIDER_WIRE_API": "completions",
        "COPILOT_MODEL": "gpt-5.1",
    }


def responses_environment(workplace: Workplace) -> dict[str, str]:
    return {**chat_environment(workplace), "COPILOT_PROVIDER_WIRE_API": "responses"}


def websocket_environment(workplace: Workplace) -> dict[str, str]:
    return {**responses_environment(workplace), "COPILOT_PROVIDER_TRANSPORT": "websockets"}


def messages_environment(workplace: Workplace) -> dict[str, str]:
    # With /v1 it would ask for /v1/v1/messages.
    return {
        **_environment(workplace),
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_BASE_URL": workplace.base_url,
        "COPILOT_MODEL": "claude-sonnet-4.5",
    }


CHAT = Program(
    name="copilot",
    install=_INSTALL,
    dialect=Dialect.CHAT,
    tool=tool,
    command=command,
    resume=resume,
    environment=chat_environment,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
)
RESPONSES = Program(
    name="copilot-responses",
    install=_INSTALL,
    dialect=Dialect.RESPONSES,
    tool=tool,
    command=command,
    resume=resume,
    delegate=delegate,  # names the session's key; over the other APIs nothing ties a sub-agent to its parent
    environment=responses_environment,
    header_limit_s=600,
    keepalive=False,
    conversation="id",
)
# Its messages carry no `prompt_cache_key`: the first is known by its beginning, the others name the answer before them.
WEBSOCKET = Program(
    name="copilot-websocket",
    install=_INSTALL,
    dialect=Dialect.RESPONSES,
    tool=tool,
    command=command,
    resume=resume,
    environment=websocket_environment,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
    websocket=True,
)
MESSAGES = Program(
    name="copilot-messages",
    install=_INSTALL,
    dialect=Dialect.ANTHROPIC,
    tool=tool,
    command=command,
    resume=resume,
    environment=messages_environment,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
)
