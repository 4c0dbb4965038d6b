# llm: one prompt, with a tool that is given on the command line.


import json

from clients.program import Dialect, Pip, Program, Workplace

_FUNCTION = """
def read_file(path: str) -> str:
    "Read a file."
    with open(path) as file:
        return file.read()
"""


def _prepare(workplace: Workplace) -> None:
    workplace.write(
        "llm/extra-openai-models.yaml",
        "- model_id: fake\n"
        "  model_name: gpt-5\n"
        f"  api_base: {workplace.base_url}/v1\n"
        "  api_key_name: fake\n"
        "  supports_tools: true\n",
    )
    workplace.write("llm/keys.json", json.dumps({"fake": workplace.key}))


def _command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("llm"), "prompt", "-m", "fake", "--functions", _FUNCTION, "-s", "Be brief.", prompt]


def _environment(workplace: Workplace) -> dict[str, str]:
    return {"LLM_USER_PATH": str(workplace.home / "llm")}


PROGRAM = Program(
    name="llm",
    install=Pip(packages=("llm==0.36",)),
    dialect=Dialect.CHAT,
    prepare=_prepare,
    command=_command,
    environment=_environment,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
)
