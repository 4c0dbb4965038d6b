# mini-swe-agent, which ends when a command prints its word for that.

from clients.program import NOTES, Dialect, Pip, Program, Tool, Workplace


def _finish(text: str) -> Tool:
    return "bash", {"command": f"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo '{text}'"}


def _command(workplace: Workplace, prompt: str) -> list[str]:
    return [workplace.bin("mini"), "--model", "openai/gpt-5", "--task", prompt, "--yolo", "--exit-immediately"]


def _environment(workplace: Workplace) -> dict[str, str]:
    return {
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_GLOBAL_CONFIG_DIR": str(workplace.home / "mini"),
        "OPENAI_API_BASE": f"{workplace.base_url}/v1",
        "OPENAI_API_KEY": workplace.key,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


PROGRAM = Program(
    name="mini-swe-agent",
    install=Pip(packages=("mini-swe-agent==2.4.6",)),
    dialect=Dialect.CHAT,
    tool=lambda _: ("bash", {"command": f"cat {NOTES}"}),
    finish=_finish,
    command=_command,
    environment=_environment,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
)
