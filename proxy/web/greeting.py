# What `slotgate serve` says to the person who started it: where it is, and the one line to set for the common tools.
#
# Rule 1: only what can be used as it stands: no line for an upstream that is not configured.

from collections.abc import Sequence

from proxy.web.tools import TOOLS, first_base_url

_COMMON = ("claude-code", "codex", "opencode", "gemini-cli", "aider", "openai-sdk")


def greeting(listen: Sequence[str], admin: str | None, upstreams: Sequence[str]) -> str:
    """The text, several lines without a last newline. `listen` are the client listeners' addresses and `admin` the
    admin listener's, as configured (`127.0.0.1:8787`, `unix:/path`); `upstreams` are the names that are configured."""
    base = first_base_url(listen)
    lines = [
        "slotgate is ready",
        f"  clients   {', '.join(map(_shown, listen))}",
        f"  admin     {'off' if admin is None else _shown(admin)}",
    ]
    if base is None:
        return "\n".join(lines)
    tools = [TOOLS[name] for name in _COMMON if TOOLS[name].upstream in upstreams]
    for tool in tools:
        where = f"   # in {tool.where}" if tool.where else ""
        lines.append(f"  {tool.title:<13}{tool.pointed(base)}{where}")
    if tools:
        lines.insert(3, "\nPoint a tool at it (more of them: slotgate env TOOL):")
    elif upstreams:
        lines.append(f"\nPoint a tool at {base}/NAME, where NAME is one of: {', '.join(upstreams)}")
    return "\n".join(lines)


def _shown(address: str) -> str:
    return address if address.startswith("unix:") else f"http://{address}"
