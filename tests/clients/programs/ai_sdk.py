# The AI SDK with four of its providers.

from collections.abc import Callable

from clients.program import Dialect, Npm, Program, Workplace

_INSTALL = Npm(
    packages=(
        "ai@7.0.173",
        "@ai-sdk/openai@4.0.118",
        "@ai-sdk/anthropic@4.0.105",
        "@ai-sdk/openai-compatible@3.0.92",
        "@ai-sdk/google@4.0.121",
        "zod@4",
    )
)


def _command(provider: str) -> Callable[[Workplace, str], list[str]]:
    return lambda workplace, prompt: ["node", workplace.script("ai_sdk.mjs"), provider, prompt]


def _environment(suffix: str) -> Callable[[Workplace], dict[str, str]]:
    return lambda workplace: {"BASE_URL": workplace.base_url + suffix, "API_KEY": workplace.key}


def _program(provider: str, dialect: Dialect, suffix: str) -> Program:
    return Program(
        name=f"ai-sdk-{provider}",
        install=_INSTALL,
        dialect=dialect,
        command=_command(provider),
        environment=_environment(suffix),
        header_limit_s=300,
        keepalive=True,
        conversation="fp",
    )


COMPATIBLE = _program("openai-compatible", Dialect.CHAT, "/v1")
OPENAI = _program("openai", Dialect.RESPONSES, "/v1")
ANTHROPIC = _program("anthropic", Dialect.ANTHROPIC, "/v1")
GOOGLE = _program("google", Dialect.GEMINI, "/v1beta")
