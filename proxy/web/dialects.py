# Where each provider keeps which API, so that a tool's base URL is true for it.
#
# Rule 1: paths as the provider documents them, with the source. A dialect that it does not document is left out, and
#         `slotgate env` then says so; a guess would end in the tool's 404.
# Rule 2: a host that is not listed keeps its APIs where most do: OpenAI's at /v1, the others at the root.
# Rule 3: what an upstream's own URL brings is not said twice.

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from proxy.config import BaseUrl


class Dialect(StrEnum):
    """Whose API a tool speaks."""

    OPENAI = "OpenAI"
    ANTHROPIC = "Anthropic"
    GEMINI = "Gemini"


Paths = Mapping[Dialect, str]

# What a base URL has behind the host: OpenAI's up to the version, the others' in front of it, as their SDKs want it.
_USUAL: Paths = {Dialect.OPENAI: "/v1", Dialect.ANTHROPIC: "", Dialect.GEMINI: ""}

PATHS: Mapping[str, Paths] = MappingProxyType(
    {
        # docs.claude.com, OpenAI SDK compatibility
        "api.anthropic.com": {Dialect.ANTHROPIC: "", Dialect.OPENAI: "/v1"},
        "api.openai.com": {Dialect.OPENAI: "/v1"},
        # app.umans.ai/offers/code/docs: Chat Completions, Responses and Messages, all below /v1
        "api.code.umans.ai": {Dialect.OPENAI: "/v1", Dialect.ANTHROPIC: ""},
        # docs.z.ai, coding plan; without one it is /api/paas/v4
        "api.z.ai": {Dialect.OPENAI: "/api/coding/paas/v4", Dialect.ANTHROPIC: "/api/anthropic"},
        # platform.moonshot.ai/docs, agent support
        "api.moonshot.ai": {Dialect.OPENAI: "/v1", Dialect.ANTHROPIC: "/anthropic"},
        # www.kimi.com/code/docs, third-party agents
        "api.kimi.com": {Dialect.OPENAI: "/coding/v1", Dialect.ANTHROPIC: "/coding"},
        # api-docs.deepseek.com, "Your first API call": OpenAI's without a version
        "api.deepseek.com": {Dialect.OPENAI: "", Dialect.ANTHROPIC: "/anthropic"},
        # openrouter.ai/docs, quickstart and Claude Code
        "openrouter.ai": {Dialect.OPENAI: "/api/v1", Dialect.ANTHROPIC: "/api"},
        "api.groq.com": {Dialect.OPENAI: "/openai/v1"},  # console.groq.com/docs/openai
        "api.mistral.ai": {Dialect.OPENAI: "/v1"},  # docs.mistral.ai, migration guides
        # ai.google.dev/gemini-api/docs/openai
        "generativelanguage.googleapis.com": {Dialect.GEMINI: "", Dialect.OPENAI: "/v1beta/openai"},
        "api.x.ai": {Dialect.OPENAI: "/v1"},  # docs.x.ai: its Anthropic compatibility is deprecated
        "api.cerebras.ai": {Dialect.OPENAI: "/v1"},  # inference-docs.cerebras.ai/resources/openai
        "api.together.ai": {Dialect.OPENAI: "/v1"},  # docs.together.ai/docs/openai-api-compatibility
        # docs.fireworks.ai/tools-sdks, OpenAI and Anthropic compatibility
        "api.fireworks.ai": {Dialect.OPENAI: "/inference/v1", Dialect.ANTHROPIC: "/inference"},
        # dev.synthetic.new/docs/api/overview
        "api.synthetic.new": {Dialect.OPENAI: "/openai/v1", Dialect.ANTHROPIC: "/anthropic"},
    }
)

_VERSIONED = re.compile(r"/v[0-9][^/]*(?:/openai)?\Z")


def path_of(dialect: Dialect, url: BaseUrl) -> str | None:
    """What stands behind the upstream's name in a base URL for this dialect, for the upstream at `url`; None if the
    provider has no such API there."""
    path = PATHS.get(url.host, _USUAL).get(dialect)
    if path is None or not url.path:
        return path
    if f"{path}/".startswith(f"{url.path}/"):
        return path.removeprefix(url.path)
    if url.host in PATHS:
        return None  # the URL leads elsewhere
    if not _VERSIONED.search(url.path):
        return path  # a gateway's URL leads at least to the API's root
    return "" if dialect is Dialect.OPENAI else None  # the others' tools add a version of their own
