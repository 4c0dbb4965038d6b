# What `slotgate serve` says to the person who started it: where it is, and the one line to set for the common tools.
#
# Rule 1: only what can be used as it stands: no line for an upstream that is not configured.

from collections.abc import Mapping, Sequence

from proxy.web.tools import TOOLS, first_base_url

_COMMON = ("claude-code", "codex", "opencode", "gemini-cli", "aider", "openai-sdk")


def greeting(listen: Sequence[str], admin: str | None, upstreams: Mapping[str, int | str | None]) -> str:
    """The text, several lines without a last newline. `listen` are the client listeners' addresses and `admin` the
    admin listener's, as configured (`127.0.0.1:8787`, `unix:/path`); `upstreams` are the names that are configured,
    each with the limit in force, `auto` while it is to be learned."""
    base = first_base_url(listen)
    lines = [
        "slotgate is ready",
        f"  clients   {', '.join(map(_shown, listen))}",
        f"  admin     {'off' if admin is None else _shown(admin)}",
        f"  limits    {_limits(upstreams)}",
    ]
    if base is None:
        return "\n".join(lines)
    tools = {name: TOOLS[name] for name in _COMMON if TOOLS[name].upstream in upstreams}
    for name, tool in tools.items():
        remark = f"in {tool.where}" if tool.where else f"slotgate env {name} says what else" if tool.note else ""
        lines.append(f"  {tool.title:<13}{tool.pointed(base)}" + (f"   # {remark}" if remark else ""))
    if tools:
        lines.insert(4, "\nPoint a tool at it (more of them: slotgate env TOOL):")
    elif upstreams:
        lines.append(f"\nPoint a tool at {base}/NAME, where NAME is one of: {', '.join(upstreams)}")
    return "\n".join(lines)


def _limits(upstreams: Mapping[str, int | str | None]) -> str:
    limited = [f"{name} {limit}" for name, limit in upstreams.items() if limit is not None]
    if limited or not upstreams:
        return ", ".join(limited) or "none"
    return f"none yet, so nothing waits; set one: slotgate limit {next(iter(upstreams))} N"


def _shown(address: str) -> str:
    return address if address.startswith("unix:") else f"http://{address}"
