# The command `slotgate`, which `python -m proxy` is too.
#
# Rule 1: it ends with a sentence, not with a traceback: where nothing can be written, and at an early Ctrl-C.

import os
import signal
import sys


def main() -> None:
    """Runs the command line and exits: 0 done, 1 the proxy said no or cannot be reached, 2 wrong usage, 78 wrong
    configuration."""
    heard = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from proxy.cli import cli  # takes the longest of all: until then there is nothing to put in order

    signal.signal(signal.SIGINT, heard)
    if sys.stdout is None:  # it was closed by who started us
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for the whole life of the process
    try:
        cli(prog_name="slotgate")
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the last flush fails too
        sys.exit(f"slotgate: {error.strerror or error}{f': {error.filename}' if error.filename else ''}")


if __name__ == "__main__":
    main()
