# How each tool is pointed at the proxy: the one line to set.
#
# Rule 1: a tool stands here when it was seen to honour a base URL with a path in it.
# Rule 2: a line works as it is pasted: a shell's, or one of the tool's own file, which `where` names then.

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote

from proxy.config import Address, parse_address


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`line` has `{url}` where the base URL goes and `{upstream}` where the upstream's name does; `path` is what the
    tool expects behind the upstream's name; `upstream` is the one that it talks to by default. `where` is the file
    that the line goes into, "" for a shell."""

    title: str
    line: str
    path: str = ""
    upstream: str
    where: str = ""

    def pointed(self, base: str, *, upstream: str | None = None, workspace: str | None = None) -> str:
        """The line for the proxy at `base`, for this upstream and as this workspace where they are given."""
        name = upstream or self.upstream
        prefix = f"/~{quote(workspace, safe='')}" if workspace else ""
        return self.line.replace("{url}", f"{base}{prefix}/{name}{self.path}").replace("{upstream}", name)


_OPENCODE = '{"provider": {"{upstream}": {"options": {"baseURL": "{url}"}}}}'

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        "claude-code": Tool(title="Claude Code", line="export ANTHROPIC_BASE_URL={url}", upstream="anthropic"),
        "codex": Tool(
            title="Codex",
            line='openai_base_url = "{url}"',
            path="/v1",
            upstream="openai",
            where="~/.codex/config.toml, at its top level",
        ),
        "opencode": Tool(title="opencode", line=_OPENCODE, path="/v1", upstream="anthropic", where="opencode.json"),
        "kilo": Tool(title="Kilo CLI", line=_OPENCODE, path="/v1", upstream="anthropic", where="its opencode.json"),
        "gemini-cli": Tool(title="Gemini CLI", line="export GOOGLE_GEMINI_BASE_URL={url}", upstream="gemini"),
        "qwen-code": Tool(title="Qwen Code", line="export OPENAI_BASE_URL={url}", path="/v1", upstream="openai"),
        "cline": Tool(
            title="Cline CLI",
            line='cline auth -p openai-compatible -k "$OPENAI_API_KEY" -m "$MODEL" -b {url}',
            path="/v1",
            upstream="openai",
        ),
        "continue": Tool(
            title="Continue", line="apiBase: {url}", path="/v1", upstream="openai", where="config.yaml, at the model"
        ),
        "copilot-cli": Tool(
            title="Copilot CLI", line="export COPILOT_PROVIDER_BASE_URL={url}", path="/v1", upstream="openai"
        ),
        "pi": Tool(
            title="pi",
            line='"baseUrl": "{url}"',
            path="/v1",
            upstream="openai",
            where="~/.pi/agent/models.json, at the provider",
        ),
        "vibe": Tool(
            title="Mistral Vibe",
            line='api_base = "{url}"',
            path="/v1",
            upstream="mistral",
            where="config.toml, under [[providers]]",
        ),
        "aider": Tool(title="aider", line="export OPENAI_API_BASE={url}", path="/v1", upstream="openai"),
        "llm": Tool(
            title="llm",
            line="api_base: {url}",
            path="/v1",
            upstream="openai",
            where="extra-openai-models.yaml, at the model",
        ),
        "openai-sdk": Tool(title="OpenAI SDK", line="export OPENAI_BASE_URL={url}", path="/v1", upstream="openai"),
        "anthropic-sdk": Tool(title="Anthropic SDK", line="export ANTHROPIC_BASE_URL={url}", upstream="anthropic"),
        "google-genai": Tool(title="google-genai", line="export GOOGLE_GEMINI_BASE_URL={url}", upstream="gemini"),
        "ai-sdk": Tool(
            title="AI SDK",
            line='baseURL: "{url}"',
            path="/v1",
            upstream="openai",
            where="the code, in createOpenAI({…})",
        ),
    }
)

_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 nothing is bound here


def base_url(listener: Address) -> str | None:
    """The URL under which this machine reaches the listener; None for a unix socket, which has none."""
    if listener.kind == "unix":
        return None
    return f"http://{Address(host=_ANY.get(listener.host, listener.host), port=listener.port)}"


def first_base_url(listen: Iterable[str]) -> str | None:
    """The first of the listeners' URLs; None if all of them are unix sockets."""
    return next(filter(None, map(base_url, map(parse_address, listen))), None)
