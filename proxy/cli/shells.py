# `slotgate completion`: what teaches a shell to complete its words.

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from proxy.cli.failure import Failure
from proxy.cli.options import with_output
from proxy.cli.output import Output

SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_SLOTGATE_COMPLETE"  # click looks there when the script calls


@click.command()
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@with_output
def completion(output: Output, shell: str | None) -> None:
    """Print the script that completes slotgate's words in a shell.

    \b
    bash: eval "$(slotgate completion bash)", in ~/.bashrc
    zsh:  eval "$(slotgate completion zsh)", in ~/.zshrc after compinit
    fish: slotgate completion fish | source, in ~/.config/fish/config.fish

    Names of providers, workspaces and tools are completed too, while the proxy runs.
    """
    chosen = shell or Path(os.environ.get("SHELL", "")).name
    made = get_completion_class(chosen) if chosen in SHELLS else None
    if made is None:
        raise Failure("unknown_shell", f"which shell? slotgate completion {'|'.join(SHELLS)}")
    script = made(click.get_current_context().command, {}, "slotgate", _VARIABLE).source()
    output.answer({"shell": chosen, "script": script})
    output.document(script)
