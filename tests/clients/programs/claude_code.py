# Claude Code.

from clients.program import NOTES, Dialect, Npm, Program, Tool, Workplace


def tool(workplace: Workplace) -> Tool:
    return "Read", {"file_path": str(workplace.project / NOTES)}


def command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("claude"), "-p", prompt, "--allowedTools", "Read"]


def resume(workplace: Workplace, prompt: str) -> list[str]:
    return [*command(workplace, prompt), "--continue"]


def delegate(task: str) -> Tool:
    return "Agent", {
        "description": "Reads a file",
        "prompt": task,
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }


def environment(workplace: Workplace) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": workplace.base_url,
        "ANTHROPIC_API_KEY": workplace.key,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


PROGRAM = Program(
    name="claude-code",
    install=Npm(packages=("@anthropic-ai/claude-code@2.1.332",)),
    dialect=Dialect.ANTHROPIC,
    tool=tool,
    command=command,
    resume=resume,
    delegate=delegate,
    environment=environment,
    header_limit_s=600,
    keepalive=False,
    conversation="id",
    fast=True,
)
