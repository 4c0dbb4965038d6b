# LangChain's model for OpenAI.

from clients.program import Dialect, Pip, Program, Workplace


def _environment(workplace: Workplace) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{workplace.base_url}/v1", "OPENAI_API_KEY": workplace.key}


PROGRAM = Program(
    name="langchain-openai",
    install=Pip(packages=("langchain-openai==1.7.4",)),
    dialect=Dialect.CHAT,
    command=lambda workplace, prompt: [workplace.bin("python"), workplace.script("langchain_openai_chat.py"), prompt],
    environment=_environment,
    header_limit_s=None,
    keepalive=False,
    conversation="fp",
)
