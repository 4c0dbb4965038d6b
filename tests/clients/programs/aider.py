# aider, which has no tools: it goes on by itself when the model names a file that it has not seen yet.

import subprocess

from clients.program import Dialect, Pip, Program, Workplace

_MORE = "more.txt"


def _prepare(workplace: Workplace) -> None:
    (workplace.project / _MORE).write_text("Nothing of interest.\n")
    subprocess.run(["git", "add", _MORE], cwd=workplace.project, check=True)


def _command(workplace: Workplace, prompt: str) -> list[str]:
    # What it would ask, fetch or write beside the prompt is off.
    off = (
        *(
            "--no-auto-commits",
            "--no-gitignore",
            "--no-check-update",
            "--no-show-release-notes",
            "--no-show-model-warnings",
        ),
        *("--no-pretty", "--no-fancy-input", "--no-detect-urls", "--no-suggest-shell-commands", "--analytics-disable"),
        *("--map-tokens", "0"),
    )
    model = ("--model", "openai/gpt-4o", "--weak-model", "openai/gpt-4o")
    return [workplace.bin("aider"), "--yes-always", "--stream", *off, *model, "--message", prompt]


def _environment(workplace: Workplace) -> dict[str, str]:
    return {
        "OPENAI_API_BASE": f"{workplace.base_url}/v1",
        "OPENAI_API_KEY": workplace.key,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


PROGRAM = Program(
    name="aider",
    install=Pip(packages=("aider-chat==0.86.2",)),
    dialect=Dialect.CHAT,
    tool=lambda _: f"Let me look into {_MORE} first.",
    prepare=_prepare,
    command=_command,
    environment=_environment,
    header_limit_s=600,
    keepalive=False,
    conversation="fp",
)
