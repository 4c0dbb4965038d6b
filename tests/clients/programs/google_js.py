# The Google Gen AI SDK for JavaScript.

from clients.program import Dialect, Npm, Program, Workplace


def command(workplace: Workplace, prompt: str) -> list[str]:
    return ["node", workplace.script("google_genai.mjs"), prompt]


def environment(workplace: Workplace) -> dict[str, str]:
    return {"GOOGLE_GEMINI_BASE_URL": workplace.base_url, "GEMINI_API_KEY": workplace.key}


PROGRAM = Program(
    name="google-genai-js",
    install=Npm(packages=("@google/genai@2.32.0",)),
    dialect=Dialect.GEMINI,
    command=command,
    environment=environment,
    header_limit_s=300,
    keepalive=True,
    conversation="fp",
)
