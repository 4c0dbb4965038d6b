# How each tool is pointed at the proxy: the one line to set; and the line by which it sends headers of one's own.
#
# Rule 1: a tool stands here when it was seen to honour a base URL with a path in it; where only its documentation says
#         so, its `note` does. One that cannot be pointed here stands below, with the reason.
# Rule 2: a line works as it is pasted: a shell's, or one of the tool's own file, which `where` names then. What else
#         must be set is in `note`.

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote

from proxy.config import Address, BaseUrl, parse_address, parse_url
from proxy.web.dialects import Dialect, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`line` has `{url}` where the base URL goes. `upstream` is the one that the tool talks to by default. `dialect` is
    None for a tool that speaks each provider's own; its base URLs go up to the version, and `{provider}` in its line is
    what it calls the provider. `where` is the file that the line goes into, "" for a shell; `note` is what a person
    must know beside the line, `abroad` the same for another upstream than the default. `anthropic` is the line for a
    provider whose own API is Anthropic's, of a tool that speaks both.

    `headers` is the line that sends headers, "" if none is known; one of SPELLINGS stands for them in it, `{url}` as
    in `line`: it says all that `line` does then. It goes into the same place, or into `headers_where`."""

    title: str
    line: str
    upstream: str = "openai"
    dialect: Dialect | None = Dialect.OPENAI
    where: str = ""
    note: str = ""
    abroad: str = ""
    anthropic: str = ""
    headers: str = ""
    headers_where: str | None = None

    def pointed(
        self, base: str, *, upstream: str | None = None, url: BaseUrl | None = None, workspace: str | None = None
    ) -> str | None:
        """The line for the proxy at `base`, as this workspace if one is given, for the upstream of this name at `url`,
        else for the tool's own. None if that provider has no API that the tool speaks."""
        url = url or HOMES[self.upstream]
        native = self._native(url)
        at = self._base_url(base, upstream, url, workspace, native)
        if at is None:
            return None
        line = (self.anthropic if native else self.line).replace("{url}", at)
        return line.replace("{provider}", self._provider(upstream, url))

    def sending(
        self,
        base: str,
        headers: Mapping[str, str],
        *,
        upstream: str | None = None,
        url: BaseUrl | None = None,
        workspace: str | None = None,
    ) -> str | None:
        """The line by which it sends these headers on the way that `pointed` describes; None if none is known."""
        url = url or HOMES[self.upstream]
        at = self._base_url(base, upstream, url, workspace, self._native(url))
        if not self.headers or at is None:
            return None
        line = self.headers.replace("{url}", at)
        for spelling, spell in SPELLINGS.items():
            line = line.replace(spelling, spell(headers))
        return line.replace("{provider}", self._provider(upstream, url))

    @property
    def headers_say_all(self) -> bool:
        """Whether the line for headers stands in place of the other one."""
        return "{url}" in self.headers

    def _native(self, url: BaseUrl) -> bool:
        """Whether it speaks Anthropic's API there, though it mostly speaks another."""
        return bool(self.anthropic) and url.host == HOMES["anthropic"].host

    def _provider(self, upstream: str | None, url: BaseUrl) -> str:
        return _PROVIDERS.get(url.host, upstream or self.upstream)

    def _base_url(
        self, base: str, upstream: str | None, url: BaseUrl, workspace: str | None, native: bool
    ) -> str | None:
        dialect = Dialect.ANTHROPIC if native else self.dialect or _OWN.get(url.host, Dialect.OPENAI)
        path = path_of(dialect, url)
        if path is None:
            return None
        if self.dialect is None:
            path += _VERSION[dialect]
        prefix = f"/~{quote(workspace, safe='')}" if workspace else ""
        return f"{base}{prefix}/{upstream or self.upstream}{path}"


def _lines(headers: Mapping[str, str]) -> str:
    """For a shell: one header a line."""
    said = [shlex.quote(f"{name}: {value}") for name, value in headers.items()]
    return said[0] if len(said) == 1 else "\"$(printf '%s\\n' " + " ".join(said) + ')"'


def _commas(headers: Mapping[str, str]) -> str:
    return shlex.quote(", ".join(f"{name}: {value}" for name, value in headers.items()))


def _toml(headers: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in headers.items()) + "}"


# How tools want headers to be spelled. YAML takes JSON, and a TOML string is one of JSON where it is ASCII.
SPELLINGS: Mapping[str, Callable[[Mapping[str, str]], str]] = MappingProxyType(
    {"{lines}": _lines, "{commas}": _commas, "{json}": json.dumps, "{toml}": _toml}
)


# Where the tools' own upstreams are.
HOMES: Mapping[str, BaseUrl] = MappingProxyType(
    {
        "anthropic": parse_url("https://api.anthropic.com"),
        "openai": parse_url("https://api.openai.com"),
        "gemini": parse_url("https://generativelanguage.googleapis.com"),
        "mistral": parse_url("https://api.mistral.ai"),
    }
)

# What the AI SDK, on which opencode stands, speaks to whom when it is not OpenAI's, and its versions.
_OWN = {"api.anthropic.com": Dialect.ANTHROPIC, "generativelanguage.googleapis.com": Dialect.GEMINI}
_VERSION = {Dialect.OPENAI: "", Dialect.ANTHROPIC: "/v1", Dialect.GEMINI: "/v1beta"}
# opencode's names for providers, where they are not ours (github.com/anomalyco/models.dev, providers/).
_PROVIDERS = {
    "api.code.umans.ai": "umans-ai-coding-plan",
    "api.z.ai": "zai-coding-plan",
    "api.moonshot.ai": "moonshotai",
    "api.kimi.com": "kimi-for-coding",
    "generativelanguage.googleapis.com": "google",
    "api.together.ai": "togetherai",
    "api.fireworks.ai": "fireworks-ai",
}

_UNTRIED = "this is what its documentation says; it was not tried"

_ANTHROPIC_HEADERS = "export ANTHROPIC_CUSTOM_HEADERS={lines}"
_OPENAI_HEADERS = "export OPENAI_CUSTOM_HEADERS={lines}"
_OPENCODE_HEADERS = '{"provider": {"{provider}": {"options": {"baseURL": "{url}", "headers": {json}}}}}'
_OPENCODE = '{"provider": {"{provider}": {"options": {"baseURL": "{url}"}}}}'
_OPENCODE_ABROAD = 'a provider that it does not know by this name needs "npm" and "models" there too'

TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        "claude-code": Tool(
            title="Claude Code",
            line="export ANTHROPIC_BASE_URL={url}",
            upstream="anthropic",
            dialect=Dialect.ANTHROPIC,
            headers=_ANTHROPIC_HEADERS,
        ),
        "claude-agent-sdk": Tool(
            title="Agent SDK",
            line="export ANTHROPIC_BASE_URL={url}",
            upstream="anthropic",
            dialect=Dialect.ANTHROPIC,
            headers=_ANTHROPIC_HEADERS,
        ),
        "codex": Tool(
            title="Codex",
            line='openai_base_url = "{url}"',
            where="~/.codex/config.toml, at its top level",
            abroad="Codex speaks the Responses API alone, which not every provider has",
            # Of its own providers Codex lets only the URL be set, and of others it wants all of this.
            headers='model_providers.slotgate = {name = "Slotgate", base_url = "{url}", env_key = "OPENAI_API_KEY", '
            "http_headers = {toml}}",
            headers_where="~/.codex/config.toml, at its top level, in place of openai_base_url and beside "
            'model_provider = "slotgate";'
            " its login at ChatGPT does not count then, OPENAI_API_KEY does",
        ),
        "opencode": Tool(
            title="opencode",
            line=_OPENCODE,
            upstream="anthropic",
            dialect=None,
            where="opencode.json",
            abroad=_OPENCODE_ABROAD,
            headers=_OPENCODE_HEADERS,
        ),
        "kilo": Tool(
            title="Kilo CLI",
            line=_OPENCODE,
            upstream="anthropic",
            dialect=None,
            where="its opencode.json",
            abroad=_OPENCODE_ABROAD,
            headers=_OPENCODE_HEADERS,
        ),
        "gemini-cli": Tool(
            title="Gemini CLI",
            line="export GOOGLE_GEMINI_BASE_URL={url}",
            upstream="gemini",
            dialect=Dialect.GEMINI,
            # Seen with 0.61: the variable alone makes it choose the method "gateway", which it then refuses.
            note='it also needs {"security": {"auth": {"selectedType": "gemini-api-key"}}} in ~/.gemini/settings.json',
            headers="export GEMINI_CLI_CUSTOM_HEADERS={commas}",
        ),
        "qwen-code": Tool(
            title="Qwen Code",
            line="export OPENAI_BASE_URL={url}",
            note="it also needs OPENAI_API_KEY and OPENAI_MODEL",
            headers='{"model": {"generationConfig": {"customHeaders": {json}}}}',
            headers_where="~/.qwen/settings.json",
        ),
        "cline": Tool(
            title="Cline CLI", line='cline auth -p openai-compatible -k "$OPENAI_API_KEY" -m "$MODEL" -b {url}'
        ),
        "continue": Tool(
            title="Continue",
            line="apiBase: {url}",
            where="config.yaml, at the model",
            headers="requestOptions: {headers: {json}}",
        ),
        "copilot-cli": Tool(
            title="Copilot CLI",
            line="export COPILOT_PROVIDER_BASE_URL={url}",
            note="it also needs COPILOT_MODEL and COPILOT_PROVIDER_API_KEY",
            anthropic="export COPILOT_PROVIDER_TYPE=anthropic COPILOT_PROVIDER_BASE_URL={url}",
            headers="export COPILOT_PROVIDER_HEADERS={lines}",
        ),
        "pi": Tool(
            title="pi",
            line='"baseUrl": "{url}"',
            where="~/.pi/agent/models.json, at the provider",
            anthropic='"api": "anthropic-messages", "baseUrl": "{url}"',
            headers='"headers": {json}',
        ),
        "vibe": Tool(
            title="Mistral Vibe",
            line='api_base = "{url}"',
            upstream="mistral",
            where="config.toml, under [[providers]]",
            headers="extra_headers = {toml}",
        ),
        "aider": Tool(
            title="aider",
            line="export OPENAI_API_BASE={url}",
            anthropic="export ANTHROPIC_BASE_URL={url}",
            headers="extra_params: {extra_headers: {json}}",
            headers_where=".aider.model.settings.yml, at the model",
        ),
        "crush": Tool(
            title="Crush",
            line='{"providers": {"{provider}": {"base_url": "{url}"}}}',
            where="crush.json",
            headers='{"providers": {"{provider}": {"base_url": "{url}", "extra_headers": {json}}}}',
            note=_UNTRIED,
            abroad='a provider that it does not know by this name needs "type", "api_key" and "models" there too',
        ),
        # It puts v1/messages behind the host's path (crates/goose/src/providers/api_client.rs). With OpenAI's API it
        # wants two variables, OPENAI_HOST and OPENAI_BASE_PATH.
        "goose": Tool(
            title="Goose",
            line="export ANTHROPIC_HOST={url}",
            upstream="anthropic",
            dialect=Dialect.ANTHROPIC,
            note=_UNTRIED,
        ),
        "llm": Tool(
            title="llm",
            line="api_base: {url}",
            where="extra-openai-models.yaml, at the model",
            note="it also needs api_key_name: openai",  # else it sends DUMMY_KEY to whatever is not OpenAI's
            headers="headers: {json}",
        ),
        "openai-sdk": Tool(title="OpenAI SDK", line="export OPENAI_BASE_URL={url}", headers=_OPENAI_HEADERS),
        "openai-agents": Tool(title="OpenAI Agents SDK", line="export OPENAI_BASE_URL={url}", headers=_OPENAI_HEADERS),
        "langchain-openai": Tool(title="LangChain", line="export OPENAI_BASE_URL={url}", headers=_OPENAI_HEADERS),
        "litellm": Tool(title="LiteLLM", line="export OPENAI_BASE_URL={url}", headers=_OPENAI_HEADERS),
        "mini-swe-agent": Tool(title="mini-swe-agent", line="export OPENAI_BASE_URL={url}"),
        "pydantic-ai": Tool(title="Pydantic AI", line="export OPENAI_BASE_URL={url}", headers=_OPENAI_HEADERS),
        "anthropic-sdk": Tool(
            title="Anthropic SDK",
            line="export ANTHROPIC_BASE_URL={url}",
            upstream="anthropic",
            dialect=Dialect.ANTHROPIC,
            headers=_ANTHROPIC_HEADERS,
        ),
        "langchain-anthropic": Tool(
            title="LangChain", line="export ANTHROPIC_BASE_URL={url}", upstream="anthropic", dialect=Dialect.ANTHROPIC
        ),
        "google-genai": Tool(
            title="google-genai",
            line="export GOOGLE_GEMINI_BASE_URL={url}",
            upstream="gemini",
            dialect=Dialect.GEMINI,
            headers='http_options={"headers": {json}}',
            headers_where="the code, in genai.Client(…)",
        ),
        "ai-sdk": Tool(
            title="AI SDK", line='baseURL: "{url}"', where="the code, in createOpenAI({…})", headers="headers: {json}"
        ),
    }
)

# Tools that people ask for and that cannot be pointed at a proxy of their own, and why.
UNPOINTABLE: Mapping[str, str] = MappingProxyType(
    {
        # developers.cloudflare.com/ai-gateway/integrations/coding-agents/cursor: the endpoint must be public.
        "cursor": "Cursor sends every request through its own servers, which do not reach this machine: a base URL that"
        " is set there must be public",
        "kimi-cli": "the last release of kimi-cli only says that it is no longer maintained, and ends",
    }
)

_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 nothing is bound here


def base_url(listener: Address, near: str | None = None) -> str | None:
    """The URL under which this machine reaches the listener; None for a unix socket, which has none. One that listens
    everywhere is reached at `near`, else on this machine."""
    if listener.kind == "unix":
        return None
    host = listener.host
    if host in _ANY:
        host = near or _ANY[host]
    return f"http://{Address(host=host, port=listener.port)}"


def first_base_url(listen: Iterable[str], near: str | None = None) -> str | None:
    """The first of the listeners' URLs; None if all of them are unix sockets."""
    return next(filter(None, (base_url(parse_address(each), near) for each in listen)), None)
