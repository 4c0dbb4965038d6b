# The LiteLLM SDK as a script uses it, in two dialects.

from clients.program import Dialect, Pip, Program, Workplace

_INSTALL = Pip(packages=("litellm==1.110.2",))
_LOCAL = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # else it fetches its prices at each start


def _openai(workplace: Workplace) -> dict[str, str]:
    return {**_LOCAL, "OPENAI_API_BASE": f"{workplace.base_url}/v1", "OPENAI_API_KEY": workplace.key}


def _anthropic(workplace: Workplace) -> dict[str, str]:
    return {**_LOCAL, "ANTHROPIC_API_BASE": workplace.base_url, "ANTHROPIC_API_KEY": workplace.key}


def _command(workplace: Workplace, model: str, prompt: str) -> list[str]:
    return [workplace.bin("python"), workplace.script("litellm_chat.py"), model, prompt]


OPENAI = Program(
    name="litellm-openai",
    install=_INSTALL,
    dialect=Dialect.CHAT,
    command=lambda workplace, prompt: _command(workplace, "openai/gpt-5", prompt),
    environment=_openai,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
)
ANTHROPIC = Program(
    name="litellm-anthropic",
    install=_INSTALL,
    dialect=Dialect.ANTHROPIC,
    command=lambda workplace, prompt: _command(workplace, "anthropic/claude-sonnet-4-5", prompt),
    environment=_anthropic,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
)
