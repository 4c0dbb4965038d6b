# The SDKs of OpenAI, Anthropic and Google for Python, as a script uses them.
#
# They share an install: each is a few packages, and together they are what every run of the tests includes.

from clients.program import Dialect, Pip, Program, Workplace

_INSTALL = Pip(packages=("openai==3.57.0", "anthropic==2.14.0", "google-genai==3.6.1"))


def _openai(workplace: Workplace) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{workplace.base_url}/v1", "OPENAI_API_KEY": workplace.key}


def _anthropic(workplace: Workplace) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": workplace.base_url, "ANTHROPIC_API_KEY": workplace.key}


def _google(workplace: Workplace) -> dict[str, str]:
    return {"GOOGLE_GEMINI_BASE_URL": workplace.base_url, "GEMINI_API_KEY": workplace.key}


OPENAI_CHAT = Program(
    name="openai-python-chat",
    install=_INSTALL,
    dialect=Dialect.CHAT,
    command=lambda workplace, prompt: [workplace.bin("python"), workplace.script("openai_chat.py"), prompt],
    environment=_openai,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
    fast=True,
)
OPENAI_RESPONSES = Program(
    name="openai-python-responses",
    install=_INSTALL,
    dialect=Dialect.RESPONSES,
    command=lambda workplace, prompt: [workplace.bin("python"), workplace.script("openai_responses.py"), prompt],
    environment=_openai,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
)
ANTHROPIC = Program(
    name="anthropic-python",
    install=_INSTALL,
    dialect=Dialect.ANTHROPIC,
    command=lambda workplace, prompt: [workplace.bin("python"), workplace.script("anthropic_messages.py"), prompt],
    environment=_anthropic,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
    fast=True,
)
GOOGLE = Program(
    name="google-python",
    install=_INSTALL,
    dialect=Dialect.GEMINI,
    command=lambda workplace, prompt: [workplace.bin("python"), workplace.script("google_genai.py"), prompt],
    environment=_google,
    header_limit_s=None,
    keepalive=False,
    conversation="fp",
    fast=True,
)
